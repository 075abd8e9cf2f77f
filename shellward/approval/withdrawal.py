"""Taking a question back: whoever asked no longer wants the answer (cancelled, disconnected, shut down)."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final


class Withdrawal:
    """A flag that wakes whoever waits for an answer, however they wait. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done = False
        self._listeners: list[Callable[[], None]] = []

    @property
    def done(self) -> bool:
        """Whether the question was taken back."""
        return self._done

    def withdraw(self) -> None:
        """Take the question back; more than once is the same as once."""
        with self._lock:
            if self._done:
                return
            self._done = True
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` when the question is taken back, or now if that has happened."""
        with self._lock:
            if not self._done:
                self._listeners.append(listener)
                return
        listener()

    @contextmanager
    def listening(self, listener: Callable[[], None]) -> Iterator[None]:
        """Listen for as long as this lasts: what is listened to may last much longer."""
        self.listen(listener)
        try:
            yield
        finally:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)


CALLER: Final[ContextVar[Withdrawal | None]] = ContextVar("shellward_caller", default=None)
"""Is withdrawn when whoever made the call of this context no longer wants it."""


class Descriptor:
    """A file descriptor that becomes readable when a question is taken back, for waiting in ``poll``."""

    def __init__(self, withdrawal: Withdrawal) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = threading.Lock()
        withdrawal.listen(self._ring)

    def _ring(self) -> None:
        with self._lock:
            if self.fd >= 0:
                os.eventfd_write(self.fd, 1)

    def __enter__(self) -> int:
        return self.fd

    def __exit__(self, *_: object) -> None:
        with self._lock:
            os.close(self.fd)
            self.fd = -1
