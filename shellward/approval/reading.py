"""Reading on: what a new file loads is looked for as well, to a bounded depth. Pure; looking is the caller's.

Each round looks at the command with all that was found so far, so one mechanism says what a line loads and what a file
does. How much is read in all is bounded where it is read; here it is how often.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.approval.brought import Look
    from shellward.approval.nearby import Nearby, Wanted

MOST_ROUNDS: Final = 5
"""A command is looked at so often with what was found: a chain of new files that is longer is a finding."""


def read_on(first: Look, see: Callable[[Wanted], Nearby], again: Callable[[Nearby, Look], Look]) -> tuple[Look, Nearby]:
    """Look at a command together with new files, with those that they load, and so on.

    Args:
        first: the look at its text.
        see: tells what is there of what is wanted.
        again: looks once more, with what was found.

    Returns:
        The last look, and what ``see`` says of all that it wants.
    """
    seen, nearby = first, see(first.wanted)
    for _ in range(MOST_ROUNDS):
        if not nearby:
            return seen, nearby
        before = seen.wanted
        seen = again(nearby, seen)
        if seen.wanted == before:
            return seen, nearby
        found = see(seen.wanted)
        if found == nearby:
            return seen, nearby
        nearby = found
    if seen.wanted.strict() == before.strict():
        return seen, nearby
    # The chain goes on. The wanted paths stay as they are, so that looking again finds the same.
    beyond = replace(nearby, beyond=f"a chain of {MOST_ROUNDS} and more")
    wanted = seen.wanted
    return replace(again(beyond, seen), wanted=wanted), nearby
