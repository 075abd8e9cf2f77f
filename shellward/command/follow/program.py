"""Following one program: reading it, walking it, and what came of that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shellward.command.follow.frompython import from_python
from shellward.command.follow.idle import is_idle
from shellward.command.follow.machine import STEPS, Machine
from shellward.command.follow.nodes import calls
from shellward.command.follow.things import Exhausted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shellward.command.actions import Action
    from shellward.command.follow.nodes import Call, Node, Shell
    from shellward.command.follow.things import Given

LONGEST = 24_000
"""Characters of a program that is followed; a longer one is only looked through (code.py)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What following a program came to.

    Attributes:
        actions: what it would do.
        printed: what it would print, with markers; None when that is not known.
        complete: it was read and followed to its end.
        units: what it cost, in units of work.py.
    """

    actions: list[Action] = field(default_factory=list)
    printed: str | None = None
    complete: bool = False
    units: int = 0


def follow(language: str, code: str, given: Given) -> Outcome:
    """Follow a program of a language that can be read.

    Args:
        language: as in interpreters.py.
        code: the program.
        given: what it is started with.

    Returns:
        What it would do; nothing, and not complete, when it cannot be read.
    """
    if language not in _READ or len(code) > LONGEST:
        return Outcome()
    if language == "python" and not given.heard and is_idle(code):
        return Outcome(complete=True, units=len(code) >> 3)
    understood: list[bool] = []

    def parse(more: str) -> Node:
        tree, found, whole = read(language, more)
        understood.append(whole)
        machine.read(tree, found)
        return tree

    machine = Machine(language, code, given, parse)
    try:
        machine.follow(parse(code))
        complete = all(understood) and machine.everything()
    except (Exhausted, SyntaxError, ValueError, MemoryError, RecursionError):
        complete = False  # what was come to before counts
    machine.forget()
    printed = "".join(machine.printed) if complete and machine.printed else None
    return Outcome(machine.actions, printed, complete, (STEPS - machine.left) + (len(code) >> 3))


_READ = frozenset(("python", "javascript", "ruby", "perl", "php", "lua", "r", "awk"))


def read(language: str, code: str) -> tuple[Node, Sequence[Call | Shell], bool]:
    """Read a program; list the calls in there, and tell whether all of it was understood.

    Raises:
        SyntaxError: it is no program.
        RecursionError: it is nested too deeply.
    """
    if language == "python":
        return *from_python(code), True
    from shellward.command.follow.statements import parsed

    tree, understood = parsed(language, code)
    return tree, calls(tree), understood
