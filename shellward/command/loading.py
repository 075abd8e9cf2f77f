"""Files that decide what runs: what a line is known to have written there, and a note that they were looked for.

Whoever may look at the file system reads the note afterwards (approval/nearby.py), so that a file which earlier
commands made is followed as one that the line made itself. A pattern, or a name that is not known, stands for all it
may mean.
"""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from shellward.command.values import MARKER, OPEN, known_part, labels

if TYPE_CHECKING:
    from shellward.command.invocation import Invocation
    from shellward.command.running import Runner
    from shellward.command.state import State

MOST_SOUGHT = 1024
"""So many paths that one line may load are noted."""
MOST_MATCHES = 32
"""So many files that one pattern means are followed."""
DEEP = "/**/"
"""Stands in a pattern for directories of any depth."""
_GLOB = frozenset("*?[")


def is_pattern(path: str) -> bool:
    """Tell whether a path may mean several files."""
    return not _GLOB.isdisjoint(path)


def matches(path: str, pattern: str) -> bool:
    """Tell whether a path is one of those that a pattern means."""
    base, deep, name = pattern.partition(DEEP)
    if deep:
        return path.startswith(f"{base.rstrip('/')}/") and fnmatchcase(path.rpartition("/")[2], name)
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def seek(state: State, path: str) -> str | None:
    """Return what a file holds, as far as the line wrote it; note that it decides what runs."""
    full = state.opened(path)
    # What nobody is asked about leaves room for the rest.
    if len(state.sought) <= (MOST_SOUGHT // 2 if state.lenient else MOST_SOUGHT):
        state.sought[full] = state.sought.get(full, True) and state.lenient
    return state.files.get(full)


def texts(state: State, word: str) -> list[tuple[str, str]]:
    """List the files that a word may name, with what they hold, as far as the line wrote them."""
    if OPEN not in word and not is_pattern(word):
        text = seek(state, word)
        return [] if text is None else [(state.opened(word), text)]
    found = dict.fromkeys([state.path(word)] if word in state.files or state.path(word) in state.files else [])
    for pattern in _patterns(state, word):
        seek(state, pattern)
        if state.files and is_pattern(pattern):
            state.work.spend(len(state.files))
            found.update(dict.fromkeys(path for path in state.files if matches(path, pattern)))
    return [(path, state.files[path]) for path in list(found)[:MOST_MATCHES]]


def _patterns(state: State, word: str) -> list[str]:
    """List the patterns of what a word may name, and the files whose contents would name it."""
    if OPEN not in word:
        return [state.path(word)]
    found: list[str] = []
    held = labels(word)
    before = MARKER.split(word, maxsplit=1)[0]
    for label in held:
        kind, _, detail = label.partition(":")
        if kind == "file":
            found.append(state.path(detail))
        elif kind == "find":
            name = detail.rpartition("/")[2].replace("_", "*")
            name = name if is_pattern(name) else f"*{name}*" if name else "*"
            found.append(f"{(state.path(before) if before else state.cwd).rstrip('/')}{DEEP}{name}")
        elif kind == "out" and detail.partition("-")[0] in {"ls", "dir"}:
            found += _listed(state, detail.partition("-")[2])
    if not found and len(held) == 1 and (known := known_part(word)) and before and known.strip("./"):
        found.append(state.path(MARKER.sub("*", word)))
    return found[:8]


def _listed(state: State, operands: str) -> list[str]:
    """List what ``ls`` may have printed; its words come joined by hyphens."""
    if not operands:
        return [state.path("*")]
    name = operands.replace("-", "*").replace("_", "*")
    return [state.path(name), state.path(posixpath.join(name, "*")), state.path("*")]


def load(t: Runner, language: str, path: str, text: str, inv: Invocation) -> None:
    """Follow a file that a program loads, once."""
    if path in t.state.loaded or not text:
        return
    t.state.loaded.add(path)
    before, t.state.module = t.state.module, path
    try:
        t.run_code(language, text, inv, [])
    finally:
        t.state.module = before
