"""Law 5 again: a caller that changes its mind. ``interrupt()``, Ctrl-C, exceptions in the caller's thread."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING

from shellward.testing.place import Handle
from shellward.testing.trial import at_most, line_of, terms

if TYPE_CHECKING:
    from shellward.core.types import Result
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


def _in_thread(results: list[Result], run: object, command: str) -> threading.Thread:
    thread = threading.Thread(target=lambda: results.append(run(command)))  # type: ignore[operator]
    thread.start()
    return thread


def interrupt_from_another_thread(t: Trial) -> None:
    """``interrupt()`` cancels what runs.

    ``interrupted``, status 130, output so far, tree gone, session usable.
    """
    env, sleeper = t.fresh(), t.sleeper()
    env.run("X=kept; cd /tmp").check()
    results: list[Result] = []
    thread = _in_thread(results, env.run, f"echo begun; setsid {sleeper.command} & trap '' INT TERM; {sleeper.command}")
    sleeper.assert_alive(env, 2)
    with at_most(2, "interrupt"):
        env.interrupt()
        thread.join(5)
    result = results[0]
    assert (result.exit_code, result.interrupted, result.timed_out) == (130, True, False)
    assert result.stdout == "begun\n"
    sleeper.assert_gone(env)
    assert env.run("echo $X; pwd").stdout == "kept\n/tmp\n"


def interrupt_reaches_all(t: Trial) -> None:
    """``interrupt()`` cancels every command that runs in the environment, in whatever session."""
    env, sleeper = t.fresh(), t.sleeper()
    other = env.session()
    results: list[Result] = []
    threads = [_in_thread(results, run, sleeper.command) for run in (env.run, env.run, other.run)]
    sleeper.assert_alive(env, 3)
    env.interrupt()
    for thread in threads:
        thread.join(5)
    assert [(result.exit_code, result.interrupted) for result in results] == [(130, True)] * 3
    sleeper.assert_gone(env)


def interrupt_of_nothing(t: Trial) -> None:
    """``interrupt()`` while nothing runs does nothing, neither now nor to the next command."""
    env = t.fresh()
    env.interrupt()
    for number in range(5):
        result = env.run(f"echo {number}")
        assert (result.stdout, result.interrupted) == (f"{number}\n", False)
        env.interrupt()


def interrupt_at_any_moment(t: Trial) -> None:
    """Interrupts in quick succession, while commands come and go.

    Never hang and never leave the session deaf.
    """
    env = t.fresh()
    over = threading.Event()

    def pester() -> None:
        while not over.wait(0.013):
            env.interrupt()

    thread = threading.Thread(target=pester)
    thread.start()
    try:
        with at_most(40, "40 commands under interrupts"):
            for number in range(40):
                result = env.run(f"sleep 0.01; echo {number}", timeout=5)
                assert result.interrupted or result.stdout == f"{number}\n"
                assert not result.timed_out
    finally:
        over.set()
        thread.join()
    assert env.run("echo ok").output == "ok\n"


def interrupt_leaves_older_jobs(t: Trial) -> None:
    """Background jobs of earlier commands survive an interrupt."""
    env, old = t.fresh(), t.sleeper()
    env.run(f"{old.command} & setsid {old.command} & echo").check()
    results: list[Result] = []
    thread = _in_thread(results, env.run, "sleep 30")
    time.sleep(0.4)
    env.interrupt()
    thread.join(5)
    old.assert_alive(env, 2)


def keyboard_interrupt(t: Trial) -> None:
    """Ctrl-C in the client: KeyboardInterrupt comes out of ``run``, the command is over inside.

    The client goes on.
    """
    sleeper = t.sleeper()
    client = t.client(
        f"""
        env = make()
        env.run("X=kept")
        say(env.handle)
        try:
            env.run("setsid {sleeper.command} & {sleeper.command}", timeout=60)
        except KeyboardInterrupt:
            say("interrupted")
        say(env.run("echo $X").stdout.strip())
        time.sleep(1.2)
        say("ready")
        time.sleep(20)
        """
    )
    handle = line_of(client)
    view = Handle(handle)
    sleeper.assert_alive(view, 2)
    with at_most(4, "Ctrl-C"):
        client.send_signal(signal.SIGINT)
        assert line_of(client) == "interrupted"
        assert line_of(client) == "kept"
    assert line_of(client) == "ready"
    assert not sleeper.seen(view)


def keyboard_interrupt_ends_the_client_cleanly(t: Trial) -> None:
    """Ctrl-C that nobody catches: the client ends by it, quickly, and the ``with`` block has closed all."""
    sleeper = t.sleeper()
    client = t.client(
        f"""
        with make() as env:
            say(env.handle)
            env.run("{sleeper.command}")
        """
    )
    view = Handle(line_of(client))
    sleeper.assert_alive(view)
    client.send_signal(signal.SIGINT)
    with at_most(6, "the end of the client"):
        client.wait(10)
    assert client.returncode != 0
    sleeper.assert_gone(view, 1)


@terms(slow=True)
def keyboard_interrupt_at_any_moment(t: Trial) -> None:
    """Ctrl-C between two commands or in the middle of one: the next command is right, every time."""
    client = t.client(
        """
        env = make()
        say("go")
        count = 0
        n = 0
        while count < 30:
            try:
                while count < 30:
                    n += 1
                    result = env.run(f"echo {n}; sleep 0.005", timeout=10)
                    assert result.stdout == f"{n}\\n" or result.interrupted, result
            except KeyboardInterrupt:
                count += 1
                assert env.run("echo fine", timeout=10).stdout == "fine\\n"
                say("again")
        env.close()
        say("done")
        """
    )
    assert line_of(client) == "go"
    for number in range(30):
        time.sleep(0.02 + 0.0037 * number)
        client.send_signal(signal.SIGINT)
        assert line_of(client) == "again"
    assert line_of(client) == "done"
