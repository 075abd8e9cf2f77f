"""Patterns in output that comes in pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.core.errors import ConfigError
from shellward.process_registry.watch import MOST, Patterns, RateLimit

TEXT = "start\nerror 12: ä — no\n\nok error\nthe end without a newline error 3".encode()
WANTED = [
    ("error", "error 12: ä — no", 6),
    ("/error \\d+/", "error 12: ä — no", 6),
    ("error", "ok error", TEXT.index(b"ok")),
    ("error", "the end without a newline error 3", TEXT.index(b"the")),
    ("/error \\d+/", "the end without a newline error 3", TEXT.index(b"the")),
]


@given(st.lists(st.integers(0, len(TEXT)), max_size=10))
def test_wherever_it_is_cut(cuts: list[int]) -> None:
    patterns = Patterns(("error", "/error \\d+/"))
    places = sorted({0, *cuts, len(TEXT)})
    found = [match for a, b in pairwise(places) for match in patterns.feed(TEXT[a:b])]
    found += patterns.end()
    assert [(match.pattern, match.text, match.offset) for match in found] == WANTED


def test_a_line_without_an_end_takes_no_memory_and_is_searched() -> None:
    patterns = Patterns(("needle",))
    found = []
    for _ in range(100):
        found += patterns.feed(b"x" * 10_000)
        assert len(patterns._rest) <= 1 << 16
    found += patterns.feed(b"need")
    found += patterns.feed(b"le" + b"y" * 50_000)
    found += patterns.end()
    assert 1 <= len(found) <= 3


def test_ugly_patterns() -> None:
    for wrong in ("", "/(/", 7):
        with pytest.raises(ConfigError):
            Patterns((wrong,))
    assert Patterns(("a.b",)).feed(b"axb\n") == []
    assert [match.pattern for match in Patterns(("//",)).feed(b"http://x\n")] == ["//"]


def test_the_rate() -> None:
    limit = RateLimit()
    assert [limit.passes(0.1 * number) for number in range(MOST + 1)] == [True] * MOST + [False]
    assert limit.passes(100)
