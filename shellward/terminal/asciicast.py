"""Recordings of terminals: asciicast v2, as asciinema writes it. Writing as it comes, reading with care.

The format: https://docs.asciinema.org/manual/asciicast/v2/ - a line of JSON with version and size, then one
``[seconds, code, text]`` per event; code is ``o`` for output, ``i`` for input, ``r`` for a new size ``80x24``.
"""

import codecs
import json
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from shellward.core.errors import DamagedRecording

_VERSION: Final = 2
_MOST_SIZE: Final = 10_000


class Event(NamedTuple):
    """One event of a recording.

    Attributes:
        time: seconds since the beginning.
        code: ``o`` output, ``i`` input, ``r`` new size, ``m`` marker, or what a later version may add.
        data: text; of ``r``: ``COLUMNSxROWS``.
    """

    time: float
    code: str
    data: str


class Recording:
    """Writes what a terminal or a command prints into a file, as it comes. Thread-safe.

    A context manager. A character that is cut between two pieces is written whole, with the later one.

    Args:
        path: file to write; one that is there is replaced. Readable by its owner alone.
        rows: height of the terminal.
        columns: width.
        title: what was recorded.
        keep_input: record what is typed, too: passwords as well. Off unless asked for.
        variables: environment variables to name in the header.

    Raises:
        OSError: as of open(2).
    """

    def __init__(
        self,
        path: str | Path,
        *,
        rows: int = 24,
        columns: int = 80,
        title: str = "",
        keep_input: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.path = Path(path)
        self._keep_input = keep_input
        self._lock = threading.Lock()
        make = codecs.getincrementaldecoder("utf-8")
        self._decoders = {"o": make("replace"), "i": make("replace")}
        self._began = time.monotonic()
        self.path.touch(mode=0o600)
        self._file = self.path.open("w", encoding="utf-8", buffering=1)
        header: dict[str, Any] = {"version": _VERSION, "width": columns, "height": rows, "timestamp": int(time.time())}
        header |= {"title": title} if title else {}
        header["env"] = dict(variables or {"TERM": "xterm-256color"})
        self._file.write(json.dumps(header) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def output(self, data: bytes) -> None:
        """Record what was printed."""
        self._bytes("o", data)

    def input(self, data: bytes) -> None:
        """Record what was typed, if that is wanted."""
        if self._keep_input:
            self._bytes("i", data)

    def resize(self, rows: int, columns: int) -> None:
        """Record a new size."""
        self._write("r", f"{columns}x{rows}")

    def close(self) -> None:
        """End the file. Idempotent."""
        try:
            for code in self._decoders:
                self._bytes(code, b"", final=True)
        finally:
            with self._lock:
                self._file.close()

    def _bytes(self, code: str, data: bytes, *, final: bool = False) -> None:
        with self._lock:
            if self._file.closed:
                return
            text = self._decoders[code].decode(data, final)
        if text:
            self._write(code, text)

    def _write(self, code: str, text: str) -> None:
        with self._lock:
            if not self._file.closed:
                self._file.write(json.dumps([round(time.monotonic() - self._began, 6), code, text]) + "\n")


class Player:
    """Reads a recording: its header at once, its events as they are asked for.

    Args:
        path: file to read.

    Attributes:
        rows: height of the terminal.
        columns: width.
        header: all that the first line says.

    Raises:
        DamagedRecording: it does not begin as a recording does; nothing of it can be played.
        OSError: as of open(2).
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        with self._path.open("rb") as file:
            first = file.readline()
        try:
            header = json.loads(first)
            version = header["version"]
            self.rows, self.columns = int(header["height"]), int(header["width"])
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedRecording(f"{path} is no asciicast recording: its first line is no header of one") from error
        if version != _VERSION:
            raise DamagedRecording(f"{path} is a recording of version {version!r}; only version {_VERSION} is known")
        if not (0 < self.rows <= _MOST_SIZE and 0 < self.columns <= _MOST_SIZE):
            raise DamagedRecording(f"{path} tells of a terminal of {self.columns} times {self.rows} characters")
        self.header: Mapping[str, Any] = header

    def __iter__(self) -> Iterator[Event]:
        """Give the events in order.

        Raises:
            DamagedRecording: at the line that is wrong, after all events before it were given.
        """
        last = 0.0
        with self._path.open("rb") as file:
            file.readline()
            for number, line in enumerate(file, 2):
                if not line.strip():
                    continue
                event = self._event(line, number, last)
                last = event.time
                yield event

    def _event(self, line: bytes, number: int, last: float) -> Event:
        try:
            when, code, data = json.loads(line)
            event = Event(float(when), code, data)
        except (ValueError, TypeError) as error:
            how = "is cut off" if not line.endswith(b"\n") else "is damaged"
            raise DamagedRecording(
                f"{self._path} {how} at line {number}; it was played up to there ({last:.1f} s)"
            ) from error
        good = isinstance(code, str) and isinstance(data, str) and 0 <= event.time < float("inf")
        if not good:
            raise DamagedRecording(
                f"{self._path} is damaged at line {number}; it was played up to there ({last:.1f} s)"
            )
        return event._replace(time=max(event.time, last))
