"""Keys by name, pastes, and what is switched off behind a program."""

import pytest

from shellward.core.errors import ConfigError
from shellward.terminal.keys import encode_key, encode_paste
from shellward.terminal.modes import Modes


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("Enter", b"\r"),
        ("enter", b"\r"),
        ("C-c", b"\x03"),
        ("^C", b"\x03"),
        ("C-]", b"\x1d"),
        ("M-x", b"\x1bx"),
        ("C-Space", b"\0"),
        ("Up", b"\x1b[A"),
        ("C-Left", b"\x1b[1;5D"),
        ("S-F5", b"\x1b[15;2~"),
        ("F1", b"\x1bOP"),
        ("M-F1", b"\x1b[1;3P"),
        ("F12", b"\x1b[24~"),
        ("PageUp", b"\x1b[5~"),
        ("BSpace", b"\x7f"),
        ("S-Tab", b"\x1b[Z"),
        ("x", b"x"),
        ("S-x", b"X"),
        ("ü", "ü".encode()),
        ("-", b"-"),
        ("C--", None),
        ("^", b"^"),
        ("C-M-a", b"\x1b\x01"),
    ],
)
def test_keys(name: str, sent: bytes | None) -> None:
    if sent is None:
        with pytest.raises(ConfigError, match="key"):
            encode_key(name)
    else:
        assert encode_key(name) == sent


def test_arrow_keys_in_the_form_that_the_program_wants() -> None:
    assert encode_key("Up", application_cursor=True) == b"\x1bOA"
    assert encode_key("C-Up", application_cursor=True) == b"\x1b[1;5A"


@pytest.mark.parametrize("name", ["", "Entre", "F13", "C-ü", "C-Entre"])
def test_no_such_key(name: str) -> None:
    with pytest.raises(ConfigError, match="key"):
        encode_key(name)


def test_a_paste_cannot_end_itself() -> None:
    assert encode_paste(b"a\r\nb\nc", bracketed=False) == b"a\rb\rc"
    hostile = b"x\x1b[20\x1b[201~1~y\x1b[201~z"
    assert encode_paste(hostile, bracketed=True) == b"\x1b[200~xyz\x1b[201~"


@pytest.mark.parametrize("cut", range(12))
def test_modes_are_switched_off_and_no_others(cut: int) -> None:
    data = b"\x1b[?1049;2004h\x1b[?25l\x1b=text\x1b[?2004l"
    modes = Modes()
    modes.feed(data[:cut])
    modes.feed(data[cut:])
    assert modes.undo() == b"\x1b[?1049l\x1b[?25h\x1b>\x1b[m"
    modes.feed(b"\x1bc")
    assert modes.undo() == b""
