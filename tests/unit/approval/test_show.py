"""Commands cannot draw: whatever they hold, what is shown is plain text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.approval.show import escape, pieces, safe
from shellward.core.gate import Finding, Severity


def marked(command: str, *spans: tuple[int, int]) -> list[tuple[str, str]]:
    found = [Finding("a.b", "x", Severity.HIGH, span, "x") for span in spans]
    return [tuple(piece) for piece in pieces(command, found)]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b[H", "\\e[2J\\e[H"),
        ("a\rb", "a\\rb"),
        ("a\bb", "a\\bb"),
        ("a\x9bb", "a\\u{9b}b"),
        ("a\u202eb", "a\\u{202e}b"),
        ("a\u2066b\u2069", "a\\u{2066}b\\u{2069}"),
        ("a\u200bb", "a\\u{200b}b"),
        ("a\u2028b", "a\\u{2028}b"),
        ("a\u00a0b", "a\\u{a0}b"),
        ("a\u3164b", "a\\u{3164}b"),
        ("a\u2800b", "a\\u{2800}b"),
        ("a\ufe0fb", "a\\u{fe0f}b"),
        ("a\U000e0041b", "a\\u{e0041}b"),
        ("a\udcffb", "a\\u{dcff}b"),
        ("a\u0301", "a\u0301"),
        ("a" + "\u0301" * 9, "a\u0301\u0301" + "\\u{301}" * 7),
        ("日本 é ß ✓", "日本 é ß ✓"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
    ],
)
def test_escape(text: str, shown: str) -> None:
    assert escape(text) == shown


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_nothing_invisible_is_ever_shown(text: str) -> None:
    for shown in (safe(text), "".join(piece.text for piece in pieces(text, ()))):
        for char in shown.replace("\n", ""):
            assert unicodedata.category(char)[0] != "C"
            assert char == " " or unicodedata.category(char)[0] != "Z"


@given(
    st.text(alphabet="ab \x1b\n", max_size=30),
    st.lists(st.tuples(st.integers(0, 35), st.integers(0, 35)), max_size=4),
)
def test_any_spans_lose_nothing(text: str, spans: list[tuple[int, int]]) -> None:
    ordered = [(min(span), max(span)) for span in spans]
    assert "".join(shown for shown, _ in marked(text, *ordered)).replace("\\e", "\x1b") == text


def test_spans_are_marked_and_joined() -> None:
    assert marked("a rm -rf b; c", (2, 7), (5, 10)) == [
        ("a ", "plain"),
        ("rm -rf b", "danger"),
        ("; c", "plain"),
    ]


def test_secrets_are_masked_inside_and_outside_spans() -> None:
    command = "PASSWORD=hunter22 rm x --token abcdef99 y"
    shown = marked(command, (18, len(command)))
    assert "hunter22" not in str(shown)
    assert "abcdef99" not in str(shown)
    assert [kind for _, kind in shown] == ["plain", "masked", "plain", "danger", "masked", "danger"]
