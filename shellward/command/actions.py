"""One thing that a program given to an interpreter would do."""

from __future__ import annotations

from dataclasses import dataclass

MAX_CALLS = 300
"""Calls looked at in one program; more than that is said to be too much to judge."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a program does: ``shell`` text, an ``argv``, or something that has no command (``@..`` argv)."""

    kind: str
    text: str = ""
    argv: tuple[str, ...] = ()
