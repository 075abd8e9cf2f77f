"""A program at a terminal of its own: keys in, and the screen as a person would see it.

ptyprocess makes the terminal and starts the program at it; pyte draws what the program prints.
"""

import os
import re
import select
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Final, Self

import pyte
from ptyprocess import PtyProcess

PATIENCE: Final = 60.0
"""Seconds that a program on a loaded machine has for anything. It is a limit, never a pause."""


class Seat:
    """One program and the person in front of it. A context manager; leaving it ends the program.

    Args:
        argv: the program and its arguments.
        env: all of its environment.
        cwd: where it starts.
        rows: height of the screen.
        columns: width of the screen.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        rows: int = 50,
        columns: int = 100,
    ) -> None:
        given = {**(os.environ if env is None else env), "TERM": "xterm"}
        given.pop("COLUMNS", None)  # the terminal itself says how large it is
        given.pop("LINES", None)
        with warnings.catch_warnings():
            # Python 3.12 warns of a fork where threads are; the child becomes another program at once.
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            self._process = PtyProcess.spawn(
                list(argv), env=given, cwd=None if cwd is None else os.fspath(cwd), dimensions=(rows, columns)
            )
        self.pid: int = self._process.pid
        self.fd: int = self._process.fd
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._printed = bytearray()
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close(force=True)

    @property
    def printed(self) -> str:
        """All that the program has printed, control sequences included."""
        return self._printed.decode(errors="replace")

    @property
    def screen(self) -> str:
        """What is on the screen now, without the blanks at the ends of lines."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def words(self) -> str:
        """What is on the screen now as one line, so that it does not matter where a line was broken."""
        return " ".join(self.screen.split())

    def press(self, keys: str | bytes) -> None:
        """Type."""
        data = keys.encode() if isinstance(keys, str) else keys
        while data:
            data = data[os.write(self.fd, data) :]

    def presses(self, keys: str | bytes) -> None:
        """Type, and wait until the program has taken it, so that it gets what is typed next by itself."""
        self.press(keys)
        until = time.monotonic() + PATIENCE
        other = os.open(f"/proc/{self.pid}/fd/0", os.O_RDWR | os.O_NOCTTY)
        try:
            # Looking whether a terminal can be read also brings in what is still on the way to it.
            while select.select([other], [], [], 0)[0]:
                assert time.monotonic() < until, f"{keys!r} is not taken:\n{self.screen}"
                time.sleep(0.001)
        finally:
            os.close(other)

    def sees(self, text: str, times: int = 1) -> bool:
        """Wait until a text was printed so many times since the start; False when it never is."""
        until, wanted = time.monotonic() + PATIENCE, text.encode()
        while self._printed.count(wanted) < times:
            if not self._read(until):
                return self._printed.count(wanted) >= times
        return True

    def shows(self, pattern: str) -> None:
        """Wait until the screen, taken as one line, matches an expression."""
        until = time.monotonic() + PATIENCE
        while not re.search(pattern, self.words):
            assert self._read(until), f"{pattern!r} is not shown:\n{self.screen}"

    def ends(self) -> int:
        """Wait for the program's end; return its exit status, 128 and the number for a signal."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        assert self._over, f"it goes on:\n{self.screen}"
        self._process.wait()
        status = self._process.exitstatus
        return 128 + self._process.signalstatus if status is None else status

    def _read(self, until: float) -> bool:
        """Take in what comes next; False at the end, or when it is too late."""
        if self._over or not select.select([self.fd], [], [], max(0.0, until - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: nobody has the other side open any more
            data = b""
        self._over = not data
        self._printed += data
        self._stream.feed(data)
        return bool(data)
