"""Background processes: what they begin with, their output, their input, how they end, and what is told of them."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from shellward.core.errors import ConfigError, ConnectionLost, EnvironmentUnavailable
from shellward.core.types import ProcessState
from shellward.testing.trial import AFTER_LIMIT, at_most, bash, eventually, raises, terms

if TYPE_CHECKING:
    from shellward.environments.process import Process
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"


def _started(t: Trial, command: str | list[str], **options: object) -> Process:
    """Start a process that is removed at the end of the check."""
    process = t.env.start(command, **options)  # type: ignore[arg-type]
    t.defer(process.remove)
    return process


def output_status_and_facts(t: Trial) -> None:
    """Both streams, the exit status, the directory and the pid of a process are known after it ended."""
    before = time.time()
    process = _started(t, "echo out; echo err >&2; echo $$; exit 7", cwd="/usr")
    info = process.wait(20)
    assert (info.state, info.exit_code, info.reason, info.signal) == (ProcessState.ENDED, 7, "exited", None), info
    assert info.cwd == "/usr"
    assert process.log().text == f"out\n{process.pid}\n"
    assert process.log(stream="stderr").text == "err\n"
    assert before - 1 <= info.started.timestamp() <= time.time()
    assert info.ended is not None
    assert info.ended >= info.started
    full = process.info()
    assert (full.bytes_out, full.bytes_err) == (len(process.log().data), 4)


def begins_with_the_session(t: Trial) -> None:
    """A process has the directory, the variables, the options and the umask of the session it comes from."""
    session = t.session()
    session.run("X='a  b'; export Y='c\nd'; cd /tmp; umask 027; alias hi='echo aliased'")
    process = session.start('printf "%s|%s|%s|" "$X" "$Y" "$PWD"; umask; hi')
    t.defer(process.remove)
    assert process.wait(20).exit_code == 0
    assert process.log().text == "a  b|c\nd|/tmp|0027\naliased\n"


@terms(bash)
def begins_with_bash_functions(t: Trial) -> None:
    """In bash a process has the session's functions, arrays and shell options, too."""
    session = t.session()
    session.run("f() { echo f-$1; }; a=(one 'two  three'); shopt -s extglob; set -o pipefail")
    process = session.start('f x; echo "${a[1]}"; [[ abc == +(a|b|c) ]] && echo glob; false | true; echo $?')
    t.defer(process.remove)
    process.wait(20)
    assert process.log().text == "f-x\ntwo  three\nglob\n1\n"


def leaves_the_session_alone(t: Trial) -> None:
    """Nothing that a process does changes the session it was started from."""
    session = t.session()
    session.run("X=1; cd /tmp")
    process = session.start("X=2; cd /; export Z=3; exit 4")
    t.defer(process.remove)
    process.wait(20)
    assert session.run('echo "$X ${Z-} $PWD"').stdout == "1  /tmp\n"


def leaves_the_session_where_it_is(t: Trial) -> None:
    """A directory for one process alone, found or not, does not move the session, nor undo its next ``cd``."""
    session = t.session()
    session.run("cd /usr")
    process = session.start("true", cwd="/tmp")
    t.defer(process.remove)
    assert (session.run("pwd").stdout, session.cwd) == ("/usr\n", "/usr")
    process = session.start("true", cwd="/tmp")
    t.defer(process.remove)
    session.run("cd /etc")
    assert session.run("pwd").stdout == "/etc\n"
    with raises(FileNotFoundError):
        session.start("true", cwd="/no/such/directory")
    session.run("cd /usr")
    assert session.run("pwd").stdout == "/usr\n"


def variables_and_words(t: Trial) -> None:
    """Variables for one process alone, and a list of words that no shell looks at."""
    process = _started(t, ["printf", "%s|", "$X", "a b", "*"], env={"X": "1"})
    process.wait(20)
    assert process.log().text == "$X|a b|*|"
    process = _started(t, 'echo "$X"', env={"X": "it's\nhere"})
    process.wait(20)
    assert process.log().text == "it's\nhere\n"


def in_a_session_of_its_own(t: Trial) -> None:
    """A process is in a session of its own, and has INT and QUIT as a person would find them."""
    process = _started(t, ["cat", "/proc/self/stat", "/proc/self/status"])
    process.wait(20)
    text = process.log().text
    fields = text[text.rindex(") ") + 2 :].split() if ") " not in text else text.split(") ", 1)[1].split()
    assert fields[3] not in {"0", t.env.run("cut -d' ' -f6 /proc/$$/stat").stdout.strip()}
    ignored = next(line.split()[1] for line in text.splitlines() if line.startswith("SigIgn"))
    assert int(ignored, 16) & 0b110 == 0, ignored


def is_not_ended_with_its_shell(t: Trial) -> None:
    """A process goes on when the session it was started from is closed, and when the shell is lost."""
    sleeper = t.sleeper()
    with t.env.session() as session:
        process = session.start(sleeper.command)
        t.defer(process.remove)
    sleeper.assert_alive(t.env)
    assert process.poll().running


def is_not_ended_with_its_process_group(t: Trial) -> None:
    """A process goes on when a command kills everything in the process group that started it."""
    process = _started(t, "sleep 1; echo done")
    with suppress(ConnectionLost, EnvironmentUnavailable):  # as it may: the shell is gone, and its parent
        t.env.run("kill -9 0", timeout=20)
    info = process.wait(20)
    assert (info.exit_code, process.log().text) == (0, "done\n"), info


def a_process_of_a_millisecond(t: Trial) -> None:
    """A process that has ended before anybody asked has its status like any other."""
    for number in range(5):
        process = _started(t, f"exit {number}")
        assert process.wait(20).exit_code == number


def ended_by_a_signal(t: Trial) -> None:
    """What a signal ended says which, and that nobody of ours sent it."""
    process = _started(t, "kill -9 $$")
    info = process.wait(20)
    assert (info.exit_code, info.signal, info.reason) == (137, "SIGKILL", "killed"), info


def syntax_errors_are_results(t: Trial) -> None:
    """A command that is no shell program is a process that failed and says why; so is a program that is not there."""
    process = _started(t, "if then fi '")
    assert process.wait(20).exit_code not in {0, None}
    assert process.log(stream="stderr").data
    process = _started(t, ["no-such-program-here"])
    assert process.wait(20).exit_code == 127


def wrong_directory(t: Trial) -> None:
    """A directory that is not there is the matching OSError, and nothing was started."""
    task = uuid.uuid4().hex
    with raises(FileNotFoundError):
        t.env.start("echo x", cwd="/no/such/place", task=task)
    with raises(NotADirectoryError):
        t.env.start("echo x", cwd="/proc/self/status", task=task)
    with raises(ConfigError):
        t.env.start("echo x", name="../../etc", task=task)
    assert task not in {info.task for info in t.env.processes()}


def input_is_typed(t: Trial) -> None:
    """What is written arrives as it is, also bytes that are no text; the end of input comes when it is asked for."""
    process = _started(t, ["cat"])
    data = bytes(range(256)) + b"\n"
    assert process.write(data) == len(data)
    assert process.submit("a line") == 7
    assert eventually(lambda: len(process.log().data) == len(data) + 7)
    assert process.poll().running
    process.close_stdin()
    process.close_stdin()
    assert process.wait(20).exit_code == 0
    assert process.log().data == data + b"a line\n"
    with raises(BrokenPipeError):
        process.write("too late")


def input_given_at_the_start(t: Trial) -> None:
    """Input that was given at the start is all there is; an empty one is the end at once."""
    assert _started(t, ["cat"], stdin=b"\x00\xff%s\\n").wait(20).exit_code == 0
    process = _started(t, "cat; echo end", stdin=b"\x00\xff%s\\n")
    process.wait(20)
    assert process.log().data == b"\x00\xff%s\\nend\n"
    assert _started(t, ["cat"], stdin="").wait(20).exit_code == 0
    with raises(BrokenPipeError):
        process.write("x")


@terms(limit=90)
def input_that_is_not_read(t: Trial) -> None:
    """Writing to a process that does not read ends in time, and says how much was taken."""
    process = _started(t, "sleep 30")
    with at_most(8, "a write that is not taken"), raises(BlockingIOError) as caught:
        process.write(b"x" * 200_000, timeout=1)
    assert 0 < caught.value.characters_written < 200_000, caught.value.characters_written
    assert t.env.run("echo on").stdout == "on\n"


def logs_by_offset(t: Trial) -> None:
    """Any part of the output can be read, from either end, by bytes and by lines."""
    process = _started(t, "i=0; while [ $i -lt 30000 ]; do echo line-$i; i=$((i+1)); done")
    process.wait(60)
    whole = b"".join(b"line-%d\n" % number for number in range(30000))
    log = process.log(0, None)
    assert (log.data == whole, log.size, log.offset, log.next) == (True, len(whole), 0, len(whole))
    for offset, limit in ((0, 10), (65_530, 20), (65_536, 65_536), (100_001, 150_000), (len(whole) - 3, 100)):
        piece = process.log(offset, limit)
        assert (piece.offset, piece.data) == (offset, whole[offset : offset + limit]), (offset, limit)
    assert process.log(limit=9).data == whole[-9:]
    assert process.log(-9, 4).data == whole[-9:-5]
    assert process.log(len(whole) + 5, 5).data == b""
    assert process.lines(count=2) == ["line-29998", "line-29999"]
    assert process.lines(20_000, 2) == ["line-20000", "line-20001"]
    assert process.lines(count=20_000)[0] == "line-10000"


def following(t: Trial) -> None:
    """Output is followed as it comes, from any offset, to the very end and no further."""
    later = _started(t, "read x; printf abcdef")
    rest = later.follow(4)  # where there is nothing yet
    later.submit("")
    assert b"".join(rest) == b"ef"
    process = _started(t, "echo a; read x; echo b; read x; printf c")
    pieces = process.follow(1)
    assert next(pieces) == b"\n"
    process.submit("")
    assert next(pieces) == b"b\n"
    process.submit("")
    with at_most(3, "following to the end"):
        assert b"".join(pieces) == b"c"
    assert b"".join(process.follow()) == b"a\nb\nc"


def waiting(t: Trial) -> None:
    """Waiting ends with the process, or when time is up; many may wait for one."""
    process = _started(t, "read x; exit 3")
    assert process.wait(0.2).running
    with ThreadPoolExecutor(5) as pool:
        waits = [pool.submit(process.wait, 20) for _ in range(5)]
        process.submit("go")
        assert [wait.result().exit_code for wait in waits] == [3] * 5


def killed_with_its_tree(t: Trial) -> None:
    """Kill ends everything: what left the session, ignores TERM, or cleared its environment."""
    sleeper = t.sleeper()
    process = _started(
        t,
        f"setsid {sleeper.command} & sh -c 'trap \"\" TERM HUP INT; {sleeper.command}; {sleeper.command}' & "
        f"(env -i PATH=$PATH setsid {sleeper.command} &) ; {sleeper.command}",
    )
    sleeper.assert_alive(t.env, 4)
    with at_most(5 * AFTER_LIMIT, "kill"):
        info = process.kill()
    sleeper.assert_gone(t.env)
    assert (info.state, info.reason) == (ProcessState.ENDED, "killed"), info
    assert process.kill().reason == "killed"


def kill_ends_nothing_else(t: Trial) -> None:
    """Killing one process leaves the others and the sessions alone."""
    sleeper, other = t.sleeper(), t.sleeper()
    first, second = _started(t, sleeper.command), _started(t, other.command)
    sleeper.assert_alive(t.env)
    other.assert_alive(t.env)
    first.kill()
    sleeper.assert_gone(t.env)
    assert other.seen(t.env)
    assert second.poll().running


def signals(t: Trial) -> None:
    """A signal reaches the process, and its tree when that is asked for."""
    process = _started(t, "trap 'echo caught; exit 5' USR1; echo ready; while :; do sleep 0.05; done")
    assert eventually(lambda: process.log().text == "ready\n", 10)
    assert process.signal("SIGUSR1")
    assert process.wait(20).exit_code == 5
    assert process.log().text == "ready\ncaught\n"
    assert not process.signal("USR1")
    with raises(ConfigError):
        process.signal("NOSUCH")
    process = _started(t, "sleep 30", stdin="")
    assert process.signal("INT", tree=True)
    assert process.wait(20).signal == "SIGINT"


def found_again_and_listed(t: Trial) -> None:
    """A process is found by its id and listed, running or not, until it is removed."""
    running, done = _started(t, "read x"), _started(t, "exit 3")
    done.wait(20)
    listed = {info.id: info for info in t.env.processes()}
    assert (listed[running.id].running, listed[done.id].exit_code) == (True, 3)
    assert t.env.process(done.id).poll().exit_code == 3
    again = t.env.process(running.id)
    again.submit("x")
    assert again.wait(20).exit_code == 0
    done.remove()
    done.remove()
    with raises(FileNotFoundError):
        t.env.process(done.id)
    assert done.id not in {info.id for info in t.env.processes()}


def removed_while_it_runs(t: Trial) -> None:
    """Removing a process that runs ends its tree and takes its files."""
    sleeper = t.sleeper()
    process = _started(t, f"{sleeper.command} & {sleeper.command}")
    sleeper.assert_alive(t.env, 2)
    process.remove()
    sleeper.assert_gone(t.env)
    with raises(FileNotFoundError):
        t.env.stat(process.directory)


def twenty_at_once(t: Trial) -> None:
    """Twenty processes from twenty threads: each has its own output, status and files."""
    env = t.env

    def one(number: int) -> tuple[int | None, str]:
        process = env.start(f"echo {number}; exit {number}")
        try:
            return process.wait(60).exit_code, process.log().text
        finally:
            process.remove()

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(one, range(20))) == [(number, f"{number}\n") for number in range(20)]


def large_command(t: Trial) -> None:
    """A command larger than what a program may have as an argument runs, too."""
    process = _started(t, f": {'x' * 300_000}\necho end")
    process.wait(30)
    assert process.log().text == "end\n", process.log(stream="stderr").text[:300]


def hostile_shell(t: Trial) -> None:
    """A session with strange options, IFS, aliases and functions starts processes all the same."""
    session = t.session()
    session.run("set -euf; set -C; IFS=/; alias mkdir=false; alias printf=false; alias kill=false; umask 777")
    process = session.start("echo fine")
    t.defer(process.remove)
    assert process.wait(20).exit_code == 0, process.log(stream="stderr").text
    assert process.log().text == "fine\n"
