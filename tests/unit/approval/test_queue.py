"""The queue between two programs, either of which may be killed at any moment."""

import multiprocessing
import os
import signal
import sqlite3
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward.approval import queue_rows as rows
from shellward.approval.context import Answer, ApprovalRequest, Context
from shellward.approval.queue import Queue
from shellward.approval.withdrawal import Descriptor, Withdrawal
from shellward.core.gate import Finding, Severity

# Python 3.12 warns of fork() where threads are; that is what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

FORK = multiprocessing.get_context("fork")
TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


def request(id_: str = "a1", **fields: object) -> ApprovalRequest:
    finding = Finding(
        "files.rm", "deletion", Severity.HIGH, (0, 5), "rm -rf /srv", ("/srv",), "why", via=("sudo",), cwd="/a"
    )
    options = {
        "command": "rm -rf /srv", "normalized": "rm -rf /srv", "findings": (finding,), "timeout": 20.0,
        "context": Context(cwd="/a", reason="r"), "reach": ("network",), "exact": "exactly", "part": "part",
    }  # fmt: skip
    return ApprovalRequest(id=id_, **(options | fields))  # type: ignore[arg-type]


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path / "approvals")


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


class Asker:
    """Somebody who waits for an answer, in a thread."""

    def __init__(self, queue: Queue, asked: ApprovalRequest, cancel_fd: int | None = None) -> None:
        self.answer: Answer | None = None

        def work() -> None:
            self.answer = queue.ask(asked, cancel_fd=cancel_fd)

        self.thread = threading.Thread(target=work)
        self.thread.start()

    def join(self) -> Answer:
        self.thread.join(20)
        assert self.answer is not None
        return self.answer


def test_an_answer_reaches_the_asker(queue: Queue) -> None:
    asker = Asker(queue, request())
    until(queue.entries)
    (entry,) = queue.entries()
    assert entry.request == request()
    assert entry.pid == os.getpid()
    said = Answer("allow", "session", part=True, by="me@pts/1", note="fine")
    assert queue.answer("a1", said) == "accepted"
    assert asker.join() == said
    assert queue.entries() == []
    assert queue.entries(pending_only=False)[0].answer == said


def test_only_the_first_answer_counts(queue: Queue) -> None:
    asker = Asker(queue, request())
    until(queue.entries)
    assert queue.answer("a1", Answer("deny")) == "accepted"
    assert queue.answer("a1", Answer("allow")) == "answered"
    assert asker.join().kind == "deny"
    assert queue.entries(pending_only=False)[0].answer == Answer("deny")


def test_time_is_up(queue: Queue) -> None:
    assert queue.ask(request(timeout=0.05)).kind == "nobody"
    assert queue.answer("a1", Answer("allow")) == "expired"
    assert queue.entries(pending_only=False)[0].state == "expired"


def test_withdrawn(queue: Queue) -> None:
    withdrawal = Withdrawal()
    with Descriptor(withdrawal) as fd:
        asker = Asker(queue, request(), fd)
        until(queue.entries)
        withdrawal.withdraw()
        assert asker.join().kind == "nobody"
    assert queue.answer("a1", Answer("allow")) == "withdrawn"


def test_unknown_and_shortened_ids(queue: Queue) -> None:
    assert queue.entries() == []
    assert queue.find("a") is None
    assert queue.answer("nobody", Answer("allow")) == "unknown"
    askers = [Asker(queue, request(id_)) for id_ in ("abc1", "abd2")]
    until(lambda: len(queue.entries()) == 2)
    assert queue.find("ab") is None
    assert queue.find("") is None
    found = queue.find("abc")
    assert found is not None
    assert found.request.id == "abc1"
    for id_ in ("abc1", "abd2"):
        queue.answer(id_, Answer("deny"))
    for asker in askers:
        asker.join()


@pytest.mark.parametrize("id_", ["", "../x", "a/b", "A", "a.b"])
def test_an_id_is_no_path(queue: Queue, id_: str) -> None:
    with pytest.raises(ValueError, match="not an id"):
        queue.ask(request(id_))


def test_secrets_never_reach_the_database(queue: Queue) -> None:
    command = f"curl -H 'Authorization: Bearer {TOKEN}' x \udcff"
    finding = Finding("x.y", "d", Severity.HIGH, (0, 4), command, (f"https://u:{TOKEN}@h/",))
    context = Context(reason=f"token={TOKEN}")
    asker = Asker(
        queue,
        request(command=command, normalized=command, findings=(finding,), exact=command, context=context),
    )
    until(queue.entries)
    with sqlite3.connect(queue.directory / "queue.db") as database:
        stored = "".join(body for (body,) in database.execute("select body from request"))
    database.close()
    assert stored
    assert TOKEN not in stored
    assert "<masked" in queue.entries()[0].request.command
    queue.answer("a1", Answer("deny"))
    asker.join()


def test_only_the_owner_can_look_inside(queue: Queue) -> None:
    asker = Asker(queue, request())
    until(queue.entries)
    assert queue.directory.stat().st_mode & 0o077 == 0
    for path in queue.directory.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    queue.answer("a1", Answer("deny"))
    asker.join()


def _ask(directory: Path, id_: str, result: "multiprocessing.queues.SimpleQueue[Answer]") -> None:
    result.put(Queue(directory).ask(request(id_)))


def test_a_killed_asker_is_shown_as_gone(queue: Queue) -> None:
    result: multiprocessing.queues.SimpleQueue[Answer] = FORK.SimpleQueue()
    asker = FORK.Process(target=_ask, args=(queue.directory, "a1", result))
    asker.start()
    until(queue.entries)
    os.kill(asker.pid, signal.SIGKILL)  # type: ignore[arg-type]
    asker.join()
    assert queue.entries() == []
    assert queue.entries(pending_only=False)[0].state == "orphaned"
    assert queue.answer("a1", Answer("allow")) == "orphaned"
    assert not list(queue.directory.glob("ask-*")), "what it left is cleaned up"
    asker.close()
    result.close()


@pytest.mark.parametrize("how", ["answered", "withdrawn", "killed", "before", "stopped"])
def test_who_shows_a_question_hears_that_it_is_over(queue: Queue, how: str) -> None:
    withdrawal, stop = Withdrawal(), Withdrawal()
    result: multiprocessing.queues.SimpleQueue[Answer] = FORK.SimpleQueue()
    over: list[bool] = []
    with Descriptor(withdrawal) as fd, Descriptor(stop) as stop_fd:
        asker = None
        if how == "killed":
            process = FORK.Process(target=_ask, args=(queue.directory, "a1", result))
            process.start()
        elif how != "before":
            asker = Asker(queue, request(), fd)
        if how != "before":
            until(queue.entries)
        waiter = threading.Thread(target=lambda: over.append(queue.wait_until_over("a1", cancel_fd=stop_fd)))
        waiter.start()
        if how == "answered":
            queue.answer("a1", Answer("deny"))
        elif how == "withdrawn":
            withdrawal.withdraw()
        elif how == "killed":
            process.kill()
            process.join()
        elif how == "stopped":
            stop.withdraw()
        waiter.join(20)
        assert over == [how != "stopped"]
        withdrawal.withdraw()
        if asker is not None:
            asker.join()


def test_the_answering_program_dies_between_row_and_bell(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    asker = Asker(queue, request())
    until(queue.entries)
    silent = Queue(queue.directory)
    monkeypatch.setattr(silent, "_ring", lambda *_, **__: True)
    assert silent.answer("a1", Answer("allow")) == "accepted"
    assert asker.join().kind == "allow", "the slow look finds it"


def test_an_answering_program_killed_at_any_moment_leaves_no_half_answer(queue: Queue) -> None:
    for number in range(8):
        id_ = f"k{number}"
        asker = Asker(queue, request(id_, timeout=15.0))
        until(queue.entries)
        killer = FORK.Process(target=lambda i=id_: [queue.answer(i, Answer("deny", by="other"))])
        killer.start()
        time.sleep(0.002 * number)
        os.kill(killer.pid, signal.SIGKILL)  # type: ignore[arg-type]
        killer.join()
        killer.close()
        queue.answer(id_, Answer("allow", by="me"))
        answer = asker.join()
        assert answer in {Answer("deny", by="other"), Answer("allow", by="me")}


def test_twenty_programs_ask_at_once(queue: Queue) -> None:
    result: multiprocessing.queues.SimpleQueue[Answer] = FORK.SimpleQueue()
    askers = [FORK.Process(target=_ask, args=(queue.directory, f"p{number}", result)) for number in range(20)]
    for asker in askers:
        asker.start()
    until(lambda: len(queue.entries()) == 20)
    for entry in queue.entries():
        queue.answer(entry.request.id, Answer("allow", by=entry.request.id))
    said = {result.get().by for _ in askers}
    assert said == {f"p{number}" for number in range(20)}
    for asker in askers:
        asker.join()
        assert asker.exitcode == 0
        asker.close()
    result.close()


def test_watching_sees_new_questions_and_is_seen(queue: Queue) -> None:
    assert not queue.watched()
    withdrawal, seen = Withdrawal(), []

    def watch() -> None:
        with Descriptor(withdrawal) as fd:
            for entries in queue.watch(cancel_fd=fd):
                seen.append([entry.request.id for entry in entries])
                for entry in entries:
                    queue.answer(entry.request.id, Answer("allow"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    until(queue.watched)
    assert queue.ask(request()).kind == "allow"
    withdrawal.withdraw()
    watcher.join(20)
    assert ["a1"] in seen
    assert not queue.watched()


def test_a_killed_watcher_is_not_there(queue: Queue) -> None:
    watcher = FORK.Process(target=lambda: list(queue.watch()))
    watcher.start()
    until(queue.watched)
    os.kill(watcher.pid, signal.SIGKILL)  # type: ignore[arg-type]
    watcher.join()
    watcher.close()
    assert not queue.watched()


def test_a_broken_database_is_an_error_of_the_system(queue: Queue) -> None:
    queue.directory.mkdir(mode=0o700)
    (queue.directory / "queue.db").write_bytes(b"not a database, whatever its name says" * 50)
    with pytest.raises(OSError, match="approval queue cannot be used"):
        queue.entries()
    with pytest.raises(OSError, match="approval queue cannot be used"):
        queue.ask(request())


def test_old_questions_are_forgotten(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellward.approval.queue._KEPT", 3)
    for number in range(6):
        queue.ask(request(f"o{number}", timeout=0.001))
    with sqlite3.connect(queue.directory / "queue.db") as database:
        assert database.execute("select count(*) from request").fetchone()[0] <= 4
    database.close()


def test_a_long_list_is_bounded(queue: Queue) -> None:
    """Of 20,000 questions whose askers have died, no more are read than are shown, and none waits any more."""
    body = rows.encode(request("long"))
    with queue._database() as database:
        database.executemany(
            "insert into request (id, created, expires, pid, host, body, state) values (?, ?, ?, 1, ?, ?, ?)",
            (
                (f"q{n:08}", float(n), time.time() + 600, os.uname().nodename, body, "pending" if n % 2 else "answered")
                for n in range(20_000)
            ),
        )
    tracemalloc.start()
    try:
        shown = queue.entries(pending_only=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [entry.created for entry in shown] == [float(n) for n in range(19_000, 20_000)]
    assert {entry.state for entry in shown} == {"answered", "orphaned"}
    assert peak < 16 << 20
    assert queue.entries() == []
    assert queue.count() == 0
    assert queue.count(pending_only=False) == 20_000
    assert len(queue.entries(pending_only=False, limit=3)) == 3
    found = queue.find("q00019999")
    assert found is not None
    assert found.state == "orphaned"
    assert queue.find("q0001") is None
