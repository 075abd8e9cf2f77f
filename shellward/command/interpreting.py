"""A program given to an interpreter: followed, looked through, and what it would do handed on to the tracer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.code import scan
from shellward.command.follow.program import Outcome, follow
from shellward.command.follow.things import Given
from shellward.command.givens import with_arguments, with_input
from shellward.command.modules import follow_modules
from shellward.command.values import known_part, labels, unknown

if TYPE_CHECKING:
    from shellward.command.actions import Action
    from shellward.command.invocation import Invocation
    from shellward.command.running import Runner

_PER_LINE = re.compile(r"-[a-zA-Z0-9]*[np][a-zA-Z0-9]*")
"""Options of perl and ruby that run a program once for each line."""
_SEPARATOR = re.compile(r"-[a-zA-Z]*F(.+)")
_MAGIC = re.compile(r"^[ \t]*(?:!!?|%(?:sx|system)[ \t]+)(.*)$", re.MULTILINE)
"""Lines of ipython that a shell runs."""


def run_program(  # what the tracer knows of it
    t: Runner, language: str, code: str, inv: Invocation, args: list[str], *, stdin: str | None, want: bool
) -> str:
    """Follow a program.

    Returns:
        What it prints, when that is wanted: markers when it is not known.
    """
    if inv.name.startswith("ipython"):
        for line in _MAGIC.findall(code)[:20]:
            t.run_text(line, inv.span, via=(*inv.via, inv.name))
        code = _MAGIC.sub("", code)
    followed = _followed(t, language, code, inv, args, stdin, heard=want)
    code = with_arguments(language, code, args)
    code, read_and_run = with_input(language, code, stdin)
    if read_and_run is not None:
        t.effect(["@run", language, *labels(read_and_run)[:6]], inv.span)
    t.unknown_code(code, language, inv.span)
    before_via, t.via = t.via, (*inv.via, inv.name)
    looked = scan(language, known_part(code) if labels(code) else code, followed=followed.complete)
    for action in [*followed.actions, *(one for one in looked if one not in followed.actions)]:
        _does(t, action, inv)
    follow_modules(t, language, code, inv)
    t.via = before_via
    if want and followed.printed is not None:
        return followed.printed
    return unknown("out", inv.name) if want else ""


def _does(t: Runner, action: Action, inv: Invocation) -> None:
    """Hand on one thing that a program does."""
    if action.kind == "file":
        t.state.put(t.state.files, t.state.path(action.argv[0]), action.text)
    elif action.kind == "shell":
        t.run_text(action.text, inv.span, stdin=action.stdin, quiet=True)
    elif action.argv[0][0] in "@><":
        argv = list(action.argv)
        if argv[0] in {">", ">>"}:
            argv[1] = t.state.path(argv[1])
        t.effect(argv, inv.span)
    else:
        t.child(inv, list(action.argv), 0, stdin=action.stdin, via=inv.name)


def _followed(  # noqa: PLR0917  # as run_program()
    t: Runner, language: str, code: str, inv: Invocation, args: list[str], stdin: str | None, *, heard: bool
) -> Outcome:
    """Follow a program as far as it is known."""

    def environment(name: str) -> str:
        return "~" if name == "HOME" else inv.env.get(name) or t.state.text(name)

    lines = inv.name in {"perl", "ruby"} and any(_PER_LINE.fullmatch(word) for word in inv.argv[1:5])
    separators = [match.group(1) for word in inv.argv[1:8] if (match := _SEPARATOR.fullmatch(word))]
    split = separators[0].strip("/") if separators else ""
    given = Given(tuple(args[:50]), stdin, environment, lines, split, heard)
    outcome = follow(language, known_part(code) if labels(code) else code, given)
    t.work.spend(outcome.units)
    return outcome
