"""History expansion in a typed line: bash and zsh put earlier text there before they run it. Pure."""

from typing import Final

_NOT_AFTER: Final = frozenset(" \t\r\n=(")
"""After these an exclamation mark stands for itself (bash(1), HISTORY EXPANSION)."""


def recalls(line: str, *, in_quotes: bool) -> bool:
    """Tell whether a shell would put text of its history into a line.

    Args:
        line: as it was typed.
        in_quotes: whether an earlier line may have left single quotes open; then both readings count.
    """
    return line.startswith("^") or _scan(line, "")[0] or (in_quotes and _scan(line, "'")[0])


def leaves_open(line: str, *, in_quotes: bool) -> bool:
    """Tell whether single quotes may be open after a line."""
    return _scan(line, "")[1] == "'" or (in_quotes and _scan(line, "'")[1] == "'")


def _scan(line: str, quote: str) -> tuple[bool, str]:
    found, escaped = False, False
    for at, char in enumerate(line):
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif char == quote:
            quote = ""
        elif char in "'\"" and not quote:
            quote = char
        elif char == "!" and quote != "'":
            found = found or _expands(line, at, quote)
    return found, quote


def _expands(line: str, at: int, quote: str) -> bool:
    after, before = line[at + 1 : at + 2], line[max(0, at - 2) : at]
    if not after or after in _NOT_AFTER or (quote and after == quote):
        return False
    return not before.endswith(("$", "[")) and before != "${"
