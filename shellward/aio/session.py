"""A session over asyncio: a warm shell of one's own, with its state."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shellward.aio.loop import in_thread
from shellward.aio.process import Process
from shellward.core.errors import EnvironmentUnavailable, beside
from shellward.core.limits import MAX_OUTPUT, PROCESS_TTL
from shellward.core.types import Result
from shellward.environments import session as blocking
from shellward.environments.base import PtySize
from shellward.environments.call import Command, Directory, Stdin, make_call
from shellward.environments.shell import Shell

if TYPE_CHECKING:
    from shellward.aio.environment import Environment, OnOutput
    from shellward.aio.pty import PtySession
    from shellward.aio.stream import Stream


class Session:
    """A warm shell with a state of its own: directory, variables, functions, options.

    Its commands run one after the other, in the order in which they were asked for. Made by
    ``Environment.session``.
    """

    def __init__(self, environment: "Environment", session: blocking.Session) -> None:
        self._environment = environment
        self._session = session
        self._turn = asyncio.Lock()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with beside(error):
            await self.close()

    @property
    def cwd(self) -> str:
        """The session's working directory, after its last command."""
        return self._session.cwd

    async def run(
        self,
        command: Command,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  # the command's limit, as in the blocking call
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stdin = None,
        merge_stderr: bool = False,
        on_output: "OnOutput | None" = None,
        max_output: int | None = MAX_OUTPUT,
        full_output: bool | str | Path | None = None,
        pty: bool | PtySize = False,
    ) -> Result:
        """Run a command in this session; see ``Environment.run``."""
        call = make_call(
            command,
            timeout=timeout,
            cwd=cwd,
            env=env,
            stdin=stdin,
            merge_stderr=merge_stderr,
            max_output=max_output,
            full_output=full_output,
        )
        environment = self._environment
        if pty is False:
            return await environment.run_on(self._borrowed(), call, on_output)
        async with self._borrowed() as shell:
            begins = partial(environment.blocking.begin_at_terminal, call, pty, like=shell)
            return await environment.run_at_terminal(begins, on_output)

    async def pty(
        self,
        command: Command | None = None,
        *,
        size: PtySize | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        by_person: bool = False,
        emulate: bool = True,
    ) -> "PtySession":
        """Run a program at a terminal, with what this session knows; see ``environments.session.Session.pty``."""
        call = partial(self._session.pty, command, size=size, cwd=cwd, env=env)
        async with self._turn:
            return await self._environment.at_terminal(partial(call, by_person=by_person, emulate=emulate))

    def stream(
        self,
        command: Command,
        *,
        timeout: float | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stdin = None,
        merge_stderr: bool = False,
        max_output: int | None = MAX_OUTPUT,
        full_output: bool | str | Path | None = None,
    ) -> "Stream":
        """Run a command in this session and follow it; see ``Environment.stream``."""
        call = make_call(
            command,
            timeout=timeout,
            cwd=cwd,
            env=env,
            stdin=stdin,
            merge_stderr=merge_stderr,
            max_output=max_output,
            full_output=full_output,
        )
        return self._environment.stream_on(self._borrowed(), call)

    async def start(
        self,
        command: Command,
        *,
        pty: PtySize | None = None,
        stdin: bytes | str | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        task: str = "",
        ttl: float = PROCESS_TTL,
        name: str | None = None,
    ) -> Process:
        """Start a command in the background, with what this session knows; see ``Environment.start``."""
        async with self._turn:
            call = partial(self._session.start, command, pty=pty, stdin=stdin, cwd=cwd, env=env)
            asked = self._environment.asked
            return Process(await asked(partial(call, task=task, ttl=ttl, name=name)), asked)

    async def close(self) -> None:
        """End the session and what still runs in it. Idempotent."""
        if not self._closed:
            self._closed = True
            await in_thread(self._session.close)

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Shell]:
        shell = self._session.shell
        async with self._turn:
            # Nobody else runs commands in this shell: when its lock is taken, it is being closed.
            if self._closed or not shell.lock.acquire(blocking=False):
                raise EnvironmentUnavailable("the session was closed; open a new one")
            try:
                yield shell
            finally:
                shell.release()
