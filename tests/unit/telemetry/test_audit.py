"""The audit log: a chain that several programs write, that survives crashes, and that shows every change."""

import errno
import json
import multiprocessing
import os
import threading
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest

from shellward.telemetry import audit as audit_module
from shellward.telemetry.audit import GENESIS, AuditLog, head_file
from shellward.telemetry.chain import log_files, read, verify

# Python 3.12 warns of fork() where threads are; that is what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "audit.jsonl"


def fill(path: Path, count: int = 5, **options: int) -> None:
    with AuditLog(path, **options) as log:
        for number in range(count):
            log.append("decision", {"number": number, "command": "echo é\n\u2028"})


def test_records_are_chained(path: Path) -> None:
    fill(path)
    records = list(read(path))
    assert [record["seq"] for record in records] == [1, 2, 3, 4, 5]
    assert records[0]["prev"] == GENESIS
    assert all(later["prev"] == earlier["hash"] for earlier, later in pairwise(records))
    report = verify(path)
    assert report.ok
    assert report.records == 5
    assert not report.notes


def test_each_record_is_a_line_of_plain_json(path: Path) -> None:
    fill(path)
    for line in path.read_bytes().split(b"\n")[:-1]:
        assert json.loads(line)["command"] == "echo é\n\u2028"


def test_only_the_owner_can_read_it(path: Path) -> None:
    fill(path)
    assert path.stat().st_mode & 0o077 == 0
    assert head_file(path).stat().st_mode & 0o077 == 0


def test_an_empty_log_is_whole(path: Path) -> None:
    assert verify(path).ok
    assert list(read(path)) == []


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ls: [ls[0].replace(b'"number":0', b'"number":9'), *ls[1:]], "record 1 was changed"),
        (lambda ls: [*ls[:2], *ls[3:]], "record 4 follows 2"),
        (lambda ls: [ls[1], ls[0], *ls[2:]], "follows"),
        (lambda ls: [*ls[:2], ls[1], *ls[2:]], "record 2 follows 2"),
        (lambda ls: ls[:-2], "the last 2 records are missing"),
        (lambda ls: [*ls[:2], b"noise\n", *ls[2:]], "a line is torn"),
        (lambda ls: [*ls[:2], ls[2][:40], *ls[3:]], "a line is torn"),
        (lambda ls: [ls[0].replace(b'"seq":1', b'"seq":7'), *ls[1:]], "was changed"),
    ],
)
def test_every_change_shows(path: Path, change: object, message: str) -> None:
    fill(path)
    path.write_bytes(b"".join(change(lines(path))))  # type: ignore[operator]
    report = verify(path)
    assert not report.ok
    assert any(message in problem.what for problem in report.problems), report.problems


def test_a_consistent_rewrite_of_the_end_shows_in_the_head(path: Path) -> None:
    fill(path)
    head = head_file(path).read_bytes()
    path.write_bytes(b"".join(lines(path)[:-1]))
    head_file(path).unlink()
    with AuditLog(path) as log:
        log.append("decision", {"number": "forged"})
    head_file(path).write_bytes(head)
    assert any("not the one that was written" in problem.what for problem in verify(path).problems)


def test_a_changed_record_with_a_hash_that_fits_breaks_the_link(path: Path) -> None:
    fill(path)
    changed = lines(path)
    body = changed[2].rsplit(b',"hash":"', 1)[0].replace(b'"number":2', b'"number":9') + b"}"
    changed[2] = body[:-1] + b',"hash":"' + sha256(body).hexdigest().encode() + b'"}\n'
    path.write_bytes(b"".join(changed))
    assert [problem.what for problem in verify(path).problems] == ["record 4 does not continue record 3"]


def test_a_noted_record_must_still_be_there(path: Path) -> None:
    fill(path)
    record = list(read(path))[2]
    assert verify(path, expect=(record["seq"], record["hash"])).ok
    assert not verify(path, expect=(record["seq"], GENESIS)).ok


class TestCrashes:
    def test_a_torn_line_is_healed_and_reported(self, path: Path) -> None:
        fill(path)
        with path.open("ab") as file:
            file.write(b'{"seq":6,"time":"20')
        assert verify(path).ok, "a torn last line alone breaks nothing"
        assert len(verify(path).notes) == 1
        fill(path, 2)
        report = verify(path)
        assert report.ok
        assert [record["event"] for record in read(path)][-3:] == ["torn", "decision", "decision"]
        assert any("torn" in note.what for note in report.notes)

    def test_the_head_lags_one_record_behind(self, path: Path) -> None:
        fill(path)
        head = head_file(path).read_bytes()
        fill(path, 1)
        head_file(path).write_bytes(head)
        fill(path, 1)
        assert verify(path).ok
        assert [record["seq"] for record in read(path)] == [1, 2, 3, 4, 5, 6, 7]

    @pytest.mark.parametrize("head", [b"", b"garbage", b"0001 ab"])
    def test_the_head_is_lost(self, path: Path, head: bytes) -> None:
        fill(path)
        head_file(path).write_bytes(head)
        fill(path, 2)
        assert verify(path).ok
        assert verify(path).last.seq == 7

    def test_records_cut_off_leave_a_gap_that_later_records_do_not_hide(self, path: Path) -> None:
        fill(path)
        path.write_bytes(b"".join(lines(path)[:-2]))
        fill(path, 2)
        assert any("records are missing" in problem.what for problem in verify(path).problems)

    def test_a_full_disk_leaves_the_log_as_it_was(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        fill(path)
        before = path.read_bytes()
        write = os.write
        with AuditLog(path) as log:
            monkeypatch.setattr(audit_module.os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))
            with pytest.raises(OSError, match="No space left") as caught:
                log.append("decision", {})
            assert caught.value.errno == errno.ENOSPC
            assert path.read_bytes() == before
            monkeypatch.undo()
            log.append("decision", {})
        assert verify(path).ok

    def test_a_very_long_last_record_is_found(self, path: Path) -> None:
        with AuditLog(path) as log:
            log.append("decision", {"command": "x" * 300_000})
        head_file(path).unlink()
        fill(path, 1)
        assert verify(path).ok
        assert verify(path).records == 2


class TestRotation:
    def test_its_own(self, path: Path) -> None:
        fill(path, 40, max_bytes=2000)
        assert len(log_files(path)) > 3
        assert [record["seq"] for record in read(path)] == list(range(1, 41))
        assert verify(path).ok

    def test_another_programs(self, path: Path) -> None:
        with AuditLog(path) as log:
            log.append("decision", {})
            path.rename(path.with_name("audit.jsonl.1"))
            log.append("decision", {})
            path.with_name("audit.jsonl.1").rename(path.with_name("audit-000000000001.jsonl"))
        assert verify(path).ok
        assert verify(path).records == 2

    def test_copy_and_truncate(self, path: Path) -> None:
        with AuditLog(path) as log:
            log.append("decision", {})
            path.with_name("audit-000000000001.jsonl").write_bytes(path.read_bytes())
            os.truncate(path, 0)
            log.append("decision", {})
        assert verify(path).ok

    def test_older_files_removed_is_a_note(self, path: Path) -> None:
        fill(path, 40, max_bytes=2000)
        log_files(path)[0].unlink()
        report = verify(path)
        assert report.ok
        assert "older files were removed" in report.notes[0].what


def _write(path: str, count: int) -> None:
    fill(Path(path), count, max_bytes=4000)


def test_many_programs_and_threads_at_once(path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    with AuditLog(path, max_bytes=4000) as log:
        log.append("decision", {})
        programs = [fork.Process(target=_write, args=(str(path), 40)) for _ in range(5)]
        threads = [threading.Thread(target=lambda: [log.append("decision", {}) for _ in range(20)]) for _ in range(5)]
        for worker in (*programs, *threads):
            worker.start()
        for worker in (*programs, *threads):
            worker.join()
    report = verify(path)
    assert report.ok, report.problems
    assert report.records == 1 + 5 * 40 + 5 * 20


def test_a_forked_child_does_not_share_the_lock(path: Path) -> None:
    with AuditLog(path) as log:
        log.append("decision", {})
        fork = multiprocessing.get_context("fork")
        children = [fork.Process(target=lambda: [log.append("child", {}) for _ in range(30)]) for _ in range(3)]
        for child in children:
            child.start()
        for _ in range(30):
            log.append("parent", {})
        for child in children:
            child.join()
    assert verify(path).ok
    assert verify(path).records == 121
