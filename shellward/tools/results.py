"""Results that are too long for a model: the whole goes to a file, the model gets both ends and reads on in parts.

Files lie in the state directory, so that they are there after a restart; what is a week old goes, and the oldest go
when all together are too large. The name of a file is random: knowing it is the right to read it.
"""

import os
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from shellward.config import paths
from shellward.core.limits import HEAD_SHARE
from shellward.tools.answers import encode

READER: Final = "read_result"
"""The tool that reads them."""
PART: Final = 20_000
"""Bytes of a part when nothing else is asked for."""
LARGEST_PART: Final = 100_000
KEPT_BYTES: Final = 256 * 2**20
KEPT_SECONDS: Final = 7 * 86_400.0
_PREVIEW: Final = 4_000
"""Characters that the model gets at once."""
_NAME: Final = re.compile(r"[0-9a-f]{32}")


class ResultStore:
    """Long results by id. Safe to share between threads and processes.

    Args:
        directory: returns where the files lie; asked at each use.
        kept_bytes: what all together may take.
        kept_seconds: how long one is kept.
    """

    def __init__(
        self,
        directory: Callable[[], Path] = lambda: paths.state_dir() / "results",
        *,
        kept_bytes: int = KEPT_BYTES,
        kept_seconds: float = KEPT_SECONDS,
    ) -> None:
        self._directory = directory
        self._kept_bytes = kept_bytes
        self._kept_seconds = kept_seconds

    def limited(self, result: str, limit: float, *, readable: bool) -> str:
        """Return a result as the model gets it.

        Args:
            result: JSON.
            limit: characters; a longer one goes to a file.
            readable: whether this session has the tool that reads it in parts.

        Returns:
            The result, or JSON with both its ends and where all of it is.
        """
        if len(result) <= limit:
            return result
        answer: dict[str, Any] = {"truncated": True, "size_chars": len(result)}
        try:
            path = self._save(result)
        except OSError as error:
            answer["error"] = f"the tool has run, but its result is too long and cannot be kept: {error.strerror}"
        else:
            answer |= {"result_id": path.name, "full_output": str(path)}
            answer["hint"] = (
                f"read on with {READER}(result_id, offset)" if readable else "the whole result is in full_output"
            )
        shown = min(_PREVIEW, int(limit))
        head = int(shown * HEAD_SHARE)
        return encode({**answer, "head": _clean(result[:head]), "tail": _clean(result[len(result) - shown + head :])})

    def read(self, result_id: str, offset: int, limit: int) -> dict[str, Any]:
        """Return a part of a result.

        Args:
            result_id: as the model was told.
            offset: bytes from the beginning; negative counts from the end.
            limit: bytes.

        Returns:
            The part as text, cut between characters, and where the next one begins (None at the end).

        Raises:
            LookupError: there is none of that id, or no more.
            OSError: it cannot be read.
        """
        if not _NAME.fullmatch(result_id):
            raise LookupError(f"{result_id[:80]!r} is no id of a result")
        try:
            fd = os.open(self._directory() / result_id, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            raise LookupError("there is no result of that id (any more); call the tool again") from None
        with os.fdopen(fd, "rb") as file:
            size = os.fstat(fd).st_size
            start = max(0, size + offset) if offset < 0 else min(offset, size)
            file.seek(start)
            data = file.read(min(max(limit, 4), LARGEST_PART))  # a character may take four bytes
        begin = _continued(data)
        text, used = _whole(data[begin:])
        after = start + begin + used
        return {
            "content": text,
            "offset": start + begin,
            "next_offset": after if after < size else None,
            "size_bytes": size,
        }

    def _save(self, result: str) -> Path:
        directory = self._directory()
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        data = result.encode()
        self._make_room(directory, len(data))
        path = directory / secrets.token_hex(16)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path

    def _make_room(self, directory: Path, wanted: int) -> None:
        """Remove what is old, and the oldest until there is room."""
        found = []
        for entry in os.scandir(directory):
            if _NAME.fullmatch(entry.name):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # another process made room in this moment
                    continue
                found.append((status.st_mtime, status.st_size, Path(entry.path)))
        total = sum(size for _, size, _ in found) + wanted
        for modified, size, path in sorted(found):
            if total <= self._kept_bytes and modified > time.time() - self._kept_seconds:
                break
            path.unlink(missing_ok=True)
            total -= size


def _continued(data: bytes) -> int:
    """Return how many bytes at the beginning belong to a character before them (UTF-8: 10xxxxxx)."""
    return next((index for index, byte in enumerate(data[:4]) if not 0x80 <= byte < 0xC0), 0)  # noqa: PLR2004  # see above


def _whole(data: bytes) -> tuple[str, int]:
    """Decode as far as characters are whole."""
    for cut in range(min(4, len(data) + 1)):
        try:
            kept = data[: len(data) - cut]
            return kept.decode(), len(kept)
        except UnicodeDecodeError:
            continue
    return data.decode(errors="replace"), len(data)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
