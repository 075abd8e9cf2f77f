"""What stands in a command's words: operands, options, and the text of the files that they name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.values import CUT, LIMIT, unknown

if TYPE_CHECKING:
    from shellward.command.state import State


def cut(text: str) -> str:
    """Keep a text at a size that is worth following."""
    return text if len(text) <= LIMIT else text[:LIMIT] + CUT


_QUOTED = re.compile(r"\A\s*([\"'])((?:(?!\1).)*)\1\s*\Z", re.DOTALL)


def unquoted(text: str) -> str:
    """Return what stands between quotes that a program takes off; text that is not all within one pair as it is."""
    return _QUOTED.sub(r"\2", text)


def operands(argv: list[str], valued: str = "") -> list[str]:
    """List what is not an option; letters in ``valued`` take the next word."""
    found: list[str] = []
    skip = False
    for at, word in enumerate(argv[1:], 1):
        if skip:
            skip = False
        elif word == "--":
            return found + argv[at + 1 :]
        elif word.startswith("-") and len(word) > 1:
            skip = len(word) == 2 and word[1] in valued
        else:
            found.append(word)
    return found


def has(argv: list[str], letter: str, long: str = "") -> bool:
    """Tell whether a short option (in a cluster too) or a long one (abbreviated too) is there."""
    for word in argv[1:]:
        if word == "--":
            return False
        if word.startswith("--"):
            name = word.partition("=")[0]
            if long and len(name) > 3 and ("--" + long).startswith(name):
                return True
        elif word.startswith("-") and letter in word[1:]:
            return True
    return False


def files_or_stdin(paths: list[str], stdin: str | None, state: State) -> str:
    """Return the text of files (known, or a marker), or standard input when there are none."""
    if not paths:
        return stdin or ""
    out: list[str] = []
    for path in paths:
        if path in {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}:
            out.append(stdin or "")
            continue
        full = state.path(path)
        known = state.files.get(full)
        out.append(known if known is not None else unknown("file", full))
    return cut("".join(out))


def short_values(argv: list[str], letters: str) -> list[tuple[str, str]]:
    """List the short options of some letters with their values, attached or in the next word."""
    found = []
    for at, word in enumerate(argv[1:], 1):
        if len(word) > 1 and word[0] == "-" and word[1] in letters:
            found.append((word[1], word[2:] or (argv[at + 1] if at + 1 < len(argv) else "")))
    return found


def value_of(argv: list[str], *names: str) -> str:
    """Find the value of an option, in the next word or behind ``=``; empty text when it is not there."""
    for at, word in enumerate(argv):
        if word in names:
            return argv[at + 1] if at + 1 < len(argv) else ""
        name, equals, value = word.partition("=")
        if equals and name in names:
            return value
    return ""
