"""pyte's screen, with what programs of today need besides. Characters in; no bytes, no tokens (see ``screen``).

What pyte 0.8 has not, or has otherwise, and is here: the alternate screen (modes 47, 1047, 1049), lines that
scrolled off, one saved cursor as in xterm instead of a stack, SU, SD, REP and CBT, wide characters at the right
margin, zero-width characters that do not swallow the rest of a line, answers as xterm gives them.
"""

import unicodedata
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pyte
from pyte import modes
from pyte.screens import Char, Cursor, Margins, StaticDefaultDict
from wcwidth import wcwidth

ALTERNATE: Final = frozenset((47, 1047, 1049))
_NEW_COLUMNS: Final = 3
"""DECCOLM, 132 columns: xterm ignores it unless it is told otherwise, and so do we."""
_MOST_COMBINED: Final = 16
"""Characters in one cell: no writing needs more, and hostile output must not grow a cell for ever."""
_TABS: Final = 8
_ASCII: Final = "\x7f"

Lines = dict[int, StaticDefaultDict[int, Char]]


@lru_cache(maxsize=4096)
def _width(char: str) -> int:
    return int(wcwidth(char))


@dataclass(slots=True)
class _Hidden:
    """The main screen, while the alternate one is shown."""

    buffer: Lines
    cursor: Cursor
    margins: Margins | None


class Emulator(pyte.Screen):
    """A screen of so many cells, and the lines that have scrolled off its top.

    Args:
        columns: characters per line.
        lines: lines.
        scrollback: how many lines that scrolled off are kept.

    Attributes:
        history: those lines, oldest first.
        answers: what is to be sent to the program, in order; take it away.
    """

    def __init__(self, columns: int, lines: int, *, scrollback: int) -> None:
        self.history: deque[str] = deque(maxlen=scrollback)
        self.answers: list[str] = []
        self._hidden: _Hidden | None = None
        self._last = " "
        super().__init__(columns, lines)

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown."""
        return self._hidden is not None

    def line_text(self, y: int) -> str:
        """Return a line as text, without blanks at its end."""
        return _text(self.buffer.get(y), self.columns)

    def reset(self) -> None:
        """RIS: everything as at the start, but for the lines that scrolled off."""
        self._hidden = None
        super().reset()
        self.savepoints.clear()

    # -- characters ----------------------------------------------------------------------------------------

    def draw(self, data: str) -> None:
        """Put characters where the cursor is."""
        data = data.translate(self.g1_charset if self.charset else self.g0_charset)
        attributes, cursor = self.cursor.attrs, self.cursor
        wrap, insert = modes.DECAWM in self.mode, modes.IRM in self.mode
        for char in data:
            width = 1 if char < _ASCII else _width(char)
            if width <= 0 or width > self.columns:
                self._combine(char)
                continue
            if cursor.x + width > self.columns:
                if wrap:
                    self.carriage_return()
                    self.index()
                else:
                    cursor.x = self.columns - width
            if insert:
                self.insert_characters(width)
            line = self.buffer[cursor.y]
            line[cursor.x] = attributes._replace(data=char)
            if width > 1:  # a stub follows
                line[cursor.x + 1] = attributes._replace(data="")
            cursor.x += width
            self._last = char

    def _combine(self, char: str) -> None:
        """A character without a width goes to the one before it; what can not be shown goes nowhere."""
        if not unicodedata.combining(char) or not self.cursor.x:
            return
        line = self.buffer[self.cursor.y]
        x = self.cursor.x - 1
        if x and not line[x].data:
            x -= 1
        before = line[x]
        if len(before.data) < _MOST_COMBINED:
            line[x] = before._replace(data=unicodedata.normalize("NFC", before.data + char))

    def repeat(self, count: int = 1) -> None:
        """REP: the last character again."""
        self.draw(self._last * min(count or 1, self.columns * self.lines))

    # -- scrolling -----------------------------------------------------------------------------------------

    def index(self) -> None:
        """Go down a line; at the bottom the screen scrolls, and its top line is kept."""
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if self.cursor.y == bottom and top == 0 and self._hidden is None:
            self.history.append(self.line_text(0))
        super().index()

    def scroll_up(self, count: int = 1) -> None:
        """SU: the lines between the margins move up."""
        self._scroll(count, down=False)

    def scroll_down(self, count: int = 1) -> None:
        """SD: the lines between the margins move down."""
        self._scroll(count, down=True)

    def _scroll(self, count: int, *, down: bool) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        y = self.cursor.y
        self.cursor.y = top if down else bottom
        for _ in range(min(count or 1, self.lines)):
            if down:
                self.reverse_index()
            else:
                self.index()
        self.cursor.y = y

    def back_tab(self, count: int = 1) -> None:
        """CBT: to the tab stop before."""
        for _ in range(min(count or 1, self.columns)):
            self.cursor.x = max((stop for stop in self.tabstops if stop < self.cursor.x), default=0)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        """ED; 3 is what xterm made of it: forget the lines that scrolled off."""
        del args, kwargs
        if how == 3:  # noqa: PLR2004  # the number on the wire
            self.history.clear()
        elif how in (0, 1, 2):
            super().erase_in_display(how)

    # -- modes ---------------------------------------------------------------------------------------------

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        """SM and DECSET."""
        private = bool(kwargs.get("private"))
        if private and ALTERNATE & set(modes):
            self._show_alternate()
        super().set_mode(*self._plain(modes, private=private), **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        """RM and DECRST."""
        private = bool(kwargs.get("private"))
        if private and ALTERNATE & set(modes):
            self._show_main()
        super().reset_mode(*self._plain(modes, private=private), **kwargs)

    @staticmethod
    def _plain(modes: tuple[int, ...], *, private: bool) -> list[int]:
        return [mode for mode in modes if not (private and (mode in ALTERNATE or mode == _NEW_COLUMNS))]

    def _show_alternate(self) -> None:
        if self._hidden is not None:
            return
        self._hidden = _Hidden(dict(self.buffer), _copy(self.cursor), self.margins)
        self.buffer.clear()

    def _show_main(self) -> None:
        hidden, self._hidden = self._hidden, None
        if hidden is None:
            return
        self.buffer.clear()
        self.buffer.update(hidden.buffer)
        self.cursor, self.margins = hidden.cursor, hidden.margins
        self.ensure_hbounds()
        self.ensure_vbounds()

    def save_cursor(self) -> None:
        """DECSC: one place is remembered, as in xterm."""
        self.savepoints.clear()
        super().save_cursor()

    def restore_cursor(self) -> None:
        """DECRC: back to that place, as often as wanted."""
        kept = list(self.savepoints)
        super().restore_cursor()
        for savepoint in kept:
            self.savepoints.append(savepoint._replace(cursor=_copy(savepoint.cursor)))

    # -- size ----------------------------------------------------------------------------------------------

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Change the size; lines are not wrapped anew. Of fewer lines, those at the cursor stay."""
        lines, columns = lines or self.lines, columns or self.columns
        if self._hidden is not None:
            hidden = self._hidden
            hidden.buffer = _fit(hidden.buffer, hidden.cursor, lines, columns, self.history)
            hidden.margins = None
        fitted = _fit(dict(self.buffer), self.cursor, lines, columns, None if self.alternate else self.history)
        self.buffer.clear()
        self.buffer.update(fitted)
        self.lines, self.columns, self.margins = lines, columns, None
        self.tabstops = set(range(_TABS, columns, _TABS))
        self.ensure_hbounds()
        self.ensure_vbounds()

    # -- answers -------------------------------------------------------------------------------------------

    def report_device_attributes(self, mode: int = 0, **kwargs: Any) -> None:
        """DA: a VT220 with colours, which is what programs expect of an xterm."""
        if not mode and not kwargs.get("private"):
            self.write_process_input("\x1b[?62;22c")

    def report_device_status(self, mode: int = 0, **kwargs: Any) -> None:
        """DSR: 5 is the state, 6 is where the cursor is."""
        mark = "?" if kwargs.get("private") else ""
        if mode == 5:  # noqa: PLR2004
            self.write_process_input("\x1b[0n")
        elif mode == 6:  # noqa: PLR2004
            top = self.margins.top if modes.DECOM in self.mode and self.margins else 0
            x = min(self.cursor.x, self.columns - 1)
            self.write_process_input(f"\x1b[{mark}{self.cursor.y - top + 1};{x + 1}R")

    def write_process_input(self, data: str) -> None:
        """Keep an answer for whoever feeds this screen."""
        self.answers.append(data)


def _copy(cursor: Cursor) -> Cursor:
    made = Cursor(cursor.x, cursor.y, cursor.attrs)
    made.hidden = cursor.hidden
    return made


def _text(line: StaticDefaultDict[int, Char] | None, columns: int) -> str:
    if not line:
        return ""
    return "".join(line[x].data for x in range(min(columns, max(line) + 1))).rstrip(" ")


def _fit(buffer: Lines, cursor: Cursor, lines: int, columns: int, history: deque[str] | None) -> Lines:
    """Cut a buffer to a new size: lines go at the bottom, and at the top what the cursor's line would push out."""
    drop = max(0, cursor.y - lines + 1)
    for y in range(drop):
        if history is not None:
            history.append(_text(buffer.get(y), columns))
    cursor.y -= drop
    kept = {y - drop: line for y, line in buffer.items() if 0 <= y - drop < lines}
    for line in kept.values():
        for x in [x for x in line if x >= columns]:
            del line[x]
    return kept
