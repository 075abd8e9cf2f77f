"""Escape sequences are taken out, and nothing else."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.terminal_tool.ansi import strip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain \u00e9 \u6f22 \U0001f600\n\ttab\n", "plain \u00e9 \u6f22 \U0001f600\n\ttab\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;2;1;2;3mx\x1b[K\x1b[?25l\x1b[2J", "x"),
        ("\x1b[38:5:1mx", "x"),
        ("\x1b]0;title\x07x\x1b]2;t\x1b\\y", "xy"),
        ("\x1b]8;;https://a.b/c\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
        ("\x1bPq#0;2;0\x1b\\sixel", "sixel"),
        ("\x1b(B\x1b)0\x1b#8x", "x"),
        ("\x1b7\x1b8\x1bM\x1b=x\x1bc", "x"),
        ("\x9b31mx\x9b0m", "x"),
        ("cut off \x1b[31", "cut off "),
        ("cut off \x1b", "cut off "),
        ("a\x00b\x07c\x7f", "abc"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("N\x08NA\x08AM\x08ME\x08E", "NAME"),
        ("_\x08u\x08\x08\x08x", "x"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_not_show(text, wanted) -> None:
    assert strip(text) == wanted


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n\t")))
def test_text_without_controls_stays(text) -> None:
    assert strip(text) == text


@given(st.text(st.sampled_from("\x1b[]0;m\x07\\Pa\n\r\x08\x9b(B ")))
def test_no_escape_is_left_and_nothing_is_invented(text) -> None:
    stripped = strip(text)
    assert not set("\x1b\x07\x08\x9b\r") & set(stripped)
    assert stripped.count("\n") == text.count("\n")
    assert strip(stripped) == stripped


@pytest.mark.parametrize(
    "piece", ["\x1b[", "\x1b]", "\x1b[0;", "\x1bP", "\x1b", "0;", "\x1b[31mx", "a\x08", "\r", "\x1b(", "\x1b]x\x1b"]
)
def test_time_is_linear(piece) -> None:
    start = time.monotonic()
    strip(piece * (1_000_000 // len(piece)))
    assert time.monotonic() - start < 20
