"""What is remembered between commands stays small."""

import gc
import random
import string
import tracemalloc

import pytest

from shellward.approval import detect_dangerous_command
from shellward.command.remember import LONGEST, MOST, remembered, remembered_of_two


def test_a_short_text_is_worked_out_once():
    asked = []

    @remembered
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [length("abc"), length("abc"), length("")] == [3, 3, 0]
    assert asked == ["abc", ""]


def test_a_long_text_is_not_kept():
    asked = []

    @remembered
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    @remembered_of_two
    def lengths(text: str, other: str) -> int:
        asked.append(other)
        return len(text) + len(other)

    long = "x" * (LONGEST + 1)
    assert [length(long), length(long)] == [LONGEST + 1] * 2
    assert [lengths("", long), lengths("", long), lengths(long, "")] == [LONGEST + 1] * 3
    assert [lengths("a", "b"), lengths("a", "b")] == [2, 2]
    assert asked == [long, long, long, long, "", "b"]


def test_no_more_than_so_many_are_kept():
    asked = []

    @remembered
    def itself(text: str) -> str:
        asked.append(text)
        return text

    for number in range(MOST + 1):
        itself(str(number))
    itself("0")
    assert len(asked) == MOST + 2


@pytest.mark.parametrize(
    "command",
    ["git {}", "rm -rf /srv/{}", "{} --x", "psql -c 'DROP TABLE {}'", "python3 -c 'x.{}()'", "cd /{0} && rm {0}"],
)
@pytest.mark.parametrize("size", [LONGEST - 8, 20_000])
def test_words_do_not_fill_the_memory(command, size):
    chance = random.Random(1)
    detect_dangerous_command(command.format("a"))
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(4_000_000 // size if size > LONGEST else 2 * MOST):
        detect_dangerous_command(command.format("".join(chance.choices(string.ascii_lowercase, k=size))))
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 3_000_000
