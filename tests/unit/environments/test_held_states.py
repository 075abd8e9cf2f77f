"""Shells of the pool that hold the default session's state, so that a command that overlaps reads it no more."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost
from shellward.core.types import StreamName
from shellward.environments import Environment
from shellward.environments.encoding import DIALECTS, Holding, Request
from shellward.environments.pool import _WORTH
from shellward.environments.protocol import Conversation, Finished
from shellward.environments.shell import Shell

_SETUP = """mkdir d; cd d; X='p  q'; export E=e; f() { echo "f $X"; }; alias h='echo alias'
shopt -s nullglob; umask 027"""


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Environment]:
    with environments.create("local", shell="bash", cwd=str(tmp_path)) as made:
        yield made


def pooled(env: Environment) -> list[Shell]:
    return [shell for shell in env._pool.shells() if shell.pooled == (None, "")]


def held(env: Environment) -> list[int]:
    """Return the numbers of the states that shells of the pool hold."""
    return sorted(shell.held.number for shell in pooled(env) if shell.held is not None)


def hold(env: Environment) -> Shell:
    """Run what overlaps until a shell holds the state; another command has the default session meanwhile."""
    for _ in range(_WORTH):
        env.run("echo; true").check()
    (shell,) = [each for each in pooled(env) if each.held is not None]
    return shell


def test_a_state_is_taken_over_when_enough_commands_have_begun_with_it(env: Environment) -> None:
    env.run(_SETUP).check()
    with env.stream("sleep 600"):
        for _ in range(_WORTH - 1):
            env.run("true").check()
            assert held(env) == []
        env.run("true").check()
        assert held(env) == [env._pool.default.saved]


def test_what_overlaps_finds_the_same_in_a_shell_that_holds_the_state(env: Environment) -> None:
    env.run(_SETUP).check()
    env.run("set -- one 'two  three'")
    look = (
        'pwd; echo "$X" "$#" "$2" /no/such*; sh -c "echo \\$E"; f; h; umask; shopt nullglob; echo $- $?; trap -p EXIT'
    )
    with env.stream("sleep 600"):
        answers = [env.run(look) for _ in range(_WORTH + 2)]
    assert held(env)
    assert {(each.stdout, each.stderr, each.exit_code) for each in answers} == {
        (answers[0].stdout, answers[0].stderr, 0)
    }
    assert answers[0].stdout.startswith(f"{env.cwd}\np  q 2 two  three\ne\nf p  q\nalias\n0027\n")


@pytest.mark.parametrize(
    "change",
    [
        "X=2; cd /; unset -f f; unalias h; set -f; shopt -u nullglob; umask 0; g() { :; }; set -- new",
        "f() { X=3; }; f",
        "readonly X",
        "trap 'echo trap' EXIT USR1",
        "set -euo pipefail; false",
        "exec 250>&- 251>&-",
        "true() { X=3; }; true",
    ],
)
def test_what_overlaps_leaves_nothing_there(env: Environment, change: str) -> None:
    env.run(_SETUP).check()
    look = 'pwd; echo "$X" $# $-; f; h; umask; declare -F g; trap -p USR1; shopt nullglob'
    with env.stream("sleep 600"):
        hold(env)
        before = env.run(look)
        env.run(change)
        after = env.run(look)
        assert held(env)
    assert (after.stdout, after.stderr, after.exit_code) == (before.stdout, before.stderr, before.exit_code)


def test_names_that_the_lines_between_commands_use(env: Environment) -> None:
    env.run("X=1; exit() { X=4; }; cd() { X=7; }; alias exit='X=3 #' cd='X=6 #'").check()
    with env.stream("sleep 600"):
        shell = hold(env)
        assert [env.run("echo $X").stdout for _ in range(3)] == ["1\n"] * 3
        assert held(env)
        pid = shell.pid
    env.run("X=8").check()
    with env.stream("sleep 600"):
        assert env.run("echo $X").stdout == "8\n"
        assert shell.pid != pid


@pytest.mark.parametrize("name", ["true() { X=changed; }", "alias true='X=changed'", "echo() { X=changed; }"])
def test_what_looks_like_a_program_and_is_none_runs_beside_the_state(env: Environment, name: str) -> None:
    env.run(f"X=1; {name}").check()
    with env.stream("sleep 600"):
        hold(env)
        env.run("true").check()
        env.run("echo").check()
        assert held(env)
        assert env.run('printf %s "$X"').stdout == "1"


def test_what_can_change_nothing_runs_without_a_subshell(env: Environment, tmp_path: Path) -> None:
    (tmp_path / "parent").write_text("#!/bin/sh\necho $PPID\n")
    (tmp_path / "parent").chmod(0o755)
    env.run("X=1").check()
    with env.stream("sleep 600"):
        shell = hold(env)
        assert env.run("./parent").stdout == f"{shell.pid}\n"
        assert env.run("X=2; ./parent").stdout != f"{shell.pid}\n"


def test_a_newer_state_is_what_the_next_command_begins_with(env: Environment) -> None:
    env.run("X=1; Y=1").check()
    with env.stream("sleep 600"):
        pid = hold(env).pid
    env.run("X=2; unset Y").check()
    with env.stream("sleep 600"):
        assert env.run("echo $X${Y-}").stdout == "2\n"
        assert held(env) == []
        shell = hold(env)
        assert env.run("echo $X${Y-}").stdout == "2\n"
        assert shell.pid != pid
        assert len(pooled(env)) == 1


def test_the_state_of_a_session_that_began_anew_is_another(env: Environment) -> None:
    env.run("X=1").check()
    with env.stream("sleep 600"):
        hold(env)
    env.run("X=2; exit 3")
    with env.stream("sleep 600"):
        assert env.run("echo $X").stdout == "2\n"


@pytest.mark.parametrize("end", ["kill -9 $$", "exec 250>&-; kill -9 $$"])
def test_a_shell_that_is_lost_holds_nothing(env: Environment, end: str) -> None:
    env.run("X=1").check()
    with env.stream("sleep 600"):
        shell = hold(env)
        assert env.run(end).exit_code == 137
        assert shell.held is None
        assert env.run("echo $X").stdout == "1\n"
        hold(env)
        os.kill(shell.pid, signal.SIGKILL)  # between two commands
        until = time.monotonic() + 30
        while shell.warm() and time.monotonic() < until:
            time.sleep(0.01)
        assert env.run("echo $X").stdout == "1\n"
        seconds = f"600.{os.getpid()}"
        for command in (f"sleep {seconds}", f"/bin/sleep {seconds}"):
            shell = hold(env)
            result = env.run(command, timeout=0.3)
            assert (result.timed_out, result.exit_code, shell.held) == (True, 124, None)
            assert command not in env.run("ps -eo args").stdout.splitlines()
        assert env.run("echo $X").stdout == "1\n"


@pytest.mark.parametrize(
    "state", ["trap 'echo trap' USR1", "set -u", "set -x", "set -k; true", "trap 'echo e; exit 3' EXIT"]
)
def test_a_state_that_would_act_between_commands_is_never_held(env: Environment, state: str) -> None:
    env.run(f"X=1; {state}")
    with env.stream("sleep 600"):
        answers = [env.run("echo $X $-") for _ in range(_WORTH + 3)]
        assert {each.stdout for each in answers} == {answers[0].stdout}
        assert answers[0].stdout.startswith("1 ")
        if "EXIT" not in state:  # that of the session's end is its own alone
            assert [each for each in held(env) if each] == []


def test_a_directory_and_variables_of_one_command(env: Environment, tmp_path: Path) -> None:
    env.run("X=1; cd /usr").check()
    with env.stream("sleep 600"):
        for _ in range(_WORTH + 2):
            there = env.run("pwd; echo $X$V; cd -", cwd=str(tmp_path), env={"V": "v"})
            assert there.stdout == f"{tmp_path}\n1v\n/usr\n"
            assert env.run("pwd").stdout == "/usr\n"
            assert env.run("cat; echo $X", stdin="in\n", merge_stderr=True).stdout == "in\n1\n"
            with pytest.raises(FileNotFoundError):
                env.run("pwd", cwd="/no/such")
        assert held(env)


def test_between_commands_it_stands_nowhere_in_the_way(env: Environment, tmp_path: Path) -> None:
    """A file system could not be unmounted, else, that the session has left."""
    place = tmp_path / "place"
    place.mkdir()
    env.run(f"cd {place}").check()
    with env.stream("sleep 600"):
        shell = hold(env)
        assert env.run("/bin/pwd").stdout == f"{place}\n"
        assert Path(f"/proc/{shell.pid}/cwd").resolve() == tmp_path
        place.rmdir()
        place.mkdir()
        (place / "new").touch()
        assert env.run("ls").stdout == "new\n"
        assert env.run("/bin/ls").stdout == "new\n"


def test_background_processes_begin_with_it(env: Environment) -> None:
    env.run(_SETUP).check()
    with env.stream("sleep 600"):
        hold(env)
        process = env.start('pwd; echo "$X"; f; echo ${__sw_K-none}${__sw_C-none}')
        process.wait(20)
        assert process.log().data.decode() == f"{env.cwd}\np  q\nf p  q\nnonenone\n"
        assert held(env)


def test_two_sessions_programs_have_their_own_marks(env: Environment) -> None:
    env.run("X=1").check()
    with env.stream("sleep 600"):
        shell = hold(env)
        mark = f"SHELLWARD_COMMAND={shell.mark}."
        assert env.run("env").stdout.count(mark) == 1
        assert env.run("/usr/bin/env").stdout.count(mark) == 1


def test_what_a_shell_says_that_it_holds() -> None:
    request = Request(text="true", subshell=True, state="/s", holding=Holding.TAKEN)

    def end(fields: bytes) -> Finished:
        talk = Conversation(mark="m", state="")
        key = talk.outgoing().strip()
        for data in (b"H bash", b"R 2 1 bash - /"):
            for stream in StreamName:
                list(talk.feed(stream, b"\x1e" + key + (b" " + data if stream is StreamName.STDOUT else b"") + b"\0"))
            talk.outgoing()
        talk.send(request)
        nonce = talk._nonce
        list(talk.feed(StreamName.STDERR, b"\x1e" + nonce + b"\0"))
        (event,) = talk.feed(StreamName.STDOUT, b"\x1e" + nonce + b" " + fields + b"\0")
        assert isinstance(event, Finished)
        return event

    assert end(b"0 0 /").held is None
    assert end(b"0 0= /").held is None
    assert end(b"3 0^17 /") == Finished(3, "/", 0, held=17)
    assert end(b"3 0=^17+ /\n") == Finished(3, "/", 0, saved=False, held=17)
    assert end(b"3 2^0 /").held == 0
    for wrong in (b"3 0^ /", b"3 0^x /", b"3 0^-1 /", b"3 0^" + b"9" * 30 + b" /"):
        with pytest.raises(ConnectionLost):
            end(wrong)


def test_other_shells_read_the_state_each_time() -> None:
    for name in ("sh", "busybox"):
        plain = Request(text="true", subshell=True, state="/s")
        asked = Request(text="true", subshell=True, state="/s", holding=Holding.TAKEN)
        made = [DIALECTS[name].command(each, nonce=b"n", count=1, mark="m") for each in (plain, asked)]
        assert made[0] == made[1]
