"""The places of a registry: which environments are open for it, whose they are, and who lets go of them."""

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.base import Located
from shellward.process_registry.records import LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.environments.environment import Environment


def place_of(environment: "Environment") -> str:
    """Return how the registry calls the place of an environment."""
    return LOCAL if environment.kind == LOCAL else environment.handle


def gone(error: EnvironmentUnavailable) -> bool:
    """Whether a sandbox is there no more, as against not to be reached now: its engine does not know it."""
    return error.gone or type(error.__cause__).__name__ == "NotFound"


def engine_of(environment: "Environment") -> str:
    """Return the id of the engine that keeps an environment; empty: its handle says who does."""
    return environment.backend.engine if isinstance(environment.backend, Located) else ""


def leave(environment: "Environment") -> None:
    """Let go of an environment: processes in it go on."""
    if environment.capabilities.attach:
        environment.detach()
    else:
        environment.close()


class Places:
    """The open environments of a registry, by place. Thread-safe.

    Args:
        opener: opens the environment of a place when it is needed.
    """

    def __init__(self, opener: "Callable[[str], Environment]") -> None:
        self._opener = opener
        self._lock = threading.RLock()
        self._open: dict[str, Environment] = {}
        self._ours: set[str] = set()
        self._opening: dict[str, threading.Lock] = {}
        self._closed = False

    def close(self) -> "list[Environment]":
        """Open nothing from now on; returns what was opened here, for the caller to leave. Idempotent."""
        with self._lock:
            self._closed = True
            opened = [self._open[place] for place in self._ours]
            self._open.clear()
            self._ours.clear()
        return opened

    def use(self, environment: "Environment") -> str:
        """Have an environment of a caller's be used for its place; returns how that is called."""
        place = place_of(environment)
        with self._lock:
            self._open.setdefault(place, environment)
        return place

    def release(self, environment: "Environment") -> None:
        """Use an environment of a caller's no longer."""
        place = place_of(environment)
        with self._lock:
            if self._open.get(place) is environment:
                del self._open[place]

    def environment(self, place: str) -> "Environment":
        """Return the environment of a place, opened where it has to be.

        Raises:
            EnvironmentUnavailable: it is gone.
        """
        with self._lock:
            environment = self._known(place)
            opening = self._opening.setdefault(place, threading.Lock())
        if environment is not None:
            return environment
        with opening:  # one place that takes long to open holds up no other
            with self._lock:
                environment = self._known(place)
            if environment is not None:
                return environment
            environment = self._opener(place)
            with self._lock:
                if not self._closed and place not in self._open:
                    self._open[place] = environment
                    self._ours.add(place)
                    return environment
                used = self._open.get(place)
        leave(environment)  # meanwhile the registry was closed, or a caller has brought one
        if used is None:
            raise EnvironmentUnavailable("the registry was closed")
        return used

    def _known(self, place: str) -> "Environment | None":
        if self._closed:
            raise EnvironmentUnavailable("the registry was closed")
        return self._open.get(place)

    def again(self, place: str) -> bool:
        """Let go of an environment that was opened here, so that the next use opens it anew; whether there was one."""
        with self._lock:
            if place not in self._ours:
                return False
            self._ours.discard(place)
            old = self._open.pop(place, None)
        if old is not None:
            with suppress(EnvironmentUnavailable):  # it is gone: that is why
                leave(old)
        return True
