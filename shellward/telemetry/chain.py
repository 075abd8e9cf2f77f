"""Reading and verifying the audit log: the files that were put aside and the current one, as one chain."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from shellward.telemetry.audit import GENESIS, Head, head_file, split


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a log.

    Attributes:
        file: where.
        line: line number, from 1; 0 when it is the file as a whole.
        what: a sentence for a person.
    """

    file: Path
    line: int
    what: str


@dataclass(slots=True)
class Report:
    """What ``verify`` found.

    Attributes:
        records: how many were read.
        last: where the chain stands; note ``seq`` and ``hash`` elsewhere to prove later that nothing was cut.
        problems: everything that breaks the chain.
        notes: what is worth knowing but breaks nothing (a torn line that was healed, older files removed).
    """

    records: int = 0
    last: Head = field(default_factory=Head)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether the chain is whole."""
        return not self.problems


def log_files(path: Path) -> list[Path]:
    """Return the files of a log, oldest first: those put aside, then the current one."""
    aside = sorted(path.parent.glob(f"{path.stem}-{'[0-9]' * 12}{path.suffix}"))
    return [*aside, path] if path.exists() else aside


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a log, oldest first; lines that are none are left out (``verify`` reports them).

    Raises:
        OSError: a file cannot be read.
    """
    for file in log_files(path):
        with file.open("rb") as lines:
            for line in lines:
                try:
                    record = msgspec.json.decode(line)
                except msgspec.DecodeError:
                    continue
                if isinstance(record, dict):
                    yield record


def verify(path: Path, *, expect: tuple[int, str] | None = None) -> Report:
    """Check every hash and every link of a log, while programs may be writing to it.

    Args:
        path: the current file.
        expect: a record's number and hash, noted earlier; it must still be there.

    Returns:
        What was found; see ``Report.ok``.

    Raises:
        OSError: a file cannot be read.
    """
    report = Report()
    files, head, size = _snapshot(path)
    walk = _Walk(report, expect)
    for file in files:
        walk.file(file, size if file == path else None)
    missing = head.seq - report.last.seq if head is not None else 0
    if missing > 0:
        what = f"the last {missing} records are missing (cut off, or power was lost)"
        report.problems.append(Problem(path, 0, what))
    elif head is not None and not missing and head.hash != report.last.hash:
        report.problems.append(Problem(path, 0, f"record {head.seq} is not the one that was written"))
    if walk.expected:
        report.problems.append(Problem(path, 0, f"record {walk.expected[0]} with the expected hash is not there"))
    return report


def _snapshot(path: Path) -> tuple[list[Path], Head | None, int]:
    """List the files at a moment when nobody is in the middle of writing."""
    try:
        fd = os.open(head_file(path), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return log_files(path), None, path.stat().st_size if path.exists() else 0
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        return log_files(path), Head.decode(os.pread(fd, 256, 0)), path.stat().st_size if path.exists() else 0
    finally:
        os.close(fd)


class _Walk:
    """The state of one verification."""

    def __init__(self, report: Report, expect: tuple[int, str] | None) -> None:
        self.report = report
        self.expected = expect
        self._torn: Problem | None = None

    def file(self, file: Path, size: int | None) -> None:
        left = size
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if left is not None:
                    if left <= 0:
                        break
                    left -= len(line)
                self._line(file, number, line)
        if self._torn is not None:
            self.report.notes.append(self._torn)
            self._torn = None

    def _line(self, file: Path, number: int, line: bytes) -> None:
        report = self.report
        parts = split(line.rstrip(b"\n"))
        record = _decode(line) if parts and line.endswith(b"\n") else None
        if parts is None or record is None:
            # A crash in the middle of a write: the writer after it says so in a record of its own.
            self._flush()
            self._torn = Problem(file, number, "a line is torn (a program or the machine stopped while writing)")
            return
        body, digest = parts
        if self._torn is not None:
            report.notes.append(self._torn) if record.get("event") == "torn" else report.problems.append(self._torn)
            self._torn = None
        seq, prev = record.get("seq", 0), record.get("prev")
        if hashlib.sha256(body).hexdigest() != digest:
            report.problems.append(Problem(file, number, f"record {seq} was changed: its hash does not fit"))
        last = report.last
        if not report.records and seq != 1:
            report.notes.append(Problem(file, number, f"the log begins at record {seq}; older files were removed"))
        elif not report.records and prev != GENESIS:
            report.problems.append(Problem(file, number, "the first record does not begin a chain"))
        elif report.records and seq != last.seq + 1:
            report.problems.append(Problem(file, number, f"record {seq} follows {last.seq}: records are missing"))
        elif report.records and prev != last.hash:
            report.problems.append(Problem(file, number, f"record {seq} does not continue record {last.seq}"))
        report.records += 1
        report.last = Head(seq, digest)
        if self.expected == (seq, digest):
            self.expected = None

    def _flush(self) -> None:
        if self._torn is not None:
            self.report.problems.append(self._torn)


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        record = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("seq"), int) else None
