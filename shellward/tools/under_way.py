"""Calls under way that can be ended from outside, by the task whose they are. Who makes them says how they end."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

DEFAULT: Final = "default"
"""The task of calls that name none."""


class UnderWay:
    """Calls under way. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, dict[object, Callable[[], None]]] = {}

    @contextmanager
    def during(self, task: str | None, end: Callable[[], None]) -> Iterator[None]:
        """Have a call under way for as long as this lasts.

        Args:
            task: whose it is.
            end: ends it soon, does not wait, and does no harm when the call is over already.
        """
        name, key = task or DEFAULT, object()
        with self._lock:
            self._calls.setdefault(name, {})[key] = end
        try:
            yield
        finally:
            with self._lock:
                del self._calls[name][key]
                if not self._calls[name]:
                    del self._calls[name]

    def end(self, task: str | None) -> int:
        """End a task's calls; returns how many those were."""
        with self._lock:
            ends = list(self._calls.get(task or DEFAULT, {}).values())
        for each in ends:
            each()
        return len(ends)


under_way: Final = UnderWay()
"""The calls of this program."""
