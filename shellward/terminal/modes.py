"""What a program has switched on at a terminal, seen in its stream: so that it can be switched off behind it."""

import re
from typing import Final

_CHANGE: Final = re.compile(rb"\x1b(?:\[\?([0-9;]+)([hl])|([=>c]))")
_CUT: Final = 32
"""Bytes at the end of a piece in which a change may have begun that goes on with the next one."""
_OFF_AT_REST: Final = frozenset((1, 9, 47, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1047, 1049, 2004))
_ON_AT_REST: Final = frozenset((7, 25))


class Modes:
    """Follows the stream of a terminal; cheap for what holds no escapes."""

    def __init__(self) -> None:
        self._on: set[int] = set()
        self._off: set[int] = set()
        self._keypad = False
        self._tail = b""

    def feed(self, data: bytes) -> None:
        """Take what was printed."""
        if b"\x1b" not in data and not self._tail:
            return
        data = self._tail + data
        end = 0
        for match in _CHANGE.finditer(data):
            end = match.end()
            if match[3] is not None:
                self._keypad = match[3] == b"="
                if match[3] == b"c":
                    self._on.clear()
                    self._off.clear()
                continue
            for number in {int(each) for each in match[1].split(b";") if each}:
                self._change(number, on=match[2] == b"h")
        at = data.rfind(b"\x1b", max(end, len(data) - _CUT))
        self._tail = data[at:] if at >= 0 else b""

    def _change(self, number: int, *, on: bool) -> None:
        if number in _OFF_AT_REST:
            (self._on.add if on else self._on.discard)(number)
        elif number in _ON_AT_REST:
            (self._off.discard if on else self._off.add)(number)

    def undo(self) -> bytes:
        """Return what puts the terminal back as it was; of what was never changed nothing is said."""
        parts = [b"\x1b[?%dl" % number for number in sorted(self._on)]
        parts += [b"\x1b[?%dh" % number for number in sorted(self._off)]
        if self._keypad:
            parts.append(b"\x1b>")
        return b"".join([*parts, b"\x1b[m"]) if parts else b""
