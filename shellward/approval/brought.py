"""Detection for a command that brings more than its text: a session's state, variables, standard input.

All of it decides what runs, so all of it is in what a person is shown and what an approval is kept by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from shellward.approval.detect import Detection
from shellward.approval.engine import NO_PACKS, Packs, find, shift, takes_orders
from shellward.approval.inner import deed
from shellward.approval.nearby import NOTHING_NEARBY, NOTHING_WANTED, Nearby, Wanted, wanted
from shellward.command.known import NOTHING, Known, changes_state, defined, traps_state
from shellward.command.testrunners import RUNNERS
from shellward.command.trace import trace
from shellward.command.values import unknown
from shellward.core.gate import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shellward.command.trace import Trace

STATE_RULE: Final = "unknown.session-state"
"""Rule id of the finding that stands for a session whose variables and functions cannot be known."""
OWN_RULE: Final = "unknown.session-own"
"""Rule id of the finding that stands for a command that lays hands on the session itself."""
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
        nearby: what was found in the file system of what an earlier look wanted.
    """

    known: Known = NOTHING
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str | None = None
    more: bool = False
    nearby: Nearby = NOTHING_NEARBY


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
        wanted: what in the file system decides what it does, too.
        hashed: names that it ties to programs (``hash -p``), which the shell does not tell.
    """

    detection: Detection
    takes_orders: bool
    changes_state: bool
    defines: Mapping[str, str]
    positional: bool = False
    traps_state: bool = False
    wanted: Wanted = NOTHING_WANTED
    hashed: Mapping[str, str] = field(default_factory=dict)


def look(command: str, *, cwd: str | None, brought: Brought = NO_MORE, packs: Packs = NO_PACKS) -> Look:
    """Find what should pause an agent in a command and all that it brings along. Pure.

    Args:
        command: the command line.
        cwd: working directory it would run in, when known.
        brought: what comes with it.
        packs: rules of the user's own.
    """
    known = brought.known
    made = brought.nearby.lines() if brought.nearby else ""
    text = f"{made}{_exports(brought.env)}{command}"
    orders = False
    stdin = None
    if brought.stdin is not None or brought.more:
        traced, findings = find(text, cwd, None, known, _MARKER, packs=packs)
        orders = takes_orders(traced, _LABEL)
        if orders and (brought.stdin or not brought.more):
            given = brought.stdin or ""
            stdin = given[:MOST_INPUT] + (_MARKER if len(given) > MOST_INPUT else "")
            traced, findings = find(text, cwd, None, known, stdin, packs=packs)
    else:
        traced, findings = find(text, cwd, None, known, packs=packs)
    if made:  # what the lines of our own do is nobody's deed
        findings = tuple(f for f in findings if not 0 < f.span[1] <= len(made) and not _of_a_recipe(f))
    before = known.lines(traced.used) if traced.used else ""
    after = "" if not stdin else f"\n<<'STDIN'\n{brought.stdin}\nSTDIN"
    if before:
        findings = tuple(shift(finding, len(before)) for finding in findings)
    shown = f"{before}{text}{after}"
    if known.unclear:
        findings = (*findings, _unclear(shown))
    if own := _own_names(traced):
        findings = (*findings, _takes_over(own, shown))
    if brought.nearby.unread or brought.nearby.beyond:
        findings = (*findings, *brought.nearby.findings(shown))
    return Look(
        Detection(shown, findings, traced, (before, after), len(made)),
        orders,
        changes_state(traced, known),
        defined(traced) if traced.state.functions else {},
        tuple(traced.state.positional) != known.positional,
        traps_state(traced, known) or _traps(traced, known),
        wanted(traced, len(made)),
        _hashed(traced),
    )


def look_of(found: object) -> Look | None:
    """Return the first look at a command of which only the text was looked at; None for another detector's answer."""
    if not isinstance(found, Detection) or found.trace is None:
        return None
    return Look(found, takes_orders=False, changes_state=False, defines={}, wanted=wanted(found.trace))


def again(before: Look, command: str, *, cwd: str | None, brought: Brought, packs: Packs = NO_PACKS) -> Look:
    """Look at a command once more, with what the first look wanted to know of the file system.

    What was found without it counts still: knowing more makes nothing harmless.

    Args:
        before: the first look.
        command: the command line.
        cwd: working directory it would run in, when known.
        brought: what comes with it, ``nearby`` included.
        packs: rules of the user's own.
    """
    seen = look(command, cwd=cwd, brought=brought, packs=packs)
    now = {deed(f) for f in seen.detection.findings}
    offset = len(seen.detection.command) - len(before.detection.command)
    lost = [
        shift(finding, max(0, offset))
        for finding in before.detection.findings
        if deed(finding) not in now and finding.rule != STATE_RULE
    ]
    joined = before.wanted.joined(seen.wanted)
    if not lost:
        return replace(seen, wanted=joined)
    detection = seen.detection.only((*seen.detection.findings, *lost))
    return replace(seen, detection=detection, wanted=joined)


def _of_a_recipe(finding: Finding) -> bool:
    """Tell whether a finding is one of those that makefiles are full of: ``$(CC)``, and what ``clean`` removes.

    All recipes are followed, wanted or not, and make's variables are not known. Of tests, all functions are.
    """
    return bool(_MAKES.intersection(finding.via)) and finding.severity <= Severity.MEDIUM


_MAKES: Final = frozenset(("make", "gmake", "bmake", *RUNNERS))


def _hashed(traced: Trace) -> dict[str, str]:
    """Return what ``hash -p`` and ``BASH_CMDS`` of a line set: bash 5.2 lists it only where it is asked for by name."""
    table = dict.get(traced.state.vars, "BASH_CMDS")
    found = dict(table) if isinstance(table, dict) else {}
    for inv in traced.invocations:
        if inv.name != "hash":
            continue
        for at, word in enumerate(inv.argv):
            if word.startswith("-p"):
                path, names = (
                    (word[2:], inv.argv[at + 1 :])
                    if word[2:]
                    else ("".join(inv.argv[at + 1 : at + 2]), inv.argv[at + 2 :])
                )
                found.update(dict.fromkeys(names, path))
    return found


def _traps(traced: Trace, known: Known) -> bool:
    """Tell whether a line sets a trap on a signal that changes the state: who sends it, and when, nobody knows."""
    for found in traced.invocations:
        words = [word for word in found.argv[1:] if word != "--"] if found.name == "trap" else []
        if len(words) < 2 or words[0] in {"", "-", "-p", "-l"} or found.via:  # an action and a signal
            continue
        if all(word.upper().removeprefix("SIG") in {"EXIT", "0"} for word in words[1:]):
            continue
        if changes_state(trace(words[0]), known):
            return True
    return False


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


def _own_names(traced: Trace) -> tuple[str, ...]:
    """List what a line gives a meaning to, or runs, of the names that Shellward keeps in a session."""
    state = traced.state
    tables = (state.functions, state.aliases, state.vars if _OWN in traced.text else {})
    found = {name for table in tables for name in table if name.startswith(_OWN)}
    if found or _OWN in traced.text:
        found |= {inv.name for inv in traced.invocations if inv.name.startswith(_OWN)}
    return tuple(sorted(found))


_OWN: Final = "__sw"
"""What Shellward's own names in a session begin with (environments/scripts)."""


def _takes_over(names: tuple[str, ...], shown: str) -> Finding:
    return Finding(
        OWN_RULE,
        "changes what Shellward keeps in the session",
        Severity.HIGH,
        (0, len(shown)),
        shown,
        names,
        why="It would act in Shellward's place with every command after it.",
    )


def _unclear(shown: str) -> Finding:
    return Finding(
        STATE_RULE,
        "runs in a session whose variables and functions cannot be known",
        Severity.MEDIUM,
        (0, len(shown)),
        shown,
        why="A name may stand for anything there. In a new session nothing of that holds.",
    )
