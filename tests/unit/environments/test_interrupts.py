"""Ctrl-C, once or again and again, in the middle of calls: they end as a whole, and nothing is left."""

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from shellward import environments
from shellward.core import interrupts
from shellward.core.interrupts import held, interruptible
from shellward.core.types import ProcessInfo, ProcessState
from shellward.environments import Environment
from shellward.process_registry.records import Entry
from shellward.process_registry.store import Store
from shellward.testing.leaks import assert_nothing_new, holdings

# ruff: noqa: PT012  # what a block with Ctrl-C in it does is what is tested


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_it_is_kept_until_the_end() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held():
        press()
        with held():
            press()
        done.append(1)
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_is_heard_where_the_call_waits_and_once() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held():
        try:
            with interruptible():
                press()
                done.append("after")
        finally:
            press()
            with interruptible():
                press()
            done.append("cleaned up")
    assert done == ["cleaned up"]


def test_what_came_before_the_wait_is_heard_at_its_beginning() -> None:
    with pytest.raises(KeyboardInterrupt), held():
        press()
        with interruptible():
            raise AssertionError("it has waited")


def test_a_call_of_the_callers_code_in_a_wait_is_as_whole() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held(), interruptible():
        with held():
            press()
            done.append("inner")
        done.append("outer")
    assert done == ["inner"]


def test_who_insists_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "INSIST", -1.0)
    done = []
    with pytest.raises(KeyboardInterrupt), held():
        press()
        done.append(1)
    assert not done


def test_the_next_call_hears_it_again() -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), held(), interruptible():
            press()


def test_a_handler_of_the_callers_own_is_called_at_once() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        with held():
            press()
            assert heard == [signal.SIGINT]
            with interruptible():
                press()
        assert len(heard) == 2
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_of_the_call_is_not_hidden() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, held():
        press()
        raise OSError(errno.EIO, "first")
    assert isinstance(caught.value.__context__, OSError)


class Steps:
    """Presses Ctrl-C at one step (a line of Shellward's) of a call of the main thread, and at each of the next few."""

    def __init__(self, at: int, times: int) -> None:
        self.number = 0
        self._at, self._times = at, times

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if "/shellward/" not in frame.f_code.co_filename or frame.f_code.co_filename.endswith("core/interrupts.py"):
            return None
        if event == "line":
            self.number += 1
            if self._at <= self.number < self._at + self._times:
                press()
        return self


@contextmanager
def pressed(at: int, times: int = 3) -> Iterator[Steps]:
    steps = Steps(at, times)
    sys.settrace(steps)
    try:
        yield steps
    finally:
        sys.settrace(None)


def sampled(work: Callable[[], object], count: int) -> list[int]:
    """Number some steps of a call, spread over all of it."""
    with pressed(0, 0) as steps:
        work()
    return sorted({1 + steps.number * at // count for at in range(count)})


def test_close_is_whole(tmp_path: Path) -> None:
    def made() -> Environment:
        env = environments.create("local", cwd=str(tmp_path))
        env.session().run("true")
        env.start("true").wait(20)
        return env

    before = holdings()
    for at in sampled(made().close, 12):
        env = made()
        scratch = Path(env.backend.scratch)
        with suppress(KeyboardInterrupt), pressed(at):
            env.close()
        env.close()  # it may not have begun
        assert not scratch.exists(), at
        assert_nothing_new(before, within=20)


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_command_ends_once_and_the_session_goes_on(tmp_path: Path, shell: str) -> None:
    with environments.create("local", shell=shell) as env:
        env.run("X=kept")
        before = holdings()
        for at in sampled(lambda: env.run("true"), 12):
            ran = tmp_path / f"ran{at}"
            with suppress(KeyboardInterrupt), pressed(at):
                env.run(f"echo ran >>{ran}; sleep 0.05")
            assert not ran.exists() or ran.read_text() == "ran\n"
            assert env.run("echo $X", timeout=20).stdout == "kept\n", at
            assert len(env._pool.shells()) == 1, at  # its own shell was free again
        assert_nothing_new(before, within=20)


def test_a_transaction_is_whole(tmp_path: Path) -> None:
    store = Store(tmp_path / "processes.db")

    def entry(number: int) -> Entry:
        info = ProcessInfo(
            id=f"process{number}", command="", cwd="", pid=1, born="", state=ProcessState.RUNNING,
            started=datetime.now(UTC), owner="", user=None, task="", ttl=1.0, pty=False, closed_stdin=False,
        )  # fmt: skip
        return Entry(place="local", info=info, notify=False, client="")

    with pressed(0, 0) as steps:
        store.begin(entry(0), 1000)
    for at in range(1, steps.number + 1):
        with suppress(KeyboardInterrupt), pressed(at, 1):
            store.begin(entry(at), 1000)
        store.forget([f"process{at}"])  # none is open still
    assert [each.id for each in store.entries()] == ["process0"]
    store.close()


def test_ctrl_c_at_a_lock_that_another_thread_has(tmp_path: Path) -> None:
    with environments.create("local") as env, env.session() as session:
        go = tmp_path / "go"
        other = threading.Thread(target=lambda: session.run(f"until [ -e {go} ]; do sleep 0.05; done"))
        other.start()
        until = time.monotonic() + 20
        while not session.shell.lock.locked() and time.monotonic() < until:
            time.sleep(0.01)
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.run("true")
        timer.join()
        go.touch()
        other.join()
        assert session.run("echo there").stdout == "there\n"
