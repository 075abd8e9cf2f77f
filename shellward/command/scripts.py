"""Scripts that a project's file names (package.json and its like), when it was written in the same command."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from shellward.command.loading import seek
from shellward.command.values import labels

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer

_RUNS = frozenset(("run", "run-script", "task", "rum", "urn"))
_SHORT = frozenset(("test", "start", "stop", "restart", "t", "tst"))
_MANIFESTS = {"composer": "composer.json", "deno": "deno.json"}


def project(tool: Handler) -> Handler:
    """Make a handler that follows a script of the project, then does what the tool's own handler does."""

    def handler(t: Tracer, inv: Invocation, want: bool) -> str | None:
        _note(t, inv)
        _run(t, inv)
        return tool(t, inv, want)

    return handler


def _note(t: Tracer, inv: Invocation) -> None:
    """``npm pkg set scripts.x=cmd``."""
    if inv.argv[1:3] != ["pkg", "set"]:
        return
    for word in inv.argv[3:]:
        match = re.match(r"scripts\.([\w:.-]+)=(.*)", word, re.DOTALL)
        if match:
            t.write(t.state.path(f"package.json#{match.group(1)}"), match.group(2))


def _run(t: Tracer, inv: Invocation) -> None:
    words = [word for word in inv.argv[1:] if not word.startswith("-")]
    if not words:
        return
    name = words[1] if words[0] in _RUNS and len(words) > 1 else words[0] if words[0] in _SHORT else ""
    if inv.name in {"yarn", "bun", "pnpm", "composer"}:
        name = name or words[0]
    if not name:
        return
    manifest = _MANIFESTS.get(inv.name, "package.json")
    known = dict(_scripts(seek(t.state, manifest) or ""))
    for step in (f"pre{name}", name, f"post{name}"):
        text = t.state.files.get(t.state.path(f"{manifest}#{step}")) or known.get(step)
        if text:
            t.run_text(text, inv.span, via=(*inv.via, inv.name), quiet=True)


def _scripts(text: str) -> list[tuple[str, str]]:
    """List the scripts of a manifest's text."""
    if not text or labels(text) or len(text) > 20_000:
        return []
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, dict):
        return []
    listed = found.get("scripts") or found.get("tasks")
    if not isinstance(listed, dict):
        return []
    return [
        (name, " && ".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in listed.items()
    ]
