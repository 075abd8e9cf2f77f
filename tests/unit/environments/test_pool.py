"""Commands that overlap: the pool's shells begin with the state that the default session has saved."""

import threading
import time

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.environments import create
from shellward.environments.shell import Shell


def test_quick_commands_in_the_default_session_fail_none_in_the_pool() -> None:
    stop = threading.Event()
    failed: list[str] = []
    with create("local") as environment:
        environment.run("X=1")

        def quick() -> None:
            while not stop.is_set():
                environment.run("X=2")

        thread = threading.Thread(target=quick)
        thread.start()
        try:
            until = time.monotonic() + 5
            while time.monotonic() < until and not failed:
                result = environment.run('echo "$X"')
                if result.exit_code:
                    failed.append(result.stderr)
        finally:
            stop.set()
            thread.join()
    assert failed == []


def test_a_shell_that_somebody_holds_when_it_is_dropped_is_closed_by_him() -> None:
    with environments.create("local") as env, env.session() as session:
        session.run("true").check()
        shell = session.shell
        channel = shell.channel
        shell.lock.acquire()
        shell.drop(0.01)
        assert channel.read(0) == []
        shell.release()
        with pytest.raises(ConnectionLost):
            _ = shell.channel
        assert channel.wait(0) is not None


def test_a_shell_that_opens_while_the_environment_closes_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    env = environments.create("local")
    session = env.session()
    session.shell.close()
    ensure = Shell.ensure

    def slowly(shell: Shell, limit: float | None = None) -> None:
        ensure(shell, limit)
        monkeypatch.undo()
        env.close()
        ensure(shell)  # it has opened after the others were closed

    monkeypatch.setattr(Shell, "ensure", slowly)
    with pytest.raises(EnvironmentUnavailable):
        session.run("true")
    with pytest.raises(ConnectionLost):
        _ = session.shell.channel


def test_nobody_opens_a_control_shell_of_an_environment_that_is_closed() -> None:
    """Who renews the lease may hold one, or ask for one, while others close or detach."""
    env = environments.create("local")
    control = env.control(None)
    assert control.call("echo there") == "there\n"
    env.close()
    with pytest.raises(EnvironmentUnavailable, match="closed"):
        control.call("true")
    with pytest.raises(EnvironmentUnavailable, match="closed"):
        env.control(None)
