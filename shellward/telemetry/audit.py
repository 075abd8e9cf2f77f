"""The audit log: who decided what and why, one JSON object per line, chained to the one before by SHA-256.

Writing only; ``shellward.telemetry.chain`` reads and verifies. Several programs write to one file: a lock on
the small ``.head`` file beside it orders them, and that file says where the chain stands, so an append reads
nothing else. The head is also what shows that records were cut off the end, which a chain alone cannot.
"""

import errno
import fcntl
import hashlib
import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec

GENESIS: Final = "0" * 64
"""What the first record has in the place of the hash before it."""
_HASH_FIELD: Final = b',"hash":"'
_TAIL_BYTES: Final = 64 * 1024


class Head(NamedTuple):
    """Where the chain stands.

    Attributes:
        seq: number of the last record; 0 before the first.
        hash: its hash.
        size: bytes of the file after it.
        inode: which file that was.
    """

    seq: int = 0
    hash: str = GENESIS
    size: int = 0
    inode: int = 0

    def encode(self) -> bytes:
        """Return the head as text of fixed length, so that it is overwritten in one write."""
        return f"{self.seq:020d} {self.hash} {self.size:020d} {self.inode:020d}\n".encode()

    @classmethod
    def decode(cls, data: bytes) -> "Head | None":
        """Return the head that ``data`` holds; None when there is none yet, or a crash left a part of one."""
        parts = data.split()
        if len(parts) != 4 or len(parts[1]) != 64 or not data.endswith(b"\n"):  # noqa: PLR2004  # see encode
            return None
        try:
            return cls(int(parts[0]), parts[1].decode(), int(parts[2]), int(parts[3]))
        except ValueError:
            return None


def head_file(path: Path) -> Path:
    """Return the file beside the log that says where its chain stands, and is its lock."""
    return path.with_name(f".{path.name}.head")


class AuditLog:
    """An open audit log. Safe to share between threads, and after a fork; programs may share the file.

    Args:
        path: the log file; made, with its directory, at the first append.
        max_bytes: the file is put aside (``audit-<number of its last record>.jsonl``) when it would grow past
            this; 0 for never. Another program may also move it away at any time.
    """

    def __init__(self, path: Path, *, max_bytes: int = 0) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._mutex = threading.Lock()
        self._log = self._head = -1
        self._inode = 0
        self._pid = 0
        self._last = Head()

    def append(self, event: str, fields: Mapping[str, Any], *, encoded: bytes = b"", sync: bool = False) -> Head:
        """Write one record.

        Args:
            event: what kind of record (``decision``, ``outcome``, ...).
            fields: what it says; plain values. Secrets must be masked by now.
            encoded: more of that, as from ``encode_fields``.
            sync: force it to disk before returning (milliseconds), against a loss of power.

        Returns:
            Where the chain stands afterwards.

        Raises:
            OSError: it cannot be written; the log is as it was before.
        """
        with self._mutex:
            self._open()
            fcntl.flock(self._head, fcntl.LOCK_EX)
            try:
                head = self._last = self._append(self._catch_up(), event, fields, encoded)
            finally:
                fcntl.flock(self._head, fcntl.LOCK_UN)
            if sync:
                os.fdatasync(self._log)
            return head

    def close(self) -> None:
        """Close the files; a later append opens them again."""
        with self._mutex:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        """Have the head open. After a fork both files are opened anew: an inherited flock would be shared."""
        if self._head >= 0 and self._pid == os.getpid():
            return
        self._close()
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._head = os.open(head_file(self.path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._pid = os.getpid()

    def _close(self) -> None:
        for fd in (self._log, self._head):
            if fd >= 0:
                os.close(fd)
        self._log = self._head = -1
        self._inode = 0
        self._last = Head()

    def _catch_up(self) -> Head:
        """Have the file at ``path`` open and return where its chain stands; the lock is held."""
        size = self._reopen_if_moved()
        last = self._last
        if size == last.size and self._inode == last.inode:  # nobody else has appended since
            return last
        head = Head.decode(os.pread(self._head, 256, 0))
        if head is not None and head.size == size and head.inode == self._inode:
            return head
        return self._recover(head or Head(), size)

    def _reopen_if_moved(self) -> int:
        """Have the file at ``path`` open; return its size."""
        if self._log >= 0:
            try:
                there = os.stat(self.path)  # noqa: PTH116  # on the path of every command; Path.stat costs twice
            except FileNotFoundError:
                pass
            else:
                if there.st_ino == self._inode:
                    return there.st_size
        if self._log >= 0:
            os.close(self._log)
            self._log = -1
        self._log = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        there = os.fstat(self._log)
        self._inode = there.st_ino
        return there.st_size

    def _recover(self, head: Head, size: int) -> Head:
        """Find where the chain stands when the head does not say: a crash, a new file, another tool."""
        whole, torn = read_tail(self._log, size)
        last = _position(whole)
        # A new or shortened file goes on from the head, so that missing records show as a gap.
        seq, digest = max((head.seq, head.hash), last, key=lambda pair: pair[0])
        head = Head(seq, digest, size, self._inode)
        if torn:
            self._write(b"\n", size)
            head = self._append(head._replace(size=size + 1), "torn", {"bytes": torn})
        return head

    def _append(self, head: Head, event: str, fields: Mapping[str, Any], encoded: bytes = b"") -> Head:
        body = msgspec.json.encode({"seq": head.seq + 1, "time": _now(), "event": event, **fields})[:-1]
        body += b'%s,"prev":"%s"}' % (encoded, head.hash.encode())
        digest = hashlib.sha256(body).hexdigest()
        line = body[:-1] + _HASH_FIELD + digest.encode() + b'"}\n'
        size = head.size
        if self._max_bytes and size and size + len(line) > self._max_bytes:
            self.path.rename(self.path.with_name(f"{self.path.stem}-{head.seq:012d}{self.path.suffix}"))
            self._reopen_if_moved()
            size = 0
        self._write(line, size)
        head = Head(head.seq + 1, digest, size + len(line), self._inode)
        os.pwrite(self._head, head.encode(), 0)
        return head

    def _write(self, line: bytes, size: int) -> None:
        """Append all of ``line`` or nothing to the file, which is so long."""
        try:
            written = os.write(self._log, line)
        except OSError:
            os.ftruncate(self._log, size)
            raise
        if written < len(line):
            os.ftruncate(self._log, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))


def encode_fields(fields: Mapping[str, Any]) -> bytes:
    """Encode a part of a record that is the same in many, for ``AuditLog.append``."""
    return b"," + msgspec.json.encode(fields)[1:-1] if fields else b""


def read_tail(fd: int, size: int) -> tuple[bytes, int]:
    """Return the last whole line of a file and how many bytes of a torn one come after it."""
    data, start = b"", size
    while start and data.count(b"\n") < 2:  # noqa: PLR2004  # the line's own end, and that of the one before
        step = min(start, max(_TAIL_BYTES, len(data)))
        start -= step
        data = os.pread(fd, step, start) + data
    end = data.rfind(b"\n") + 1
    return data[data.rfind(b"\n", 0, max(0, end - 1)) + 1 : end], len(data) - end


def _position(line: bytes) -> tuple[int, str]:
    try:
        record = msgspec.json.decode(line)
        return int(record["seq"]), str(record["hash"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return 0, GENESIS


def split(line: bytes) -> tuple[bytes, str] | None:
    """Split a line into what was hashed and the hash; None when it is not a record."""
    at = line.rfind(_HASH_FIELD)
    if at < 0 or not line.endswith(b'"}'):
        return None
    return line[:at] + b"}", line[at + len(_HASH_FIELD) : -2].decode("ascii", "replace")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
