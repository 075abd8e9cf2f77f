"""One thing that a program given to an interpreter would do."""

from __future__ import annotations

from dataclasses import dataclass

MAX_CALLS = 300
"""Calls looked at in one program; more than that is said to be too much to judge."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a program does: ``shell`` text, an ``argv``, or something that has no command (``@..`` argv).

    Attributes:
        kind: ``shell``, ``argv``, or ``file`` for one that is written, so that a later command may run it.
        text: what the shell runs, or what the file holds.
        argv: a program and its words, or the path of the file.
        stdin: what is written to the command; None when nothing is known to be.
    """

    kind: str
    text: str = ""
    argv: tuple[str, ...] = ()
    stdin: str | None = None
