"""One command that would run, as the tracer notes it and the rules see it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shellward.command.syntax import Span


@dataclass(slots=True)
class Invocation:
    """One command that would run. Names that begin with ``@``, ``>`` or ``<`` are effects, not programs.

    Attributes:
        name: the program's base name.
        argv: its resolved words, the program first; unknown pieces are markers (values.py).
        span: where it stands in the submitted text.
        spans: span of each word, when known.
        stdin: what it would read, as far as known; None when nothing is connected.
        via: the wrappers around it, outermost first (``sudo``, ``xargs``, ``ssh``).
        env: assignments before it.
        cwd: working directory at that moment, as far as known.
        notes: what is known of its operands (``net:FILE`` for one that was downloaded, ``file:FILE`` for what one
            was made of).
        into: files that its output is redirected to.
    """

    name: str
    argv: list[str]
    span: Span
    spans: list[Span] | None = None
    stdin: str | None = None
    via: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = "."
    notes: tuple[str, ...] = ()
    into: tuple[str, ...] = ()


def quote(word: str) -> str:
    """Quote a word for the shell, when it needs that."""
    if word and not re.search(r"[^\w@%+=:,./~*?\[\]{}\ue000\ue001-]", word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"
