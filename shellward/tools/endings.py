"""Ends of tasks: who keeps something for a task is told when it is over.

What makes a task, this room does not know.
"""

import contextlib
import threading
from collections.abc import Callable
from typing import Final


class Endings:
    """Tells of tasks that have ended. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[object, Callable[[str | None], None]] = {}

    def listen(self, forget: Callable[[str | None], None]) -> Callable[[], None]:
        """Have a function called with the name of each task that has ended; None: all have.

        Args:
            forget: lets go of what was kept for it; does not wait.

        Returns:
            What ends that.
        """
        key = object()
        with self._lock:
            self._listeners[key] = forget

        def stop() -> None:
            with self._lock:
                self._listeners.pop(key, None)

        return stop

    def tell(self, task: str | None) -> None:
        """Say that a task has ended; None: that all have. All are told; then what one of them raised is raised."""
        with self._lock:
            listeners = list(self._listeners.values())
        with contextlib.ExitStack() as all_of_them:
            for each in reversed(listeners):
                all_of_them.callback(each, task)


endings: Final = Endings()
"""The tasks of this program."""
