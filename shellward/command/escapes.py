"""Escapes of ``$'..'``, echo -e and printf."""

from __future__ import annotations

import re

from shellward.command.values import character

_ANSI = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x\{?([0-9a-fA-F]{1,2})\}?|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.))",
    re.DOTALL,
)


_ANSI_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def unescape_ansi(text: str, nul: str = "") -> str:
    """Undo the escapes of ``$'..'`` (Bash Reference Manual, 3.1.2.4).

    Args:
        text: with escapes.
        nul: what becomes of character 0: words of a shell cannot hold it, what a program prints can.
    """

    def one(match: re.Match[str]) -> str:
        simple, octal, hexa, small, large, control = match.groups()
        if simple:
            return _ANSI_SIMPLE[simple]
        if control:
            return chr(ord(control) & 0x1F)
        code = int(octal, 8) & 0xFF if octal else int(hexa or small or large, 16)
        return character(code) if code else nul

    return _ANSI.sub(one, text)
