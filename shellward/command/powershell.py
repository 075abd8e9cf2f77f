"""PowerShell, near enough: its words and pipes read as a shell's do, its blocks and calls stand in brackets."""

from __future__ import annotations

import re

from shellward.command.anylanguage import joined_texts
from shellward.command.values import character, decimal

_BRACKETS = re.compile(r"'[^']*'|[(){}]")
_CMDLETS = re.compile(r"(?i)\bInvoke-(WebRequest|RestMethod|Expression)\b(?:\s+-(?:UseBasicParsing|Uri)\b)*")
"""Programs that fetch and run, under their long names."""
_SHORT = {"w": "iwr", "r": "irm", "e": "iex"}
_CHARACTER = re.compile(r"(?i)\[char\]\s*\(?\s*(?:0x([0-9a-f]{1,5})|(\d{1,6}))\s*\)?")
_RUNS_TEXT = re.compile(r"\biex\s+(?=['\"])")


def as_shell(code: str) -> str:
    """Write a program so that it reads as one of a shell."""
    code = _CMDLETS.sub(lambda match: _SHORT[match.group(1)[0].lower()], code)
    if "[" in code:
        code = _CHARACTER.sub(lambda match: f"'{_character(match)}'", code)
    code = _BRACKETS.sub(lambda match: match.group() if match.group()[0] == "'" else " ", joined_texts(code))
    return _RUNS_TEXT.sub("eval ", code)


def _character(match: re.Match[str]) -> str:
    number = int(match.group(1), 16) if match.group(1) else decimal(match.group(2))
    return character(number).replace("'", "")
