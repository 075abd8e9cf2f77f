"""What is kept of a command's output: head and tail in memory, everything in a file where that is asked for.

Memory stays flat however much is printed.
"""

import codecs
import errno
import itertools
import os
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from shellward.core.errors import had_begun
from shellward.core.limits import HEAD_SHARE, KEPT_OUTPUT, KEPT_OUTPUTS, KEPT_OUTPUTS_BYTES
from shellward.core.types import StreamName

_SMALL = 1 << 12
_DROPPED: Final = f"""The oldest files are gone. Of an environment's long outputs the newest {KEPT_OUTPUTS} are kept,
and {KEPT_OUTPUTS_BYTES >> 30} GiB of them, until it is closed. run(.., full_output=PATH) keeps one for good.
"""
_WIDEST = 4  # bytes that one character takes at the most in UTF-8


class Kept:
    """The beginning and the end of a byte stream.

    Args:
        limit: characters to keep; 0 keeps nothing, None everything.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._room = 0 if limit is None else limit * _WIDEST
        self._head: list[bytes] = []
        self._tail: deque[bytes] | tuple[()] = ()
        self._tail_size = 0
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        if self._limit is None:
            _append(self._head, data)
            return
        if self._room > 0:
            _append(self._head, data[: self._room])
            rest = data[self._room :]
            self._room -= len(data)
            data = rest
            if not data:
                return
        tail = self._tail = self._tail or deque()
        _append(tail, data)
        self._tail_size += len(data)
        most = self._limit * _WIDEST
        while tail and self._tail_size - len(tail[0]) >= most:
            self._tail_size -= len(tail.popleft())

    def finish(self, note: Callable[[int], str]) -> tuple[str, bytes, bool]:
        """Return text, bytes and whether something was left out.

        Args:
            note: makes the line that stands for what was left out, from its number of bytes.
        """
        data = b"".join(self._head)
        if not self._tail and (self._limit is None or self.total <= self._limit):
            return data.decode("utf-8", "replace"), data, False
        limit = self._limit or 0
        if not self._tail and len(data) == self.total:
            text = data.decode("utf-8", "replace")
            if len(text) <= limit:
                return text, data, False
        end = b"".join(self._tail)
        head_size = int(limit * HEAD_SHARE)
        head = data[: head_size * _WIDEST].decode("utf-8", "replace")[:head_size]
        tail_source = (data + end)[-(limit * _WIDEST) :] if limit else b""
        tail = tail_source.decode("utf-8", "replace")[-(limit - head_size) :] if limit > head_size else ""
        head_bytes = _encode_like(head, data)
        tail_bytes = _encode_tail(tail, tail_source)
        left_out = self.total - len(head_bytes) - len(tail_bytes)
        return head + note(left_out) + tail, head_bytes + tail_bytes, True


def _append(parts: "list[bytes] | deque[bytes]", data: bytes) -> None:
    """Append, or add to the last part while that is small: a byte of its own costs fifty."""
    if parts and len(parts[-1]) + len(data) < _SMALL:
        parts[-1] += data
    else:
        parts.append(data)


def _encode_like(text: str, source: bytes) -> bytes:
    """Return the beginning of ``source`` that decodes to ``text``."""
    if "\ufffd" not in text:
        return source[: len(text.encode())]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    done = 0
    for place in range(len(source)):
        if done >= len(text):
            return source[:place]
        done += len(decoder.decode(source[place : place + 1]))
    return source


def _encode_tail(text: str, source: bytes) -> bytes:
    """Return the end of ``source`` that decodes to ``text``."""
    if "\ufffd" not in text:
        size = len(text.encode())
        return source[len(source) - size :]
    whole = source.decode("utf-8", "replace")
    return source[len(_encode_like(whole[: len(whole) - len(text)], source)) :]


class OutputFiles:
    """The files of an environment's outputs that were too long to be returned whole. Thread-safe.

    The newest are kept, see ``KEPT_OUTPUTS``; those of commands that run are not counted yet. All go with ``close``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._kept: dict[Path, int] = {}
        self._said = self._closed = False

    def new(self) -> Path:
        """Return the path for a further file; whoever writes it calls ``keep`` when it is complete.

        Raises:
            OSError: there is no room for it.
        """
        with self._lock:
            if self._closed:
                raise FileNotFoundError(errno.ENOENT, "the environment was closed")
            if self._directory is None:
                self._directory = tempfile.TemporaryDirectory(prefix="shellward-output-", ignore_cleanup_errors=True)
            return Path(self._directory.name) / f"{next(self._numbers)}.txt"

    def keep(self, path: Path, size: int) -> None:
        """Count a file in, and drop the oldest of those that are too many."""
        with self._lock:
            if self._directory is None:  # closed meanwhile
                with suppress(OSError):
                    path.unlink(missing_ok=True)
                return
            self._kept[path] = size
            total = sum(self._kept.values())
            while len(self._kept) > 1 and (len(self._kept) > KEPT_OUTPUTS or total > KEPT_OUTPUTS_BYTES):
                oldest = next(iter(self._kept))
                total -= self._kept.pop(oldest)
                with suppress(OSError):  # it goes with its directory
                    oldest.unlink(missing_ok=True)
                self._say()

    def _say(self) -> None:
        """Leave word for who looks for a file that is gone."""
        if not self._said and self._directory is not None:
            self._said = True
            with suppress(OSError):
                Path(self._directory.name, "README").write_text(_DROPPED, encoding="utf-8")

    def close(self) -> None:
        """Remove all of them. Idempotent."""
        with self._lock:
            self._closed = True
            directory, self._directory = self._directory, None
            self._kept.clear()
        if directory is not None:
            directory.cleanup()


class Spool:
    """A file that takes everything, or the first bytes of it.

    The file is made when the first bytes come; it is the caller's to remove.

    Args:
        path: where.
        limit: bytes to keep; None: all.
    """

    def __init__(self, path: Path, limit: int | None) -> None:
        self.path = path
        self._limit = limit
        self._file: BinaryIO | None = None
        self.size = 0
        self.complete = True

    def add(self, data: bytes) -> None:
        """Append.

        Raises:
            OSError: the disk is full, or the directory cannot be written to.
        """
        if self._limit is not None and self.size + len(data) > self._limit:
            self.complete = False
            data = data[: max(0, self._limit - self.size)]
        if not data:
            return
        self._opened().write(data)
        self.size += len(data)

    def keep_all(self) -> None:
        """Keep everything from now on, in a file that is there; what was left out stays so."""
        if self.complete:
            self._limit = None
        self._opened()

    def _opened(self) -> BinaryIO:
        if self._file is None:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            self._file = os.fdopen(descriptor, "wb", buffering=0)
        return self._file

    def close(self) -> None:
        """Close the file; idempotent."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Collector:
    """Everything that is kept of one command: stdout, stderr, both in order, and the file.

    Args:
        max_output: characters kept of each; None: all.
        keep_file: makes the path for the file when it turns out to be needed; None: there is none.
        everything: the file is wanted from the first byte on, whole.
        on_kept: is called once with the file's path and size when nothing comes any more, and it stays.
    """

    def __init__(
        self,
        max_output: int | None,
        *,
        keep_file: Callable[[], Path] | None = None,
        everything: bool = False,
        on_kept: Callable[[Path, int], object] | None = None,
    ) -> None:
        self._on_kept = on_kept
        self._unkept = ""
        self._kept = {name: Kept(max_output) for name in StreamName}
        self._both = Kept(max_output)
        self._keep_file = keep_file
        self._everything = everything
        self._spool: Spool | None = None
        self._before: list[bytes] = []
        self._threshold = 0 if max_output is None else max_output

    def add(self, stream: StreamName, data: bytes) -> None:
        """Take what came on one stream."""
        self._kept[stream].add(data)
        self._both.add(data)
        if self._keep_file is None:
            return
        try:
            if self._spool is not None:
                self._spool.add(data)
                return
            self._before.append(data)
            if self._both.total > self._threshold or self._everything:
                self._spooled(self._keep_file())
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        """Go on without a file that nobody has asked for: its command must not end for want of it."""
        if self._everything:
            had_begun(error)
            raise error
        self._without_file(error)

    def _without_file(self, error: OSError) -> None:
        self._unkept = error.strerror or str(error)
        self._keep_file = None
        self._before.clear()
        spool, self._spool = self._spool, None
        if spool is not None:
            with suppress(OSError):
                spool.close()
            with suppress(OSError):
                spool.path.unlink(missing_ok=True)

    def _spooled(self, path: Path) -> Spool:
        self._spool = spool = Spool(path, None if self._everything else KEPT_OUTPUT)
        for part in self._before:
            spool.add(part)
        self._before.clear()
        return spool

    def keep_all(self) -> Path | None:
        """Keep everything in a file from now on; returns it, or None where no file is wanted.

        Raises:
            OSError: the disk is full, or the directory cannot be written to.
        """
        if self._keep_file is None:
            return None
        self._everything = True
        spool = self._spool or self._spooled(self._keep_file())
        spool.keep_all()
        return spool.path

    def so_far(self) -> tuple[str, bool]:
        """Return what came until now, on both streams, and whether something was left out."""
        text, _, cut = self._both.finish(self._note)
        return text, cut

    def close(self) -> None:
        """Release the file. Idempotent; never fails."""
        try:
            self._release()
        except OSError as error:  # nobody has asked what became of it: its command has not come to its end
            self._without_file(error)

    def _release(self) -> None:
        if self._spool is not None:
            self._spool.close()
            if (kept := self._on_kept) is not None and self._spool.path.exists():
                self._on_kept = None
                kept(self._spool.path, self._spool.size)

    def finish(self) -> dict[str, object]:
        """Close the file and return the fields of ``Result`` that hold output.

        Raises:
            OSError: the file was asked for, and is not whole; says that the command had begun.
        """
        try:
            return self._finished()
        except OSError as error:
            self._failed(error)
        return self._finished()

    def remains(self) -> dict[str, object]:
        """As ``finish``, for a command of which there is something worse to tell than of its file."""
        try:
            return self._finished()
        except OSError as error:
            self._without_file(error)
        return self._finished()

    def _finished(self) -> dict[str, object]:
        if self._spool is None and self._everything and self._keep_file is not None:
            with suppress(FileNotFoundError):  # the environment was closed meanwhile
                self._spool = Spool(self._keep_file(), None)
                self._spool.path.write_bytes(b"")
        out, out_bytes, cut_out = self._kept[StreamName.STDOUT].finish(self._note)
        err, err_bytes, cut_err = self._kept[StreamName.STDERR].finish(self._note)
        both, both_bytes, cut_both = self._both.finish(self._note)
        truncated = cut_out or cut_err or cut_both
        file = self._file_of(truncated)
        self._release()
        return {
            "stdout": out,
            "stderr": err,
            "output": both,
            "stdout_bytes": out_bytes,
            "stderr_bytes": err_bytes,
            "output_bytes": both_bytes,
            "truncated": truncated,
            "full_output": file,
        }

    def _file_of(self, truncated: bool) -> Path | None:
        if self._spool is None:
            return None
        if truncated or self._everything:
            return self._spool.path
        self._spool.close()
        self._spool.path.unlink(missing_ok=True)
        return None

    def _note(self, left_out: int) -> str:
        where = ""
        if self._spool is not None:
            what = "everything" if self._spool.complete else f"the first {KEPT_OUTPUT // 2**20} MiB"
            where = f"; {what} is in {self._spool.path}"
        elif self._unkept:
            where = f"; no file could keep them: {self._unkept}"
        return f"\n[... {left_out} bytes left out{where} ...]\n"


class Decoder:
    """Turns the chunks of one stream into text, without breaking a character at a border."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def text(self, data: bytes, *, final: bool = False) -> str:
        """Decode the next bytes; with ``final`` what is incomplete becomes U+FFFD."""
        return self._decoder.decode(data, final)
