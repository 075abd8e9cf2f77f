"""Messages over stdin and stdout: one JSON text a line, read and written by the event loop.

The SDK reads and writes in threads, which a signal cannot wake: Ctrl-C would wait for the client's next message. While
this serves, descriptor 0 is empty and 1 is standard error, so that nothing but messages reaches the client.
"""

import asyncio
import os
import select
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self, cast

from mcp.server.stdio import stdio_server

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


async def serve(server: "Server[Any]") -> None:
    """Serve one client until it closes our stdin, or reads no more."""
    with _taken_over() as (given, taken), Channel(given, taken) as channel:
        # What the SDK does with a file is all that a channel can do.
        file = cast("anyio.AsyncFile[str]", channel)
        async with stdio_server(file, file) as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())


@contextmanager
def _taken_over() -> Iterator[tuple[int, int]]:
    """Move stdin and stdout away from where programs and prints would find them."""
    if sys.stdout is not None:  # else it was closed
        sys.stdout.flush()
    given, taken = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield given, taken
    finally:
        os.dup2(given, 0)
        os.dup2(taken, 1)
        os.close(given)
        os.close(taken)


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
