"""The registry's memory: a SQLite database that several programs use at once. It judges nothing."""

import errno
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from shellward.core.errors import LimitReached
from shellward.core.interrupts import held
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
    """
    alter table process add column engine text not null default '';
    create index process_over on process (place, coalesce(ended, started)) where state in ('ended', 'lost');
    create table kept (place text primary key, number integer not null, bytes integer not null) without rowid;
    insert into kept select place, count(*), sum(coalesce(bytes_out, 0) + coalesce(bytes_err, 0))
        from process where state in ('ended', 'lost') group by place
    """,
)
"""Each brings the database from one version (its index) to the next; once released they are never changed."""
_COUNT: Final = (
    ("new", "insert", "new.state in ('ended', 'lost')", 1),
    ("gone", "delete", "old.state in ('ended', 'lost')", -1),
    ("before", "update", "old.state in ('ended', 'lost')", -1),
    ("after", "update", "new.state in ('ended', 'lost')", 1),
)
"""What keeps the table ``kept``, which says how many have ended at a place and what they printed, without counting."""
_COUNTED: Final = 2
"""Version of the database from which on there are the triggers that follow from ``_COUNT``."""
_COLUMNS: Final = (
    "id", "place", "state", "command", "cwd", "pid", "born", "exit_code", "signal", "reason", "started", "ended",
    "bytes_out", "bytes_err", "owner", "user", "task", "ttl", "pty", "closed_stdin", "notify", "engine",
)  # fmt: skip
_FIXED: Final = ("id", "place", "notify", "engine")
"""Columns that stay as they were when the process was begun."""
_ALIVE: Final = "state in ('starting', 'running')"
_OVER: Final = "state in ('ended', 'lost')"


class StoreError(OSError):
    """The database cannot be read or written; ``errno`` is ENOSPC where the disk is full, else EIO."""


class Store:
    """The database. Thread-safe, and safe among programs.

    Args:
        path: of the file; it is made when missing, for this user alone.

    Raises:
        OSError: it cannot be made, read or written; here and in each method.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._mapped():
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None)
        try:
            path.chmod(0o600)
            with self._mapped():
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
                raise StoreError(errno.EIO, f"it was written by a newer Shellward (version {version})", str(self.path))
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in filter(str.strip, script.split(";")):
                    run(statement)
                if number == _COUNTED:
                    for statement in _triggers():
                        run(statement)
                run(f"pragma user_version = {number}")

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Everything in it happens, or nothing; others wait."""
        with held(), self._lock, self._mapped():
            self._connection.execute("begin immediate")
            try:
                yield self._connection.execute
                self._connection.execute("commit")
            finally:
                if self._connection.in_transaction:  # SQLite has gone back by itself where there was no room
                    self._connection.execute("rollback")

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # Extended codes have the primary one in their last byte.
            full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
            raise StoreError(
                errno.ENOSPC if full else errno.EIO, f"the process registry cannot be used: {error}", str(self.path)
            ) from error

    def _read(self, query: str, values: tuple[object, ...] = ()) -> list[Any]:
        with held(), self._lock, self._mapped():
            return self._connection.execute(query, values).fetchall()

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
            given = [(name, value) for name, value in zip(_COLUMNS, values, strict=True) if name not in _FIXED]
            sets = ", ".join(f"{name} = ?" for name, _ in given)
            # What was taken for lost and runs after all has an end to come that is to be told.
            again = "state = 'lost' and ? = 'running'"
            changed = run(
                f"update process set {sets}, told = case when {again} then null else told end,"  # noqa: S608  # ours
                f" claimed = case when {again} then null else claimed end where id = ? and state != 'ended'",
                (*(value for _, value in given), str(entry.info.state), str(entry.info.state), entry.id),
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
        query = (
            f"select distinct place from process where {_ALIVE} union "  # noqa: S608  # ours
            "select distinct place from process where notify = 1 and told is null"
        )
        return [row[0] for row in self._read(query)]

    def expected(self, place: str) -> list[str]:
        """Name the processes at a place that run, as far as is known here, and whose ends are to be told."""
        query = f"select id from process where place = ? and {_ALIVE} and notify = 1 and pid != 0"  # noqa: S608
        return [row[0] for row in self._read(query, (place,))]

    def states(self, place: str) -> dict[str, str]:
        """Return the state of each process at a place, by id."""
        return dict(self._read("select id, state from process where place = ?", (place,)))

    def excess(self, place: str, most: int, most_bytes: int) -> list[Entry]:
        """Return those that ended first at a place, as far as they are more than are kept, or have printed more."""
        found = self._read("select number, bytes from kept where place = ?", (place,))
        number, size = found[0] if found else (0, 0)
        entries: list[Entry] = []
        while number > most or size > most_bytes:
            wanted = f"place = ? and {_OVER} order by coalesce(ended, started) limit 100 offset ?"
            page = self._select(wanted, (place, len(entries)))
            for entry in page:
                if number <= most and size <= most_bytes:
                    break
                entries.append(entry)
                number -= 1
                size -= (entry.info.bytes_out or 0) + (entry.info.bytes_err or 0)
            if not page:
                break
        return entries

    def forget(self, names: Iterable[str]) -> None:
        """Forget processes."""
        with self._transaction() as run:
            for name in names:
                run("delete from process where id = ?", (name,))

    def _select(self, wanted: str, values: tuple[object, ...]) -> list[Entry]:
        query = f"select {', '.join(_COLUMNS)} from process where {wanted}"  # noqa: S608  # conditions of ours
        return [_entry(row) for row in self._read(query, values)]

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

    def unclaim(self, names: Iterable[str], client: str) -> None:
        """Leave to others what this client has claimed and not told."""
        with self._transaction() as run:
            for name in names:
                run("update process set claimed = null where id = ? and claimed = ? and told is null", (name, client))

    def untold(self, place: str | None = None) -> list[tuple[str, str | None]]:
        """Name ended processes whose ends are to be told, each with the client that has claimed it.

        Args:
            place: only those there.
        """
        query = f"select id, claimed, place from process where notify = 1 and told is null and {_OVER}"  # noqa: S608
        return [(name, claimed) for name, claimed, where in self._read(query) if place in {None, where}]


def _row(entry: Entry, state: str) -> tuple[object, ...]:
    info = entry.info
    return (
        info.id, entry.place, str(state), info.command, info.cwd, info.pid, info.born, info.exit_code, info.signal,
        info.reason, info.started.timestamp(), info.ended.timestamp() if info.ended else None, info.bytes_out,
        info.bytes_err, info.owner, info.user, info.task, info.ttl, info.pty, info.closed_stdin, entry.notify,
        entry.engine,
    )  # fmt: skip


def _entry(row: tuple[Any, ...]) -> Entry:
    value = dict(zip(_COLUMNS, row, strict=True))
    place, notify, engine = value.pop("place"), value.pop("notify"), value.pop("engine")
    state = value.pop("state")
    started, ended = value.pop("started"), value.pop("ended")
    info = ProcessInfo(
        state=ProcessState.RUNNING if state == "starting" else ProcessState(state),
        started=datetime.fromtimestamp(started, UTC),
        ended=None if ended is None else datetime.fromtimestamp(ended, UTC),
        **{**value, "pty": bool(value["pty"]), "closed_stdin": bool(value["closed_stdin"])},
    )
    return Entry(place=place, info=info, notify=bool(notify), client=info.owner, engine=engine)


def _triggers() -> Iterator[str]:
    for name, event, when, sign in _COUNT:
        row = when.partition(".")[0]
        printed = f"coalesce({row}.bytes_out, 0) + coalesce({row}.bytes_err, 0)"
        yield (
            f"create trigger kept_{name} after {event} on process when {when} begin "  # noqa: S608  # names of ours
            f"insert into kept values ({row}.place, {sign}, {sign} * ({printed})) on conflict (place) do update set "
            f"number = number + excluded.number, bytes = bytes + excluded.bytes; end"
        )
