"""Every key at the question of ``shellward run``: the real program at a real terminal, looked at on its screen.

What is asked about here harms nothing but ``victim`` if it does run after all.
"""

import os
import shutil
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commandline import SHELLWARD, environ
from seats import Seat

ASKED = "Allow it?"
SURE = "Sure?"
ENDING = {"y": "allow", **dict.fromkeys(["n", "N", "q", "Q", "\x1b", "\x03", "\x04"], "deny")}
"""Keys that answer at once."""
WIDE = ("s", "a", "p", "P")
"""Keys that allow more than this once, and are confirmed."""
KEYS = [*(chr(code) for code in range(32)), *string.printable[:95], "\x7f", "é", "\x1b[A", "\x1bOA", "\x1bOy", "\x1by"]
IDLE = [key for key in KEYS if key not in ENDING and key not in WIDE and key != "e"]
"""Keys that do nothing."""

Ask = Callable[[], Seat]


@pytest.fixture
def victim() -> Iterator[Path]:
    place = Path.home() / f".shellward-keys-{os.getpid()}"
    (place / "victim" / "src").mkdir(parents=True)
    (place / "proj").mkdir()
    yield place / "victim" / "src"
    shutil.rmtree(place)


@pytest.fixture
def ask(victim: Path, tmp_path: Path) -> Iterator[Ask]:
    seats: list[Seat] = []

    def sit() -> Seat:
        words = [*SHELLWARD, "run", "cd ../victim && rm -rf src"]
        seat = Seat(words, env=environ(SHELLWARD_HOME=str(tmp_path / "home")), cwd=victim.parents[1] / "proj")
        seats.append(seat)
        assert seat.sees(ASKED), seat.screen
        return seat

    yield sit
    for seat in seats:
        with seat:
            pass


def test_all_keys_are_tried() -> None:
    assert set(KEYS) >= {chr(code) for code in range(128)}
    assert len(IDLE) + len(ENDING) + len(WIDE) + 1 == len(KEYS)


@pytest.mark.parametrize("key", ENDING, ids=ascii)
def test_a_key_that_answers(ask: Ask, victim: Path, key: str) -> None:
    seat = ask()
    seat.press(key)
    allowed = ENDING[key] == "allow"
    assert seat.ends() == (0 if allowed else 20), seat.screen
    assert victim.exists() != allowed
    assert ("allowed once" if allowed else "denied") in seat.words


def test_every_other_key_does_nothing(ask: Ask, victim: Path) -> None:
    seat = ask()
    for key in IDLE:
        seat.presses(key)
    seat.presses("e")  # it shows everything, and asks again: what was typed before has had its effect, if any
    assert seat.sees(ASKED, 2), seat.screen
    for text in ("allowed", "denied", SURE):
        assert text not in seat.printed, text
    assert victim.exists()
    seat.press("n")
    assert seat.ends() == 20


@pytest.mark.parametrize("key", WIDE)
def test_what_allows_more_is_shown_and_needs_one_more_key(ask: Ask, victim: Path, key: str) -> None:
    seat = ask()
    others = [each for each in KEYS if each != "y"] if key == "s" else [key, "\r", "n", "Y", " ", "\x1b", "\x03"]
    for times, other in enumerate(others, 1):
        seat.press(key)
        assert seat.sees(SURE, times), (other, seat.screen)
        if times == 1:
            covered = seat.words[seat.words.rindex("Covers") :]
            assert ("always" if key in "aP" else "session") in covered
            assert "rm -rf src" in covered
            assert str(victim if key in "pP" else victim.parents[1] / "proj") in covered
        seat.press(other)
        assert seat.sees(ASKED, times + 1), (other, seat.screen)
        assert "allowed" not in seat.words, other
    assert victim.exists()
    seat.press(key)
    assert seat.sees(SURE, len(others) + 1), seat.screen
    seat.press("y")
    assert seat.ends() == 0, seat.screen
    assert not victim.exists()


def test_what_is_asked(ask: Ask, victim: Path) -> None:
    screen = ask().words
    assert "cd ../victim && rm -rf src" in screen
    assert f"affects {victim}" in screen
    assert "reaches" not in screen
    assert "@" not in screen


def test_a_refusal_speaks_to_the_person(ask: Ask, victim: Path) -> None:
    seat = ask()
    seat.press("n")
    assert seat.ends() == 20
    assert victim.exists()
    assert "denied" in seat.words
    for words in ("another way", "ask the user", "config.yaml", "person's approval"):
        assert words not in seat.words
