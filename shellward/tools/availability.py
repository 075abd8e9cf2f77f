"""Whether tools can be used now: their ``check_fn``, asked once however many tools share it, and not again for a while.

An exception means no. Safe to share between threads; a check runs in one thread at a time and the others wait for
its answer.
"""

import inspect
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shellward.tools.answers import sanitised

CheckFn = Callable[[], object]
"""Says whether a tool can be used now; anything truthy means yes."""

TTL: Final = 30.0
"""Seconds for which an answer holds."""
_MANY: Final = 256
"""Answers kept before those that no longer hold are dropped (servers that come and go bring new functions)."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a check said.

    Attributes:
        available: whether the tools that share it can be used.
        reason: why not, for people; empty when they can.
        until: time of ``time.monotonic()`` until which it holds.
    """

    available: bool
    reason: str
    until: float


ALWAYS: Final = Answer(available=True, reason="", until=float("inf"))
"""The answer for tools without a check."""


class Availability:
    """The answers of all checks, for as long as they hold.

    Args:
        ttl: seconds for which an answer holds.
        clock: monotonic time in seconds.
    """

    def __init__(self, ttl: float = TTL, clock: Callable[[], float] = time.monotonic) -> None:
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: dict[CheckFn, Answer] = {}
        self._asking: dict[CheckFn, threading.RLock] = {}

    def now(self) -> float:
        """Return the time that ``Answer.until`` is compared with."""
        return self._clock()

    def soon(self) -> float:
        """Return the time until which an answer given now would hold."""
        return self._clock() + self._ttl

    def of(self, check: CheckFn | None) -> Answer:
        """Return the answer of a check, from the cache while it holds."""
        if check is None:
            return ALWAYS
        known = self._answers.get(check)
        if known is not None and known.until > self._clock():
            return known
        with self._lock:
            turn = self._asking.setdefault(check, threading.RLock())
        with turn:
            known = self._answers.get(check)
            if known is not None and known.until > self._clock():
                return known
            available, reason = _ask(check)
            answer = Answer(available, reason, self._clock() + self._ttl)
            with self._lock:
                self._answers[check] = answer
                self._asking.pop(check, None)
                self._drop_old()
            return answer

    def forget(self) -> None:
        """Ask every check anew the next time."""
        with self._lock:
            self._answers.clear()

    def _drop_old(self) -> None:
        if len(self._answers) > _MANY:
            now = self._clock()
            self._answers = {check: answer for check, answer in self._answers.items() if answer.until > now}


def _ask(check: CheckFn) -> tuple[bool, str]:
    name = getattr(check, "__qualname__", repr(check))
    try:
        said = check()
    except Exception as problem:  # noqa: BLE001  # SPEC E: an exception means unavailable, whatever it is
        reason = sanitised(f"{name} failed: {type(problem).__name__}: {problem}")
        _log.info("unavailable: %s", reason)
        return False, reason
    if inspect.isawaitable(said):
        if inspect.iscoroutine(said):
            said.close()
        _log.error("%s is asynchronous; a check_fn must answer at once", name)
        return False, f"{name} is asynchronous; a check_fn must answer at once"
    return (True, "") if said else (False, f"{name} said no")
