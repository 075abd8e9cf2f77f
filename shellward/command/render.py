"""A traced command line as stable text: resolved words, one kind of quotes, one kind of blanks.

Approvals are keyed by it, so it must hold everything that decides what runs: what is not resolved stays as it was
written, here-documents and inner scripts included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shellward.command.invocation import quote
from shellward.command.syntax import Simple
from shellward.command.values import OPEN

if TYPE_CHECKING:
    from shellward.command.syntax import Script
    from shellward.command.trace import Trace

_LIMIT = 20_000


def render(trace: Trace) -> str:
    """Write a command line in canonical form.

    Simple command lists come out resolved (``X=rm; $X -rf /srv`` as ``X=rm; rm -rf /srv``); anything that is not
    wholly resolved keeps its own text, blanks apart.
    """
    if len(trace.text) > _LIMIT:
        return trace.text.strip()
    return _script(trace, trace.script)


def _script(trace: Trace, script: Script) -> str:
    out: list[str] = []
    for item in script.items:
        pieces = [
            _command(trace, command) if isinstance(command, Simple) else _raw(trace, command.span)
            for command in item.commands
        ]
        end = item.end if item.end not in {"\n", ""} else ";"
        out.append(" | ".join(pieces) + (f" {end} " if end != ";" else "; "))
    return "".join(out).strip().removesuffix(";")


def _raw(trace: Trace, span: tuple[int, int]) -> str:
    return trace.text[span[0] : span[1]].strip()


def _command(trace: Trace, command: Simple) -> str:
    if command.plain is not None:
        return " ".join(command.plain)
    argv = trace.resolved.get(id(command))
    simple = (
        argv is not None
        and not command.assigns
        and not command.redirects
        and not any(OPEN in word or "/dev/fd/" in word for word in argv)
    )
    if simple and argv is not None:
        return " ".join(quote(word) for word in argv)
    raw = _raw(trace, command.span)
    bodies = [f" <<{trace.text[r.body.span[0] : r.body.span[1]]}" for r in command.redirects if r.body is not None]
    return raw + "".join(bodies)
