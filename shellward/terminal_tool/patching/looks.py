"""When two lines count as the same: a ladder from exact to lenient. The first rung that finds a place is used."""

import re
from collections.abc import Callable, Mapping
from typing import Final

_TYPOGRAPHY: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " "),
        "\u2026": "...",
    }
)
_BLANKS: Final = re.compile(r"\s+")


def exact(line: str) -> str:
    """Return a line as it stands, but for the carriage return at its end."""
    return line.removesuffix("\r")


def trailing(line: str) -> str:
    """Return a line without blanks at its end."""
    return line.rstrip()


def stripped(line: str) -> str:
    """Return a line without blanks at either end."""
    return line.strip()


def blanks(line: str) -> str:
    """Return a line with each run of blanks as one."""
    return _BLANKS.sub(" ", line.strip())


def typography(line: str) -> str:
    """Return a line with typographic quotes, dashes and blanks as plain ones."""
    return blanks(line.translate(_TYPOGRAPHY))


LADDER: Final[Mapping[str, Callable[[str], str]]] = {
    "exact": exact,
    "trailing blanks": trailing,
    "indentation": stripped,
    "blanks": blanks,
    "typography": typography,
}
"""Rungs by name, from exact to lenient."""


def places(lines: list[str], wanted: list[str]) -> list[int]:
    """Return where ``wanted`` stands in ``lines``, both brought to one form. Time is linear in both."""
    if not wanted or len(wanted) > len(lines):
        return []
    # Knuth, Morris, Pratt: where to go on after a line that does not fit.
    back = [0] * len(wanted)
    matched = 0
    for index in range(1, len(wanted)):
        while matched and wanted[index] != wanted[matched]:
            matched = back[matched - 1]
        matched += wanted[index] == wanted[matched]
        back[index] = matched
    found = []
    matched = 0
    for index, line in enumerate(lines):
        while matched and line != wanted[matched]:
            matched = back[matched - 1]
        matched += line == wanted[matched]
        if matched == len(wanted):
            found.append(index - matched + 1)
            matched = back[matched - 1]
    return found
