"""The table of keys, and single keys told from sequences and pastes."""

import os
import pty
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shellward.approval import keys
from shellward.approval.context import ApprovalRequest
from shellward.approval.keyboard import Keyboard, one_key_at_a_time

PLAIN = ApprovalRequest(id="a", command="rm", normalized="rm", findings=(), exact="exactly `rm`")
WITH_PART = replace(PLAIN, part="`rm` inside any line")


@pytest.mark.parametrize("request_", [PLAIN, WITH_PART], ids=["plain", "part"])
def test_every_character(request_: ApprovalRequest) -> None:
    allowing = {"y", "s", "a", *("pP" if request_.part else "")}
    denying = set("nNqQ\x1b\x03\x04")
    for code in range(0x250):
        choice = keys.by_key(chr(code), request_)
        kind = "allow" if chr(code) in allowing else "deny" if chr(code) in denying else None
        assert (choice and choice.kind) == kind, hex(code)
        if kind == "allow":
            assert choice is not None
            assert choice.wide == (chr(code) != "y")


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ("", None), ("yy", None), ("y\r", None), ("yes", None), ("ny", None), ("no", None), ("sy", None),
        ("nn", "deny"), ("\x1b\x1b", "deny"), ("y\x03", "deny"), ("qq", "deny"),
    ],
)  # fmt: skip
def test_several_at_once_never_allow(typed: str, kind: str | None) -> None:
    choice = keys.by_key(typed, WITH_PART)
    assert (choice and choice.kind) == kind


def test_names_are_those_of_one_choice_each() -> None:
    assert len({choice.name for choice in keys.CHOICES}) == len(keys.CHOICES)
    for choice in keys.CHOICES:
        assert keys.by_name(choice.name, WITH_PART) is choice
        assert (keys.by_name(choice.name, PLAIN) is None) == choice.part
    assert keys.by_name(None, PLAIN) is None


def test_what_is_covered() -> None:
    said = {choice.keys[0]: keys.covers(choice, WITH_PART) for choice in keys.CHOICES}
    part, exact = WITH_PART.part, WITH_PART.exact
    assert said == {"n": "", "y": "", "s": exact, "a": exact, "p": part, "P": part}


@pytest.fixture
def line() -> Iterator[tuple[int, Keyboard]]:
    ours, theirs = pty.openpty()
    try:
        with one_key_at_a_time(theirs):
            yield ours, Keyboard(theirs, None, time.monotonic() + 30)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("key", [*map(chr, range(128))], ids=ascii)
def test_a_key_is_itself(line: tuple[int, Keyboard], key: str) -> None:
    ours, keyboard = line
    os.write(ours, key.encode())
    assert keyboard.read() == key


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[A", "\x1b[1;5C", "\x1b[15~", "\x1bOA", "\x1bOP", "\x1bOy", "\x1bOn", "\x1bO2P", "\x1b[[A", "\x1b[M !y",
        "\x1b[<0;10;10M", "\x1by", "\x1bn", "\x1b\r", "\x1b\x7f", "\x1b\x1b[A", "\x1b\\", "\x1bé",
        "\x1b[200~y\x1b[201~", "\x1b]11;rgb:0000/0000/0000\x07", "\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1bP1$r0m\x1b\\",
        "é", "日",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_sequence_is_no_key(line: tuple[int, Keyboard], sequence: str) -> None:
    """Whole or in two pieces, wherever it is cut behind its second character."""
    ours, keyboard = line
    data = sequence.encode()
    os.write(ours, data)
    assert keyboard.read() == ""
    os.write(ours, b"x")
    assert keyboard.read() == "x", "nothing of it is left"


@pytest.mark.parametrize("sequence", [b"\x1b[1;5C", b"\x1bOy", b"\x1b]11;y\x07", b"\x1b[M !y"])
def test_a_sequence_that_comes_in_pieces(line: tuple[int, Keyboard], sequence: bytes) -> None:
    ours, keyboard = line
    pieces = [sequence[:2], *(sequence[at : at + 1] for at in range(2, len(sequence)))]
    read = keyboard._take
    waiting = iter(pieces[1:])

    def take() -> bytes:
        """Have the next piece come only when this one was read."""
        data = read()
        os.write(ours, next(waiting, b""))
        return data

    keyboard._take = take  # type: ignore[method-assign]
    os.write(ours, pieces[0])
    assert keyboard.read() == ""
    os.write(ours, b"x")
    assert keyboard.read() == "x"


def test_what_was_typed_before_is_forgotten(line: tuple[int, Keyboard]) -> None:
    ours, keyboard = line
    os.write(ours, b"yyy")
    keyboard.forget()
    os.write(ours, b"n")
    assert keyboard.read() == "n"


def test_withdrawn_or_late_is_no_key() -> None:
    ours, theirs = pty.openpty()
    cancelled, cancel = os.pipe()
    try:
        with one_key_at_a_time(theirs):
            assert Keyboard(theirs, None, time.monotonic() - 1).read() is None
            os.write(cancel, b"x")
            os.write(ours, b"y")
            assert Keyboard(theirs, cancelled, time.monotonic() + 30).read() is None
    finally:
        for fd in (ours, theirs, cancelled, cancel):
            os.close(fd)


def test_a_terminal_that_is_gone() -> None:
    ours, theirs = pty.openpty()
    os.close(ours)
    assert Keyboard(theirs, None, time.monotonic() + 30).read() is None
    os.close(theirs)
