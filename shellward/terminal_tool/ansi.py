"""Output as a model reads it: without the escape sequences that only a terminal understands (ECMA-48)."""

import re
from typing import Final

_SEQUENCE: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC: titles, links; ends with its line at the latest
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\n]*(?:\x1b\\|\x9c)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]+[0-~]"  # character sets and their kin
    r"|\x1b[0-Z\\-~]"  # two characters
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*"  # one that was cut off
    r"|[\x1b\x80-\x9f]"
)
_CONTROL: Final = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]")
"""What shows nothing: all but backspace, tab, line feed and carriage return."""


def strip(text: str) -> str:
    """Return ``text`` without escape sequences and control characters.

    Of a line that was overwritten after a carriage return (a progress bar), the last state is kept; a character that
    was overstruck (``man``) is kept once. Time is linear in the length of the text.
    """
    if text.isprintable():
        return text
    text = _SEQUENCE.sub("", text)
    if "\x08" in text:
        text = _without_backspaces(text)
    text = _CONTROL.sub("", text)
    if "\r" not in text:
        return text
    return "\n".join(map(_last_state, text.split("\n")))


def _without_backspaces(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\x08":
            kept.append(character)
        elif kept and kept[-1] not in "\n\r":
            kept.pop()
    return "".join(kept)


def _last_state(line: str) -> str:
    """Return what a line shows in the end; a carriage return at its end is that of a line end."""
    states = [state for state in line.split("\r") if state]
    return states[-1] if states else ""
