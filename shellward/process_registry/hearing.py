"""Hears of the ends of processes at one place, in a thread of its own: one that hangs holds up no other."""

import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.process_registry.places import gone

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.process_registry.registry import ProcessRegistry

_AGAIN: Final = 1.0
_MOST: Final = 60.0
"""Seconds after which what has failed is tried again: at first, and at the most."""
_LOOK: Final = 5.0
"""Seconds after which processes are looked at that nobody has rung for: their supervisors may have been killed."""
_CROWD: Final = 20
"""From so many ends at once on, the whole place is looked at, instead of each process."""
_ALL: Final = ""


class Hearing:
    """See the module. It begins at once.

    Args:
        registry: which is told to look.
        place: where.
        tell: is called after the place was looked at, to tell of ends that nobody has told of.
        over: is called when the place is gone, and all of it was told.
    """

    def __init__(
        self,
        registry: "ProcessRegistry",
        place: str,
        tell: Callable[[str], None],
        over: Callable[["Hearing"], None],
    ) -> None:
        self.place = place
        self._registry = registry
        self._tell, self._over = tell, over
        self._names: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._environment: Environment | None = None
        self._closed = False
        self._names.put(_ALL)  # what ended before somebody listened
        self._thread = threading.Thread(target=self._run, name="shellward-registry", daemon=True)
        self._thread.start()

    def look(self, name: str = _ALL) -> None:
        """Look soon at one process, or at all of the place."""
        self._names.put(name)

    def close(self) -> None:
        """Hear no more. Idempotent."""
        self._closed = True
        self._names.put(_ALL)
        environment = self._environment
        if environment is not None:
            environment.exits.unsubscribe(self._names.put)

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread after ``close``; one that waits for a place that hangs ends with that."""
        if self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _run(self) -> None:
        failures = 0
        while not self._closed:
            names = self._wait(_LOOK)
            if self._closed:
                return
            try:
                there = self._hear(names)
            except FileNotFoundError:
                there = True  # removed meanwhile
            except Exception as error:  # noqa: BLE001  # of an SDK, or a caller's function: this place is heard of still
                if not isinstance(error, EnvironmentUnavailable | OSError):
                    threading.excepthook(
                        threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread()))
                    )
                self._pause(min(_MOST, _AGAIN * 2 ** min(failures, 6)))
                failures += 1
                continue
            failures = 0
            if not there:
                self._closed = True
                self._over(self)

    def _wait(self, seconds: float) -> set[str]:
        """Return what was rung for; nothing when it was quiet for so long."""
        try:
            names = {self._names.get(timeout=seconds)}
        except queue.Empty:
            return set()
        while not self._names.empty() and len(names) < _CROWD:
            names.add(self._names.get())
        return names

    def _pause(self, seconds: float) -> None:
        """Let time pass, but not for who closes this; then everything is looked at."""
        until = time.monotonic() + seconds
        while not self._closed and (left := until - time.monotonic()) > 0:
            self._wait(left)
        self._names.put(_ALL)

    def _hear(self, names: set[str]) -> bool:
        """Look at what was rung for; False when the place is gone."""
        registry = self._registry
        if _ALL in names or len(names) >= _CROWD:
            try:
                self._subscribe()
            except EnvironmentUnavailable as error:
                if not gone(error):
                    registry.reconnect(self.place)
                    raise
            there = registry.look_at(self.place)
            self._tell(self.place)
            return there
        if not names:
            names = set(registry.overdue(self.place))
        for name in names:
            if registry.store.get(name) is not None:
                registry.poll(name)
        return True

    def _subscribe(self) -> None:
        environment = self._registry.environment(self.place)
        if environment is not self._environment:
            self._environment = environment
        environment.exits.subscribe(self._names.put)
