"""Single keys from a terminal: what was typed before is thrown away, and sequences are not taken for keys."""

import contextlib
import os
import re
import select
import termios
import time
import tty
from collections.abc import Iterator
from typing import Final

_QUIET: Final = 0.15
"""Seconds after which a lone Esc is the key itself: a terminal sends the rest of a sequence at once."""
_UNFINISHED: Final = 1.0
"""Seconds that the rest of a sequence has, once it has plainly begun."""
_MOST: Final = 4096
"""Bytes of one sequence."""
_IFLAG, _LFLAG = 0, 3
_SEQUENCE: Final = re.compile(
    rb"\x1b+(?:"
    rb"\[(?:\[.|M...|[0-?]*[ -/]*[@-LN-Z\\-~]|[0-?]+[ -/]*M)"  # CSI: arrows, function keys, the mouse
    rb"|O[0-9;]*[^0-9;]"  # SS3: the keypad, where ESC O y is the 9
    rb"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: what a terminal answers when it is asked for its colours
    rb"|[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC
    rb"|[ -/]*[0-NQ-WYZ\\`-~]"  # a key with Alt
    rb"|[^ -~\x1b])",  # the same with Enter, Backspace, letters beyond ASCII
    re.DOTALL,
)
_C1: Final = {b"\x9b": b"\x1b[", b"\x8f": b"\x1bO"}
"""Beginnings of sequences in one byte; in UTF-8 no character begins with them."""


@contextlib.contextmanager
def one_key_at_a_time(fd: int) -> Iterator[None]:
    """Have a terminal pass on each key as it is, until the block ends."""
    old = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSAFLUSH)
        mode = termios.tcgetattr(fd)
        # Ctrl-C is an answer (no), not a way to leave the terminal in disorder; Ctrl-S stops nothing.
        mode[_LFLAG] &= ~(termios.ISIG | termios.IEXTEN)
        mode[_IFLAG] &= ~(termios.IXON | termios.ICRNL | termios.INLCR | termios.ISTRIP)
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, old)


class Keyboard:
    """Keys of a terminal, until a deadline or until nobody wants them any more.

    Args:
        fd: the terminal, in the mode of ``one_key_at_a_time``.
        cancel_fd: becomes readable when the question is withdrawn.
        deadline: on the monotonic clock.
    """

    def __init__(self, fd: int, cancel_fd: int | None, deadline: float) -> None:
        self.fd = fd
        self._cancel_fd = cancel_fd
        self._deadline = deadline

    def forget(self) -> None:
        """Throw away what was typed and not read yet: it answers nothing that is shown from now on."""
        with contextlib.suppress(termios.error):  # the terminal is gone, and reading will say so
            termios.tcflush(self.fd, termios.TCIFLUSH)

    def read(self) -> str | None:
        """Wait for a key.

        Returns:
            The key; several characters that came at once as they came; nothing of a sequence; None when time is up,
            the question was withdrawn or the terminal is gone.
        """
        watched = [self.fd] if self._cancel_fd is None else [self.fd, self._cancel_fd]
        left = self._deadline - time.monotonic()
        ready = select.select(watched, [], [], left)[0] if left > 0 else []
        if self.fd not in ready or self._cancel_fd in ready:
            return None
        data = self._take()
        if not data:
            return None
        data = _C1.get(data[:1], data[:1]) + data[1:]
        if data[:1] == b"\x1b":
            return self._escaped(data)
        if not data.isascii():
            if data[-1] >= 0x80 and not _is_whole(data):  # the rest of a character may look like a key
                self._rest(_QUIET)
            return ""
        return data.decode("ascii", "replace")

    def _escaped(self, data: bytes) -> str:
        """Tell the key Esc from a sequence, which is read whole and is no key."""
        while not _SEQUENCE.match(data) and len(data) < _MOST:
            lone = not data.strip(b"\x1b")
            more = self._rest(_QUIET if lone else _UNFINISHED)
            if not more:
                return data.decode("ascii") if lone else ""
            data += more
        while len(data) >= _MOST and time.monotonic() < self._deadline and self._rest(_QUIET):
            pass  # it is no sequence that a terminal sends; none of it is a key
        return ""

    def _rest(self, seconds: float) -> bytes:
        return self._take() if select.select([self.fd], [], [], seconds)[0] else b""

    def _take(self) -> bytes:
        try:
            return os.read(self.fd, 1024)
        except OSError:
            return b""


def _is_whole(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
