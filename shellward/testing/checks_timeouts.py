"""Law 5, the clock: a limit is kept within a second, with the output so far.

And the session is usable afterwards.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from shellward.core.errors import CommandTimeout
from shellward.testing.trial import AFTER_LIMIT, at_most, bash, raises, terms

if TYPE_CHECKING:
    from shellward.core.types import Result
    from shellward.environments.session import Session
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


def _limited(session: Session, command: str, limit: float = 0.7) -> Result:
    start = time.monotonic()
    result = session.run(command, timeout=limit)
    took = time.monotonic() - start
    assert result.timed_out, command
    assert result.exit_code == 124, command
    assert limit <= took + 0.05, f"{command} was ended before its limit"
    assert took < limit + AFTER_LIMIT, f"{command} returned {took - limit:.2f} s after its limit"
    assert result.duration < limit + AFTER_LIMIT
    return result


def limit_is_kept(t: Trial) -> None:
    """``timeout``: status 124, ``timed_out``, the output so far, within 1 s of the limit.

    Then the session works.
    """
    session = t.session()
    session.run("cd /tmp; X=kept; f() { echo f; }").check()
    result = _limited(session, "echo out; echo err >&2; printf part; sleep 30; echo never")
    assert (result.stdout, result.stderr) == ("out\npart", "err\n")
    assert session.run("echo $X; pwd").stdout == "kept\n/tmp\n"
    assert (session.run("f 2>/dev/null").stdout == "f\n") or not t.env.capabilities.functions


def tiny_and_zero_limits(t: Trial) -> None:
    """Limits shorter than a round trip are limits as well."""
    session = t.session()
    for limit in (0.001, 0.02, 0.1):
        _limited(session, "sleep 30", limit)
        assert session.run("echo ok").stdout == "ok\n"


def quick_commands_do_not_notice(t: Trial) -> None:
    """A command that ends before its limit has nothing of it; the limit does not hit the next one."""
    session = t.session()
    assert not session.run("echo a", timeout=0.5).timed_out
    time.sleep(0.7)
    result = session.run("sleep 0.8; echo b", timeout=10)
    assert (result.exit_code, result.stdout, result.shell) == (0, "b\n", None)


def builtin_loops(t: Trial) -> None:
    """A loop of builtins, which runs in the shell itself, is ended as well.

    The state from before is there.
    """
    session = t.session()
    session.run("X=kept; cd /tmp").check()
    for command in (
        "while :; do :; done",
        "trap '' TERM INT HUP; while :; do :; done",
        "until false; do :; done",
    ):
        result = _limited(session, command)
        assert result.shell is not None
        assert session.run("echo $X; pwd").stdout == "kept\n/tmp\n", command


def floods(t: Trial) -> None:
    """A command that prints for ever is ended in time too, on either stream."""
    session = t.session()
    for command in ("yes", "yes >&2", "while :; do echo x; done", "yes & yes >&2"):
        result = _limited(session, command, 1.0)
        assert result.truncated, command
        assert session.run("echo ok").output == "ok\n", command


def readers_and_waiters(t: Trial) -> None:
    """What waits for something that never comes.

    A FIFO, ``wait`` for a child, a stopped child, a sleeping pipe.
    """
    session, root = t.session(), t.directory()
    for command in (
        f"mkfifo {root}/f; cat {root}/f",
        "sleep 30 & wait",
        "sleep 30 | cat",
        "cat | cat | sleep 30",
        "x=$(sleep 30)",
        "( ( (sleep 30) ) )",
        "sh -c 'kill -STOP $$'",
        "sleep 30; sleep 30",
        "while :; do sleep 30; done",
        "exec sleep 30",
        "trap 'sleep 30' EXIT; exit 3",
        "exec >/dev/null 2>&1; sleep 30",
        "exec <&- >&- 2>&-; sleep 30",
    ):
        _limited(session, command, 0.5)
        session.run("trap - EXIT", timeout=5)
        assert session.run("echo ok", timeout=5).stdout == "ok\n", command


@terms(bash)
def bash_waiters(t: Trial) -> None:
    """The same for what only bash has."""
    session = t.session()
    for command in (
        "cat <(sleep 30)",
        "coproc sleep 30; wait",
        "read -u 0 x < <(sleep 30)",
        "set -m; sleep 30",
    ):
        _limited(session, command, 0.5)
        assert session.run("set +m; echo ok", timeout=5).stdout == "ok\n", command


def stopped_shell(t: Trial) -> None:
    """A shell that stops itself (``kill -STOP $$``) is woken or replaced; the state is there."""
    session = t.session()
    session.run("X=kept").check()
    _limited(session, "kill -STOP $$; echo never")
    assert session.run("echo $X", timeout=5).stdout == "kept\n"


def limits_of_lists(t: Trial) -> None:
    """The limit holds for a list as for a line."""
    result = _limited(t.session(), "true; sleep 30")
    start = time.monotonic()
    result = t.env.run(["sh", "-c", "echo a; trap '' TERM; while :; do sleep 1; done"], timeout=0.5)
    assert time.monotonic() - start < 0.5 + AFTER_LIMIT
    assert (result.exit_code, result.timed_out, result.stdout) == (124, True, "a\n")


def again_and_again(t: Trial) -> None:
    """Ten limits in a row, each kept, state still there."""
    session = t.session()
    session.run("X=kept; cd /tmp").check()
    for _ in range(10):
        _limited(session, "sleep 30", 0.1)
    assert session.run("echo $X; pwd").stdout == "kept\n/tmp\n"


def exception_on_demand(t: Trial) -> None:
    """``check()`` of a result that timed out raises CommandTimeout.

    Which is a TimeoutError and has the result.
    """
    result = t.env.run("echo a; sleep 30", timeout=0.3)
    with raises(CommandTimeout) as caught:
        result.check()
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.result.stdout == "a\n"


def own_status_124(t: Trial) -> None:
    """A command that itself ends with 124 did not time out."""
    result = t.env.run("(exit 124)", timeout=5)
    assert (result.exit_code, result.timed_out) == (124, False)


def no_limit_on_the_environment(t: Trial) -> None:
    """A limit ends its command, not the others: another session's command and the environment go on."""
    one, two = t.session(), t.session()
    import threading

    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(two.run("sleep 1.5; echo through")))
    thread.start()
    _limited(one, "sleep 30", 0.5)
    with at_most(6, "the other session"):
        thread.join()
    assert (results[0].exit_code, results[0].stdout) == (0, "through\n")
