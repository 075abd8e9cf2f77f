"""Tells of ends and matches: once each, whoever started the process and whichever program is there to hear it.

An end is claimed in the database before it is told, and noted there after it was. So two programs never tell of the
same one, and what a killed program has claimed is told by the next.
"""

import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.owner import lives, owner, since
from shellward.process_registry.follow import Followers
from shellward.process_registry.records import Entry, Notice, NoticeKind
from shellward.process_registry.watch import Match

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.environments.process import Process
    from shellward.process_registry.registry import ProcessRegistry

_JOIN: Final = 10.0
_LISTEN_AGAIN: Final = 2.0
_CROWD: Final = 20
"""From so many ends at once on, the whole place is looked at, instead of each process."""


class Notifier:
    """See the module. One thread, from the first call of ``listen`` or ``look`` on.

    Args:
        registry: whose notices these are.
        callback: is called with each notice; None: they wait in a queue.
    """

    def __init__(self, registry: "ProcessRegistry", callback: Callable[[Notice], None] | None) -> None:
        self._registry = registry
        self._callback = callback
        self._client = f"{owner()} {since()}"
        self._notices: queue.SimpleQueue[Notice] = queue.SimpleQueue()
        self._work: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._listening: dict[str, tuple[Environment, Callable[[str], None]]] = {}
        self._thread: threading.Thread | None = None
        self._closed = False
        self._followers = Followers(self._matched, self._noisy)

    def close(self) -> None:
        """Stop. What was not told yet is left to other programs. Idempotent."""
        with self._lock:
            self._closed = True
            listening, thread = list(self._listening.values()), self._thread
            self._listening.clear()
        for environment, listener in listening:
            environment.exits.unsubscribe(listener)
        self._followers.close()
        self._work.put(("", ""))
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN)

    def next(self, timeout: float | None) -> Notice | None:
        """Return the next notice."""
        try:
            notice = self._notices.get(timeout=timeout)
        except queue.Empty:
            return None
        self._told(notice)
        return notice

    # -- hearing -------------------------------------------------------------------------------------------

    def listen(self, place: str) -> None:
        """Hear of the ends of processes at a place.

        Raises:
            EnvironmentUnavailable: it is gone.
        """
        environment = self._registry.environment(place)
        with self._lock:
            if place in self._listening or self._closed:
                return

            def listener(name: str) -> None:
                self._work.put((place, name))

            self._listening[place] = environment, listener
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="shellward-registry", daemon=True)
                self._thread.start()
        environment.exits.subscribe(listener)
        self._work.put((place, ""))  # what ended before somebody listened

    def forget(self, place: str) -> None:
        """Hear no more of a place."""
        with self._lock:
            environment, listener = self._listening.pop(place, (None, None))
        if environment is not None and listener is not None:
            environment.exits.unsubscribe(listener)

    def look(self, name: str) -> None:
        """Look at one process soon."""
        entry = self._registry.store.get(name)
        if entry is not None:
            self._work.put((entry.place, name))

    def _run(self) -> None:
        while True:
            place, name = self._work.get()
            if self._closed:
                return
            names = {name}
            while not self._work.empty() and len(names) < _CROWD:
                other, another = self._work.get()
                if other != place:
                    self._work.put((other, another))
                    break
                names.add(another)
            self._look(place, names)

    def _look(self, place: str, names: set[str]) -> None:
        try:
            if "" in names or len(names) >= _CROWD:
                self._registry.refresh(place)
                self._hear_again(place)
            else:
                for name in names:
                    if self._registry.store.get(name) is not None:
                        self._registry.poll(name)
        except FileNotFoundError:
            return  # removed meanwhile
        except EnvironmentUnavailable:
            if not self._closed:
                time.sleep(_LISTEN_AGAIN)
                self._work.put((place, ""))

    def _hear_again(self, place: str) -> None:
        """Listen again when the connection was lost; a place that is gone has nothing to say."""
        with self._lock:
            kept = self._listening.get(place)
        if kept is None:
            return
        environment, listener = kept
        try:
            environment.exits.subscribe(listener)
        except EnvironmentUnavailable:
            self.forget(place)

    # -- telling -------------------------------------------------------------------------------------------

    def ended(self, entry: Entry) -> None:
        """Tell of an end, when that is asked for and nobody has."""
        if not entry.notify or self._closed or not self._registry.store.claim(entry.id, self._client):
            return
        self._tell(Notice(kind=NoticeKind.ENDED, id=entry.id, entry=entry))

    def catch_up(self) -> None:
        """Tell of ends that nobody has told of, or that a program claimed that is gone."""
        store = self._registry.store
        for name, claimed in store.untold():
            client, _, since = (claimed or "").partition(" ")
            if claimed and (claimed == self._client or lives(client, since) is not False):
                continue
            entry = store.get(name)
            if entry is not None and store.claim(name, self._client, [claimed] if claimed else []):
                self._tell(Notice(kind=NoticeKind.ENDED, id=name, entry=entry))

    def _tell(self, notice: Notice) -> None:
        if self._callback is None:
            self._notices.put(notice)
            return
        self._callback(notice)
        self._told(notice)

    def _told(self, notice: Notice) -> None:
        if notice.kind is NoticeKind.ENDED:
            self._registry.store.told(notice.id, time.time())

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
