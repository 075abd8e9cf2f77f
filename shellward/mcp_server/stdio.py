"""Messages over stdin and stdout: one JSON text a line, read and written by the event loop.

The SDK reads and writes in threads, which a signal cannot wake: Ctrl-C would wait for the client's next message.
"""

import asyncio
import os
import select
import stat
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final, Self, cast

from mcp.server.stdio import stdio_server

from shellward.mcp_server.streams import Streams

if TYPE_CHECKING:
    import anyio
    from mcp.server import Server

_LONGEST: Final = 64 << 20
"""Bytes of a message."""
_READ: Final = 1 << 16
_WRITTEN: Final = select.PIPE_BUF
"""Bytes that a descriptor takes at once when it takes any (pipe(7)), so the loop never waits in a write."""
_GRACE: Final = 1.0
"""Seconds for a client that has closed our stdin to read what there is."""


async def serve(server: "Server[Any]", streams: Streams) -> None:
    """Serve one client until it closes our stdin, or reads no more."""
    with Channel(*streams) as channel:
        # What the SDK does with a file is all that a channel can do.
        file = cast("anyio.AsyncFile[str]", channel)
        async with stdio_server(file, file) as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())


def _can_wait(descriptor: int) -> bool:
    """Whether the loop can wait for a descriptor; files and /dev/null are always ready, and it cannot."""
    kind = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or os.isatty(descriptor)


class Channel:
    """Lines that come and texts that go. Used on the event loop, as a context.

    Args:
        given: descriptor that lines are read from.
        taken: descriptor that texts are written to.
    """

    def __init__(self, given: int, taken: int) -> None:
        self._given, self._taken = given, taken
        self._loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(limit=_LONGEST)
        self._out = b""
        self._gone = False
        self._free: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        if _can_wait(self._given):
            self._loop.add_reader(self._given, self._read)
        else:
            while data := os.read(self._given, _READ):
                self._reader.feed_data(data)
            self._end()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.remove_reader(self._given)
        self._loop.remove_writer(self._taken)

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        """Return the next line; what is longer than a message may be is answered with one that is none."""
        try:
            line = await self._reader.readline()
        except ValueError:
            return "\n"
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        """Take a text, to be written with the next ``flush``."""
        self._out += text.encode("utf-8", "replace")

    async def flush(self) -> None:
        """Write what was taken; nothing is written once nobody reads."""
        view, self._out = memoryview(self._out), b""
        while view and not self._gone:
            if not self._takes():
                await self._wait()
                continue
            try:
                view = view[os.write(self._taken, view[:_WRITTEN]) :]
            except OSError:  # a broken pipe, a terminal that was closed
                self._give_up()
                self._end()

    # -- inside --------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            data = os.read(self._given, _READ)  # there is some, so this does not wait
        except OSError:  # a terminal that was closed
            data = b""
        if data:
            self._reader.feed_data(data)
        else:
            self._end()

    def _end(self) -> None:
        self._loop.remove_reader(self._given)
        if not self._reader.at_eof():
            self._reader.feed_eof()
        self._loop.call_later(_GRACE, self._give_up)

    def _takes(self) -> bool:
        poll = select.poll()
        poll.register(self._taken, select.POLLOUT)
        return bool(poll.poll(0))

    async def _wait(self) -> None:
        self._free = self._loop.create_future()
        self._loop.add_writer(self._taken, self._wake)
        try:
            await self._free
        finally:
            self._loop.remove_writer(self._taken)
            self._free = None

    def _wake(self) -> None:
        if self._free is not None and not self._free.done():
            self._free.set_result(None)

    def _give_up(self) -> None:
        self._gone = True
        self._wake()
