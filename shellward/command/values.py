"""What is not known, inside text that is: a marker says where an unknown piece would come from.

A resolved word is ordinary text in which each unknown piece is a marker: a private-use character, a label, another
private-use character. So ``rm -rf "$DIR/x"`` resolves to ``rm -rf <marker var:DIR>/x``, and rules can ask what a
piece would be (a variable, something fetched, a file's content) without a second data structure.
"""

from __future__ import annotations

import re

OPEN, CLOSE = "\ue000", "\ue001"
MARKER = re.compile("\ue000([^\ue000\ue001]*)\ue001")
_LABEL = re.compile(r"[^\w./~:@%+,*?-]")
_ONE_OF = re.compile(r"\[[^\[\]]{1,40}\]")
LIMIT = 32_768
"""Longest text that is worked out, in characters."""


def clean(text: str) -> str:
    """Replace characters that would look like markers; positions stay."""
    if OPEN in text or CLOSE in text:
        return text.replace(OPEN, "\ufffd").replace(CLOSE, "\ufffd")
    return text


def decimal(digits: str, most: int = 999_999_999) -> int:
    """Read decimal digits; what is larger than ``most`` is ``most`` (Python refuses to read very many digits)."""
    return min(int(digits), most) if len(digits) <= 12 else most


def character(code: int) -> str:
    """Make a character of its number; nothing that is none, and nothing that would look like a marker."""
    if not 0 < code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return ""
    return clean(chr(code))


def unknown(kind: str, detail: str = "") -> str:
    """Make a marker, such as ``unknown("var", "DIR")`` or ``unknown("net", "curl")``."""
    if "[" in detail and kind in {"file", "read"}:
        detail = _ONE_OF.sub("?", detail[:100])  # a path is a pattern still
    label = f"{kind}:{_LABEL.sub('_', detail[:100])}" if detail else kind
    return f"{OPEN}{label}{CLOSE}"


CUT = unknown("cut")
"""The marker of what was too long to be worked out."""


def labels(text: str) -> list[str]:
    """List the labels of the markers in a text."""
    return MARKER.findall(text) if OPEN in text else []


def are_names(lines: str) -> bool:
    """Tell whether the lines of a text are known, or are what a search finds."""
    return OPEN not in lines or all(label.partition(":")[0] == "find" for label in labels(lines))


def known_part(text: str) -> str:
    """Drop the markers: what the text would be if every unknown piece were empty."""
    return MARKER.sub("", text) if OPEN in text else text


def only_markers(text: str) -> str:
    """Keep the markers: what flows through a filter whose effect is not worked out."""
    if OPEN not in text:
        return ""
    seen = dict.fromkeys(match.group() for match in MARKER.finditer(text))
    return "".join(list(seen)[:8])


def show(text: str) -> str:
    """Write a text with markers for a person: ``$DIR/x``, ``$(curl ..)``, ``$(< file)``."""

    def one(match: re.Match[str]) -> str:
        kind, _, detail = match.group(1).partition(":")
        if kind == "var":
            return f"${detail}"
        if kind == "file":
            return f"$(< {detail})"
        if kind == "mktemp":
            return "mktemp.XXXX"
        return f"$({detail or kind} ..)"

    return MARKER.sub(one, text) if OPEN in text else text
