"""Tells of ends and matches: each to one program, whoever started the process and whichever is there to hear it.

An end is claimed in the database before it is told, and noted there when whoever was told has acknowledged it. So two
programs that live never tell of the same one, and what a killed program has claimed is told by the next.
"""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from shellward.environments.owner import lives, owner, since
from shellward.process_registry.follow import Followers
from shellward.process_registry.hearing import Hearing
from shellward.process_registry.records import Entry, Notice, NoticeKind
from shellward.process_registry.store import StoreError
from shellward.process_registry.watch import Match

if TYPE_CHECKING:
    from shellward.environments.process import Process
    from shellward.process_registry.registry import ProcessRegistry

_JOIN: Final = 10.0
"""Seconds that ``close`` waits for the threads, all in all."""


class Notifier:
    """See the module. One thread for each place that is listened to.

    Args:
        registry: whose notices these are.
        callback: is called with each notice; None: they wait in a queue.
    """

    def __init__(self, registry: "ProcessRegistry", callback: Callable[[Notice], object] | None) -> None:
        self._registry = registry
        self._callback = callback
        self._client = f"{owner()} {since()}"
        self._notices: queue.SimpleQueue[Notice] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._hearings: dict[str, Hearing] = {}
        self._taken: dict[int, Notice] = {}
        self._claimed: set[str] = set()
        self._dealt_with: set[str] = set()
        self._closed = False
        self._followers = Followers(self._matched, self._noisy)

    def close(self, *, dealt_with: bool = True) -> None:
        """Stop. What was not acknowledged is left to other programs. Idempotent.

        Args:
            dealt_with: what was taken counts as acknowledged.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            hearings = list(self._hearings.values())
            self._hearings.clear()
            if dealt_with:
                self._dealt_with.update(notice.id for notice in self._taken.values())
            self._taken.clear()
        for hearing in hearings:
            hearing.close()
        self._followers.close()
        until = time.monotonic() + _JOIN
        for hearing in hearings:
            hearing.join(max(0.0, until - time.monotonic()))
        with suppress(StoreError):  # it is told again, by another program, when this one is gone
            self._write_down()
            with self._lock:
                left, self._claimed = self._claimed, set()
            self._registry.store.unclaim(left, self._client)

    def next(self, timeout: float | None) -> Notice | None:
        """Return the next notice; the one that this thread took before is acknowledged by that."""
        me = threading.get_ident()
        with self._lock:
            before = self._taken.pop(me, None)
            if before is not None:
                self._dealt_with.add(before.id)
        with suppress(StoreError):  # it is noted with the next one
            self._write_down()
        try:
            notice = self._notices.get(timeout=timeout)
        except queue.Empty:
            return None
        if notice.kind is NoticeKind.ENDED:
            with self._lock:
                self._taken[me] = notice
        return notice

    def acknowledge(self, notice: Notice) -> None:
        """Note that a notice was dealt with; no program is given it again.

        Raises:
            OSError: that cannot be written down now; it is tried again with the next one.
        """
        if notice.kind is not NoticeKind.ENDED:
            return
        with self._lock:
            for thread, taken in list(self._taken.items()):
                if taken.id == notice.id:
                    del self._taken[thread]
            self._dealt_with.add(notice.id)
        self._write_down()

    def _write_down(self) -> None:
        with self._lock:
            names = sorted(self._dealt_with)
        for name in names:
            self._registry.store.told(name, time.time())
            with self._lock:
                self._dealt_with.discard(name)
                self._claimed.discard(name)

    # -- hearing -------------------------------------------------------------------------------------------

    def listen(self, place: str) -> None:
        """Hear of the ends of processes at a place, as soon as it can be reached."""
        with self._lock:
            if place not in self._hearings and not self._closed:
                self._hearings[place] = Hearing(self._registry, place, self.catch_up, self._over)

    def forget(self, place: str) -> None:
        """Hear no more of a place."""
        with self._lock:
            hearing = self._hearings.pop(place, None)
        if hearing is not None:
            hearing.close()

    def _over(self, hearing: Hearing) -> None:
        with self._lock:
            if self._hearings.get(hearing.place) is hearing:
                del self._hearings[hearing.place]

    def look(self, place: str, name: str = "") -> None:
        """Look at one process soon, or at all of its place, where that is listened to."""
        with self._lock:
            hearing = self._hearings.get(place)
        if hearing is not None:
            hearing.look(name)

    # -- telling -------------------------------------------------------------------------------------------

    def ended(self, entry: Entry) -> None:
        """Tell of an end, when that is asked for and nobody has.

        Raises:
            OSError: the database cannot be written.
        """
        if not entry.notify or self._closed or not self._registry.store.claim(entry.id, self._client):
            return
        self._tell_end(entry)

    def catch_up(self, place: str | None = None) -> None:
        """Tell of ends that nobody has told of, or that a program claimed that is gone.

        Raises:
            OSError: the database cannot be read or written.
        """
        store = self._registry.store
        self._write_down()
        for name, claimed in store.untold(place):
            client, _, since = (claimed or "").partition(" ")
            if claimed and (claimed == self._client or lives(client, since) is not False):
                continue
            entry = store.get(name)
            if self._closed:
                return
            if entry is not None and store.claim(name, self._client, [claimed] if claimed else []):
                self._tell_end(entry)

    def _tell_end(self, entry: Entry) -> None:
        with self._lock:
            self._claimed.add(entry.id)
        self._tell(Notice(kind=NoticeKind.ENDED, id=entry.id, entry=entry))

    def _tell(self, notice: Notice) -> None:
        if self._callback is None:
            self._notices.put(notice)
            return
        try:
            later = self._callback(notice) is False
        except BaseException:
            if notice.kind is NoticeKind.ENDED:  # it was not dealt with, so it is told again
                self._registry.store.unclaim([notice.id], self._client)
            raise
        if not later:
            self.acknowledge(notice)

    # -- patterns ------------------------------------------------------------------------------------------

    def watch(self, process: "Process", entry: Entry, patterns: tuple[str, ...]) -> None:
        """Tell of patterns in the output of a process."""
        self._followers.add(process, entry, patterns)

    def _matched(self, entry: Entry, match: Match) -> None:
        self._tell(
            Notice(
                kind=NoticeKind.MATCHED,
                id=entry.id,
                entry=entry,
                pattern=match.pattern,
                text=match.text,
                offset=match.offset,
            )
        )

    def _noisy(self, entry: Entry, match: Match, count: int) -> None:
        """One notice instead of many; from here on its end is what counts."""
        self._tell(
            Notice(kind=NoticeKind.NOISY, id=entry.id, entry=entry, pattern=match.pattern, text=match.text, count=count)
        )
        self._registry.store.ask(entry.id)
        self.listen(entry.place)
