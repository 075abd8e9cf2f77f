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
_INSTALLS = frozenset(("install", "i", "ci", "add", "in", "clean-install", "isntall", "update", "rebuild"))
_LIFECYCLE = ("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare")
"""What an installation runs."""
_FULL = {"t": "test", "tst": "test"}
_ABOVE = ("", "../", "../../", "../../../")
"""Where a manifest is looked for."""
_FOLDER = re.compile(r"(?:--prefix|--cwd|--dir|--working-dir|-C|-d)(?:=(.+))?", re.DOTALL)
_MOST_TEXT = 64 << 10
"""Characters of a manifest that are read, as of any new file."""
_MANIFESTS = {"composer": "composer.json", "deno": "deno.json"}


def project(tool: Handler) -> Handler:
    """Make a handler that follows a script of the project, then does what the tool's own handler does."""

    def handler(t: Tracer, inv: Invocation, want: bool) -> str | None:
        _note(t, inv)
        with t.within(_folder(inv.argv)):
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


def _folder(argv: list[str]) -> str:
    """Return the directory that an option names; empty text for the one of now."""
    for at, word in enumerate(argv[1:12], 1):
        if word == "--":
            break
        if match := _FOLDER.fullmatch(word):
            return match[1] or "".join(argv[at + 1 : at + 2])
    return ""


def _run(t: Tracer, inv: Invocation) -> None:
    folder = _folder(inv.argv)
    words = [word for word in inv.argv[1:] if not word.startswith("-") and word != folder]
    if (words[0] in _INSTALLS if words else inv.name == "yarn") and "--ignore-scripts" not in inv.argv:
        known = dict(_scripts(_manifest(t, "package.json")))
        for step in filter(None, map(known.get, _LIFECYCLE)):
            t.run_text(step, inv.span, via=(*inv.via, inv.name), quiet=True)
        return
    if not words:
        return
    name = words[1] if words[0] in _RUNS and len(words) > 1 else words[0] if words[0] in _SHORT else ""
    if inv.name in {"yarn", "bun", "pnpm", "composer"}:
        name = name or words[0]
    if not name:
        return
    name = _FULL.get(name, name)
    manifest = _MANIFESTS.get(inv.name, "package.json")
    known = dict(_scripts(_manifest(t, manifest)))
    for step in (f"pre{name}", name, f"post{name}"):
        text = t.state.files.get(t.state.path(f"{manifest}#{step}")) or known.get(step)
        if text:
            t.run_text(text, inv.span, via=(*inv.via, inv.name), quiet=True)


def _manifest(t: Tracer, name: str) -> str:
    """Return what is known of the nearest manifest."""
    return next((text for above in _ABOVE if (text := seek(t.state, above + name))), "")


def _scripts(text: str) -> list[tuple[str, str]]:
    """List the scripts of a manifest's text."""
    if not text or labels(text) or len(text) > _MOST_TEXT:
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
