"""The command of a finding: as people are shown it, in full, and what makes it the same deed. Pure.

What is shown is cut; what decides is not. Only the words are kept in full (they are there anyway), and the text is
written from them when somebody asks.
"""

from collections.abc import Sequence
from typing import Final

from shellward.command.invocation import quote
from shellward.command.values import CUT, show
from shellward.core.gate import Finding

SHOWN: Final = 500
"""Characters of a finding's command that are shown; a longer one ends in dots."""
Deed = tuple[str, str, tuple[str, ...], tuple[str, ...], str]
"""Rule, command as shown, its words where that is not all of it, wrappers, directory."""


def shorten(text: str) -> str:
    """Cut what is too long to be shown."""
    return text if len(text) <= SHOWN else text[:SHOWN] + " .."


def write(argv: Sequence[str]) -> str:
    """Write resolved words for a person, in full."""
    return show(" ".join(quote(word) if at else word for at, word in enumerate(argv)))


def in_full(finding: Finding) -> str:
    """Return the whole text of a finding's command, as far as it is known."""
    if finding.line or len(finding.inner) <= SHOWN or not finding.argv:
        return finding.line or finding.inner
    return write(finding.argv)


def too_long(finding: Finding) -> bool:
    """Whether a word was too long to be worked out, so that its end is not known."""
    return any(CUT in word for word in finding.argv)


def unread(finding: Finding) -> bool:
    """Whether code runs of which only the beginning was worked out."""
    return finding.argv[:1] == ("@run",) and "cut" in finding.argv[2:]


def deed(finding: Finding) -> Deed:
    """Return what makes two findings the same: not what is shown of them, which may be their beginning only."""
    words = finding.argv if len(finding.inner) > SHOWN else ()
    return finding.rule, finding.inner, words, finding.via, finding.cwd
