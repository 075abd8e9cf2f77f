"""Errors that mean "nothing has run" are raised only if nothing ran, and none takes the place of an earlier one."""

import asyncio
import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shellward import aio, environments
from shellward.core.errors import HAD_BEGUN, NOTHING_RAN, ConnectionLost, EnvironmentUnavailable
from shellward.environments import Environment, control, output, process_calls, running
from shellward.environments import shell as shells
from shellward.environments.base import Channel, Piece

Call = Callable[[Environment, str], object]


class Broken:
    """A channel that fails after so many operations of one kind.

    Args:
        channel: the real one.
        plan: the kind that fails, and how many of it go well before; shared by all channels of an environment.
    """

    def __init__(self, channel: Channel, plan: "Plan") -> None:
        self._channel = channel
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        pieces = self._channel.read(timeout)
        if pieces and self._plan.hit("read"):
            raise ConnectionLost("broken while reading")
        if pieces and self._plan.hit("end"):
            self._channel.close()
            return None
        return pieces

    def write(self, data: bytes, timeout: float | None = None) -> None:
        if self._plan.hit("write"):
            raise ConnectionLost("broken before writing")
        if self._plan.hit("half"):
            self._channel.write(data[: len(data) // 2], timeout)
            raise ConnectionLost("broken while writing")
        self._channel.write(data, timeout)
        if self._plan.hit("written"):
            raise ConnectionLost("broken after writing")


class Plan:
    def __init__(self, kind: str, after: int) -> None:
        self._kind = kind
        self._left = after
        self._lock = threading.Lock()
        self.on = False

    def hit(self, kind: str) -> bool:
        with self._lock:
            if not self.on or kind != self._kind or self._left < 0:
                return False
            self._left -= 1
            return self._left < 0


def run(env: Environment, command: str) -> object:
    return env.run(command)


def run_with_input(env: Environment, command: str) -> object:
    return env.run(command, stdin=b"x" * 1000)


def run_with_long_input(env: Environment, command: str) -> object:
    return env.run(command, stdin=b"x" * 400_000)


def run_with_limit(env: Environment, command: str) -> object:
    return env.run(f"{command}; sleep 5", timeout=0.3)


def stream(env: Environment, command: str) -> object:
    return list(env.stream(command))


def session(env: Environment, command: str) -> object:
    with env.session() as made:
        return made.run(command)


def terminal(env: Environment, command: str) -> object:
    return env.run(command, pty=True)


def start(env: Environment, command: str) -> object:
    process = env.start(command)
    with suppress(EnvironmentUnavailable):  # that is what is said of the wait
        process.wait(20)
    return process


def asynchronous(env: Environment, command: str) -> object:
    async def work() -> object:
        return await aio.Environment(env).run(command)

    return asyncio.run(work())


CALLS: Sequence[Call] = (
    run,
    run_with_input,
    run_with_long_input,
    run_with_limit,
    stream,
    session,
    terminal,
    start,
    asynchronous,
)
FAULTS = [(kind, after) for kind in ("open", "write", "half", "written", "read", "end") for after in range(2)]


def says_that_nothing_ran(error: BaseException) -> bool:
    if isinstance(error, ConnectionLost):
        return False
    if isinstance(error, EnvironmentUnavailable):
        return True
    return NOTHING_RAN in getattr(error, "__notes__", [])


@pytest.mark.parametrize(
    ("call", "shell"),
    [
        pytest.param(call, shell, marks=[] if call in {run, start} else pytest.mark.slow, id=f"{call.__name__}-{shell}")
        for call, shell in [*((call, "bash") for call in CALLS), (run_with_input, "dash"), (start, "dash")]
    ],
)
def test_nothing_has_run_is_said_only_if_nothing_ran(
    call: Call, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_FIRST_LOOK", 0.05)
    monkeypatch.setattr(running, "_AFTER_KILL", 0.3)
    monkeypatch.setattr(shells, "START_LIMIT", 2.0)
    monkeypatch.setattr(control, "_CALL_LIMIT", 2.0)
    monkeypatch.setattr(process_calls, "_SETTLE", 1.0)
    for number, (kind, after) in enumerate(FAULTS):
        ledger = tmp_path / f"ran{number}"
        plan = Plan(kind, after)
        with environments.create("local", shell=shell) as env:
            env.run("true")
            opened = env.backend.open

            def opening(*given: Any, plan: Plan = plan, opened: Any = opened, **more: Any) -> Channel:
                if plan.hit("open"):
                    raise EnvironmentUnavailable("cannot be opened")
                return Broken(opened(*given, **more), plan)

            with monkeypatch.context() as patched:
                patched.setattr(env.backend, "open", opening)
                env.begin_afresh()
                plan.on = True
                error = None
                try:
                    call(env, f"echo ran >>{ledger}")
                except (EnvironmentUnavailable, OSError) as caught:
                    error = caught
                plan.on = False
            if error is not None and says_that_nothing_ran(error):
                until = time.monotonic() + 0.2  # what is still on its way
                while time.monotonic() < until:
                    assert not ledger.exists(), (kind, after, repr(error))
                    time.sleep(0.02)
            assert not ledger.exists() or ledger.read_text() == "ran\n", (kind, after)


@pytest.mark.parametrize("how", ["run", "stream"])
def test_a_watch_that_fails_is_no_word_on_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    monkeypatch.setattr(running, "_FIRST_LOOK", 0.2)

    ran = tmp_path / "ran"

    def gone(*_given: Any, **_more: Any) -> bool:
        if not ran.exists():
            return False
        raise EnvironmentUnavailable("gone")

    with environments.create("local") as env, monkeypatch.context() as patched:
        env.run("true")
        patched.setattr(env.control(None), "idle", gone)
        work = {"run": env.run, "stream": lambda command: list(env.stream(command))}[how]
        with pytest.raises(ConnectionLost, match="may have run") as caught:
            work(f"echo ran >{ran}; sleep 30")
        assert caught.value.result is not None


class SadError(RuntimeError):
    """An SDK's own kind of error."""


def test_an_error_of_the_cleaning_up_is_a_note_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    env = environments.create("local")
    destroy = env.backend.destroy

    def sadly() -> None:
        destroy()
        raise SadError("cannot be removed")

    monkeypatch.setattr(env.backend, "destroy", sadly)
    with pytest.raises(ConnectionLost) as caught, env:
        raise ConnectionLost("first")
    assert caught.value.__notes__ == ["cannot clean up: local: the environment could not be ended: cannot be removed"]


def test_an_error_of_the_cleaning_up_alone_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    env = environments.create("local")
    destroy = env.backend.destroy

    def sadly() -> None:
        destroy()
        raise SadError("cannot be removed")

    monkeypatch.setattr(env.backend, "destroy", sadly)
    with pytest.raises(EnvironmentUnavailable, match="cannot be removed") as caught, env:
        pass
    assert isinstance(caught.value.__cause__, SadError)


@pytest.mark.docker
def test_the_caller_of_a_paused_sandbox_hears_in_time() -> None:
    import subprocess

    with environments.create("docker", image="shellward/sandbox", network="none", pull="never") as env:
        env.run("true")
        container = env.handle.split(":")[1]
        subprocess.run(["docker", "pause", container], check=True, capture_output=True)
        try:
            began = time.monotonic()
            result = env.run("sleep 300", timeout=1)
            assert result.timed_out
            with pytest.raises(EnvironmentUnavailable, match="nothing has run"):
                env.run("true", timeout=1)
            assert time.monotonic() - began < 4 + 4  # without limits of its own it is more than 20
        finally:
            subprocess.run(["docker", "unpause", container], check=True, capture_output=True)
        until = time.monotonic() + 30
        while "sleep 300" in env.run("ps ax -o args").stdout and time.monotonic() < until:
            time.sleep(0.1)
        assert "sleep 300" not in env.run("ps ax -o args").stdout


def spoil(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Have one operation on the file with a command's full output fail, as on a full disk."""

    close = output.Spool.close

    def full(*given: Any, **_more: Any) -> Any:
        if what == "closed":
            close(*given)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    owner, name = {
        "made": (output.OutputFiles, "new"),
        "opened": (output.Spool, "_opened"),
        "written": (output.Spool, "add"),
        "closed": (output.Spool, "close"),
        "counted": (output.OutputFiles, "keep"),
    }[what]
    monkeypatch.setattr(owner, name, full)


CALLS_WITH_FILE: dict[Call, Call] = {
    run: lambda env, command: env.run(command, full_output=True),
    stream: lambda env, command: list(env.stream(command, full_output=True)),
    terminal: lambda env, command: env.run(command, full_output=True, pty=True),
    asynchronous: lambda env, command: asyncio.run(aio.Environment(env).run(command, full_output=True)),
}


@pytest.mark.parametrize("what", ["made", "opened", "written", "closed", "counted"])
@pytest.mark.parametrize("call", [run, stream, terminal, asynchronous], ids=lambda call: call.__name__)
def test_a_file_for_the_output_that_fails_is_no_word_on_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: Call, what: str
) -> None:
    with environments.create("local") as env:
        env.run("true")
        with monkeypatch.context() as patched:
            spoil(patched, what)
            ran = tmp_path / "ran"
            call(env, f"echo ran >>{ran}; seq 1 100000")  # nobody has asked for the file
            assert ran.read_text() == "ran\n"
        with monkeypatch.context() as patched:
            spoil(patched, what)
            ran = tmp_path / "asked"
            with pytest.raises(OSError, match="No space") as caught:
                CALLS_WITH_FILE[call](env, f"echo ran >>{ran}; seq 1 100000")
            assert ran.read_text() == "ran\n"
            assert HAD_BEGUN in caught.value.__notes__
        assert env.run("echo there").stdout == "there\n"


def test_a_file_for_the_output_does_not_hide_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with environments.create("local") as env:
        holder = int(env.run("echo $PPID").stdout)
        spoil(monkeypatch, "closed")
        with pytest.raises(ConnectionLost, match="may have run") as caught:
            env.run(f"seq 1 100000; kill -9 {holder}; kill -9 $$; sleep 30", full_output=True)
        assert caught.value.result is not None
        monkeypatch.undo()
        assert env.run("echo there").stdout == "there\n"


@pytest.mark.parametrize("call", [run, stream, asynchronous], ids=lambda call: call.__name__)
def test_input_that_breaks_says_that_the_command_had_begun(call: Call, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    def broken() -> Iterator[bytes]:
        until = time.monotonic() + 20
        while not ran.exists() and time.monotonic() < until:
            time.sleep(0.01)
        yield b"x"
        raise OSError(errno.EIO, "broken")

    command = f"echo ran >{ran}; cat"
    with environments.create("local") as env:
        work: dict[Call, Callable[[], object]] = {
            run: lambda: env.run(command, stdin=broken()),
            stream: lambda: list(env.stream(command, stdin=broken())),
            asynchronous: lambda: asyncio.run(aio.Environment(env).run(command, stdin=broken())),
        }
        with pytest.raises(OSError, match="broken") as caught:
            work[call]()
    assert HAD_BEGUN in caught.value.__notes__
