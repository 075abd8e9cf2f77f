"""Law 7: commands that run at the same time use separate shells; they share no output and lose no state."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from shellward.core.types import StreamName
from shellward.testing.trial import at_most, terms

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


def threads_in_one_environment(t: Trial) -> None:
    """64 threads, one environment, ``sleep 0.5`` each.

    At the same time, no output mixed, each its own status.
    """
    env = t.fresh()

    def work(number: int) -> bool:
        result = env.run(f"echo begin{number}; echo err{number} >&2; sleep 0.5; echo end{number}; (exit {number})")
        return (result.stdout, result.stderr, result.exit_code) == (
            f"begin{number}\nend{number}\n",
            f"err{number}\n",
            number,
        )

    with ThreadPoolExecutor(64) as pool:
        assert all(pool.map(work, range(64)))
        with at_most(6, "64 threads, warm"):
            assert all(pool.map(work, range(64)))


def floods_side_by_side(t: Trial) -> None:
    """Eight commands that print megabytes at once each get all of theirs and nothing else."""

    def work(number: int) -> bool:
        letter = "abcdefgh"[number]
        result = t.env.run(f"head -c 2000000 /dev/zero | tr '\\0' {letter}", max_output=3_000_000)
        return result.stdout == letter * 2_000_000

    with ThreadPoolExecutor(8) as pool, at_most(40, "eight floods"):
        assert all(pool.map(work, range(8)))


def _busy(env: Environment, command: str) -> threading.Thread:
    thread = threading.Thread(target=env.run, args=(command,))
    thread.start()
    time.sleep(0.4)
    return thread


def overlapping_starts_from_the_sessions_state(t: Trial) -> None:
    """A run while the default session is busy starts from its state as of the last finished command."""
    env = t.fresh()
    env.run("cd /tmp; PLAIN='p  q'; export EXPORTED=e; f() { echo function; }").check()
    thread = _busy(env, "cd /; PLAIN=changed; sleep 2")
    try:
        result = env.run('pwd; echo "$PLAIN"; sh -c "echo \\$EXPORTED"; f')
        function = "function\n" if env.capabilities.functions else ""
        assert result.stdout == "/tmp\np  q\ne\n" + function
        assert env.run(["pwd"]).stdout == "/tmp\n"
    finally:
        thread.join()
    assert env.run('pwd; echo "$PLAIN"').stdout == "/\nchanged\n"


def overlapping_changes_are_not_carried_over(t: Trial) -> None:
    """What an overlapping run changes stays in its own shell.

    And does not show in a later overlapping run.
    """
    env = t.fresh()
    env.run("cd /tmp; X=1").check()
    thread = _busy(env, "sleep 2")
    try:
        assert env.run("cd /; X=2; Y=3; g() { :; }; set -f; alias h=true").ok
        assert env.run("pwd; echo $X ${Y-unset} /et[c]; g 2>/dev/null || echo no g").stdout == (
            "/tmp\n1 unset /etc\nno g\n"
        )
        assert env.cwd == "/tmp"
    finally:
        thread.join()
    assert env.run("pwd; echo $X ${Y-unset}").stdout == "/tmp\n1 unset\n"


def overlapping_run_that_kills_its_shell(t: Trial) -> None:
    """``exit``, ``kill -9 $$`` and limits in an overlapping run cost the default session nothing."""
    env = t.fresh()
    env.run("X=1").check()
    pid = env.run("echo $$").stdout
    thread = _busy(env, "sleep 3")
    try:
        assert env.run("exit 4").exit_code == 4
        assert env.run("kill -9 $$").exit_code == 137
        assert env.run("sleep 30", timeout=0.3).timed_out
        assert env.run("echo $X").stdout == "1\n"
    finally:
        thread.join()
    result = env.run("echo $$")
    assert (result.stdout, result.shell) == (pid, None)


def one_session_from_many_threads(t: Trial) -> None:
    """Threads that share one session take turns: nothing is mixed, nothing lost, state adds up."""
    session = t.session()
    session.run("n=0").check()

    def work(number: int) -> bool:
        result = session.run(f"n=$((n+1)); echo {number}; (exit {number})")
        return (result.stdout, result.exit_code) == (f"{number}\n", number)

    with ThreadPoolExecutor(8) as pool, at_most(30, "40 turns"):
        assert all(pool.map(work, range(40)))
    assert session.run("echo $n").stdout == "40\n"


def many_sessions(t: Trial) -> None:
    """30 sessions in one environment live side by side."""
    sessions = [t.session() for _ in range(30)]
    for number, session in enumerate(sessions):
        session.run(f"X={number}").check()
    for number, session in enumerate(sessions):
        assert session.run("echo $X").stdout == f"{number}\n"
    assert len({session.run("echo $$").stdout for session in sessions}) == 30


@terms(limit=120)
def many_environments(t: Trial) -> None:
    """20 environments at once are made, used and closed, each by a thread of its own; nothing is mixed."""

    def work(number: int) -> str:
        with t.place.create() as env:
            env.run(f"X={number}; cd /tmp; echo {number} >shellward-many-{number}").check()
            time.sleep(0.2)
            return env.run(f"echo $X; cat shellward-many-{number}; rm shellward-many-{number}").stdout

    with ThreadPoolExecutor(20) as pool, at_most(90, "20 environments"):
        outs = list(pool.map(work, range(20)))
    assert outs == [f"{number}\n{number}\n" for number in range(20)]


def files_from_many_threads(t: Trial) -> None:
    """Files are written and read by many threads at once."""
    root = t.directory()

    def work(number: int) -> bool:
        data = bytes([number]) * (100_000 + number)
        t.env.write_file(f"{root}/{number}", data)
        return t.env.read_file(f"{root}/{number}") == data

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(48)))


def writers_of_one_file(t: Trial) -> None:
    """Threads that write the same file at once: the last one wins, whole."""
    root = t.directory()
    contents = [bytes([97 + number]) * 200_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda data: t.env.write_file(f"{root}/f", data), contents))
    assert t.env.read_file(f"{root}/f") in contents
    assert t.env.run(f"ls -A {root}").stdout == "f\n"


def streams_side_by_side(t: Trial) -> None:
    """Several streams may be open in one thread and be read in turns."""
    streams = [t.env.stream(f"for i in 1 2 3; do echo {number}$i; sleep 0.05; done") for number in range(4)]
    texts = [""] * 4
    for number, stream in reversed(list(enumerate(streams))):
        for item in stream:
            if getattr(item, "stream", None) is StreamName.STDOUT:
                texts[number] += item.text  # type: ignore[union-attr]
    assert texts == [f"{number}1\n{number}2\n{number}3\n" for number in range(4)]


def warm_overlap_is_quick(t: Trial) -> None:
    """The pool is warm: after the first overlap, further ones do not pay for new shells.

    And it does not grow: a shell is so many processes as the place says, at most.
    """
    env = t.fresh()
    before = len(t.place.processes(env))
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            list(pool.map(lambda _: env.run("sleep 0.1"), range(8)))
    extra = len(t.place.processes(env)) - before
    if not t.place.same_machine:
        assert extra <= t.place.shell_processes * 8 + 4, f"{extra} more processes after eight overlapping commands"
    with ThreadPoolExecutor(8) as pool, at_most(1.5, "eight warm overlapping commands"):
        list(pool.map(lambda _: env.run("sleep 0.1"), range(8)))
