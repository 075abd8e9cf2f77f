"""What a terminal printed and nobody has read yet, as far as that is kept."""

import threading


class Kept:
    """The end of a stream. Thread-safe.

    Args:
        most: bytes that are kept; the newest piece is, however long it is.

    Attributes:
        dropped: bytes that were not.
    """

    def __init__(self, most: int) -> None:
        self.dropped = 0
        self._most = most
        self._size = 0
        self._pieces: list[bytes] = []
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, data: bytes) -> None:
        """Keep a piece; what is too much now, is dropped."""
        with self._lock:
            self._pieces.append(data)
            self._size += len(data)
            while self._size - len(self._pieces[0]) > self._most:
                lost = len(self._pieces.pop(0))
                self._size -= lost
                self.dropped += lost

    def take(self) -> bytes:
        """Return what is kept, and keep it no longer."""
        with self._lock:
            pieces, self._pieces, self._size = self._pieces, [], 0
        return b"".join(pieces)
