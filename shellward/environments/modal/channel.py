"""The streams of one process in a sandbox: two that are followed, one that is written to.

All of the SDK's work happens on its event loop; a thread here hands bytes over, and waits at a descriptor. A command
so costs one call (its text) and the messages on streams that are open already.
"""

import asyncio
import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.core.types import StreamName
from shellward.environments.base import Piece, PtySize
from shellward.environments.modal.sdk import call, loop, short

_AHEAD: Final = 1 << 20
"""Bytes that wait here, in each direction, before the other side has to."""
_WRITE: Final = 1 << 20
_QUIET: Final = 0.5
"""Seconds without output after which a terminal whose program has ended has no more of it."""
_PATIENCE: Final = 0.03
"""Seconds in which a reader that lags behind may catch up before its stream is closed."""
_CLOSE_LIMIT: Final = 5.0


class ModalChannel:
    """See Channel.

    Args:
        process: the SDK's.
        resize: gives its terminal another size; None: it has none.
        release: is called, on the SDK's loop, when nothing of it is under way any more after ``close``.
    """

    def __init__(self, process: Any, resize: Callable[[PtySize], None] | None, release: Callable[[], None]) -> None:
        self._process = process
        self._resize = resize
        self._loop = loop()
        self._lock = threading.Lock()
        self._taken = threading.Condition(self._lock)
        self._pieces: deque[Piece] = deque()
        self._waiting = 0
        self._count = 0
        self._out = bytearray()
        self._unsent = 0
        self._eof = False
        self._eof_sent = False
        self._sending = False
        self._failed = ""
        self._ended = False
        self._closed = False
        self._event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        self._poll.register(self._event, select.POLLIN)
        self._room = asyncio.Event()
        self._status: int | None = None
        self._release = release
        self._following: list[asyncio.Task[None]] = []
        self._sender: asyncio.Task[None] | None = None
        self._open = 0
        self._reading = False
        self._loop.call_soon_threadsafe(self._begin)

    # -- on the SDK's loop ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        streams = [(StreamName.STDOUT, self._process.stdout)]
        if self._resize is None:
            streams.append((StreamName.STDERR, self._process.stderr))
        self._open = len(streams)
        self._following = [self._loop.create_task(self._follow(*each)) for each in streams]
        if self._resize is not None:
            self._following.append(self._loop.create_task(self._end_with_program()))

    async def _follow(self, stream: StreamName, reader: Any) -> None:
        try:
            while not await self._follow_once(stream, reader):
                await self._room_again(None)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, the stream is over, and this says why
            self._failed = self._failed or short(error)
        finally:
            self._open -= 1
            if self._open == 0:
                self._put(None)

    async def _end_with_program(self) -> None:
        """End a terminal's stream with its program, though a child of that has the terminal open."""
        try:
            self._status = int(await self._process.wait.aio())
        except Exception:  # noqa: BLE001  # whatever it is, the stream itself tells how it goes on
            return
        seen = -1
        while self._count != seen or self._waiting > _AHEAD:
            seen = self._count
            await asyncio.sleep(_QUIET)
        self._following[0].cancel()

    async def _follow_once(self, stream: StreamName, reader: Any) -> bool:
        """Follow a stream until it is over; False when it was closed, and goes on where it was when it is opened again.

        Open, it takes in some MiB ahead of its reader (``sdk.narrow``), so it is closed when nobody takes what comes.
        """
        async with contextlib.aclosing(aiter(reader)) as pieces:
            async for data in pieces:
                self._put(Piece(stream, data))
                if not await self._room_again(_PATIENCE):
                    return False
        return True

    async def _room_again(self, patience: float | None) -> bool:
        """Wait until what came was taken; False when that is not so in time."""
        if self._waiting <= _AHEAD:
            return True
        self._room.clear()
        if self._waiting > _AHEAD:
            try:
                async with asyncio.timeout(patience):
                    await self._room.wait()
            except TimeoutError:
                return False
        return True

    def _put(self, piece: Piece | None) -> None:
        with self._lock:
            if piece is None:
                self._ended = True
            else:
                self._pieces.append(piece)
                self._count += len(piece.data)
                self._waiting += len(piece.data)
            self._taken.notify_all()
            if not self._closed:
                os.eventfd_write(self._event, 1)

    async def _send(self) -> None:
        stdin = self._process.stdin
        try:
            while True:
                with self._lock:
                    data, eof = bytes(self._out[:_WRITE]), self._eof
                    del self._out[:_WRITE]
                    last = not self._out
                    if not data and (not eof or self._eof_sent):
                        self._sending = False
                        return
                if data:
                    stdin.write(data)
                if eof and last:
                    stdin.write_eof()
                await stdin.drain.aio()
                with self._lock:
                    self._unsent -= len(data)
                    self._eof_sent = eof and last
                    self._taken.notify_all()
        except Exception as error:  # noqa: BLE001  # whatever it is, nothing can be sent any more, and this says why
            with self._lock:
                self._failed = self._failed or short(error)
                self._eof = self._eof_sent = True
                self._sending = False
                self._taken.notify_all()

    async def _finish(self) -> None:
        """Let the process have the rest of its input, and the end of that; let go of its streams."""
        for task in self._following:
            task.cancel()
        try:
            if not self._ended:
                await asyncio.wait({self._begin_sending()}, timeout=_CLOSE_LIMIT)
        finally:
            if self._sender is not None:
                self._sender.cancel()
            self._release()

    def _begin_sending(self) -> "asyncio.Task[None]":
        if self._sender is None or self._sender.done():
            self._sender = self._loop.create_task(self._send())
        return self._sender

    # -- in the caller's thread ----------------------------------------------------------------------------

    def fileno(self) -> int:
        """See Channel."""
        return self._event

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        """See Channel."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            if self._closed:
                return None
            self._reading = True  # until then nobody else closes the descriptor
        try:
            while True:
                with self._lock:
                    taken = self._take()
                if taken is None or taken:
                    return taken
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not self._poll.poll(None if left is None else left * 1000):
                    return []
        finally:
            with self._lock:
                self._reading = False
                if self._closed:
                    os.close(self._event)

    def _take(self) -> list[Piece] | None:
        pieces = list(self._pieces)
        self._pieces.clear()
        # First the number: who is woken before it is changed would go to sleep again, and nobody would wake him.
        full, self._waiting = self._waiting > _AHEAD, 0
        if full:
            self._loop.call_soon_threadsafe(self._room.set)
        if not pieces and (self._ended or self._closed):
            return None
        if not self._ended:
            self._drain_event()
        return pieces

    def _drain_event(self) -> None:
        try:
            os.eventfd_read(self._event)
        except BlockingIOError:
            return

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """See Channel. Returns before Modal has taken it, where not too much is under way: an answer says more."""
        view = memoryview(data)
        while True:
            with self._lock:
                self._await_room(timeout)
                piece = view[: _AHEAD - self._unsent]
                self._out += piece
                self._unsent += len(piece)
                view = view[len(piece) :]
                begin = not self._sending
                self._sending = True
            if begin:
                self._loop.call_soon_threadsafe(self._begin_sending)
            if not view:
                return

    def _await_room(self, timeout: float | None) -> None:
        before = self._unsent
        while True:
            if self._closed or self._eof or self._ended:
                raise ConnectionLost(self._failed or "the process in the sandbox has ended, or was closed")
            if self._unsent < _AHEAD:
                return
            if not self._taken.wait(timeout) and self._unsent >= before:
                raise ConnectionLost(f"the process in the sandbox took no input for {timeout:g} s")
            before = self._unsent

    def close_stdin(self) -> None:
        """See Channel."""
        with self._lock:
            if self._eof or self._closed:
                return
            self._eof = True
            begin = not self._sending
            self._sending = True
        if begin:
            self._loop.call_soon_threadsafe(self._begin_sending)

    def resize(self, size: PtySize) -> None:
        """See Channel."""
        if self._resize is None:
            raise Unsupported("resize a process without a terminal", "modal")
        self._resize(size)

    def wait(self, timeout: float | None = None) -> int | None:
        """See Channel."""
        if self._status is not None:
            return self._status
        try:
            self._status = call(self._wait_for(timeout), None, "waiting for a process")
        except EnvironmentUnavailable as error:
            raise ConnectionLost(str(error)) from error
        return self._status

    async def _wait_for(self, limit: float | None) -> int | None:
        try:
            async with asyncio.timeout(limit):
                return int(await self._process.wait.aio())
        except TimeoutError:
            return None

    def close(self) -> None:
        """See Channel."""
        with self._lock:
            if self._closed:
                return
            self._closed = self._eof = True
            self._taken.notify_all()
            if self._reading:
                os.eventfd_write(self._event, 1)
            else:
                os.close(self._event)
        self._loop.call_soon_threadsafe(lambda: self._loop.create_task(self._finish()))
