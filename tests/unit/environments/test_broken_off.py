"""A command whose end is broken off half-way: what was sent to its shell by then does not hit the next command."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from shellward import aio, environments
from shellward.core.types import Chunk
from shellward.environments import Environment
from shellward.environments.control import Control

IN_ORDER = 62
"""The signal by which a shell ends in order, see scripts/kill.sh."""


class SadError(RuntimeError):
    """Of nobody's kind."""


def run(env: Environment, on_output: Callable[[Chunk], None]) -> None:
    env.run("echo out", on_output=on_output)


def stream(env: Environment, on_output: Callable[[Chunk], None]) -> None:
    with env.stream("echo out; sleep 0.3") as stream:
        on_output(next(stream))  # type: ignore[arg-type]


def asynchronous(env: Environment, on_output: Callable[[Chunk], None]) -> None:
    asyncio.run(aio.Environment(env).run("echo out; sleep 0.3", on_output=on_output))


@pytest.mark.parametrize("how", [run, stream, asynchronous])
def test_the_next_command_runs(
    monkeypatch: pytest.MonkeyPatch, how: Callable[[Environment, Callable[[Chunk], None]], None]
) -> None:
    late: list[threading.Timer] = []

    def broken(_control: Control, target: Any, _signal: str) -> tuple[int, int]:
        def end() -> None:
            with suppress(ProcessLookupError):
                os.kill(target.shell_pid, IN_ORDER)

        late.append(threading.Timer(0.5, end))
        late[-1].start()
        raise SadError

    def fail(_chunk: Chunk) -> None:
        raise SadError

    with environments.create("local") as env:
        env.run("X=kept")
        with monkeypatch.context() as patched:
            patched.setattr(Control, "round", broken)
            with pytest.raises(SadError):
                how(env, fail)
        until = time.monotonic() + 1
        while time.monotonic() < until:
            result = env.run("sleep 0.05; echo $X")
            assert (result.exit_code, result.stdout) == (0, "kept\n")
        for each in late:
            each.join()
