"""The approval queue: a question asked by one program, answered by a person in another; either may die.

The question and its answer are rows of a SQLite database (WAL), so nothing is lost. Waking up is done by a
FIFO per question, which its asker holds open and waits on in ``poll``: an answer arrives within a
millisecond, and nobody looks again and again. The same FIFO tells whether the asker still lives: opening a
FIFO for writing without a reader fails (``ENXIO``, fifo(7)), however the reader died. If the answering
program dies between the row and the FIFO, the asker sees the row at its next slow look (``RECHECK``).

Secrets are masked before anything is written here. Directory and files belong to the user alone.
"""

import contextlib
import errno
import os
import secrets
import select
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from shellward.approval import queue_rows as rows
from shellward.approval.context import Answer, ApprovalRequest
from shellward.core import files

RECHECK: Final = 2.0
"""Seconds between looks at the database while waiting, for the case that the answering program was killed."""
MOST: Final = 1000
"""So many questions are listed at once, unless more are asked for."""
_KEPT: Final = 1000
"""Answered or expired questions that are kept, for ``approvals list --all``."""
_SCHEMA: Final = """
create table if not exists request (
    id text primary key, created real not null, expires real not null, pid integer not null, host text not
    null, state text not null default 'pending', body text not null, answer text, answered real
) without rowid;
create index if not exists request_state on request (state, created);
"""
_SAFE_ID: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


@dataclass(frozen=True, slots=True)
class Entry:
    """One question in the queue.

    Attributes:
        request: what was asked; secrets are masked.
        state: ``pending``, ``answered``, ``expired`` (time was up), ``withdrawn``, or ``orphaned`` (its asker
            died).
        created: when, in seconds since the epoch.
        expires: when it counts as denied.
        pid: process that asked.
        host: machine that asked.
        answer: what was answered.
    """

    request: ApprovalRequest
    state: str
    created: float
    expires: float
    pid: int
    host: str
    answer: Answer | None = None


class Queue:
    """The queue in one directory. Safe to share between threads: each call has its own connection.

    Args:
        directory: where database and FIFOs are; made when missing.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    # the asking side

    def ask(self, request: ApprovalRequest, *, cancel_fd: int | None = None) -> Answer:
        """Put a question and wait for its answer.

        Args:
            request: what to ask; its ``timeout`` limits the wait.
            cancel_fd: a descriptor that becomes readable when the question is withdrawn.

        Returns:
            The answer; ``nobody`` when time is up or it was withdrawn.

        Raises:
            OSError: the queue cannot be written.
        """
        deadline = time.monotonic() + request.timeout
        with self._fifo(self._fifo_path(request.id)) as fd:
            self._put(request)
            self._ring_watchers()
            try:
                while True:
                    answer = self._answer(request.id)
                    if answer is not None:
                        return answer
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return self._give_up(request, "expired", f"no answer within {request.timeout:g} seconds")
                    if _wait(fd, cancel_fd, min(left, RECHECK)):
                        return self._give_up(request, "withdrawn", "the question was withdrawn")
            except BaseException:  # Ctrl-C too: nobody waits for the answer any more
                self._finish(request.id, "withdrawn")
                raise

    def watched(self) -> bool:
        """Whether a person is watching the queue now (``shellward approvals watch``)."""
        return any(self._ring(path) for path in self._watchers())

    def _give_up(self, request: ApprovalRequest, state: str, note: str) -> Answer:
        if self._finish(request.id, state):
            return Answer("nobody", note=note)
        # The answer came in the very last moment and is already written: it counts.
        return self._answer(request.id) or Answer("nobody", note=note)

    def _put(self, request: ApprovalRequest) -> None:
        now = time.time()
        body = rows.encode(request)
        with self._database() as database:
            row = (request.id, now, now + request.timeout, os.getpid(), os.uname().nodename, body)
            database.execute(
                "insert into request (id, created, expires, pid, host, body) values (?, ?, ?, ?, ?, ?)", row
            )
            database.execute(
                "delete from request where id in (select id from request where state != 'pending'"
                " order by created desc limit -1 offset ?)",
                (_KEPT,),
            )

    def _answer(self, request_id: str) -> Answer | None:
        with self._database() as database:
            row = database.execute("select answer from request where id = ?", (request_id,)).fetchone()
        return msgspec.json.decode(row[0], type=Answer) if row and row[0] else None

    def _finish(self, request_id: str, state: str) -> bool:
        with self._database() as database:
            done = database.execute(
                "update request set state = ? where id = ? and state = 'pending'", (state, request_id)
            )
            return done.rowcount == 1

    # the answering side

    def entries(self, *, pending_only: bool = True, limit: int | None = MOST) -> list[Entry]:
        """List the questions, oldest first; those whose asker is gone are marked so on the way.

        Args:
            pending_only: only those that wait for an answer.
            limit: so many at the most: of those that wait the oldest, of all the newest. None: all of them.

        Raises:
            OSError: the queue cannot be read.
        """
        if not (self.directory / "queue.db").exists():
            return []
        self._mark_orphans()
        wanted = "where state = 'pending' order by created" if pending_only else "order by created desc"
        found = self._rows(f"{wanted} limit ?", -1 if limit is None else limit)
        entries = [self._entry(row) for row in (found if pending_only else reversed(found))]
        return [entry for entry in entries if entry.state == "pending"] if pending_only else entries

    def count(self, *, pending_only: bool = True) -> int:
        """Return how many questions there are.

        Raises:
            OSError: the queue cannot be read.
        """
        if not (self.directory / "queue.db").exists():
            return 0
        with self._database() as database:
            wanted = "where state = 'pending'" if pending_only else ""
            return int(database.execute(f"select count(*) from request {wanted}").fetchone()[0])  # noqa: S608  # ours

    def find(self, prefix: str) -> Entry | None:
        """Return the one question whose id begins with ``prefix``; None when there is none or several."""
        if not prefix or not (self.directory / "queue.db").exists():
            return None
        self._mark_orphans()
        # One that begins so and no other, or is all of it, or the only one of them that waits for an answer.
        begins = "where id >= ? and id < ?"
        for wanted, *values in (
            ("where id = ?", prefix),
            (f"{begins} and state = 'pending'", prefix, prefix + "\uffff"),
            (begins, prefix, prefix + "\uffff"),
        ):
            found = self._rows(f"{wanted} order by created limit 2", *values)
            if found:
                return self._entry(found[0]) if len(found) == 1 else None
        return None

    def _rows(self, wanted: str, *values: object) -> list[Any]:
        query = f"select state, created, expires, pid, host, body, answer, id from request {wanted}"  # noqa: S608  # ours
        with self._database() as database:
            return database.execute(query, values).fetchall()

    def _mark_orphans(self) -> None:
        """Mark all whose asker is gone, in one go: a FIFO that is not there is held by nobody."""
        host = os.uname().nodename
        with self._database() as database:
            waiting = [
                row[0]
                for row in database.execute("select id from request where state = 'pending' and host = ?", (host,))
            ]
        if not waiting:
            return
        there = set(os.listdir(self.directory))  # noqa: PTH208  # names are all that is needed, of many
        gone = [
            name
            for name in waiting
            if self._fifo_path(name).name not in there or not self._ring(self._fifo_path(name), silent=True)
        ]
        if gone:
            with self._database() as database:  # what was answered since the rows were read stays so
                mark = "update request set state = 'orphaned' where id = ? and state = 'pending'"
                database.executemany(mark, [(name,) for name in gone])

    def answer(self, request_id: str, answer: Answer) -> str:
        """Answer a question; the first answer counts.

        Args:
            request_id: its full id.
            answer: what to say.

        Returns:
            ``accepted`` when this answer counts, else the state that the question was in already.

        Raises:
            OSError: the queue cannot be written.
        """
        text = msgspec.json.encode(answer).decode()
        with self._database() as database:
            done = database.execute(
                "update request set state = 'answered', answer = ?, answered = ?"
                " where id = ? and state = 'pending' and expires > ?",
                (text, time.time(), request_id, time.time()),
            )
            if done.rowcount != 1:
                row = database.execute("select state from request where id = ?", (request_id,)).fetchone()
                return "expired" if row and row[0] == "pending" else row[0] if row else "unknown"
        self._ring(self._fifo_path(request_id))
        return "accepted"

    def wait_until_over(self, request_id: str, *, cancel_fd: int) -> bool:
        """Wait until nobody waits for the answer to a question any more: answered, withdrawn, expired, or orphaned.

        Args:
            request_id: its full id.
            cancel_fd: a descriptor that becomes readable when to stop waiting.

        Returns:
            False when it was told to stop.
        """
        try:
            fd = os.open(self._fifo_path(request_id), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return True
        try:
            poll = select.poll()
            poll.register(fd, 0)  # the end of its reader is reported always, as POLLERR
            poll.register(cancel_fd, select.POLLIN)
            return cancel_fd not in dict(poll.poll())
        finally:
            os.close(fd)

    def watch(self, *, cancel_fd: int | None = None) -> Iterator[list[Entry]]:
        """Yield the pending questions now, and again whenever there may be new ones.

        While this runs, askers know that somebody is there.

        Args:
            cancel_fd: a descriptor that becomes readable when to stop.

        Raises:
            OSError: the queue cannot be read.
        """
        with self._fifo(self.directory / f"watch-{os.getpid()}-{secrets.token_hex(4)}") as fd:
            while True:
                yield self.entries()
                if _wait(fd, cancel_fd, None):
                    return

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        state, created, expires, pid, host, body, answer, request_id = row
        if state == "pending":
            if host == os.uname().nodename and not self._ring(self._fifo_path(request_id), silent=True):
                # Look again: it may have been answered, and its FIFO removed, since the rows were read.
                state = "orphaned" if self._finish(request_id, "orphaned") else self._state(request_id)
            elif expires <= time.time():
                state = "expired"
        request = rows.decode(body)
        said = msgspec.json.decode(answer, type=Answer) if answer else None
        return Entry(request, state, created, expires, pid, host, said)

    def _state(self, request_id: str) -> str:
        with self._database() as database:
            row = database.execute("select state from request where id = ?", (request_id,)).fetchone()
        return str(row[0]) if row else "unknown"

    # FIFOs and the database

    def _fifo_path(self, request_id: str) -> Path:
        if not request_id or not set(request_id) <= _SAFE_ID:
            raise ValueError(f"not an id: {request_id!r}")
        return self.directory / f"ask-{request_id}"

    def _watchers(self) -> list[Path]:
        return list(self.directory.glob("watch-*"))

    def _ring_watchers(self) -> None:
        for path in self._watchers():
            self._ring(path)

    def _ring(self, path: Path, *, silent: bool = False) -> bool:
        """Wake who holds a FIFO; False when nobody does any more (what a crash left is removed then)."""
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            path.unlink(missing_ok=True)
            return False
        try:
            if not silent:
                with contextlib.suppress(BlockingIOError):  # full: it has been rung often enough
                    os.write(fd, b"!")
        finally:
            os.close(fd)
        return True

    @contextlib.contextmanager
    def _fifo(self, path: Path) -> Iterator[int]:
        """Make a FIFO and hold it open, for reading and (so that it never reports a hang-up) for writing."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        # It gets its name when it is held: one that nobody holds is taken for what a crash left (_ring).
        half = path.with_name(f"new-{path.name}")
        os.mkfifo(half, 0o600)
        try:
            fd = os.open(half, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                half.rename(path)
                yield fd
            finally:
                os.close(fd)
        finally:
            half.unlink(missing_ok=True)
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """Open the database for one transaction."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.directory / "queue.db"
        try:
            if not path.exists():
                self._make(path)
            connection = sqlite3.connect(path, timeout=10, isolation_level=None)
            try:
                connection.execute("pragma synchronous = normal")
                connection.execute("begin immediate")
                yield connection
                connection.execute("commit")
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise OSError(errno.EIO, f"the approval queue cannot be used: {error}", str(path)) from error

    def _make(self, path: Path) -> None:
        """Make the database where nobody sees it half done: the switch to WAL does not wait for others."""
        with files.locked(self.directory / "queue.lock"):
            if path.exists():
                return
            half = path.with_name("queue.new")
            half.unlink(missing_ok=True)
            os.close(os.open(half, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(half, isolation_level=None)
            try:
                connection.execute("pragma journal_mode = wal")
                connection.executescript(_SCHEMA)
            finally:
                connection.close()
            half.rename(path)


def _wait(fd: int, cancel_fd: int | None, seconds: float | None) -> bool:
    """Wait for a ring; True when the wait is to be given up."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if cancel_fd is not None:
        poll.register(cancel_fd, select.POLLIN)
    ready = dict(poll.poll(None if seconds is None else max(1, int(seconds * 1000))))
    if fd in ready:
        with contextlib.suppress(BlockingIOError):
            os.read(fd, 4096)
    return cancel_fd is not None and cancel_fd in ready
