"""A command whose session's state cannot be read is not run, and says so: it has no result."""

import asyncio
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shellward import aio, environments
from shellward.core.errors import NOTHING_RAN
from shellward.environments import Environment
from shellward.environments.encoding import unread

Call = Callable[[Environment, str], object]


def terminal(env: Environment, command: str) -> object:
    with env.pty(command) as session:
        return session.wait(20)


CALLS: dict[str, Call] = {
    "run": lambda env, command: env.run(command),
    "run in a directory": lambda env, command: env.run(command, cwd="/"),
    "run without output": lambda env, command: env.run(command, max_output=0),
    "stream": lambda env, command: list(env.stream(command)),
    "start": lambda env, command: env.start(command),
    "asyncio": lambda env, command: asyncio.run(aio.Environment(env).run(command)),
    "run at a terminal": lambda env, command: env.run(command, pty=True),
    "asyncio at a terminal": lambda env, command: asyncio.run(aio.Environment(env).run(command, pty=True)),
    "dialogue": terminal,
}


@contextmanager
def busy(shell: str) -> Iterator[Environment]:
    """Have an environment whose default session is busy, so that others begin with the state that it has saved."""
    with environments.create("local", shell=shell) as env:
        env.run("X=kept")
        with env.stream("echo begun; sleep 60") as stream:
            next(stream)
            yield env


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize("call", CALLS)
def test_it_is_not_run(tmp_path: Path, call: str, shell: str) -> None:
    ran = tmp_path / "ran"
    with busy(shell) as env:
        for path in Path(env.backend.scratch, "main").glob("default.*"):
            path.write_bytes(b"")
        with pytest.raises(OSError, match="state of the session could not be read") as caught:
            CALLS[call](env, f"echo ran >{ran}")
    assert (caught.value.errno, caught.value.__notes__) == (errno.EIO, [NOTHING_RAN])
    assert not ran.exists()


@pytest.mark.parametrize("pty", [False, True])
def test_a_command_that_says_so_has_a_result(pty: bool) -> None:
    with busy("bash") as env:
        result = env.run(
            "printf '%s\\n' 'shellward: the state of the session could not be read; nothing has run'; exit 125", pty=pty
        )
        assert result.exit_code == 125
        assert "could not be read" in result.stdout
        result = env.run(f"printf %s '{unread('x')[:-2].decode()}'; exit 125", pty=pty)
        assert result.exit_code == 125
