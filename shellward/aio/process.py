"""A background process over asyncio: ``environments.process.Process`` with coroutines for what waits."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import aclosing
from functools import partial

from shellward.aio.loop import Asked, in_thread
from shellward.core.types import Log, ProcessInfo, StreamName, Usage
from shellward.environments import process as blocking
from shellward.environments.base import PtySize
from shellward.terminal.screen import SCROLLBACK, Snapshot


class Process:
    """A background process in an environment; see ``environments.process.Process``, whose calls these are.

    Args:
        process: the same for threads.
        asked: see ``Environment.asked``.

    Attributes:
        blocking: the same process for threads; both may be used at once.
        id: its name.
        pid: process id in the sandbox.
    """

    def __init__(self, process: blocking.Process, asked: Asked) -> None:
        self.blocking = process
        self._asked = asked
        self.id = process.id
        self.pid = process.pid

    def __repr__(self) -> str:
        return f"<aio {self.blocking!r}>"

    async def poll(self) -> ProcessInfo:
        """Return what is known of it now, without its sizes."""
        return await in_thread(self.blocking.poll)

    async def info(self) -> ProcessInfo:
        """Return what is known of it now, with the sizes of its output."""
        return await in_thread(self.blocking.info)

    async def usage(self) -> Usage:
        """Return what its tree uses now."""
        return await in_thread(self.blocking.usage)

    async def wait(self, timeout: float | None = None) -> ProcessInfo:  # noqa: ASYNC109  # as in the blocking call
        """Wait for its end."""
        return await in_thread(self.blocking.wait, timeout)

    async def log(
        self, offset: int | None = None, limit: int | None = 65_536, stream: StreamName | str = StreamName.STDOUT
    ) -> Log:
        """Return a piece of its output, by bytes."""
        return await in_thread(self.blocking.log, offset, limit, stream)

    async def lines(
        self, start: int | None = None, count: int | None = 100, stream: StreamName | str = StreamName.STDOUT
    ) -> list[str]:
        """Return lines of its output, without their ends."""
        return await in_thread(self.blocking.lines, start, count, stream)

    async def follow(
        self,
        offset: int = 0,
        stream: StreamName | str = StreamName.STDOUT,
        timeout: float | None = None,  # noqa: ASYNC109  # as in the blocking call
    ) -> AsyncIterator[bytes]:
        """Yield its output from ``offset`` on as it comes, until it has ended and everything was yielded."""
        async with aclosing(_over(self.blocking.follow(offset, stream, timeout))) as pieces:
            async for piece in pieces:
                yield piece

    async def whole(self, offset: int = 0, stream: StreamName | str = StreamName.STDOUT) -> AsyncIterator[bytes]:
        """Yield all of its output that there is now, from ``offset`` on, as fast as the sandbox gives it."""
        async with aclosing(_over(self.blocking.whole(offset, stream))) as pieces:
            async for piece in pieces:
                yield piece

    async def write(self, data: bytes | str, timeout: float = 10.0) -> int:  # noqa: ASYNC109  # as in the blocking call
        """Write to its standard input; how many bytes were taken."""
        return await self._asked(partial(self.blocking.write, data, timeout))

    async def submit(self, text: str, timeout: float = 10.0) -> int:  # noqa: ASYNC109  # as in the blocking call
        """Write a line: ``text`` and Enter."""
        return await self._asked(partial(self.blocking.submit, text, timeout))

    async def send_keys(self, *keys: str, timeout: float = 10.0) -> int:  # noqa: ASYNC109  # as in the blocking call
        """Press keys at its terminal, by name; how many bytes were taken."""
        return await self._asked(partial(self.blocking.send_keys, *keys, timeout=timeout))

    async def paste(self, text: str, timeout: float = 10.0) -> int:  # noqa: ASYNC109  # as in the blocking call
        """Paste at its terminal; how many bytes were taken."""
        return await self._asked(partial(self.blocking.paste, text, timeout))

    async def screen(self, *, scrollback: int = SCROLLBACK) -> Snapshot:
        """Return what is on its terminal's screen, as a person would see it."""
        return await in_thread(partial(self.blocking.screen, scrollback=scrollback))

    async def screen_now(self) -> tuple[Snapshot, int]:
        """Return its screen, and the offset of the output that comes after what it was drawn from."""
        return await in_thread(self.blocking.screen_now)

    async def close_stdin(self) -> None:
        """Let it see the end of its input."""
        await in_thread(self.blocking.close_stdin)

    async def signal(self, signal: str, *, tree: bool = False) -> bool:
        """Send a signal to it; whether it was there to get it."""
        return await in_thread(partial(self.blocking.signal, signal, tree=tree))

    async def signal_foreground(self, signal: str) -> None:
        """Send a signal to the foreground job of its terminal."""
        await in_thread(self.blocking.signal_foreground, signal)

    async def echo(self) -> bool:
        """Return whether its terminal shows what is typed."""
        return await in_thread(self.blocking.echo)

    async def set_echo(self, on: bool) -> None:  # what it is set to
        """Let its terminal show what is typed, or not."""
        await in_thread(self.blocking.set_echo, on)

    async def kill(self, signal: str = "TERM", *, tree: bool = True, reason: str = "killed") -> ProcessInfo:
        """End it with everything that it has started."""
        return await in_thread(partial(self.blocking.kill, signal, tree=tree, reason=reason))

    async def resize(self, size: PtySize) -> None:
        """Change the size of its terminal."""
        await in_thread(self.blocking.resize, size)

    async def remove(self) -> None:
        """Forget it with all its output."""
        await in_thread(self.blocking.remove)


async def _over(pieces: Generator[bytes, None, None]) -> AsyncGenerator[bytes, None]:
    """Yield what a generator yields in threads, and close it."""
    try:
        while (piece := await in_thread(next, pieces, None)) is not None:
            yield piece
    finally:
        await in_thread(pieces.close)
