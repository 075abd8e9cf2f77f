"""One command that was started in an emulated sandbox: its streams, which can be read again from an offset."""

import asyncio
import errno
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from shellward.testing.services.modal.sandbox import NotStarted, Sandbox

_READ: Final = 1 << 17
_AHEAD: Final = 1 << 20
"""Bytes that nobody has read yet after which a process has to wait."""
_KEPT: Final = 68 << 20
"""Bytes that a client may have been sent and not have read when its connection breaks: the SDK's window is 64 MiB."""


class Lost(Exception):  # noqa: N818  # a state, not a fault
    """The bytes from there on are not kept any more, or the sandbox has ended."""


class Output:
    """One stream of output: what came of it lately, by offset.

    Args:
        descriptor: is read from, and closed at its end; None: nothing will come.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._pieces: deque[bytes] = deque()
        self._begin = 0
        self._end = 0
        self._sent = 0
        self._over = descriptor is None
        self._broken = False
        self._reading = False
        self._changed = asyncio.Event()
        if descriptor is not None:
            os.set_blocking(descriptor, False)
            self._resume()

    def _resume(self) -> None:
        if not self._reading and not self._over and self._descriptor is not None:
            self._reading = True
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)

    def _pause(self) -> None:
        if self._reading and self._descriptor is not None:
            self._reading = False
            asyncio.get_running_loop().remove_reader(self._descriptor)

    def _read(self) -> None:
        if self._descriptor is None:
            return
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EIO:  # a terminal whose other end nobody has open any more
                raise
            data = b""
        if not data:
            self._finish()
            return
        self._pieces.append(data)
        self._end += len(data)
        while self._end - self._begin - len(self._pieces[0]) > _KEPT:
            self._begin += len(self._pieces.popleft())
        if self._end - self._sent > _AHEAD:
            self._pause()
        self._wake()

    def _finish(self) -> None:
        self._pause()
        self._over = True
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def close(self) -> None:
        """Let nobody wait for more."""
        self._broken = not self._over
        self._finish()

    async def since(self, offset: int) -> AsyncIterator[bytes]:
        """Follow the stream from an offset to its end.

        Raises:
            Lost: see there.
        """
        while True:
            while offset < self._end:
                data = self._at(offset)
                yield data
                offset += len(data)
                self._sent = max(self._sent, offset)
                if self._end - self._sent <= _AHEAD:
                    self._resume()
            if self._broken:
                raise Lost("the sandbox has ended")
            if self._over:
                return
            await self._changed.wait()

    def _at(self, offset: int) -> bytes:
        if offset < self._begin:
            raise Lost(f"bytes from {offset} are not kept any more")
        place = self._end
        for piece in reversed(self._pieces):  # readers are near the end
            place -= len(piece)
            if place <= offset:
                return piece[offset - place :]
        raise Lost(f"bytes from {offset} were never there")


class Exec:
    """See above. Made by ``start``."""

    def __init__(self, sandbox: Sandbox, number: int, stdin: int, stdout: int, stderr: int | None) -> None:
        self._sandbox = sandbox
        self.ended = sandbox.end_of(number)
        self.stdout = Output(stdout)
        self.stderr = Output(stderr)
        self.written = 0
        self.eof = False
        self._tty = stderr is None
        self._stdin: int | None = stdin
        self._turn = asyncio.Lock()
        os.set_blocking(stdin, False)
        sandbox.use()
        self.ended.add_done_callback(lambda _: sandbox.leave())

    async def write(self, offset: int, data: bytes, *, eof: bool) -> None:
        """Pass input on; what was passed on already is left out.

        Raises:
            BrokenPipeError: the process reads no more.
            ValueError: something before that offset is missing.
        """
        async with self._turn:
            if offset > self.written:
                raise ValueError(f"offset {offset}, and {self.written} bytes were written")
            view = memoryview(data)[self.written - offset :]
            while view:
                if self._stdin is None:
                    raise BrokenPipeError(errno.EPIPE, "standard input is closed")
                try:
                    count = os.write(self._stdin, view)
                except BlockingIOError:
                    await self._writable()
                    continue
                self.written += count
                view = view[count:]
            if eof and not self.eof:
                self.eof = True
                if self._tty and self._stdin is not None:
                    os.write(self._stdin, b"\x04")
                else:
                    self._close_stdin()

    async def _writable(self) -> None:
        if self._stdin is None:
            return
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        descriptor = self._stdin
        loop.add_writer(descriptor, ready.set)
        waiting: asyncio.Future[Any] = asyncio.ensure_future(ready.wait())
        over: asyncio.Future[Any] = self.ended
        try:
            await asyncio.wait({waiting, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if self._stdin == descriptor:
                loop.remove_writer(descriptor)

    def _close_stdin(self) -> None:
        stdin, self._stdin = self._stdin, None
        if stdin is not None:
            asyncio.get_running_loop().remove_writer(stdin)
            os.close(stdin)

    def close(self) -> None:
        """Release what is held here: the sandbox has ended."""
        self._close_stdin()
        self.stdout.close()
        self.stderr.close()


async def start(
    sandbox: Sandbox,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    tty: tuple[int, int] | None,
) -> Exec:
    """Start a command.

    Raises:
        NotStarted: it cannot be started.
    """
    if tty is not None:
        number, master = await sandbox.spawn(argv, env, cwd, [], tty)
        if master < 0:
            raise NotStarted("no terminal came")
        return Exec(sandbox, number, os.dup(master), master, None)
    pipes = [os.pipe() for _ in range(3)]
    theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
    ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
    try:
        number, _ = await sandbox.spawn(argv, env, cwd, theirs)
    except BaseException:
        for descriptor in ours:
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    return Exec(sandbox, number, *ours)
