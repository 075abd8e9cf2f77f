"""Renews the leases of this process's environments, so that those of a dead client end by themselves.

Each environment is renewed for itself: one whose place hangs holds up no other, and no error ends the renewal.
"""

import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shellward.environments import lease_notes
from shellward.environments.base import Renewing

if TYPE_CHECKING:
    from shellward.environments.environment import Environment

_SHARE: Final = 5
"""A lease is renewed this many times in its length."""
_PATIENCE: Final = 0.1
"""Seconds that a renewal waits for a free thread before there is one more."""
_LEAVE: Final = 5.0
"""Seconds that ``drop`` waits for a renewal that is under way."""
_NAME: Final = "shellward-lease"


@dataclass(frozen=True, slots=True)
class Renewal:
    """How the lease of one environment stands.

    Attributes:
        handle: of the environment.
        lease: its length in seconds.
        renewed: when it was renewed last, in seconds since the epoch; None: not yet.
        failures: renewals in a row that have failed since.
        failure: why the last one failed; empty when it did not.
        under_way: seconds for which the present renewal has been trying; None: none is under way.
    """

    handle: str
    lease: float
    renewed: float | None
    failures: int
    failure: str
    under_way: float | None


class _Kept:
    """One lease. It is in the hands of one thread at a time."""

    def __init__(self) -> None:
        self.due = 0.0
        self.queued = False
        self.began: float | None = None
        self.renewed: float | None = None
        self.failures = 0
        self.failure = ""


class _Keeper:
    """A thread that says what is due, and threads that renew; they end when nothing is kept.

    One renewal at most is under way for each environment, so there are never more threads than environments; and
    there are more than one only while renewals take long.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._kept: weakref.WeakKeyDictionary[Environment, _Kept] = weakref.WeakKeyDictionary()
        self._ready: deque[weakref.ref[Environment]] = deque()
        self._thread: threading.Thread | None = None
        self._workers = 0
        self._taken = 0
        self._beat = 0

    def keep(self, environment: "Environment") -> None:
        """Renew the lease of an environment from now on, until it is dropped or nobody holds it any more."""
        with self._changed:
            self._kept.setdefault(environment, _Kept()).due = 0.0
            if self._thread is None:
                self._thread = threading.Thread(target=self._supervise, name=_NAME, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def drop(self, environment: "Environment") -> None:
        """Renew it no more. With the last one the threads end, which is waited for a few seconds at the most."""
        with self._changed:
            self._kept.pop(environment, None)
            self._changed.notify_all()
            if not self._kept:
                self._changed.wait_for(lambda: bool(self._kept) or self._thread is None, _LEAVE)

    def renewals(self) -> list[Renewal]:
        """Say of each lease that is kept how it stands."""
        now = time.monotonic()
        with self._changed:
            kept = [(environment.backend, each) for environment, each in self._kept.items()]
            return [
                Renewal(
                    backend.handle,
                    backend.lease or 0.0,
                    each.renewed,
                    each.failures,
                    each.failure,
                    None if each.began is None else now - each.began,
                )
                for backend, each in kept
            ]

    def _supervise(self) -> None:
        with self._changed:
            while self._kept or self._workers:
                pause = self._call_due()
                if not self._kept:
                    self._changed.notify_all()  # also where the last was forgotten by all: nobody has said so
                if self._ready:
                    taken = self._taken
                    waiting = self._changed.wait_for(lambda taken=taken: self._taken != taken, _PATIENCE)  # type: ignore[misc]
                    if not waiting and self._ready and self._workers < len(self._kept):
                        self._hire(max(1, min(len(self._ready), self._workers, len(self._kept) - self._workers)))
                else:
                    self._changed.wait(pause)
            self._thread = None
            self._changed.notify_all()

    def _call_due(self) -> float | None:
        """Have all renewed whose time has come; seconds until the next one, None: only a change can bring one."""
        now = time.monotonic()
        coming = None
        for environment, kept in list(self._kept.items()):
            if kept.queued or kept.began is not None:
                continue
            if kept.due <= now:
                kept.queued = True
                self._ready.append(weakref.ref(environment))
            elif coming is None or kept.due < coming:
                coming = kept.due
        if self._ready:
            if not self._workers:
                self._hire(1)
            self._changed.notify_all()
        return None if coming is None else max(0.0, coming - now)

    def _hire(self, count: int) -> None:
        with suppress(RuntimeError):  # no room for a thread now: what is ready waits, and this is tried again
            for _ in range(count):
                threading.Thread(target=self._work, name=f"{_NAME}-renewal", daemon=True).start()
                self._workers += 1

    def _work(self) -> None:
        try:
            while (environment := self._next()) is not None:
                self._renew(environment)
                del environment
        finally:
            with self._changed:
                self._workers -= 1
                self._changed.notify_all()

    def _next(self) -> "Environment | None":
        """Wait for an environment to renew; None: there is too little to do for another thread."""
        until = time.monotonic() + _LEAVE
        with self._changed:
            while True:
                while self._ready:
                    self._taken += 1
                    environment = self._ready.popleft()()
                    self._changed.notify_all()
                    if environment is not None and (kept := self._kept.get(environment)) is not None:
                        kept.queued, kept.began = False, time.monotonic()
                        return environment
                left = until - time.monotonic()
                if not self._kept or left <= 0:
                    return None
                environment = None
                self._changed.wait(left)

    def _renew(self, environment: "Environment") -> None:
        with self._changed:
            kept = self._kept.get(environment)
            self._beat += 1
            beat = self._beat
        if kept is None:
            return
        failure = ""
        try:
            renew(environment, beat)
        except Exception as error:  # noqa: BLE001  # an SDK may raise anything; it is told, and the others go on
            failure = f"{type(error).__name__}: {error}"
        done, when = time.monotonic(), time.time()
        length = environment.backend.lease or 60.0
        with self._changed:
            if failure:
                kept.failures, kept.failure = kept.failures + 1, failure
            else:
                kept.failures, kept.failure, kept.renewed = 0, "", when
            kept.began, kept.due = None, done + length / _SHARE
            there = environment in self._kept
            self._changed.notify_all()
        if there and not failure:
            with suppress(OSError):  # it is renewed all the same; only other programs cannot show it
                lease_notes.note(environment.backend.handle, when)


def renew(environment: "Environment", value: int) -> None:
    """Tell the sandbox that its client lives.

    Raises:
        EnvironmentUnavailable: it is gone, or not reachable now. An SDK may raise errors of its own.
    """
    environment.control(None).beat(f"{environment.backend.scratch}/lease", value)
    if isinstance(environment.backend, Renewing):
        environment.backend.renew()


_keeper = _Keeper()
keep = _keeper.keep
drop = _keeper.drop


def renewals() -> list[Renewal]:
    """Say of each environment of this program that has a lease how its renewal stands."""
    return _keeper.renewals()
