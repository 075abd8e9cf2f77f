"""The screen against captures, by vttest's subjects: what xterm shows, as tmux does but where a line says otherwise.

The expected screens are held here, so that no other terminal is needed; where there is a tmux, it is asked whether it
still agrees. What tmux does not know, or does otherwise, follows xterm's control sequences (ctlseqs.ms) and its source.
"""

import os
import shutil
import subprocess
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from shellward.terminal.screen import Screen

ROWS, COLUMNS = 8, 20
_LIMIT = 10.0


@dataclass(frozen=True)
class Capture:
    """What a stream leaves on a screen.

    Attributes:
        name: the subject.
        stream: what the program prints.
        lines: of the screen, without empty ones at its end.
        cursor: row and column, from 0.
        alternate: whether the alternate screen is shown.
        tmux: how tmux differs; empty: it does not.
    """

    name: str
    stream: str
    lines: tuple[str, ...]
    cursor: tuple[int, int]
    alternate: bool = False
    tmux: str = ""


CAPTURES = (
    Capture(
        "NEL goes to column 0",
        "ab\x1bEcd\x1b[8;5Hef\x1bEgh",
        ("cd", "", "", "", "", "", "    ef", "gh"),
        (7, 2),
    ),
    Capture(
        "IND and RI keep the column",
        "ab\x1bDcd\x1b[1;3H\x1bMef",
        ("  ef", "ab", "  cd"),
        (0, 4),
    ),
    Capture(
        "DECALN clears the margins and homes",
        "\x1b[3;4r\x1b[5;5Hx\x1b#8\x1b[8;1H\nend",
        (
            "EEEEEEEEEEEEEEEEEEEE",
            "EEEEEEEEEEEEEEEEEEEE",
            "EEEEEEEEEEEEEEEEEEEE",
            "EEEEEEEEEEEEEEEEEEEE",
            "EEEEEEEEEEEEEEEEEEEE",
            "EEEEEEEEEEEEEEEEEEEE",
            "EEEEEEEEEEEEEEEEEEEE",
            "end",
        ),
        (7, 3),
    ),
    Capture(
        "a border drawn by movements",
        "\x1b[1;1H+\x1b[1;20H+\x1b[8;1H+\x1b[8;20H+\x1b[2;2H\x1b[4C*\x1b[2B*\x1b[3D*\x1b[A*\x1b[99;99H\x1b[99D\x1b[99A>",
        (">                  +", "     *", "     *", "    * *", "", "", "", "+                  +"),
        (0, 1),
    ),
    Capture(
        "controls within a line",
        "abc\x08\x08X\tY\rZ\x0bV\x0cF",
        ("ZXc     Y", " V", "  F"),
        (2, 3),
    ),
    Capture(
        "CNL, CPL, CHA, VPA",
        "one\x1b[2Etwo\x1b[Fthree\x1b[10Gx\x1b[5dy",
        ("one", "three    x", "two", "", "          y"),
        (4, 11),
    ),
    Capture(
        "HPA",
        "abc\x1b[7`d",
        ("abc   d",),
        (0, 7),
    ),
    Capture(
        "HPR and VPR",
        "abc\x1b[3ad\x1b[2ee",
        ("abc   d", "", "       e"),
        (2, 8),
        tmux="tmux has neither",
    ),
    Capture(
        "autowrap, and the cursor that waits at the last column",
        "0123456789012345678901\x1b[3;20Hab\x1b[7;20He\r\nf",
        ("01234567890123456789", "01", "                   a", "b", "", "", "                   e", "f"),
        (7, 1),
    ),
    Capture(
        "BS where the cursor waits at the last column",
        "\x1b[1;20Hc\x08d",
        ("                  dc",),
        (0, 19),
        tmux="tmux's cursor waits behind it",
    ),
    Capture(
        "erasing to the end takes the last column, where the cursor waits",
        "01234567890123456789\x1b[K!",
        ("0123456789012345678!",),
        (0, 19),
        tmux="tmux's cursor waits behind it",
    ),
    Capture(
        "no autowrap",
        "\x1b[?7l0123456789012345678901\x1b[?7h\r\nx",
        ("01234567890123456781", "x"),
        (1, 1),
    ),
    Capture(
        "the cursor is held by the margins it is between",
        "\x1b[3;5r\x1b[4;1H\x1b[9Aa\x1b[9Bb\x1b[1;5H\x1b[9Bc\x1b[8;9H\x1b[9Ad",
        ("", "", "a       d", "", " b  c"),
        (2, 9),
    ),
    Capture(
        "outside the margins nothing scrolls",
        "top\x1b[2;4r\x1b[8;1Hlast\nmore\x1b[1;9H\x1bMup",
        ("top     up", "", "", "", "", "", "", "lastmore"),
        (0, 10),
    ),
    Capture(
        "scrolling between margins",
        "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;4r\x1b[4;1H\n\nx\x1b[2;1H\x1bMy",
        ("1", "y", "4", "", "5", "6"),
        (1, 1),
    ),
    Capture(
        "margins that are none",
        "a\x1b[2;4rb\x1b[5;3rc\x1b[7rd\x1b[rE",
        ("Ec",),
        (0, 1),
    ),
    Capture(
        "SU and SD",
        "1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[S\x1b[5;5H\x1b[2T!",
        ("1", "", "", "3", "5   !"),
        (4, 5),
    ),
    Capture(
        "IL and DL",
        "1\r\n2\r\n3\r\n4\r\n5\x1b[2;1H\x1b[2L\x1b[6;1H\x1b[M\x1b[1;1H\x1b[9M",
        (),
        (0, 0),
    ),
    Capture(
        "DL over lines that were never written",
        "a\r\n\r\n\r\nb\x1b[1;1H\x1b[M\x1b[Mc",
        ("c", "b"),
        (0, 1),
    ),
    Capture(
        "ICH, DCH, ECH",
        "abcdefghij\x1b[1;3H\x1b[2@\x1b[1;8H\x1b[2P\x1b[1;1H\x1b[X\r\n01234567890123456789\x1b[2;5H\x1b[3@\x1b[3P",
        (" b  cdehij", "01234567890123456"),
        (1, 4),
    ),
    Capture(
        "insert mode",
        "abcdef\x1b[1;3H\x1b[4hXY\x1b[4lZ",
        ("abXYZdef",),
        (0, 5),
    ),
    Capture(
        "EL and ED",
        "aaaaaaaaaa\r\nbbbbbbbbbb\r\ncccccccccc\r\ndddddddddd\x1b[2;5H\x1b[K\x1b[3;5H\x1b[1K\x1b[1;3H\x1b[1J\x1b[4;4H\x1b[J",
        ("   aaaaaaa", "bbbb", "     ccccc", "ddd"),
        (3, 3),
    ),
    Capture(
        "tab stops",
        "\ta\x1b[3g\r\x1b[5C\x1bH\x1b[5C\x1bH\r\tb\tc\td\r\ne\x1b[2;15H\x1b[2Zf\x1b[g",
        ("     b  a c        d", "e    f"),
        (1, 6),
    ),
    Capture(
        "DECSC and DECRC",
        "ab\x1b7cd\x1b[5;5He\x1b8X\x1b[6;6H\x1b8Y\x1b[r\x1b[3;3H\x1b7\x1b[6;8r\x1b8Z",
        ("abYd", "", "  Z", "", "    e"),
        (2, 3),
    ),
    Capture(
        "DECRC at once",
        "\x1b[5;5Hab\x1b[u\x1bcxy\x1b[3;3H\x1b[uz",
        ("zy",),
        (0, 1),
    ),
    Capture(
        "origin mode",
        "\x1b[3;6r\x1b[?6h\x1b[1;1Ha\x1b[9;9Hb\x1b[2;3Hc\x1b[?6l\x1b[1;1Hd",
        ("d", "", "a", "  c", "", "        b"),
        (0, 1),
    ),
    Capture(
        "origin mode, and lines alone",
        "\x1b[3;6r\x1b[?6h\x1b[2da\x1b[99db\x1b[?6lc",
        ("c", "", "", "a", "", " b"),
        (0, 1),
    ),
    Capture(
        "line drawing",
        "\x1b(0lqk\x1b(B-\x1b)0\x0exmj\x0f-",
        ("\u250c\u2500\u2510-\u2502\u2514\u2518-",),
        (0, 8),
        tmux="tmux shows the letters when it is captured",
    ),
    Capture(
        "a shift to a set that nobody chose",
        "a\x0eqqq\x0fb",
        ("aqqqb",),
        (0, 5),
    ),
    Capture(
        "1049 saves, clears and restores",
        "ab\x1b[?1049hcd\x1b[5;5Hef\x1b[?1049lgh",
        ("abgh",),
        (0, 4),
    ),
    Capture(
        "1047 leaves the cursor",
        "ab\x1b[?1047hcd\x1b[?1047lef\x1b[?1047hgh",
        ("      gh",),
        (0, 8),
        alternate=True,
    ),
    Capture(
        "1047 clears when it leaves, 47 does not",
        "ab\x1b[?47hcd\x1b[?47lef\x1b[?47hgh\x1b[?1047l\x1b[?47hij",
        ("        ij",),
        (0, 10),
        alternate=True,
    ),
    Capture(
        "1048 is the cursor alone",
        "ab\x1b[?1048hcd\x1b[?1048lX",
        ("abXd",),
        (0, 3),
        tmux="tmux has it not",
    ),
    Capture(
        "the margins are those of both screens",
        "\x1b[2;3r\x1b[?1049h\x1b[?1049l\x1b[3;1H\n\nx\x1b[4;1Hy",
        ("", "", "x", "y"),
        (3, 1),
    ),
    Capture(
        "wide characters",
        "\u65e5\u672c\u8a9e\x1b[1;2Hx\x1b[1;5Hy\r\n0123456789012345678\u65e5",
        (" x\u672cy", "0123456789012345678", "\u65e5"),
        (2, 2),
        tmux="tmux leaves halves",
    ),
    Capture(
        "wide characters at the right",
        "0123456789012345678\u65e5\u672c\r\n\u65e5\u672c",
        ("0123456789012345678", "\u65e5\u672c", "\u65e5\u672c"),
        (2, 4),
    ),
    Capture(
        "DCH through a wide character",
        "\u65e5\u672c\r\x1b[P",
        (" \u672c",),
        (0, 0),
        tmux="tmux leaves half of it",
    ),
    Capture(
        "marks that combine",
        "\u0e01\u0e31\u0e19 x\u0332 \u0928\u094d",
        ("\u0e01\u0e31\u0e19 x\u0332 \u0928\u094d",),
        (0, 6),
    ),
    Capture(
        "joined emoji are one",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467|\r\n\u2764\ufe0f|\r\n\U0001f1e9\U0001f1ea|\r\n\U0001f44d\U0001f3fd|",
        (
            "\U0001f468\u200d\U0001f469\u200d\U0001f467|",
            "\u2764\ufe0f|",
            "\U0001f1e9\U0001f1ea|",
            "\U0001f44d\U0001f3fd|",
        ),
        (3, 5),
    ),
    Capture(
        "a joiner in other text stays",
        "a\u200db|\u0645\u06cc\u200c\u062e",
        ("a\u200db|\u0645\u06cc\u200c\u062e",),
        (0, 6),
        tmux="tmux drops some",
    ),
    Capture(
        "marks of direction go",
        "a\u202eb\u200bc\u2066d",
        ("abcd",),
        (0, 4),
        tmux="tmux keeps some",
    ),
    Capture(
        "DECSCA and DECSEL",
        '\x1b[1"qab\x1b[0"qcd\x1b[2"qef\r\x1b[?2K',
        ("ab",),
        (0, 0),
        tmux="tmux has it not",
    ),
    Capture(
        "DECSCA and DECSED",
        '\x1b[1"qab\x1b[mc\x1b["qde\r\nfg\x1b[1"qhi\x1b[?2J\x1b[1;2H\x1b[K',
        ("a", "  hi"),
        (0, 1),
        tmux="tmux has it not",
    ),
    Capture(
        "REP",
        "ab\x1b[3bc\x1b[1;18Hx\x1b[2b",
        ("abbbbc           xxx",),
        (0, 19),
    ),
    Capture(
        "DECSTR leaves the cursor and the screen",
        "ab\x1b[2;3r\x1b[4h\x1b[?6h\x1b[2;2H\x1b[!pcd",
        ("ab", "", " cd"),
        (2, 3),
    ),
    Capture(
        "RIS",
        "ab\x1b[2;3r\x1b[?6h\x1b[4hcd\x1bcX",
        ("X",),
        (0, 1),
    ),
    Capture(
        "a mode that only looks like a private one",
        "ab\x1b[96hcd\x1b[224l\x1b[1;18Hefgh",
        ("abcd             efg", "h"),
        (1, 1),
    ),
    Capture(
        "CAN, SUB and another escape end a sequence",
        "a\x1b[2\x18b\x1b[3\x1ac\x1b[4\x1b[2Cd",
        ("abc  d",),
        (0, 6),
    ),
    Capture(
        "controls without a meaning are not shown",
        "a\x01\x05\x11\x18\x1c\x7f\x85\x9bb",
        ("ab",),
        (0, 2),
    ),
    Capture(
        "controls within a sequence",
        "a\x1b[2\rCb",
        ("a b",),
        (0, 3),
    ),
)


def seen(screen: Screen) -> tuple[object, ...]:
    shown = screen.snapshot()
    return shown.lines, (shown.row, shown.column), shown.alternate


def expected(capture: Capture) -> tuple[object, ...]:
    return capture.lines + ("",) * (ROWS - len(capture.lines)), capture.cursor, capture.alternate


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_the_screen_is_as_captured(capture: Capture) -> None:
    whole, cut = Screen(ROWS, COLUMNS), Screen(ROWS, COLUMNS)
    whole.feed(capture.stream.encode())
    for byte in capture.stream.encode():
        cut.feed(bytes([byte]))
        cut.snapshot()
    assert seen(whole) == expected(capture)
    assert seen(cut) == expected(capture)


class Tmux:
    """A terminal of tmux that shows what it is given."""

    def __init__(self, directory: Path) -> None:
        fifo = directory / "stream"
        os.mkfifo(fifo)
        self._call = ["tmux", "-u", "-S", str(directory / "socket"), "-f", "/dev/null"]
        self._count = 0
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        self.ask("new-session", "-d", *size, f"stty raw -echo; exec cat <>{fifo}")
        self.ask("set", "-g", "status", "off")
        self.ask("resize-window", *size)
        self._stream = os.open(fifo, os.O_RDWR)

    def ask(self, *words: str) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
        done = subprocess.run(
            [*self._call, *words], env={**env, "LC_ALL": "C.UTF-8"}, check=True, capture_output=True, timeout=_LIMIT
        )
        return done.stdout.decode()

    def show(self, stream: str) -> tuple[object, ...]:
        self._count += 1
        mark = f"shown-{self._count}"
        reset = "\x18\x1b\\\x1b[?1049l\x1bc\x1b7"
        os.write(self._stream, f"{reset}{stream}\x18\x1b]2;{mark}\x1b\\".encode())
        until = time.monotonic() + _LIMIT
        while (state := self.ask("display", "-p", "#{pane_title} #{cursor_y} #{cursor_x} #{alternate_on}").split())[
            0
        ] != mark:
            assert time.monotonic() < until, "tmux does not answer"
        lines = [unicodedata.normalize("NFC", line.rstrip(" ")) for line in self.ask("capture-pane", "-p").split("\n")]
        padded = (*lines, *[""] * ROWS)[:ROWS]
        return padded, (int(state[1]), min(int(state[2]), COLUMNS - 1)), state[3] == "1"

    def close(self) -> None:
        self.ask("kill-server")
        os.close(self._stream)


@contextmanager
def tmux(directory: Path) -> Iterator[Tmux]:
    opened = Tmux(directory)
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="compares with tmux")
def test_tmux_agrees(tmp_path: Path) -> None:
    with tmux(tmp_path) as terminal:
        differ = {each.name for each in CAPTURES if terminal.show(each.stream) != expected(each)}
    assert differ <= {each.name for each in CAPTURES if each.tmux}
