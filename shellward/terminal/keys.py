"""Keys by name, as tmux calls them, to the bytes that an xterm sends for them."""

import re
from difflib import get_close_matches
from typing import Final

from shellward.core.errors import ConfigError

_PLAIN: Final = {
    "Enter": b"\r",
    "Return": b"\r",
    "Tab": b"\t",
    "BTab": b"\x1b[Z",
    "Escape": b"\x1b",
    "Space": b" ",
    "BSpace": b"\x7f",
    "Backspace": b"\x7f",
}
_CURSOR: Final = {"Up": "A", "Down": "B", "Right": "C", "Left": "D", "Home": "H", "End": "F"}
"""In application mode ESC O and the letter, else ESC [ and the letter."""
CURSOR_KEYS: Final = frozenset(name.lower() for name in _CURSOR) | frozenset(_CURSOR)
"""Names of keys whose bytes depend on what the program has asked for."""
_EDITING: Final = {
    "Insert": 2, "IC": 2, "Delete": 3, "DC": 3, "PageUp": 5, "PPage": 5, "PgUp": 5,
    "PageDown": 6, "NPage": 6, "PgDn": 6,
}  # fmt: skip
_FUNCTION: Final = (11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24)
"""F1 to F12; the first four are ESC O and P to S when nothing is held with them."""
_MODIFIED: Final = re.compile(r"((?:[CMS]-)*)(.+)\Z", re.DOTALL)
_CONTROL: Final = {"@": 0, "Space": 0, "[": 27, "\\": 28, "]": 29, "^": 30, "_": 31, "?": 127, "/": 31}
_LITTLE: Final = {name.lower(): name for name in (*_PLAIN, *_CURSOR, *_EDITING, *(f"F{n}" for n in range(1, 13)))}

PASTE_BEGIN: Final = b"\x1b[200~"
PASTE_END: Final = b"\x1b[201~"
INTERRUPT: Final = b"\x03"
END_OF_INPUT: Final = b"\x04"


def encode_key(name: str, *, application_cursor: bool = False) -> bytes:
    """Return what a terminal sends for a key.

    Args:
        name: ``Enter``, ``Up``, ``F5``, a single character, each perhaps after ``C-`` (Ctrl), ``M-`` (Alt) or
            ``S-`` (Shift): ``C-c``, ``M-x``, ``C-Left``. ``^C`` is ``C-c``.
        application_cursor: the program has asked for that form of the arrow keys.

    Raises:
        ConfigError: there is no such key.
    """
    if not name:
        raise ConfigError("keys: a key needs a name")
    if len(name) == 2 and name[0] == "^":  # noqa: PLR2004  # caret notation
        name = f"C-{name[1]}"
    match = _MODIFIED.match(name)
    held, key = (set(match[1]) - {"-"}, match[2]) if match and len(name) > 1 else (set(), name)
    key = _LITTLE.get(key.lower(), key) if len(key) > 1 else key
    special = _special(key, held, application_cursor=application_cursor)
    if special is not None:
        return special
    data = _PLAIN.get(key)
    if data is None and len(key) != 1:
        close = get_close_matches(key, [*_LITTLE.values()], 1)
        raise ConfigError(f"keys: there is no key {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    if "C" in held:
        data = _controlled(key, name)
    elif data is None:
        data = (key.upper() if "S" in held else key).encode("utf-8", "surrogateescape")
    elif key == "Tab" and "S" in held:
        data = b"\x1b[Z"
    return b"\x1b" + data if "M" in held else data


def _special(key: str, held: set[str], *, application_cursor: bool) -> bytes | None:
    """Keys that are sequences; what is held with them is a number in it (xterm, "PC-Style Function Keys")."""
    modifier = 1 + ("S" in held) + 2 * ("M" in held) + 4 * ("C" in held)
    if (letter := _CURSOR.get(key)) is not None:
        if modifier > 1:
            return f"\x1b[1;{modifier}{letter}".encode()
        return f"\x1b{'O' if application_cursor else '['}{letter}".encode()
    number = _EDITING.get(key)
    if number is None and re.fullmatch(r"F([1-9]|1[0-2])", key):
        index = int(key[1:]) - 1
        if index < 4:  # noqa: PLR2004  # see _FUNCTION
            letter = "PQRS"[index]
            return f"\x1b[1;{modifier}{letter}".encode() if modifier > 1 else f"\x1bO{letter}".encode()
        number = _FUNCTION[index]
    if number is None:
        return None
    return f"\x1b[{number};{modifier}~".encode() if modifier > 1 else f"\x1b[{number}~".encode()


def _controlled(key: str, name: str) -> bytes:
    if key in _CONTROL:
        return bytes([_CONTROL[key]])
    if len(key) == 1 and key.isascii() and key.isalpha():
        return bytes([ord(key.upper()) - 64])
    if key in _PLAIN:
        return _PLAIN[key]
    raise ConfigError(f"keys: {name!r} is no key that a terminal can send")


def encode_paste(text: bytes, *, bracketed: bool) -> bytes:
    """Return what a terminal sends for a paste: line ends as Enter, and marked where the program wants that.

    The end mark inside the text is taken out, or the text could end its own paste and go on as if it were typed.
    """
    text = text.replace(b"\r\n", b"\n").replace(b"\n", b"\r")
    if not bracketed:
        return text
    while PASTE_END in text:  # what is left when one is taken out may be another
        text = text.replace(PASTE_END, b"")
    return PASTE_BEGIN + text + PASTE_END
