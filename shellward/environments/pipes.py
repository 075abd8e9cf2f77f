"""A channel of pipes: descriptors of this machine, however the process at their other ends came to be."""

import fcntl
import os
import select
import time
from collections.abc import Sequence
from typing import Final, Protocol

from shellward.core.errors import ConnectionLost, Unsupported
from shellward.core.types import StreamName
from shellward.environments.base import Piece, PtySize

PIPE: Final = 1 << 17  # more is slower: it falls out of the second-level cache
_READ = 1 << 16
_SLICE = 0.1


class Life(Protocol):
    """What is known of a process whose pipes are here."""

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the process has ended."""
        ...

    def wait(self, timeout: float | None = None) -> int | None:
        """See Channel.

        Raises:
            ConnectionLost: it has ended, and nobody knows how.
        """
        ...

    def close(self) -> None:
        """The process was given the end of its input: see that it ends, and release what is held here."""
        ...


class PipeChannel:
    """See Channel. Reads wait in epoll, also for the death of the process.

    Owns the descriptors from when it was made: when that raises, they are still the caller's.

    Args:
        kind: of the backend, for what is said.
        stdin: written to.
        stdout: read from.
        stderr: read from.
        life: of the process.
    """

    def __init__(self, kind: str, stdin: int, stdout: int, stderr: int, life: Life) -> None:
        self._kind = kind
        self._stdin: int | None = stdin
        self._owned = (stdout, stderr)
        self._life = life
        self._streams = {stdout: StreamName.STDOUT, stderr: StreamName.STDERR}
        self._sizes = dict.fromkeys(self._streams, _READ)
        self._end = life.fileno()
        self._dead = False
        for descriptor in (stdin, stdout, stderr):
            os.set_blocking(descriptor, False)
        self._epoll = select.epoll()
        try:
            for descriptor in (*self._streams, self._end):
                self._epoll.register(descriptor, select.EPOLLIN)
        except BaseException:
            self._epoll.close()
            raise

    def fileno(self) -> int:
        """See Channel."""
        return self._epoll.fileno()

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        """See Channel. A process that is dead has no more to say, whoever still holds its pipes."""
        if not self._streams:
            return None
        events = self._epoll.poll(timeout)
        pieces = [piece for descriptor, _ in events if (piece := self._take(descriptor))]
        if pieces or (self._streams and not self._dead):
            return pieces
        last = [piece for descriptor in [*self._streams] if (piece := self._take(descriptor))]
        return last or None

    def _take(self, descriptor: int) -> Piece | None:
        if descriptor == self._end:
            self._epoll.unregister(descriptor)
            self._dead = True
            return None
        if descriptor not in self._streams:
            return None
        size = self._sizes[descriptor]
        try:
            data = os.read(descriptor, size)
        except BlockingIOError:
            return None
        if not data:
            self._epoll.unregister(descriptor)
            del self._streams[descriptor]
            return None
        if len(data) == size < PIPE:  # a flood: fewer, larger reads; the pipe grows with them
            self._sizes[descriptor] = PIPE
            _grow(descriptor)
        return Piece(self._streams[descriptor], data)

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """See Channel."""
        view = memoryview(data)
        while view:
            if self._stdin is None:
                raise ConnectionLost("the process has ended, or was closed")
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                self._await_room(self._stdin, timeout)
            except OSError as error:
                raise ConnectionLost("the process has ended, or was closed") from error

    def _await_room(self, stdin: int, timeout: float | None) -> None:
        """Wait until more can be written, or it was closed. Closing does not wake who polls, so this looks up."""
        until = None if timeout is None else time.monotonic() + timeout
        poller = select.poll()
        poller.register(stdin, select.POLLOUT)
        while self._stdin == stdin:
            left = _SLICE if until is None else min(_SLICE, until - time.monotonic())
            if left <= 0:
                raise ConnectionLost(f"the process took no input for {timeout} s")
            if poller.poll(left * 1000):
                return

    def close_stdin(self) -> None:
        """See Channel."""
        stdin, self._stdin = self._stdin, None
        if stdin is not None:
            os.close(stdin)

    def resize(self, size: PtySize) -> None:
        """See Channel."""
        del size
        raise Unsupported("resize a process without a terminal", self._kind)

    def wait(self, timeout: float | None = None) -> int | None:
        """See Channel."""
        return self._life.wait(timeout)

    def close(self) -> None:
        """See Channel."""
        if self._epoll.closed:
            return
        self.close_stdin()
        try:
            self._life.close()
        finally:
            self._epoll.close()
            for descriptor in self._owned:
                os.close(descriptor)


def _grow(descriptor: int) -> None:
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE)
    except OSError:
        # pipe(7): over the user's share (pipe-user-pages-soft) a pipe stays as it is, which is only slower.
        return
