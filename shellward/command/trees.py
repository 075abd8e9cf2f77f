"""Directories whose files came from the network in this command line: clones and unpacked archives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.operands import operands
from shellward.command.values import labels

if TYPE_CHECKING:
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer

_BUILD_STEPS = frozenset(
    ("configure", "bootstrap", "autogen.sh", "gradlew", "mvnw", "manage.py", "activate", "buildconf")
)
"""Scripts of a source tree that people run to build it; they count like ``make``, which is not asked about."""
_ADDRESS = re.compile(r"[a-z+]+://(?!localhost)|[\w.-]+@[\w.-]+:")
_MOST = 16


def unpacked(t: Tracer, inv: Invocation) -> None:
    """Note where ``tar x``, ``unzip`` and their like put files that come from the network."""
    argv = inv.argv
    sources = [inv.stdin or "", *(t.state.files.get(t.state.path(word), "") for word in argv[1:20])]
    if not any(label.startswith("net") for text in sources for label in labels(text)):
        return
    folder = ""
    for at, word in enumerate(argv[1:], 1):
        if word in {"-C", "--directory", "-d"} and at + 1 < len(argv):
            folder = argv[at + 1]
        elif word.startswith(("--directory=", "--one-top-level=")):
            folder = word.partition("=")[2]
        elif word.startswith("-o") and inv.name.startswith("7z"):
            folder = word[2:]
    _note(t, folder or ".")


def cloned(t: Tracer, words: list[str]) -> None:
    """Note where ``git clone address [directory]`` puts a repository of somebody else."""
    rest = operands(["clone", *words], "bcojur")
    rest = rest[next((at for at, word in enumerate(rest) if _ADDRESS.match(word)), len(rest)) :]
    if rest:
        _note(t, rest[1] if len(rest) > 1 else rest[0].rstrip("/").removesuffix(".git").rpartition("/")[2])


def _note(t: Tracer, folder: str) -> None:
    if len(t.state.trees) < _MOST:
        t.state.trees.append(t.state.path(folder) or ".")


def runs_from_tree(t: Tracer, inv: Invocation, path: str) -> None:
    """Note that a script of such a directory is run."""
    full = t.state.path(path)
    if full.rpartition("/")[2] in _BUILD_STEPS:
        return
    for tree in t.state.trees:
        if full.startswith(f"{tree}/") or (tree == "." and full[:1] not in {"/", "~"}):
            t.effect(["@run", "sh", "net:tree"], inv.span)
            return
