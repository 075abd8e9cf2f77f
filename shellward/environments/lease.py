"""Renews the leases of this process's environments, so that those of a dead client end by themselves."""

import threading
import weakref
from typing import TYPE_CHECKING

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.base import Renewing

if TYPE_CHECKING:
    from shellward.environments.environment import Environment

_SHARE = 5
"""A lease is renewed this many times in its length."""


class _Keeper:
    """One thread for all environments; it ends when there are none."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._kept: weakref.WeakSet[Environment] = weakref.WeakSet()
        self._thread: threading.Thread | None = None
        self._beat = 0
        self._changes = 0

    def keep(self, environment: "Environment") -> None:
        with self._changed:
            self._kept.add(environment)
            if self._thread is None:
                self._thread = threading.Thread(target=self._renew, name="shellward-lease", daemon=True)
                self._thread.start()
            self._note_change()

    def drop(self, environment: "Environment") -> None:
        with self._changed:
            self._kept.discard(environment)
            self._note_change()
            thread = None if self._kept else self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(5.0)

    def _note_change(self) -> None:
        """Wake the thread; where it is in the middle of a beat, the count tells it afterwards."""
        self._changes += 1
        self._changed.notify()

    def _renew(self) -> None:
        while True:
            with self._changed:
                kept = list(self._kept)
                seen = self._changes
                if not kept:
                    self._thread = None
                    return
            self._beat += 1
            for environment in kept:
                renew(environment, self._beat)
            pause = min((environment.backend.lease or 60.0) / _SHARE for environment in kept)
            del kept, environment
            with self._changed:
                self._changed.wait_for(lambda seen=seen: self._changes != seen, pause)  # type: ignore[misc]


def renew(environment: "Environment", value: int) -> None:
    """Tell the sandbox that its client lives."""
    try:
        environment.control(None).beat(f"{environment.backend.scratch}/lease", value)
        if isinstance(environment.backend, Renewing):
            environment.backend.renew()
    except EnvironmentUnavailable:
        # Gone, or not reachable now: the command that needs it will say so, and this is tried again.
        return


_keeper = _Keeper()
keep = _keeper.keep
drop = _keeper.drop
