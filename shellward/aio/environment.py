"""What users of asyncio hold: ``environments.Environment`` with coroutines for what waits."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from shellward.aio.loop import in_thread
from shellward.aio.process import Process
from shellward.aio.pty import PtySession
from shellward.aio.pty_run import carry_out as carry_out_at_terminal
from shellward.aio.running import Prepare, carry_out, follow
from shellward.aio.session import Session
from shellward.aio.stream import Stream
from shellward.core.errors import beside
from shellward.core.limits import MAX_OUTPUT, PROCESS_TTL
from shellward.core.types import Chunk, EnvironmentInfo, FileInfo, FilePart, ProcessInfo, Result, Stats
from shellward.environments import environment as blocking
from shellward.environments import registry
from shellward.environments.base import Capabilities, Diagnosis, OnStep, PtySize
from shellward.environments.call import Call, Command, Directory, Stdin, make_call
from shellward.environments.files import Progress
from shellward.environments.shell import Shell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from shellward.environments.pty import PtySession as BlockingPtySession
    from shellward.environments.pty_run import PtyRun

T = TypeVar("T")
OnOutput = Callable[[Chunk], Awaitable[None] | None]

_MOST_OPENING = 16


class Environment:
    """A place to run commands in, made by ``aio.create`` or ``aio.attach``; an asynchronous context manager.

    Commands that overlap run in separate shells. They begin with the state that the last finished command
    left (directory, variables, functions), and what they change of it is theirs alone. Belongs to one event
    loop.

    Attributes:
        blocking: the same environment for threads; both may be used at once.
    """

    prepare: Prepare | None = None
    """Makes commands ready where that may take time (a person is asked); None: at once."""

    def __init__(self, environment: blocking.Environment) -> None:
        self.blocking = environment
        self._opening = asyncio.Semaphore(_MOST_OPENING)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with beside(error):
            await self.close()

    def __repr__(self) -> str:
        return f"<aio {self.blocking!r}>"

    # -- what it is ----------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """The backend's name."""
        return self.blocking.kind

    @property
    def handle(self) -> str:
        """What ``attach`` takes in another process."""
        return self.blocking.handle

    @property
    def capabilities(self) -> Capabilities:
        """What can be done here; the shell is known once the first command ran."""
        return self.blocking.capabilities

    @property
    def cwd(self) -> str:
        """Working directory of the default session, after its last command."""
        return self.blocking.cwd

    # -- commands ------------------------------------------------------------------------------------------

    async def run(
        self,
        command: Command,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  # the command's limit, as in the blocking call
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stdin = None,
        merge_stderr: bool = False,
        user: str | None = None,
        on_output: OnOutput | None = None,
        max_output: int | None = MAX_OUTPUT,
        full_output: bool | str | Path | None = None,
        pty: bool | PtySize = False,
    ) -> Result:
        """Run a command and wait for its end, not for that of what it left in the background.

        Arguments and errors are those of ``environments.Environment.run``; ``on_output`` may be a coroutine
        function, and the next output is read when it is done. When the task is cancelled, the command is
        ended inside the sandbox before CancelledError goes on.
        """
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
        if pty is not False:
            return await self.run_at_terminal(partial(self.blocking.begin_at_terminal, call, pty, user=user), on_output)
        self.blocking.check_user(user)
        return await self.run_on(self._borrowed(user), call, on_output)

    def stream(
        self,
        command: Command,
        *,
        timeout: float | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stdin = None,
        merge_stderr: bool = False,
        user: str | None = None,
        max_output: int | None = MAX_OUTPUT,
        full_output: bool | str | Path | None = None,
    ) -> Stream:
        """Run a command and follow it: iterate over ``Chunk``s as they come, and at last its ``Result``.

        Arguments and errors are those of ``run``; at a terminal, see ``pty``. It begins when the first item is asked
        for. Leave it early with ``aclose`` or an ``async with`` block, and the command is ended inside the sandbox.
        """
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
        self.blocking.check_user(user)
        return self.stream_on(self._borrowed(user), call)

    async def session(self, name: str | None = None) -> Session:
        """Open another warm shell with a state of its own; see ``environments.Environment.session``."""
        return Session(self, await in_thread(self.blocking.session, name))

    async def pty(
        self,
        command: Command | None = None,
        *,
        size: PtySize | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        by_person: bool = False,
        emulate: bool = True,
    ) -> PtySession:
        """Run a program at a terminal, to type at it and to look at its screen; see ``environments.Environment.pty``.

        Cancelled, it leaves nothing there.
        """
        call = partial(self.blocking.pty, command, size=size, cwd=cwd, env=env, user=user)
        return await self.at_terminal(partial(call, by_person=by_person, emulate=emulate))

    async def interrupt(self) -> int:
        """End every command that runs now, as Ctrl-C does; returns how many.

        Their results have ``interrupted`` set.
        """
        return await in_thread(self.blocking.interrupt)

    # -- background processes ------------------------------------------------------------------------------

    async def start(
        self,
        command: Command,
        *,
        pty: PtySize | None = None,
        stdin: bytes | str | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        merge_stderr: bool = False,
        user: str | None = None,
        task: str = "",
        ttl: float = PROCESS_TTL,
        name: str | None = None,
    ) -> Process:
        """Start a command in the background; see ``environments.Environment.start``."""
        call = partial(self.blocking.start, command, pty=pty, stdin=stdin, cwd=cwd, env=env, user=user)
        more = partial(call, merge_stderr=merge_stderr, task=task, ttl=ttl, name=name)
        return Process(await self.asked(more), self.asked)

    async def process(self, name: str) -> Process:
        """Find a process by its id; see ``environments.Environment.process``."""
        return Process(await in_thread(self.blocking.process, name), self.asked)

    async def process_info(self, name: str) -> ProcessInfo:
        """Return what is known now of a process by its id; see ``environments.Environment.process_info``."""
        return await in_thread(self.blocking.process_info, name)

    async def processes(self) -> list[ProcessInfo]:
        """List the background processes of this place; see ``environments.Environment.processes``."""
        return await in_thread(self.blocking.processes)

    # -- files ---------------------------------------------------------------------------------------------

    async def read_lines(self, path: Directory, first: int = 1, count: int = 500, *, most: int = 1 << 20) -> FilePart:
        """Return some lines of a file, however large it is; see ``environments.Environment.read_lines``."""
        return await in_thread(partial(self.blocking.read_lines, path, first, count, most=most))

    async def read_file(self, path: Directory, *, offset: int = 0, length: int | None = None) -> bytes:
        """Return the contents of a file, or a piece of them; see ``environments.Environment.read_file``."""
        return await in_thread(partial(self.blocking.read_file, path, offset=offset, length=length))

    async def write_file(
        self, path: Directory, data: bytes | str, *, mode: int | None = None, parents: bool = False
    ) -> None:
        """Write a file at once; see ``environments.Environment.write_file``."""
        await in_thread(lambda: self.blocking.write_file(path, data, mode=mode, parents=parents))

    async def list_dir(self, path: Directory = ".") -> list[FileInfo]:
        """Return the entries of a directory, sorted by name."""
        return await in_thread(self.blocking.list_dir, path)

    async def stat(self, path: Directory) -> FileInfo:
        """Return what a path is; links are not followed."""
        return await in_thread(self.blocking.stat, path)

    async def upload(
        self,
        local: "str | PathLike[str]",
        remote: Directory,
        *,
        progress: Progress | None = None,
        parents: bool = False,
    ) -> None:
        """Copy a file or a tree into the environment; ``progress`` is called in a thread.

        Cancelled, it raises when the transfer is done.
        """
        await in_thread(lambda: self.blocking.upload(local, remote, progress=progress, parents=parents))

    async def download(
        self,
        remote: Directory,
        local: "str | PathLike[str]",
        *,
        progress: Progress | None = None,
    ) -> None:
        """Copy a file or a tree out of the environment; see ``upload``."""
        await in_thread(lambda: self.blocking.download(remote, local, progress=progress))

    # -- the sandbox ---------------------------------------------------------------------------------------

    async def snapshot(self) -> str:
        """Save the file system; returns what ``restore`` takes."""
        return await in_thread(self.blocking.snapshot)

    async def restore(self, snapshot: str) -> None:
        """Go back to a snapshot. All processes end; the sessions begin afresh, and the handle may change."""
        await in_thread(self.blocking.restore, snapshot)

    async def expose(self, port: int) -> str:
        """Return ``host:port`` under which a TCP port of the environment is reachable from here."""
        return await in_thread(self.blocking.expose, port)

    async def stats(self) -> Stats:
        """Return what the environment uses now."""
        return await in_thread(self.blocking.stats)

    async def close(self) -> None:
        """End the environment with everything in it. Idempotent.

        A command that runs ends with ConnectionLost.

        Raises:
            EnvironmentUnavailable: the sandbox cannot be ended now. Its lease will, or another ``close``.
        """
        await in_thread(self.blocking.close)

    async def detach(self) -> None:
        """Leave the environment to its lease; another process may ``attach`` to its handle."""
        await in_thread(self.blocking.detach)

    # -- for the parts of this room ------------------------------------------------------------------------

    async def run_on(
        self,
        borrowed: AbstractAsyncContextManager[Shell],
        call: Call,
        on_output: OnOutput | None,
    ) -> Result:
        """Carry out a checked call on a borrowed shell."""
        if on_output is None:
            return await carry_out(self.blocking, borrowed, self._opening, call, self.prepare)
        items = follow(self.blocking, borrowed, self._opening, call, self.prepare)
        async with aclosing(items):
            async for item in items:
                if isinstance(item, Result):
                    return item
                if inspect.isawaitable(answer := on_output(item)):
                    await answer
        raise AssertionError("a command ended without a result")

    def stream_on(self, borrowed: AbstractAsyncContextManager[Shell], call: Call) -> Stream:
        """Follow a checked call on a borrowed shell."""
        return Stream(follow(self.blocking, borrowed, self._opening, call, self.prepare))

    async def asked(self, work: Callable[[], T]) -> T:
        """Do in a thread what, behind a gate, somebody may be asked about; cancelled, it is asked no longer."""
        return await in_thread(work)

    async def at_terminal(self, opens: "Callable[[], BlockingPtySession]") -> PtySession:
        """Open a terminal."""
        return PtySession(await self._opened(opens, lambda session: session.close()), self.asked)

    async def run_at_terminal(self, begins: "Callable[[], PtyRun]", on_output: OnOutput | None) -> Result:
        """Start a checked call at a terminal, and follow it to its end."""
        run = await self._opened(begins, lambda run: run.session.close())
        return await carry_out_at_terminal(run, on_output, self.asked)

    async def _opened(self, opens: Callable[[], T], undo: Callable[[T], None]) -> T:
        opened: list[T] = []
        try:
            await self.asked(lambda: opened.append(opens()))
        except BaseException:
            for each in opened:  # cancelled meanwhile: nobody would ever close it
                await in_thread(undo, each)
            raise
        return opened[0]

    @asynccontextmanager
    async def _borrowed(self, user: str | None) -> AsyncIterator[Shell]:
        with self.blocking.borrowed(user) as shell:
            yield shell


async def create(kind: str, *, progress: OnStep | None = None, **config: object) -> Environment:
    """Make an environment; see ``environments.create``. The engine room: nothing here asks the gate."""
    return await _made(lambda: registry.create(kind, progress=progress, **config))


async def attach(handle: str, *, shell: str | None = None) -> Environment:
    """Find a living environment by the handle that another process printed; see ``environments.attach``."""
    return await _made(lambda: registry.attach(handle, shell=shell))


async def _made(make: Callable[[], blocking.Environment]) -> Environment:
    made: list[blocking.Environment] = []
    try:
        await in_thread(lambda: made.append(make()))
    except BaseException:
        for environment in made:  # cancelled meanwhile: nobody would ever close it
            await in_thread(environment.undo)
        raise
    return Environment(made[0])


async def list_environments(kind: str | None = None) -> list[EnvironmentInfo]:
    """List the environments of every client, of one kind or of all that work here."""
    return await in_thread(registry.list_environments, kind)


async def doctor() -> "Sequence[Diagnosis]":
    """Say of every backend whether it works here."""
    return await in_thread(registry.doctor)
