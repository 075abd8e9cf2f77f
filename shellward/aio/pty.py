"""A program at a terminal over asyncio: ``environments.pty.PtySession`` with coroutines for what waits."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Self

from shellward.aio.loop import Asked, Readiness, T, in_thread
from shellward.core.errors import beside
from shellward.environments import pty as blocking
from shellward.terminal.screen import Snapshot

if TYPE_CHECKING:
    import re
    from pathlib import Path

    from shellward.environments.base import PtySize


class PtySession:
    """See ``environments.pty.PtySession``, whose calls these are. No thread waits for the program.

    Several tasks may use it at once: one reads while another types. What they read, they share. A call that is
    cancelled loses nothing of the output. An asynchronous context manager: leaving it closes it.

    Attributes:
        blocking: the same session for threads, to be used when no task does.
        command: as people read it.
    """

    def __init__(self, session: blocking.PtySession, asked: Asked) -> None:
        self.blocking = session
        self.command = session.command
        self._asked = asked
        self._typing = asyncio.Lock()
        self._readiness = Readiness(session.fileno())
        session.before_close = self._readiness.drop

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with beside(error):
            await self.close()

    def __repr__(self) -> str:
        return f"<aio {self.blocking!r}>"

    @property
    def size(self) -> "PtySize":
        """Of the terminal now."""
        return self.blocking.size

    @property
    def ended(self) -> bool:
        """Whether the stream has ended, as far as it was read."""
        return self.blocking.ended

    @property
    def interrupted(self) -> bool:
        """Whether it was ended by ``Environment.interrupt``."""
        return self.blocking.interrupted

    @property
    def dropped(self) -> int:
        """Bytes of the raw stream that were dropped, since nobody called ``read`` for them."""
        return self.blocking.dropped

    # -- input ---------------------------------------------------------------------------------------------

    async def write(self, data: bytes | str) -> None:
        """Type: send bytes as they are (text as UTF-8). Enter is a carriage return."""
        await self._type(partial(self.blocking.write, data))

    async def send_keys(self, *keys: str) -> None:
        """Press keys, by the names that tmux has: ``Enter``, ``Up``, ``C-c``, ``M-x``, ``F1``, or a character."""
        await self._type(partial(self.blocking.send_keys, *keys))

    async def paste(self, text: str) -> None:
        """Paste: as a bracketed paste where the program has asked for that, else as if it were typed."""
        await self._type(partial(self.blocking.paste, text))

    async def interrupt(self) -> None:
        """Press Ctrl-C; what it does is up to the program."""
        await self._type(self.blocking.interrupt)

    async def end_input(self) -> None:
        """Press Ctrl-D: at the beginning of a line, the end of the input."""
        await self._type(self.blocking.end_input)

    async def signal_foreground(self, signal: str) -> None:
        """Send a signal to the foreground job: what Ctrl-C would reach."""
        await self._ask(partial(self.blocking.signal_foreground, signal))

    async def echo(self) -> bool:
        """Return whether the terminal shows what is typed."""
        return await self._ask(self.blocking.echo)

    async def set_echo(self, on: bool) -> None:  # what it is set to
        """Let the terminal show what is typed, or not."""
        await self._ask(partial(self.blocking.set_echo, on))

    async def resize(self, rows: int, columns: int) -> None:
        """Change the size; the program gets SIGWINCH."""
        try:
            await in_thread(self.blocking.resize, rows, columns)
        finally:
            self._readiness.wake()  # it has taken what was there

    # -- output --------------------------------------------------------------------------------------------

    async def read(self, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  # as in the blocking call
        """Return the raw stream since the last ``read``: waits for something to come, if there is nothing."""
        until = None if timeout is None else time.monotonic() + timeout
        while not (raw := self.blocking.taken()) and not self.blocking.ended:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                await self._took()
                return self.blocking.taken()
            await self._take(left)
        return raw

    async def screen(self, *, quiet: float = 0.05, timeout: float = 2.0) -> Snapshot:  # noqa: ASYNC109
        """Return the screen as text, once the program has stopped printing."""
        until = time.monotonic() + timeout
        while quiet and not self.blocking.ended and (left := until - time.monotonic()) > 0:
            if not await self._take(min(quiet, left)):
                break
        await self._took()
        return await in_thread(self.blocking.snapshot)

    async def wait_for(
        self,
        what: "str | re.Pattern[str]",
        timeout: float = 10.0,  # noqa: ASYNC109
    ) -> Snapshot | None:
        """Wait until something stands on the screen; None when it did not appear in time, or before the end."""
        until = time.monotonic() + timeout
        while True:
            more = await self._took()
            shown = await in_thread(self.blocking.snapshot)
            if shown.shows(what):
                return shown
            left = until - time.monotonic()
            if self.blocking.ended or left <= 0:
                return None
            if not more:
                await self._take(left)

    async def record(self, path: "str | Path", *, keep_input: bool = False) -> None:
        """Record from here on, as asciicast v2 (see ``shellward replay``)."""
        await in_thread(partial(self.blocking.record, path, keep_input=keep_input))

    # -- its end -------------------------------------------------------------------------------------------

    async def wait(self, timeout: float | None = None) -> int | None:  # noqa: ASYNC109  # as in the blocking call
        """Wait for the program to end, and keep what it prints meanwhile; its exit status, or None in time."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self.blocking.ended:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return None
            await self._take(left)
        return await in_thread(self.blocking.wait, None if until is None else max(0.0, until - time.monotonic()))

    async def kill(self, first: str = "TERM") -> None:
        """End the program with everything it started: first a signal, then KILL for what is still there."""
        await in_thread(self.blocking.kill, first)

    async def close(self) -> None:
        """End it with everything it started, and let go of it. Idempotent."""
        await in_thread(self.blocking.close)

    # -- inside --------------------------------------------------------------------------------------------

    async def _take(self, seconds: float | None) -> bool:
        """Wait for output, and keep it; False when none came."""
        before = self._readiness.wakes
        if await self._took():
            return True
        if self.blocking.ended:
            return False
        await self._readiness.wait(seconds, before)
        return await self._took()

    async def _took(self) -> bool:
        """Take what is there, in a thread: what the program asks of its terminal is answered by that."""
        took = True
        try:
            took = await in_thread(self.blocking.take, 0)
        finally:
            if took or self.blocking.ended:
                self._readiness.wake()  # the other tasks share it
        return took

    async def _ask(self, asks: Callable[[], T]) -> T:
        """Ask what is at the terminal, in a thread; that takes what was there."""
        try:
            return await in_thread(asks)
        finally:
            self._readiness.wake()

    async def _type(self, typing: Callable[[], None]) -> None:
        """Do what may ask somebody, and may take output by the way."""
        async with self._typing:
            try:
                await self._asked(typing)
            finally:
                self._readiness.wake()
