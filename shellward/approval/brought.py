"""Detection for a command that brings more than its text: a session's state, variables, standard input.

All of it decides what runs, so all of it is in what a person is shown and what an approval is kept by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shellward.approval.detect import Detection
from shellward.approval.engine import find, shift, takes_orders
from shellward.command.known import NOTHING, Known, changes_state, defined, traps_state
from shellward.command.values import unknown
from shellward.core.gate import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STATE_RULE: Final = "unknown.session-state"
"""Rule id of the finding that stands for a session whose variables and functions cannot be known."""
MOST_INPUT: Final = 1 << 20
"""Characters of a program on standard input that are followed; what comes after them counts as unknown."""
_LABEL: Final = "in:stdin"
_MARKER: Final = unknown(*_LABEL.split(":"))
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@%+,-]+")
"""Words that the shell takes as they are; with = it would be an assignment, so it is not among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What comes with a command line.

    Attributes:
        known: what the shell knows from commands before.
        env: variables for this command.
        stdin: what it will read, as far as it is there already; None: nothing.
        more: whether further input will follow that is not there yet.
    """

    known: Known = NOTHING
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str | None = None
    more: bool = False


NO_MORE: Final = Brought()


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of a command.

    Attributes:
        detection: the findings, with all that matters in its text.
        takes_orders: whether its standard input decides what it does.
        changes_state: whether the session may know other things after it.
        defines: functions that it defines, by their names.
        positional: whether it sets ``$1`` and so on.
        traps_state: whether any later command may change what the session knows.
    """

    detection: Detection
    takes_orders: bool
    changes_state: bool
    defines: Mapping[str, str]
    positional: bool = False
    traps_state: bool = False


def look(command: str, *, cwd: str | None, brought: Brought = NO_MORE) -> Look:
    """Find what should pause an agent in a command and all that it brings along. Pure.

    Args:
        command: the command line.
        cwd: working directory it would run in, when known.
        brought: what comes with it.
    """
    known = brought.known
    exports = _exports(brought.env)
    text = exports + command
    orders = False
    stdin = None
    if brought.stdin is not None or brought.more:
        traced, findings = find(text, cwd, None, known, _MARKER)
        orders = takes_orders(traced, _LABEL)
        if orders and (brought.stdin or not brought.more):
            given = brought.stdin or ""
            stdin = given[:MOST_INPUT] + (_MARKER if len(given) > MOST_INPUT else "")
            traced, findings = find(text, cwd, None, known, stdin)
    else:
        traced, findings = find(text, cwd, None, known)
    before = known.lines(traced.used) if traced.used else ""
    after = "" if not stdin else f"\n<<'STDIN'\n{brought.stdin}\nSTDIN"
    if before:
        findings = tuple(shift(finding, len(before)) for finding in findings)
    shown = f"{before}{text}{after}"
    if known.unclear:
        findings = (*findings, _unclear(shown))
    return Look(
        Detection(shown, findings, traced, (before, after)),
        orders,
        changes_state(traced, known),
        defined(traced) if traced.state.functions else {},
        tuple(traced.state.positional) != known.positional,
        traps_state(traced, known),
    )


def line_of(words: Sequence[str]) -> str:
    """Write a program and its arguments as a shell line that means just that, for reading and for judging."""
    quoted = [word if _PLAIN.fullmatch(word) else _in_quotes(word) for word in words]
    if words and words[0] in _RESERVED:
        quoted[0] = _in_quotes(words[0])
    return " ".join(quoted)


_RESERVED: Final = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "case",
        "esac",
        "for",
        "select",
        "while",
        "until",
        "do",
        "done",
        "in",
        "function",
        "time",
        "coproc",
    ]
)


def _in_quotes(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _exports(env: Mapping[str, str]) -> str:
    if not env:
        return ""
    return (
        "export "
        + " ".join(f"{name}={value if _PLAIN.fullmatch(value) else _in_quotes(value)}" for name, value in env.items())
        + "\n"
    )


def _unclear(shown: str) -> Finding:
    return Finding(
        STATE_RULE,
        "runs in a session whose variables and functions cannot be known",
        Severity.MEDIUM,
        (0, len(shown)),
        shown,
        why="A name may stand for anything there.",
    )
