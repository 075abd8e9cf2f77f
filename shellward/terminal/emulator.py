"""pyte's screen, made to do what xterm does. Characters in; no bytes, no tokens (see ``screen``).

pyte 0.8 draws, and keeps the cells. What moves, erases and scrolls is here, since most of it differs from xterm: at the
margins, at the last column, for wide characters, for the alternate screen (modes 47, 1047, 1049), in what is saved with
the cursor. Besides, pyte has no protected characters (DECSCA), no SU, SD, REP and CBT, and loses what has no width.
tests/unit/terminal/test_terminal_captures.py compares it with tmux.
"""

import unicodedata
from collections import deque
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import pyte
from pyte import charsets, modes
from pyte.screens import Char, Margins, StaticDefaultDict
from wcwidth import wcwidth

_NEW_COLUMNS: Final = 3
"""DECCOLM, 132 columns: xterm ignores it unless it is told otherwise, and so do we."""
_SAVE: Final = 1048
_SAVE_AND_SHOW: Final = 1049
_CLEAR_AND_HIDE: Final = 1047
ALTERNATE: Final = frozenset((47, _CLEAR_AND_HIDE, _SAVE_AND_SHOW))
_MOST_COMBINED: Final = 16
"""Characters in one cell: no writing needs more, and hostile output must not grow a cell for ever."""
_TABS: Final = 8
_CURSOR_KEYS: Final = 1 << 5
"""DECCKM, as pyte keeps private modes."""
_ASCII: Final = "\x7f"
_JOINER: Final = "\u200d"
_JOINERS: Final = frozenset("\u200c\u200d")

Lines = dict[int, StaticDefaultDict[int, Char]]
Line = StaticDefaultDict[int, Char]


@lru_cache(maxsize=4096)
def _width(char: str) -> int:
    if "\U0001f1e6" <= char <= "\U0001f1ff":  # of a flag, the two letters have a cell each
        return 1
    return int(wcwidth(char))


@lru_cache(maxsize=4096)
def _belongs_to_the_one_before(char: str) -> bool:
    """Whether a character without a width is a part of writing: a mark, a selector, a joiner, a tag of a flag.

    What else has no width (marks of direction, fillers) shows nothing, and can make a text look like another.
    """
    return unicodedata.category(char) != "Cf" or char in _JOINERS or "\U000e0020" <= char <= "\U000e007f"


class _Guarded(Char):
    """A cell that selective erasing leaves as it is (DECSCA)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Saved:
    """What DECSC keeps, and DECRC brings back."""

    x: int
    y: int
    attrs: Char
    guard: bool
    charsets: tuple[str, str, int]
    origin: bool
    wrap: bool


class Emulator(pyte.Screen):
    """A screen of so many cells, and the lines that have scrolled off its top.

    Args:
        columns: characters per line.
        lines: lines.
        scrollback: how many lines that scrolled off are kept.

    Attributes:
        history: those lines, oldest first.
        answers: what is to be sent to the program, in order; take it away.
        alternate: whether the alternate screen is shown.
    """

    def __init__(self, columns: int, lines: int, *, scrollback: int) -> None:
        self.history: deque[str] = deque(maxlen=scrollback)
        self.answers: list[str] = []
        self.alternate = False
        self._other: Lines = {}  # of the two screens, the one that is not shown
        self._saved: dict[bool, _Saved] = {}  # for each of them
        self._guard = self._wide = False
        self._last = " "
        super().__init__(columns, lines)

    def line_text(self, y: int) -> str:
        """Return a line as text, without blanks at its end."""
        return _text(self.buffer.get(y), self.columns).rstrip(" ")

    def line_blanks(self, y: int) -> int:
        """Return how many blanks a line has at its end that were printed, or that the cursor stands behind."""
        text = _text(self.buffer.get(y), self.columns)
        blanks = len(text) - len(text.rstrip(" "))
        if y == self.cursor.y:
            blanks += max(0, min(self.cursor.x, self.columns) - _end(self.buffer.get(y), self.columns))
        return blanks

    def reset(self) -> None:
        """RIS: everything as at the start, but for the lines that scrolled off."""
        self.alternate = self._guard = self._wide = False
        self._other.clear()
        self._saved.clear()
        super().reset()
        self.g1_charset = charsets.LAT1_MAP

    def soft_reset(self) -> None:
        """DECSTR: modes and attributes as at the start; what is shown, and the cursor's place, stay."""
        self.mode -= {modes.IRM, modes.DECOM, _CURSOR_KEYS}
        self.mode |= {modes.DECAWM, modes.DECTCEM}
        self.cursor.hidden = False
        self.cursor.attrs = self.default_char
        self._guard = False
        self.margins = None
        self.charset, self.g0_charset, self.g1_charset = 0, charsets.LAT1_MAP, charsets.LAT1_MAP
        self._saved.pop(self.alternate, None)

    # -- characters ----------------------------------------------------------------------------------------

    def draw(self, data: str) -> None:
        """Put characters where the cursor is."""
        data = data.translate(self.g1_charset if self.charset else self.g0_charset)
        attributes, cursor = self.cursor.attrs, self.cursor
        if self._guard:
            attributes = _Guarded(*attributes)
        wrap, insert = modes.DECAWM in self.mode, modes.IRM in self.mode
        for char in data:
            width = 1 if char < _ASCII else _width(char)
            if width <= 0 or width > self.columns:
                self._combine(char)
                continue
            if width > 1 and self._join(char):
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
            if self._wide:
                self._cut(line, cursor.x, cursor.x + width)
            line[cursor.x] = attributes._replace(data=char)
            if width > 1:  # a stub follows
                line[cursor.x + 1] = attributes._replace(data="")
            cursor.x += width
            self._last = char

    def _before(self) -> tuple[Line, int]:
        """Return where the character before the cursor is."""
        line = self.buffer[self.cursor.y]
        x = self.cursor.x - 1
        return line, x - 1 if x > 0 and not line[x].data else x

    def _combine(self, char: str) -> None:
        """A character without a width goes to the one before it; what cannot be shown goes nowhere."""
        if not self.cursor.x or _width(char) or not _belongs_to_the_one_before(char):
            return
        line, x = self._before()
        before = line[x]
        if len(before.data) < _MOST_COMBINED:
            line[x] = before._replace(data=unicodedata.normalize("NFC", before.data + char))

    def _join(self, char: str) -> bool:
        """Put an emoji into the cell of the one that it is joined to, as tmux does: a family is one picture."""
        self._wide = True
        if not self.cursor.x:
            return False
        line, x = self._before()
        before = line[x]
        if not before.data.endswith(_JOINER) or _width(before.data[0]) < 2:  # noqa: PLR2004
            return False
        if len(before.data) < _MOST_COMBINED:
            line[x] = before._replace(data=before.data + char)
        return True

    def repeat(self, count: int = 1) -> None:
        """REP: the last character again."""
        self.draw(self._last * min(count or 1, self.columns * self.lines))

    # -- the cursor ----------------------------------------------------------------------------------------

    @property
    def _region(self) -> tuple[int, int]:
        """The first and the last line that scroll."""
        return self.margins or (0, self.lines - 1)

    def next_line(self) -> None:
        """NEL: to the beginning of the next line."""
        self.carriage_return()
        self.index()

    def cursor_up(self, count: int | None = None) -> None:
        """CUU: the top margin holds up what comes from below it."""
        top, _ = self._region
        self.cursor.y = max(self.cursor.y - (count or 1), top if self.cursor.y >= top else 0)
        self.ensure_hbounds()

    def cursor_down(self, count: int | None = None) -> None:
        """CUD: the bottom margin holds up what comes from above it."""
        _, bottom = self._region
        self.cursor.y = min(self.cursor.y + (count or 1), bottom if self.cursor.y <= bottom else self.lines - 1)
        self.ensure_hbounds()

    def cursor_position(self, line: int | None = None, column: int | None = None) -> None:
        """CUP: counted from the top margin in origin mode, which then holds the cursor between the margins."""
        self.cursor.x = (column or 1) - 1
        self.ensure_hbounds()
        self.cursor_to_line(line)

    def cursor_to_line(self, line: int | None = None) -> None:
        """VPA: see ``cursor_position``."""
        top, bottom = self._region if modes.DECOM in self.mode else (0, self.lines - 1)
        self.cursor.y = min(top + (line or 1) - 1, bottom)
        self.ensure_hbounds()

    def tab(self) -> None:
        """HT: the last column is a stop."""
        self.cursor.x = min((stop for stop in self.tabstops if stop > self.cursor.x), default=self.columns - 1)
        self.ensure_hbounds()

    def back_tab(self, count: int = 1) -> None:
        """CBT: to the tab stop before."""
        for _ in range(min(count or 1, self.columns)):
            self.cursor.x = max((stop for stop in self.tabstops if stop < self.cursor.x), default=0)

    def save_cursor(self) -> None:
        """DECSC: one place is remembered for each screen, as in xterm."""
        self._saved[self.alternate] = _Saved(
            self.cursor.x,
            self.cursor.y,
            self.cursor.attrs,
            self._guard,
            (self.g0_charset, self.g1_charset, self.charset),
            modes.DECOM in self.mode,
            modes.DECAWM in self.mode,
        )

    def restore_cursor(self) -> None:
        """DECRC: back to that place, as often as wanted; home, if there is none."""
        first = (charsets.LAT1_MAP, charsets.LAT1_MAP, 0)
        saved = self._saved.get(self.alternate) or _Saved(0, 0, self.default_char, False, first, False, True)
        self.g0_charset, self.g1_charset, self.charset = saved.charsets
        self._guard = saved.guard
        for mode, on in ((modes.DECOM, saved.origin), (modes.DECAWM, saved.wrap)):
            (self.mode.add if on else self.mode.discard)(mode)
        self.cursor.x, self.cursor.y, self.cursor.attrs = min(saved.x, self.columns), saved.y, saved.attrs
        self.ensure_vbounds()

    # -- scrolling -----------------------------------------------------------------------------------------

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        """DECSTBM: and home. Of margins that hold no two lines nothing is heard."""
        first, last = (top or 1) - 1, min(bottom or self.lines, self.lines) - 1
        if first < last:
            self.margins = None if (first, last) == (0, self.lines - 1) else Margins(first, last)
            self.cursor_position()

    def index(self) -> None:
        """IND: down a line; at the bottom margin what is between the margins scrolls."""
        top, bottom = self._region
        if self.cursor.y == bottom:
            self._move_up(top, bottom, 1, keep=True)
        elif self.cursor.y < self.lines - 1:
            self.cursor.y += 1

    def reverse_index(self) -> None:
        """RI: up a line; at the top margin what is between the margins scrolls."""
        top, bottom = self._region
        if self.cursor.y == top:
            self._move_down(top, bottom, 1)
        elif self.cursor.y > 0:
            self.cursor.y -= 1

    def scroll_up(self, count: int = 1) -> None:
        """SU: the lines between the margins move up."""
        self._move_up(*self._region, count or 1, keep=True)

    def scroll_down(self, count: int = 1) -> None:
        """SD: the lines between the margins move down."""
        self._move_down(*self._region, count or 1)

    def insert_lines(self, count: int | None = None) -> None:
        """IL: at the cursor's line; nothing outside the margins."""
        top, bottom = self._region
        if top <= self.cursor.y <= bottom:
            self._move_down(self.cursor.y, bottom, count or 1)
            self.carriage_return()

    def delete_lines(self, count: int | None = None) -> None:
        """DL: from the cursor's line on; nothing outside the margins."""
        top, bottom = self._region
        if top <= self.cursor.y <= bottom:
            self._move_up(self.cursor.y, bottom, count or 1)
            self.carriage_return()

    def _move_up(self, top: int, bottom: int, count: int, *, keep: bool = False) -> None:
        """Move lines up; what leaves the top of the main screen is kept, where that is asked for."""
        count = min(count, bottom - top + 1)
        if keep and top == 0 and not self.alternate:
            self.history.extend(self.line_text(y) for y in range(count))
        for y in range(top, bottom + 1):
            line = self.buffer.pop(y + count, None) if y + count <= bottom else None
            if line is None:
                self.buffer.pop(y, None)
            else:
                self.buffer[y] = line

    def _move_down(self, top: int, bottom: int, count: int) -> None:
        for y in range(bottom, top - 1, -1):
            line = self.buffer.pop(y - count, None) if y - count >= top else None
            if line is None:
                self.buffer.pop(y, None)
            else:
                self.buffer[y] = line

    # -- cells ---------------------------------------------------------------------------------------------

    def insert_characters(self, count: int | None = None) -> None:
        """ICH: what is at the cursor and behind it moves right, and off the line."""
        self._shift(count or 1, 0)

    def delete_characters(self, count: int | None = None) -> None:
        """DCH: what is behind those that go moves left."""
        self._shift(0, count or 1)

    def _shift(self, right: int, gone: int) -> None:
        self.ensure_hbounds()
        line, start = self.buffer[self.cursor.y], self.cursor.x
        self._cut(line, start, start + gone)
        moved = {x: cell for x, cell in line.items() if x < start}
        for x, cell in line.items():
            if x >= start + gone and x - gone + right < self.columns:
                moved[x - gone + right] = cell
        line.clear()
        line.update(moved)
        last = line.get(self.columns - 1)
        if last is not None and last.data and _width(last.data[0]) > 1:  # its other half is off the line
            del line[self.columns - 1]

    def erase_characters(self, count: int | None = None) -> None:
        """ECH: from the cursor on."""
        self.ensure_hbounds()
        self._erase(self.cursor.y, self.cursor.x, self.cursor.x + (count or 1))

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:  # as in pyte
        """EL; DECSEL with ``private``: what is protected stays."""
        x = min(self.cursor.x, self.columns - 1)
        if how == 0:
            self.ensure_hbounds()
        first, end = {0: (x, self.columns), 1: (0, x + 1)}.get(how, (0, self.columns))
        self._erase(self.cursor.y, first, end, selective=private)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        """ED, or DECSED; 3 is what xterm made of it: forget the lines that scrolled off."""
        del args
        selective = bool(kwargs.get("private"))
        if how == 3:  # noqa: PLR2004  # the number on the wire
            if not selective:
                self.history.clear()
            return
        y = self.cursor.y
        for each in {0: range(y + 1, self.lines), 1: range(y)}.get(how, range(self.lines)):
            self._erase(each, 0, self.columns, selective=selective)
        if how in (0, 1):
            self.erase_in_line(how, private=selective)

    def _erase(self, y: int, first: int, end: int, *, selective: bool = False) -> None:
        line = self.buffer.get(y)
        if line is None:
            return
        if first == 0 and end >= self.columns and not selective:
            del self.buffer[y]
            return
        if not selective:
            self._cut(line, first, end)
        for x in [x for x in line if first <= x < end]:
            if not (selective and isinstance(line[x], _Guarded)):
                del line[x]

    @staticmethod
    def _cut(line: Line, *borders: int) -> None:
        """Blank the wide characters of which a border leaves a half."""
        for x in borders:
            half = line.get(x)
            if half is not None and not half.data:
                line[x] = half._replace(data=" ")
                line[x - 1] = line[x - 1]._replace(data=" ")

    def protect(self, how: int) -> None:
        """DECSCA: what is printed from here on is protected from selective erasing, or not."""
        self._guard = how == 1

    def alignment_display(self) -> None:
        """DECALN: E everywhere; the margins go, and the cursor goes home."""
        self.margins = None
        self.cursor.x = self.cursor.y = 0
        cell = self.default_char._replace(data="E")
        for y in range(self.lines):
            self.buffer[y].update(dict.fromkeys(range(self.columns), cell))

    # -- modes ---------------------------------------------------------------------------------------------

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        """SM and DECSET."""
        for mode in modes:
            self._switch(mode, private=bool(kwargs.get("private")), on=True)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        """RM and DECRST."""
        for mode in modes:
            self._switch(mode, private=bool(kwargs.get("private")), on=False)

    def _switch(self, number: int, *, private: bool, on: bool) -> None:
        if private and (number in ALTERNATE or number == _SAVE):
            self._switch_screen(number, on=on)
        elif private and number != _NEW_COLUMNS:
            mode = number << 5  # as pyte tells the private ones from the others
            (self.mode.add if on else self.mode.discard)(mode)
            if mode == modes.DECOM:
                self.cursor_position()
            elif mode == modes.DECTCEM:
                self.cursor.hidden = not on
        elif not private and number in (modes.IRM, modes.LNM):
            (self.mode.add if on else self.mode.discard)(number)

    def _switch_screen(self, number: int, *, on: bool) -> None:
        """As xterm does: only 1049 (and 1048) mind the cursor, and only 47 leaves what stands on the other screen."""
        saves = number in (_SAVE, _SAVE_AND_SHOW)
        if on and saves:
            self.save_cursor()
        if number == _CLEAR_AND_HIDE and not on and self.alternate:
            self.buffer.clear()
        if number != _SAVE and on != self.alternate:
            shown = dict(self.buffer)
            self.buffer.clear()
            self.buffer.update(self._other)
            self._other, self.alternate = shown, on
        if number == _SAVE_AND_SHOW and on:
            self.buffer.clear()
        if saves and not on:
            self.restore_cursor()

    # -- size ----------------------------------------------------------------------------------------------

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Change the size; lines are not wrapped anew. Of fewer lines, those at the cursor stay."""
        lines, columns = lines or self.lines, columns or self.columns
        drop = max(0, self.cursor.y - lines + 1)
        saved = self._saved.get(not self.alternate)
        behind = max(0, (self.cursor if saved is None else saved).y - lines + 1)
        main_drop, main = (behind, self._other) if self.alternate else (drop, self.buffer)
        self.history.extend(_text(main.get(y), self.columns).rstrip(" ") for y in range(main_drop))
        shown = _fit(self.buffer, drop, lines, columns)
        self.buffer.clear()
        self.buffer.update(shown)
        self._other = _fit(self._other, behind, lines, columns)
        for alternate, at in list(self._saved.items()):
            gone = drop if alternate == self.alternate else behind
            self._saved[alternate] = replace(at, y=max(0, at.y - gone))
        self.cursor.y -= drop
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


def _end(line: Line | None, columns: int) -> int:
    """Return the column behind the last cell of a line that was printed."""
    return min(columns, max(line) + 1) if line else 0


def _text(line: Line | None, columns: int) -> str:
    return "" if not line else "".join(line[x].data for x in range(_end(line, columns)))


def _fit(buffer: Lines, drop: int, lines: int, columns: int) -> Lines:
    """Cut a buffer to a new size, without so many lines at its top."""
    kept = {y - drop: line for y, line in buffer.items() if 0 <= y - drop < lines}
    for line in kept.values():
        for x in [x for x in line if x >= columns]:
            del line[x]
    return kept
