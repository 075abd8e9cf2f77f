"""The registry's memory: a SQLite database that several programs use at once. It judges nothing."""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from shellward.core.errors import LimitReached
from shellward.core.types import ProcessInfo, ProcessState
from shellward.process_registry.records import Entry

_PATIENCE: Final = 30.0
"""Seconds that a program waits for another one's transaction."""
MIGRATIONS: Final = (
    """
    create table process (
        id text primary key, place text not null, state text not null, command text not null, cwd text not null,
        pid integer not null, born text not null, exit_code integer, signal text, reason text not null,
        started real not null, ended real, bytes_out integer, bytes_err integer, owner text not null, user text,
        task text not null, ttl real not null, pty integer not null, closed_stdin integer not null,
        notify integer not null, claimed text, told real
    ) without rowid;
    create index process_place on process (place, state, started);
    create index process_untold on process (notify, told, state);
    """,
)
"""Each brings the database from one version (its index) to the next; once released they are never changed."""
_COLUMNS: Final = (
    "id", "place", "state", "command", "cwd", "pid", "born", "exit_code", "signal", "reason", "started", "ended",
    "bytes_out", "bytes_err", "owner", "user", "task", "ttl", "pty", "closed_stdin", "notify",
)  # fmt: skip
_ALIVE: Final = "state in ('starting', 'running')"


class Store:
    """The database. Thread-safe, and safe among programs.

    Args:
        path: of the file; it is made when missing, for this user alone.

    Raises:
        OSError, sqlite3.Error: it cannot be made or read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None)
        try:
            path.chmod(0o600)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
            self._migrate()
        except BaseException:
            self._connection.close()
            raise

    def _migrate(self) -> None:
        with self._transaction() as run:
            (version,) = run("pragma user_version").fetchone()
            if version > len(MIGRATIONS):
                raise sqlite3.DatabaseError(f"{self.path} was written by a newer Shellward (version {version})")
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in filter(str.strip, script.split(";")):
                    run(statement)
                run(f"pragma user_version = {number}")

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Everything in it happens, or nothing; others wait."""
        with self._lock:
            self._connection.execute("begin immediate")
            try:
                yield self._connection.execute
                self._connection.execute("commit")
            except BaseException:
                self._connection.execute("rollback")
                raise

    def close(self) -> None:
        """Close it. Idempotent."""
        with self._lock:
            self._connection.close()

    # -- processes -----------------------------------------------------------------------------------------

    def begin(self, entry: Entry, most: int) -> None:
        """Remember a process that is about to be started.

        Raises:
            LimitReached: there are ``most`` already at its place.
        """
        with self._transaction() as run:
            count = f"select count(*) from process where place = ? and {_ALIVE}"  # noqa: S608  # ours
            (running,) = run(count, (entry.place,)).fetchone()
            if running >= most:
                raise LimitReached(f"{running} background processes run at {entry.place}; the limit is {most}")
            self._insert(run, entry, "starting")

    def save(self, entry: Entry, *, new: bool = False) -> None:
        """Write down what is known of a process now.

        Args:
            entry: what is known.
            new: remember it when it was not known; else one that was forgotten meanwhile stays so.
        """
        values = _row(entry, entry.info.state)
        with self._transaction() as run:
            sets = ", ".join(f"{name} = ?" for name in _COLUMNS[2:-1])
            changed = run(
                f"update process set {sets} where id = ? and state != 'ended'",  # noqa: S608  # names of ours
                (*values[2:-1], entry.id),
            ).rowcount
            if new and not changed:
                self._insert(run, entry, entry.info.state, otherwise="or ignore")

    def _insert(self, run: Any, entry: Entry, state: str, otherwise: str = "") -> None:
        marks = ", ".join("?" * (len(_COLUMNS)))
        run(f"insert {otherwise} into process ({', '.join(_COLUMNS)}) values ({marks})", _row(entry, state))  # noqa: S608

    def get(self, name: str) -> Entry | None:
        """Return what is known of a process; None: nothing."""
        found = self._select("id = ?", (name,))
        return found[0] if found else None

    def entries(
        self, place: str | None = None, *, task: str | None = None, alive: bool = False, prefix: str = ""
    ) -> list[Entry]:
        """List processes in the order of their start.

        Args:
            place: only those there.
            task: only those of this task.
            alive: only those that run, as far as is known here.
            prefix: only those whose ids begin so.
        """
        wanted: list[str] = ["1"]
        values: list[object] = []
        if prefix:
            wanted.append("id >= ? and id < ?")
            values += [prefix, prefix + "\uffff"]
        for column, value in (("place", place), ("task", task)):
            if value is not None:
                wanted.append(f"{column} = ?")
                values.append(value)
        if alive:
            wanted.append(_ALIVE)
        return self._select(f"{' and '.join(wanted)} order by started, id", tuple(values))

    def places(self) -> list[str]:
        """Name the places where processes run, or whose ends were not told yet."""
        query = f"select distinct place from process where {_ALIVE} or (notify = 1 and told is null)"  # noqa: S608
        with self._lock:
            return [row[0] for row in self._connection.execute(query)]

    def forget(self, names: Iterable[str]) -> None:
        """Forget processes."""
        with self._transaction() as run:
            for name in names:
                run("delete from process where id = ?", (name,))

    def _select(self, wanted: str, values: tuple[object, ...]) -> list[Entry]:
        query = f"select {', '.join(_COLUMNS)} from process where {wanted}"  # noqa: S608  # conditions of ours
        with self._lock:
            return [_entry(row) for row in self._connection.execute(query, values)]

    # -- notices -------------------------------------------------------------------------------------------

    def claim(self, name: str, client: str, dead: Iterable[str] = ()) -> bool:
        """Take it upon this client to tell of the end of a process; False: it is told, or another one does.

        Args:
            name: of the process.
            client: this one.
            dead: clients that are gone: what they have claimed and not told is to be told by others.
        """
        gone = tuple(dead)
        with self._transaction() as run:
            free = " or ".join(["claimed is null", *(["claimed = ?"] * len(gone))])
            return bool(
                run(
                    f"update process set claimed = ? where id = ? and notify = 1 and told is null and ({free})",  # noqa: S608
                    (client, name, *gone),
                ).rowcount
            )

    def told(self, name: str, when: float) -> None:
        """Note that the end of a process was told."""
        with self._transaction() as run:
            run("update process set told = ? where id = ?", (when, name))

    def ask(self, name: str) -> None:
        """Have the end of a process told, when it was not yet."""
        with self._transaction() as run:
            run("update process set notify = 1 where id = ?", (name,))

    def untold(self) -> list[tuple[str, str | None]]:
        """Name ended processes whose ends are to be told, each with the client that has claimed it."""
        query = "select id, claimed from process where notify = 1 and told is null and state in ('ended', 'lost')"
        with self._lock:
            return list(self._connection.execute(query))


def _row(entry: Entry, state: str) -> tuple[object, ...]:
    info = entry.info
    return (
        info.id, entry.place, str(state), info.command, info.cwd, info.pid, info.born, info.exit_code, info.signal,
        info.reason, info.started.timestamp(), info.ended.timestamp() if info.ended else None, info.bytes_out,
        info.bytes_err, info.owner, info.user, info.task, info.ttl, info.pty, info.closed_stdin, entry.notify,
    )  # fmt: skip


def _entry(row: tuple[Any, ...]) -> Entry:
    value = dict(zip(_COLUMNS, row, strict=True))
    place, notify = value.pop("place"), value.pop("notify")
    state = value.pop("state")
    started, ended = value.pop("started"), value.pop("ended")
    info = ProcessInfo(
        state=ProcessState.RUNNING if state == "starting" else ProcessState(state),
        started=datetime.fromtimestamp(started, UTC),
        ended=None if ended is None else datetime.fromtimestamp(ended, UTC),
        **{**value, "pty": bool(value["pty"]), "closed_stdin": bool(value["closed_stdin"])},
    )
    return Entry(place=place, info=info, notify=bool(notify), client=info.owner)
