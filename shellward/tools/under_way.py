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
        self._changed = threading.Condition()
        self._calls: dict[str, dict[object, Callable[[], None]]] = {}

    @contextmanager
    def during(self, task: str | None, end: Callable[[], None]) -> Iterator[None]:
        """Have a call under way for as long as this lasts.

        Args:
            task: whose it is.
            end: ends it soon, does not wait, and does no harm when the call is over already.
        """
        name, key = task or DEFAULT, object()
        with self._changed:
            self._calls.setdefault(name, {})[key] = end
        try:
            yield
        finally:
            with self._changed:
                del self._calls[name][key]
                if not self._calls[name]:
                    del self._calls[name]
                self._changed.notify_all()

    def tasks(self) -> list[str]:
        """Return the tasks that have calls under way."""
        with self._changed:
            return list(self._calls)

    def end(self, task: str | None, *, patience: float = 0.0) -> int:
        """End a task's calls.

        Args:
            task: whose; None: those of the default one.
            patience: seconds to wait at most until they are over.

        Returns:
            How many those were.
        """
        name = task or DEFAULT
        with self._changed:
            ending = dict(self._calls.get(name, {}))
        for each in ending.values():
            each()
        with self._changed:
            self._changed.wait_for(lambda: not self._calls.get(name, {}).keys() & ending.keys(), patience)
        return len(ending)


under_way: Final = UnderWay()
"""The calls of this program."""
