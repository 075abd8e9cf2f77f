"""The screen of a terminal as text: what a person would see. Fed with the raw stream, as lazily as possible.

Drawing costs far more than reading. So ``Screen.feed`` only keeps what came; it is drawn when somebody looks, or
when the program asks something that only a screen can answer. Of a flood the last quarter of a megabyte is drawn, and
of plain lines those that are kept; from what is dropped before it, the modes (alternate screen, cursor, paste) stay.
"""

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

SCROLLBACK: Final = 1000
"""Lines that are kept after they scrolled off, unless told otherwise."""
_PENDING: Final = 1 << 18
_MOST_ESCAPE: Final = 4096
"""Bytes after which a sequence that does not end is none."""

_QUERY: Final = re.compile(rb"\x1b(?:\[[?>=]?[0-9;]*(?:\$p|[cnt])|\][0-9;]{1,8};\?|Z)")
"""What wants an answer: DA, DSR, DECRQM, window size, colours."""
_MODES: Final = re.compile(rb"\x1b(?:\[\?[0-9;]+[hl]|c)")
_ESCAPE: Final = re.compile(
    "\x1b(?:"
    r"\[(?P<private>[<=>?]?)(?P<values>[0-9:;]*)(?P<between>[ -/]*)(?P<final>[@-~])"  # CSI
    "|\\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\\\)"
    "|[PX^_](?:[^\x1b]|\x1b(?!\\\\))*\x1b\\\\"  # DCS, SOS, PM, APC: strings that nothing here understands
    "|(?P<charset>[()])(?P<code>.)"
    "|#(?P<sharp>.)"
    "|[*+\\-./ %](?:.)"
    "|(?P<plain>[0-Zc-~\\\\`ab=>]))",
    re.DOTALL,
)
_C0: Final = "\\x00-\\x17\\x19\\x1c-\\x1f"
"""Controls that do what they do also within a sequence, which goes on behind them (ECMA-48; VT500: execute)."""
_MIXED: Final = re.compile(f"\x1b\\[[{_C0}]*+[<=>?]?[0-9:;{_C0}]*+[ -/{_C0}]*+[@-~]")
_ABORTED: Final = re.compile(f"\x1b\\[[{_C0}]*+[<=>?]?[0-9:;{_C0}]*+[ -/{_C0}]*+(?:[\x18\x1a]|(?=\x1b))")
"""CAN and SUB end a sequence, and an escape begins another."""
_CONTROLS: Final = re.compile(f"[{_C0}]+")
_CUT: Final = re.compile(
    f"\x1b(?:\\[[{_C0}]*+[<=>?]?[0-9:;{_C0}]*+[ -/{_C0}]*+"
    "|\\][^\x07\x1b]*\x1b?|[PX^_](?:[^\x1b]|\x1b(?!\\\\))*|[()#*+\\-./ %])?\\Z"
)
_ONE: Final = frozenset("@ABCDEFGILMPXadeg")
_MANY: Final = frozenset("hlm")
_TWO: Final = frozenset("Hfr")
_ERASES: Final = {"J": 3, "K": 2}
"""The kinds of erasing that there are."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A screen at one moment.

    Attributes:
        lines: of the screen, top first, without blanks at their ends.
        scrollback: lines that scrolled off its top, oldest first, as many as were kept.
        row: of the cursor, from 0.
        column: of the cursor, from 0.
        cursor_visible: whether the program shows it.
        alternate: whether the alternate screen is shown, as editors and pagers have it.
        title: of the window.
        rows: height.
        columns: width.
        blanks: how many blanks the program has printed at the end of each line.
    """

    lines: tuple[str, ...]
    scrollback: tuple[str, ...]
    row: int
    column: int
    cursor_visible: bool
    alternate: bool
    title: str
    rows: int
    columns: int
    blanks: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The lines as one text, without empty ones at the end."""
        return "\n".join(self.lines).rstrip("\n")

    def shows(self, what: "str | re.Pattern[str]") -> bool:
        """Whether something stands on the screen.

        Args:
            what: text, or an expression that is searched for. Both may have blanks at the end of a line, as a prompt
                has (``">>> "``), and need not.
        """
        found = re.compile(re.escape(what)) if isinstance(what, str) else what
        if found.search(self.text):
            return True
        printed = (line + " " * count for line, count in zip(self.lines, self.blanks, strict=False))
        return found.search("\n".join(printed).rstrip("\n")) is not None

    def __str__(self) -> str:
        return self.text


class Screen:
    """Turns the raw stream of a terminal into what a person would see. Not thread-safe.

    Args:
        rows: height.
        columns: width.
        scrollback: how many lines that scrolled off are kept.
    """

    def __init__(self, rows: int = 24, columns: int = 80, *, scrollback: int = SCROLLBACK) -> None:
        self._rows, self._columns, self._scrollback = rows, columns, scrollback
        self._drawn: _Drawer | None = None
        self._pending: list[bytes] = []
        self._size = 0
        self._tail = b""
        self._asked = False

    def feed(self, data: bytes) -> bytes:
        """Take what the program has printed.

        Returns:
            What is to be written to it: the answer to what it asked. Mostly empty.
        """
        self._keep(data)
        if b"\x1b" not in data and not self._tail and not self._asked:
            return b""
        seen = self._tail + data
        at = seen.rfind(b"\x1b", len(seen) - 32 if len(seen) > 32 else 0)  # noqa: PLR2004  # longer is no query
        asked = _QUERY.search(seen)
        self._tail = b"" if at < 0 or _QUERY.match(seen, at) else seen[at:]
        if not (asked or self._asked):
            return b""
        answers = self._draw()
        self._asked = self._drawer().holding  # the end of a question may be yet to come
        return answers

    def skip(self, data: bytes) -> None:
        """Take what was printed before anybody was there to answer: its questions stay unanswered."""
        self._keep(data)
        self._draw()

    def resize(self, rows: int, columns: int) -> None:
        """Change the size, from here on."""
        if (rows, columns) == (self._rows, self._columns):
            return
        self._draw()
        self._rows, self._columns = rows, columns
        self._drawer().emulator.resize(rows, columns)

    def snapshot(self) -> Snapshot:
        """Say what is on the screen now."""
        self._draw()
        emulator = self._drawer().emulator
        return Snapshot(
            lines=tuple(emulator.line_text(y) for y in range(emulator.lines)),
            scrollback=tuple(emulator.history),
            row=emulator.cursor.y,
            column=min(emulator.cursor.x, emulator.columns - 1),
            cursor_visible=not emulator.cursor.hidden,
            alternate=emulator.alternate,
            title=emulator.title,
            rows=emulator.lines,
            columns=emulator.columns,
            blanks=tuple(emulator.line_blanks(y) for y in range(emulator.lines)),
        )

    @property
    def application_cursor(self) -> bool:
        """Whether the program wants arrow keys in their application form (DECCKM)."""
        return self._mode(1)

    @property
    def bracketed_paste(self) -> bool:
        """Whether the program wants to be told where a paste begins and ends."""
        return self._mode(2004)

    def _mode(self, number: int) -> bool:
        self._draw()
        return number << 5 in self._drawer().emulator.mode

    # -- what is kept, and what is drawn -------------------------------------------------------------------

    def _keep(self, data: bytes) -> None:
        self._pending.append(data)
        self._size += len(data)
        if self._size > 2 * _PENDING:
            whole = b"".join(self._pending)
            cut = whole.find(b"\n", len(whole) - _PENDING)
            cut = len(whole) - _PENDING if cut < 0 else cut + 1
            before = _MODES.findall(whole, 0, cut) if b"\x1b" in whole else []
            # What is dropped has scrolled everything off that was there.
            kept = [b"\x18\x1b[m\x1b[r", *_last_of(before), b"\x1b[2J\x1b[H", whole[cut:]]
            self._pending = [b"".join(kept)]
            self._size = len(self._pending[0])

    def _drawer(self) -> "_Drawer":
        if self._drawn is None:
            self._drawn = _Drawer(self._rows, self._columns, self._scrollback)
        return self._drawn

    def _draw(self) -> bytes:
        """Draw what is pending; returns the answers."""
        if not self._pending:
            return b""
        data, self._pending, self._size = b"".join(self._pending), [], 0
        return self._drawer().draw(_needed(data, self._scrollback + 2 * self._rows))


def _needed(data: bytes, lines: int) -> bytes:
    """Leave out plain lines that would have scrolled off, and out of what is kept."""
    place = len(data)
    for _ in range(lines):
        place = data.rfind(b"\n", 0, place)
        if place < 0:
            return data
    escape = data.rfind(b"\x1b", 0, place)
    head = 0 if escape < 0 else data.find(b"\n", escape, place) + 1
    return data if escape >= 0 and not head else data[:head] + data[place + 1 :]


def _last_of(modes: list[bytes]) -> list[bytes]:
    """Each mode change once, in the order of the last time; what a reset undid is gone."""
    if b"\x1bc" in modes:
        modes = modes[len(modes) - 1 - modes[::-1].index(b"\x1bc") :]
    return list(dict.fromkeys(reversed(modes)))[::-1]


class _Drawer:
    """Cuts the stream into text and sequences, and gives pyte those that it can take."""

    def __init__(self, rows: int, columns: int, scrollback: int) -> None:
        import pyte

        from shellward.terminal.emulator import Emulator

        self.emulator = Emulator(columns, rows, scrollback=scrollback)
        self._stream = pyte.Stream()
        self._stream.use_utf8 = False  # the text is decoded here; pyte then minds character sets
        self._stream.attach(self.emulator)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._own: dict[str, Callable[[int], object]] = {
            "S": self.emulator.scroll_up,
            "T": self.emulator.scroll_down,
            "b": self.emulator.repeat,
            "Z": self.emulator.back_tab,
            "`": self.emulator.cursor_to_column,
            "u": lambda _number: self.emulator.restore_cursor(),
        }

    @property
    def holding(self) -> bool:
        """Whether a sequence has begun whose end is yet to come."""
        return bool(self._held)

    def draw(self, data: bytes) -> bytes:
        """Draw; returns the answers."""
        text = self._held + self._decoder.decode(data)
        self._held = ""
        at = 0
        while (escape := text.find("\x1b", at)) >= 0:
            if escape > at:
                self._text(text[at:escape])
            if (match := _ESCAPE.match(text, escape)) is not None:
                self._sequence(match)
                at = match.end()
            elif len(text) - escape < _MOST_ESCAPE and _CUT.match(text, escape):
                self._held = text[escape:]
                at = len(text)
            else:
                at = self._odd(text, escape)
        if at < len(text):
            self._text(text[at:])
        answers = "".join(self.emulator.answers)
        self.emulator.answers.clear()
        return answers.encode()

    def _odd(self, text: str, escape: int) -> int:
        """Draw a sequence that has controls in it, or comes to no end; returns where the text goes on."""
        if (mixed := _MIXED.match(text, escape)) is not None:
            self._text("".join(_CONTROLS.findall(mixed[0])))
            if (match := _ESCAPE.fullmatch(_CONTROLS.sub("", mixed[0]))) is not None:
                self._sequence(match)
            return mixed.end()
        aborted = _ABORTED.match(text, escape)
        return escape + 1 if aborted is None else aborted.end()  # else none that is known: the escape alone goes

    def _text(self, text: str) -> None:
        """What is neither shown nor heeded by xterm is left out: pyte would show it, or begin a sequence with it."""
        self._stream.feed(_UNSEEN.sub("", text))

    def _sequence(self, match: re.Match[str]) -> None:
        if (final := match["final"]) is not None:
            self._control(match["private"], match["values"], match["between"], final)
        elif (osc := match["osc"]) is not None:
            self._command(osc)
        elif match["charset"] or match["sharp"] or (match["plain"] or " ") in "cDHM78":
            self._stream.feed(match[0])
        elif match["plain"] == "E":
            self.emulator.next_line()
        elif match["plain"] == "Z":
            self.emulator.report_device_attributes()

    def _control(self, private: str, values: str, between: str, final: str) -> None:
        numbers = [min(int(value.partition(":")[0] or 0), 9999) for value in values.split(";")[:64]]
        if between or private not in ("", "?"):
            self._report(private, between, final, numbers)
        elif final in "nct":
            self._asked(private, final, numbers[0])
        elif final in self._own and not private:
            self._own[final](numbers[0])
        elif final == "s" and not private and not values:
            self.emulator.save_cursor()
        elif final in _MANY and not (private and final == "m"):
            if final == "m":
                numbers = _colours(values, numbers)
            self._stream.feed(f"\x1b[{private}{';'.join(map(str, numbers))}{final}")
        elif numbers[0] <= _ERASES.get(final, -1):
            erase = self.emulator.erase_in_display if final == "J" else self.emulator.erase_in_line
            erase(numbers[0], private=bool(private))
        elif not private and (final in _ONE or final in _TWO):
            wanted = numbers[: 2 if final in _TWO else 1]
            self._stream.feed(f"\x1b[{';'.join(map(str, wanted))}{final}")

    def _report(self, private: str, between: str, final: str, numbers: list[int]) -> None:
        if private == ">" and final == "c" and not between:
            self.emulator.write_process_input("\x1b[>1;10;0c")
        elif between == "$" and final == "p":  # DECRQM: 0 is "never heard of it", 1 is set, 2 is not set
            number = numbers[0]
            shifted = number << 5 if private else number
            known = {1: "1", 6: "1", 7: "1", 25: "1", 2004: "1"}.get(number, "0") if private else "0"
            state = known if known == "0" or shifted in self.emulator.mode else "2"
            self.emulator.write_process_input(f"\x1b[{private}{number};{state}$y")
        elif between == "!" and final == "p":  # DECSTR
            self.emulator.soft_reset()
        elif between == '"' and final == "q":  # DECSCA
            self.emulator.protect(numbers[0])

    def _asked(self, private: str, final: str, what: int) -> None:
        if final == "n":
            self.emulator.report_device_status(what, private=bool(private))
        elif final == "c" and not private:
            self.emulator.report_device_attributes(what)
        elif final == "t" and what == 18:  # noqa: PLR2004  # size in characters
            self.emulator.write_process_input(f"\x1b[8;{self.emulator.lines};{self.emulator.columns}t")

    def _command(self, osc: str) -> None:
        number, _, value = osc.partition(";")
        if number in ("0", "2"):
            self.emulator.title = value[:200]
        elif value == "?" and number in ("10", "11"):
            colour = "ffff/ffff/ffff" if number == "10" else "0000/0000/0000"
            self.emulator.write_process_input(f"\x1b]{number};rgb:{colour}\x1b\\")


_UNSEEN: Final = re.compile("[\x00-\x06\x10-\x1f\x7f-\x9f]")
"""Controls without a meaning here; those of C1, in UTF-8, are nobody's wish."""


def _colours(values: str, numbers: list[int]) -> list[int]:
    """``38:2::r:g:b`` is what ``38;2;r;g;b`` was meant to be (ITU-T T.416)."""
    if ":" not in values:
        return numbers
    found: list[int] = []
    for value in values.split(";")[:64]:
        parts = [min(int(part or 0), 9999) for part in value.split(":")]
        if parts[0] in (38, 48) and len(parts) > 2:  # noqa: PLR2004
            parts = [parts[0], parts[1], *parts[-3:]] if parts[1] == 2 else parts[:3]  # noqa: PLR2004
            found += parts
        elif not (parts[0] == 4 and len(parts) > 1 and parts[1] == 0):  # noqa: PLR2004
            found.append(parts[0])
    return found or [0]
