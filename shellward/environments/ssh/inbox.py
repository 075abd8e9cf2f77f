"""What has come on a channel and was not read yet: both streams in one queue, in order of arrival.

It takes the place of the two buffers of paramiko's Channel. The descriptor which that makes of them loses a wake-up
when one stream is read empty at the very moment at which something comes on the other (paramiko 5.1, pipe.OrPipe).
"""

import os
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from shellward.core.types import StreamName


class Inbox:
    """Filled by the connection's thread, emptied by a reader.

    Attributes:
        descriptor: is readable when there is something to read, or nothing will come any more.
    """

    def __init__(self, channel: Any) -> None:
        self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = threading.Lock()
        self._pieces: deque[tuple[StreamName, bytes]] = deque()
        self._raised = False
        self._ended = False
        self._released = False
        channel.in_buffer = _Side(self, StreamName.STDOUT)
        channel.in_stderr_buffer = _Side(self, StreamName.STDERR)

    def put(self, stream: StreamName, data: bytes) -> None:
        """Add what came."""
        with self._lock:
            self._pieces.append((stream, data))
            self._raise()

    def put_back(self, pieces: Sequence[tuple[StreamName, bytes]]) -> None:
        """Add before all else what was taken too soon."""
        with self._lock:
            self._pieces.extendleft(reversed(pieces))
            if self._pieces:
                self._raise()

    def end(self) -> None:
        """Nothing comes any more."""
        with self._lock:
            self._ended = True
            self._raise()

    def _raise(self) -> None:
        if not self._raised and not self._released:
            self._raised = True
            os.eventfd_write(self.descriptor, 1)

    def next(self) -> StreamName | None:
        """Which stream is to be read next; None: there is nothing."""
        with self._lock:
            return self._pieces[0][0] if self._pieces else None

    def take(self, stream: StreamName, most: int) -> bytes:
        """Return what came on a stream before anything on the other, ``most`` bytes or a little more."""
        with self._lock:
            data = self._take(stream, most)
            if not self._pieces and self._raised and not self._ended and not self._released:
                self._raised = False
                os.eventfd_read(self.descriptor)
            return data

    def _take(self, stream: StreamName, most: int) -> bytes:
        taken: list[bytes] = []
        while self._pieces and self._pieces[0][0] is stream and most > 0:
            taken.append(self._pieces.popleft()[1])
            most -= len(taken[-1])
        return taken[0] if len(taken) == 1 else b"".join(taken)

    def over(self) -> bool:
        """Whether all was read, and nothing will come any more."""
        with self._lock:
            return self._ended and not self._pieces

    def release(self) -> None:
        """Close the descriptor. Idempotent."""
        with self._lock:
            if not self._released:
                self._released = True
                os.close(self.descriptor)


class _Side:
    """One stream of an inbox, as paramiko's Channel sees it (``BufferedPipe``)."""

    def __init__(self, inbox: Inbox, stream: StreamName) -> None:
        self._inbox = inbox
        self._stream = stream

    def feed(self, data: bytes) -> None:
        """Take what came."""
        if data:
            self._inbox.put(self._stream, data)

    def read(self, most: int, timeout: float | None = None) -> bytes:
        """Give what is there; the reader has waited before."""
        del timeout
        return self._inbox.take(self._stream, most)

    def close(self) -> None:
        """Nothing comes any more."""
        self._inbox.end()
