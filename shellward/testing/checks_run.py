"""One command and its result: exit status, both streams, working directory, duration, variables, user."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from shellward.core.errors import Unsupported
from shellward.testing.trial import at_most, ordinary_user, quoted, raises, terms

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "shell"


def exit_status_is_a_result(t: Trial) -> None:
    """A non-zero exit is a result, never an exception; every status comes back as it was."""
    for status in (0, 1, 2, 3, 77, 126, 127, 255):
        result = t.env.run(f"(exit {status})")
        assert result.exit_code == status
        assert result.ok == (status == 0)
        assert not result.timed_out
        assert not result.interrupted
        assert result.shell is None, "a subshell that exits does not cost the session its shell"


def unknown_command_is_a_result(t: Trial) -> None:
    """What cannot be found or executed ends with 127 or 126, as POSIX says, and a message on stderr."""
    missing = t.env.run("shellward-no-such-command --x")
    assert missing.exit_code == 127
    assert "shellward-no-such-command" in missing.stderr
    assert missing.stdout == ""
    assert t.env.run("/").exit_code == 126


def check_raises_only_when_asked(t: Trial) -> None:
    """``Result.check()`` is the way to an exception, for those who want one."""
    assert t.env.run("true").check().ok
    with raises(subprocess.CalledProcessError) as caught:
        t.env.run("echo why >&2; (exit 9)").check()
    assert caught.value.returncode == 9
    assert "why" in str(caught.value.stderr)


def streams_come_apart(t: Trial) -> None:
    """``stdout`` and ``stderr`` are two things; ``output`` is both."""
    result = t.env.run("echo out; echo err >&2")
    assert result.stdout == "out\n"
    assert result.stderr == "err\n"
    assert sorted(result.output.splitlines()) == ["err", "out"]
    assert (result.stdout_bytes, result.stderr_bytes) == (b"out\n", b"err\n")
    assert sorted(result.output_bytes.splitlines()) == [b"err", b"out"]


def output_is_in_order_of_arrival(t: Trial) -> None:
    """``output`` has both streams in order of arrival."""
    result = t.env.run("echo 1; sleep 0.2; echo 2 >&2; sleep 0.2; echo 3; sleep 0.2; echo 4 >&2")
    assert result.output == "1\n2\n3\n4\n"
    assert result.stdout == "1\n3\n"
    assert result.stderr == "2\n4\n"


def merged_order_is_exact(t: Trial) -> None:
    """With ``merge_stderr`` the order is exactly that of the writes, without any pause between them."""
    loop = "i=0; while [ $i -lt 300 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done"
    result = t.session().run(loop, merge_stderr=True)
    assert result.output == "".join(f"o{i}\ne{i}\n" for i in range(300))
    assert result.exit_code == 0


def merging_is_for_one_call(t: Trial) -> None:
    """``merge_stderr`` holds for its call only."""
    t.env.run("echo a >&2", merge_stderr=True)
    result = t.env.run("echo b >&2")
    assert (result.stdout, result.stderr) == ("", "b\n")


def output_without_newline(t: Trial) -> None:
    """Output is what was printed: no newline is added, and none is taken away."""
    for text in ("x", "x\n", "\n", "\n\n\n", "x\n\n", " ", "\t", "\r\n", "a\rb", "\\n", "%s", "-n"):
        result = t.env.run(f"printf %s {quoted(text)}; printf %s {quoted(text)} >&2")
        assert (result.stdout, result.stderr) == (text, text), repr(text)


def no_output_at_all(t: Trial) -> None:
    """A silent command has empty output on both streams."""
    for command in ("true", ":", "", "   ", "\n", "\n\n  \n", "# only a comment", "x=1"):
        result = t.session().run(command)
        assert (result.exit_code, result.output, result.stdout, result.stderr) == (0, "", "", ""), repr(command)


def background_child_does_not_hold_the_result(t: Trial) -> None:
    """Returns when the command is done.

    Not when its background children are (``sleep 60 & echo hi``: at once).
    """
    session, sleeper = t.session(), t.sleeper()
    with at_most(2, "echo with a background child"):
        result = session.run(f"{sleeper.command} & echo hi")
    assert (result.exit_code, result.stdout) == (0, "hi\n")
    sleeper.assert_alive(t.env)
    with at_most(2, "the next command"):
        assert session.run("echo next").stdout == "next\n"
    session.run("kill $!")
    sleeper.assert_gone(t.env)


def background_child_talks_on(t: Trial) -> None:
    """What a background child prints later does not get into the framing of later results."""
    session = t.session()
    assert session.run("(for i in 1 2 3 4 5; do sleep 0.1; echo late; echo late >&2; done) & echo now").ok
    for number in range(8):
        result = session.run(f"echo {number}; (exit {number}); sleep 0.1")
        assert result.exit_code == 0
        assert str(number) in result.stdout.split()
    assert session.run("wait; echo end").stdout.endswith("end\n")


def list_of_background_children(t: Trial) -> None:
    """Returns at once however many children of whatever kind are left behind, and in whatever way."""
    session, sleeper = t.session(), t.sleeper()
    with at_most(4, "starting children"):
        result = session.run(
            f"{sleeper.command} & ({sleeper.command} &) ; sh -c '{sleeper.command} & {sleeper.command} &'; "
            f"setsid {sleeper.command} & (trap '' HUP; {sleeper.command} >/dev/null 2>&1) & echo done"
        )
    assert result.stdout.endswith("done\n")
    sleeper.assert_alive(t.env, 6)
    session.run(sleeper.kill).check()
    sleeper.assert_gone(t.env)


def duration_is_that_of_the_command(t: Trial) -> None:
    """``duration`` is in seconds, from sending the command to its end."""
    assert 0.28 < t.env.run("sleep 0.3").duration < 2
    assert 0 < t.env.run("true").duration < 1


def directory_for_one_call(t: Trial) -> None:
    """``cwd=`` is for this call; the session's own directory is as before afterwards."""
    session, root = t.session(), t.directory()
    home = session.cwd
    session.run(
        "mkdir -p " + " ".join(quoted(f"{root}/{name}") for name in ("with space", "-dash", "é\n'\"$x"))
    ).check()
    for name in ("with space", "-dash", "é\n'\"$x"):
        result = session.run("pwd", cwd=f"{root}/{name}")
        assert result.stdout == f"{root}/{name}\n"
        assert result.cwd == home
        assert session.run("pwd").stdout == f"{home}\n"


def change_of_directory_inside_call_directory(t: Trial) -> None:
    """A ``cd`` within a call that had a ``cwd=`` ends with the call."""
    session, root = t.session(), t.directory()
    home = session.cwd
    result = session.run("cd / && pwd", cwd=root)
    assert (result.stdout, result.cwd, session.cwd) == ("/\n", home, home)


def wrong_directory_is_an_error(t: Trial) -> None:
    """``cwd=`` that is missing or not a directory: the matching OSError, and the command does not run."""
    root = t.directory()
    t.env.run(f"touch {root}/file")
    with raises(FileNotFoundError):
        t.env.run(f"touch {root}/ran", cwd=f"{root}/missing")
    with raises(NotADirectoryError):
        t.env.run(f"touch {root}/ran", cwd=f"{root}/file")
    assert t.env.run(f"ls {root}").stdout == "file\n"


def directory_is_reported(t: Trial) -> None:
    """``Result.cwd`` and ``Environment.cwd`` are where the session is, byte for byte."""
    env = t.fresh()
    root = t.directory(env)
    assert env.run("pwd").stdout == f"{env.cwd}\n"
    for name in ("plain", "two words", "new\nline", "ends in newline\n", "back\\slash", "é", "'\"$(x)`"):
        env.run(f"mkdir {quoted(root + '/' + name)}").check()
        result = env.run(f"cd {quoted(root + '/' + name)}")
        assert (result.exit_code, result.cwd) == (0, f"{root}/{name}")
        assert env.cwd == f"{root}/{name}"
    env.run(f"rm -rf {root}", cwd="/").check()


def directory_at_creation(t: Trial) -> None:
    """``create(cwd=...)`` is where the default session and every other session starts."""
    env = t.fresh(cwd="/tmp")
    assert env.cwd == "/tmp"
    assert env.run("pwd").stdout == "/tmp\n"
    with env.session() as session:
        assert session.run("pwd").stdout == "/tmp\n"
    assert env.run(["pwd"]).stdout == "/tmp\n"


_VALUES = {
    "PLAIN": "1",
    "EMPTY": "",
    "SPACES": "  a  b  ",
    "QUOTES": "'\"`$(echo no)$HOME\\",
    "LINES": "a\nb\n",
    "UNICODE": "é€😀",
    "BYTES": "\udcff\udc80",
    "EQUALS": "a=b=c",
    "LONG": "x" * 50_000,
}


def variables_for_one_call(t: Trial) -> None:
    """``env=`` is for this call, exported, each value exactly as given, and gone afterwards."""
    session = t.session()
    session.run("KEPT=before; export KEPT").check()
    for name, value in {**_VALUES, "KEPT": "for now"}.items():
        inside = session.run(f"sh -c 'printf %s \"${name}\"'", env={name: value}, max_output=100_000)
        assert inside.stdout_bytes == value.encode("utf-8", "surrogateescape"), name
        assert session.run(
            ["sh", "-c", f'printf %s "${name}"'], env={name: value}, max_output=100_000
        ).stdout_bytes == (value.encode("utf-8", "surrogateescape")), name
    assert session.run("echo ${PLAIN-unset} ${EMPTY-unset} $KEPT").stdout == "unset unset before\n"


def variables_at_creation(t: Trial) -> None:
    """``create(env=...)`` is seen by every session, by shell lines and by lists."""
    env = t.fresh(env={"GIVEN": "two  words\n$x", "OTHER": "é"})
    with env.session() as session:
        for place in (env, session):
            assert place.run('printf %s "$GIVEN$OTHER"').stdout == "two  words\n$xé"
            assert place.run(["sh", "-c", 'printf %s "$GIVEN"']).stdout == "two  words\n$x"


def another_user(t: Trial) -> None:
    """``user=`` runs this call as that user where the backend can; else it is ``Unsupported`` by name."""
    if not t.env.capabilities.user:
        with raises(Unsupported):
            t.env.run("id -u", user="nobody")
        return
    before = t.env.run("id -u").stdout
    with raises(Exception):  # which one is the backend's: no such user
        t.env.run("id -u", user="no-such-user-here").check()
    assert t.env.run("id -u").stdout == before


@terms(ordinary_user)
def another_user_is_really_another(t: Trial) -> None:
    """``user=`` for a shell line and for a list, and the session's own user afterwards."""
    user = t.place.other_user
    before = t.env.run("id -un").stdout
    assert t.env.run("id -un", user=user).stdout == f"{user}\n"
    assert t.env.run(["id", "-un"], user=user).stdout == f"{user}\n"
    assert t.env.run("id -un").stdout == before != f"{user}\n"


def command_is_reported_as_given(t: Trial) -> None:
    """``Result.command`` is what was submitted; a list is joined with shell quoting."""
    assert t.env.run("echo   'a'  #b").command == "echo   'a'  #b"
    assert t.env.run(["echo", "a b", "$c"]).command == "echo 'a b' '$c'"


def signal_is_named(t: Trial) -> None:
    """A command that a signal ended has exit status 128 + n and the signal's name."""
    for name, number in (("TERM", 15), ("KILL", 9), ("INT", 2), ("HUP", 1), ("SEGV", 11), ("PIPE", 13)):
        result = t.env.run(f"sh -c 'kill -{name} $$'")
        assert (result.exit_code, result.signal) == (128 + number, f"SIG{name}")
    assert t.env.run("(exit 7)").signal is None


def many_in_a_row(t: Trial) -> None:
    """300 commands one after the other each have their own status and output: nothing drifts."""
    session = t.session()
    for number in range(300):
        result = session.run(f"echo out{number}; echo err{number} >&2; (exit {number % 256})")
        assert (result.exit_code, result.stdout, result.stderr) == (
            number % 256,
            f"out{number}\n",
            f"err{number}\n",
        )
