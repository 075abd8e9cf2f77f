"""The screen as text: what stays of any stream, however it is cut, and that hostile ones cost nothing."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.terminal.screen import Screen, Snapshot

_PIECES = [
    b"plain text",
    b"\r\n",
    b"\n",
    b"\t",
    b"\b",
    "grün 日本 e\u0301".encode(),
    b"\xff\xc3",
    b"\x1b[2J\x1b[H",
    b"\x1b[3;4H",
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x1b[?25l",
    b"\x1b[2;4r",
    b"\x1b[r",
    b"\x1b[31;1m",
    b"\x1b[38;2;1;2;3m",
    b"\x1b[6n",
    b"\x1b]0;a title\x07",
    b"\x1b]8;;x\x1b\\",
    b"\x1bPq#0\x1b\\",
    b"\x1b(0lqk\x1b(B",
    b"\x1b7",
    b"\x1b8",
    b"\x1bM",
    b"\x1bc",
    b"\x1b[9999b",
    b"\x1b[5S",
    b"\x1b[5T",
    b"\x1b[4h",
    b"\x1b[99999999999999999999A",
    b"\x1b[",
    b"\x1b",
    b"\x1b[K",
    b"\x1b[?1047h",
    b"\x1b[?1047l",
    b"\x1b[?47h",
    b"\x1b[?6h",
    b"\x1b[3d",
    b"\x1b[?96h\x1b[96h",
    b"\x1b[2;99r",
    b'\x1b[1"q',
    b"\x1b[?J",
    b"\x1b[?2K",
    b"\x1b[3P",
    b"\x1b[2@",
    b"\x1b[2L",
    b"\x1b[2M",
    b"\x1b[5A",
    b"\x1b[9B",
    b"\x1b#8",
    b"\x1bE",
    b"\x1b[!p",
    b"\x1b[2\x18",
    b"\x1b[1\rC",
    "\U0001f468\u200d\U0001f469 \u2764\ufe0f".encode(),
]


def shown(*pieces: bytes, rows: int = 6, columns: int = 20) -> Snapshot:
    screen = Screen(rows, columns)
    for piece in pieces:
        screen.feed(piece)
    return screen.snapshot()


@given(st.lists(st.sampled_from(_PIECES), max_size=30), st.lists(st.integers(0, 600), max_size=12))
def test_however_it_is_cut(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    parts = [data[a:b] for a, b in pairwise(places)]
    assert shown(*parts) == shown(data)


@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(_PIECES)), max_size=30))
def test_no_stream_breaks_it(pieces: list[bytes]) -> None:
    screen = Screen(5, 10)
    for piece in pieces:
        screen.feed(piece)
        screen.resize(3 + len(piece) % 4, 7 + len(piece) % 9)
    seen = screen.snapshot()
    assert len(seen.lines) == seen.rows
    assert 0 <= seen.row < seen.rows
    assert 0 <= seen.column < seen.columns


@pytest.mark.parametrize(
    ("stream", "what", "there"),
    [
        (b">>> ", ">>> ", True),
        (b">>>", ">>> ", False),
        (b">>> \r\n", ">>> ", True),
        (b">>> \x1b[K", ">>> ", True),
        (b">>>\x1b[K", ">>> ", False),
        (b">>>\x1b[C", ">>> ", True),
        (b"\x1b[2Ja\r\nsh$ ", "a\nsh$ ", True),
        (b"one  \r\ntwo", "one\ntwo", True),
        (b"one  \r\ntwo", "one  \ntwo", True),
        (b">>> ", re.compile(r">>>\Z"), True),
        (b">>> ", re.compile(r">>> \Z"), True),
        (b">>> ", re.compile(r"^>>> $", re.MULTILINE), True),
    ],
)
def test_blanks_at_the_end_of_a_line_stand_there(stream: bytes, what: "str | re.Pattern[str]", there: bool) -> None:
    assert shown(stream).shows(what) is there


def test_a_sequence_of_nothing_but_controls_costs_little() -> None:
    screen = Screen(24, 80)
    for _ in range(10):
        screen.feed(b"\x18\x1b[" + b"\r" * 100_000)
        screen.snapshot()
    assert screen.snapshot().lines[0].startswith("[")  # too long: it is none by now


def test_the_alternate_screen_hides_the_main_one() -> None:
    before = shown(b"one\r\ntwo")
    inside = shown(b"one\r\ntwo", b"\x1b[?1049h\x1b[2J\x1b[Hother")
    assert (inside.alternate, inside.text) == (True, "other")
    after = shown(b"one\r\ntwo", b"\x1b[?1049h\x1b[2J\x1b[Hother", b"\x1b[?1049l")
    assert after == before


def test_what_scrolls_off_is_kept_but_not_of_the_alternate_screen() -> None:
    lines = b"".join(b"%d\r\n" % number for number in range(50))
    screen = Screen(5, 20, scrollback=10)
    screen.feed(lines)
    assert screen.snapshot().scrollback == tuple(str(number) for number in range(36, 46))
    screen.feed(b"\x1b[?1049h" + lines)
    assert screen.snapshot().scrollback == tuple(str(number) for number in range(36, 46))
    screen.feed(b"\x1b[?1049l\x1b[3J")
    assert screen.snapshot().scrollback == ()


def test_a_flood_is_held_in_little_and_its_end_is_right() -> None:
    screen = Screen(24, 80)
    screen.feed(b"\x1b[?2004h\x1b[?25l")
    block = b"".join(b"line %06d\r\n" % number for number in range(10_000))
    for _ in range(40):  # 5 MB
        screen.feed(block)
        assert screen._size <= 3 * (1 << 18)
    seen = screen.snapshot()
    assert seen.lines[22] == "line 009999"
    assert seen.scrollback[-1] == "line 009976"
    assert len(seen.scrollback) == 1000
    assert screen.bracketed_paste
    assert not seen.cursor_visible


def test_a_flood_that_is_no_lines_is_held_in_little() -> None:
    screen = Screen(24, 80)
    for _ in range(100):
        screen.feed(b"\x1b]0;" + b"x" * 50_000)
        assert screen._size <= 3 * (1 << 18)
    assert len(screen.snapshot().title) <= 200
    screen = Screen(24, 80)
    screen.feed(b"e" + "\u0301".encode() * 100_000)
    assert len(screen.snapshot().text) < 100


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (b"\x1b[6n", b"\x1b[2;3R"),
        (b"\x1b[5n", b"\x1b[0n"),
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b[>c", b"\x1b[>1;10;0c"),
        (b"\x1b[18t", b"\x1b[8;6;20t"),
        (b"\x1b[?2004$p", b"\x1b[?2004;2$y"),
        (b"\x1b]11;?\x07", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
        (b"\x1b]10;?\x1b\\", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    ],
)
def test_questions_are_answered_once_however_they_are_cut(asked: bytes, answer: bytes) -> None:
    for cut in range(len(asked)):
        screen = Screen(6, 20)
        answers = screen.feed(b"ab\r\ncd") + screen.feed(asked[:cut]) + screen.feed(asked[cut:]) + screen.feed(b"more")
        assert answers == answer, cut
    screen = Screen(6, 20)
    screen.skip(b"ab" + asked)
    assert screen.feed(b"more") == b""
