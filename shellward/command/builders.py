"""Programs that run what a project or a configuration says: git and make."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.environ import BUILT_WITH
from shellward.command.loading import seek, texts
from shellward.command.operands import has, operands, short_values
from shellward.command.trees import cloned, runs_from_tree
from shellward.command.values import OPEN, decimal
from shellward.command.wordreader import STDIN_PATHS

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


def _git(t: Tracer, inv: Invocation, _want: bool) -> str | None:  # noqa: C901, PLR0912
    argv = inv.argv
    aliases: dict[str, str] = {}
    i = 1
    while i < len(argv) and argv[i].startswith("-"):
        if argv[i] in {"-c", "--config-env"} and i + 1 < len(argv):
            key, _, value = argv[i + 1].partition("=")
            _git_config(t, inv, key.lower(), value, aliases)
        i += (
            2
            if argv[i] in {"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"}
            else 1
        )
    count = _variable(t, inv, "GIT_CONFIG_COUNT")
    for number in range(min(decimal(count), 8) if count.isdecimal() else 0):
        key, value = (_variable(t, inv, f"GIT_CONFIG_{part}_{number}") for part in ("KEY", "VALUE"))
        _git_config(t, inv, key.lower(), value, aliases)
    sub = argv[i] if i < len(argv) else ""
    rest = argv[i + 1 :]
    kept = t.state.files.get(f".gitalias#{sub}") if sub and t.state.files else None
    if kept:
        aliases.setdefault(sub, kept)
    if sub and sub not in aliases and sub not in _SUBCOMMANDS:
        aliases.update(_ALIAS.findall(seek(t.state, ".git/config") or ""))
    if sub in aliases:
        text = aliases[sub].strip().strip('"')
        t.run_text(
            (text[1:] if text.startswith("!") else "git " + text) + " " + " ".join(rest),
            inv.span,
            via=(*inv.via, "git"),
        )
    for option in (
        "--exec",
        "-x",
        "--tree-filter",
        "--index-filter",
        "--msg-filter",
        "--env-filter",
        "--commit-filter",
        "--upload-pack",
        "--receive-pack",
        "--extcmd",
        "-u",
    ):
        if (
            option in rest[:-1]
            and sub in {"rebase", "filter-branch", "clone", "fetch", "pull", "push", "difftool", "ls-remote"}
            and not (option == "-u" and sub != "clone")
        ):
            t.run_text(rest[rest.index(option) + 1], inv.span, via=(*inv.via, "git"))
    if sub == "clone":
        cloned(t, rest)
    for at, word in enumerate(rest):
        name, equals, value = word.partition("=")
        if equals and name in _COMMAND_OPTIONS:
            t.run_text(value, inv.span, via=(*inv.via, "git"))
        if word in {"-c", "--config"} and at + 1 < len(rest) and sub in {"clone", "submodule", "init"}:
            key, _, given = rest[at + 1].partition("=")
            _git_config(t, inv, key.lower(), given, {})
        if word.startswith("ext::"):  # the helper that runs a command; % introduces its escapes
            t.run_text(word[5:].replace("% ", "\\ "), inv.span, via=(*inv.via, "git"))
    if sub == "bisect" and rest[:1] == ["run"]:
        t.child(inv, rest[1:], i + 2)
    elif sub == "submodule" and "foreach" in rest:
        words = rest[rest.index("foreach") + 1 :]
        while words and words[0].startswith("--"):
            words = words[1:]
        t.run_text(" ".join(words), inv.span, via=(*inv.via, "git"))
    elif sub == "config":
        words = [w for w in rest if not w.startswith("-")]
        if len(words) > 1:
            _git_config(t, inv, words[0].lower(), words[1], {})
    elif sub == "grep":
        for word in rest:
            if word.startswith(("-O", "--open-files-in-pager=")):
                t.run_text(word.removeprefix("--open-files-in-pager=").removeprefix("-O"), inv.span)
    return None


def _variable(t: Tracer, inv: Invocation, name: str) -> str:
    value = inv.env.get(name) or t.state.text(name)
    return value if isinstance(value, str) and OPEN not in value else ""


_ALIAS = re.compile(r"^[ \t]*([\w-]+)[ \t]*=[ \t]*(!?.+)$", re.MULTILINE)
_SUBCOMMANDS = frozenset(
    (
        *("add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file"),
        *("check-ignore", "checkout", "cherry", "cherry-pick", "clean", "clone", "commit", "config"),
        *("count-objects", "describe", "diff", "diff-index", "diff-tree", "difftool", "fetch", "filter-branch"),
        *("for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object", "help", "init", "log", "lfs"),
        *("ls-files", "ls-remote", "ls-tree", "maintenance", "merge", "merge-base", "mergetool", "mv", "name-rev"),
        *("notes", "prune", "pull", "push", "range-diff", "read-tree", "rebase", "reflog", "remote", "repack"),
        *("replace", "rerere", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog", "show"),
        *("show-branch", "show-ref", "sparse-checkout", "stash", "status", "submodule", "subtree", "switch"),
        *("symbolic-ref", "tag", "update-index", "update-ref", "var", "verify-commit", "version", "whatchanged"),
        *("worktree", "write-tree"),
    )
)  # fmt: skip
"""Subcommands of git, which no alias can take the place of."""
_COMMAND_OPTIONS = frozenset(
    ("--exec", "--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--commit-filter", "--parent-filter", "--tag-name-filter", "--upload-pack", "--receive-pack", "--extcmd", "--upload-archive")
)  # fmt: skip
"""Options of git's subcommands whose value is a command line."""


def _git_config(t: Tracer, inv: Invocation, key: str, value: str, aliases: dict[str, str]) -> None:
    """Settings of git that hold commands."""
    if key.startswith("alias."):
        aliases[key[6:]] = value
        if inv.argv[1:2] != ["-c"]:
            t.write(f".gitalias#{key[6:]}", value)
        if value.startswith("!") and inv.argv[1:2] != ["-c"]:
            t.run_text(value[1:], inv.span, via=(*inv.via, "git"))
    elif key == "core.hookspath":
        for _, text in texts(t.state, f"{value.rstrip('/')}/*"):
            t.script(inv, text, want=False)
    elif (
        key
        in {
            "core.pager",
            "core.editor",
            "core.sshcommand",
            "core.fsmonitor",
            "diff.external",
            "sequence.editor",
            "credential.helper",
            "gpg.program",
        }
        and " " in value
    ):
        t.run_text(value.lstrip("!"), inv.span, via=(*inv.via, "git"))


def _make(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    argv = inv.argv
    mark = t.state.mark()
    for _, folder in short_values(argv, "C"):
        t.state.chdir(folder)
    for word in argv:
        if word.startswith("--directory="):
            t.state.chdir(word[12:])
    _makefiles(t, inv)
    if t.state.trees and {"sudo", "doas"} & set(inv.via):
        runs_from_tree(t, inv, "Makefile")
    t.state.undo(mark)
    return None


def _makefiles(t: Tracer, inv: Invocation) -> None:
    argv = inv.argv
    for at, word in enumerate(argv):
        path = (
            argv[at + 1]
            if word in {"-f", "--file", "--makefile"} and at + 1 < len(argv)
            else word[2:]
            if word.startswith("-f") and len(word) > 2
            else ""
        )
        content = (inv.stdin if path in STDIN_PATHS else seek(t.state, path)) if path else None
        if content:
            _recipes(t, inv, content)
        if word.startswith("--eval="):
            _recipes(t, inv, word[7:])
        if word == "--eval" and at + 1 < len(argv):
            _recipes(t, inv, argv[at + 1])
        name, _, value = word.partition("=")
        if name in BUILT_WITH and " " in value:
            t.run_text(value, inv.span, via=(*inv.via, "make"))
    if not any(w.startswith(("-f", "--file", "--eval")) for w in argv):
        found = (seek(t.state, name) for name in ("GNUmakefile", "makefile", "Makefile"))
        content = next(filter(None, found), None)
        if content and not has(argv, "n", "dry-run"):
            wanted = operands(argv, "CIjlo")
            _recipes(t, inv, content, wanted or None)


_INCLUDED = re.compile(r"^-?s?include[ \t]+([^\n#]{1,400})", re.MULTILINE)


def _recipes(t: Tracer, inv: Invocation, makefile: str, wanted: list[str] | None = None) -> None:
    """Run the recipes of a makefile's text: the wanted targets, or all when none is named."""
    for words in _INCLUDED.findall(makefile)[:20]:
        for word in words.split()[:20]:
            for path, text in texts(t.state, word):
                if path not in t.state.loaded:
                    t.state.loaded.add(path)
                    _recipes(t, inv, text)
    target = ""
    known = dict(re.findall(r"(?m)^([A-Za-z_]\w*)[ \t]*[:?]?=[ \t]*([^\n#]*)", makefile)[:50])
    for line in makefile.splitlines()[:400]:
        rule = re.match(r"([^\s:=#][^:=#]*):(?!=)([^;]*);?(.*)", line)
        recipe = line.lstrip("\t@-+ ") if line.startswith("\t") else ""
        if rule:
            target, recipe = rule.group(1).strip(), rule.group(3).strip().lstrip("@-+ ")
        for shell in re.findall(r"\$\(shell ([^)]*)\)", line):
            t.run_text(shell, inv.span, via=(*inv.via, "make"))
        if recipe and (wanted is None or target in wanted):
            t.run_text(_variables(recipe, known).replace("$$", "$"), inv.span, via=(*inv.via, "make"), quiet=True)


def _variables(recipe: str, known: dict[str, str]) -> str:
    """Put make's variables in their places; what is not known stays a variable of that name."""
    for _ in range(2):
        recipe = re.sub(
            r"(?<!\$)\$[({](\w+)[)}]",
            lambda m: known.get(m.group(1), {"RM": "rm -f", "MAKE": "make"}.get(m.group(1), f"$${{{m.group(1)}}}")),
            recipe,
        )
    return recipe


BUILDERS: dict[str, Handler] = {
    **dict.fromkeys(["make", "gmake", "bmake"], _make),
    "git": _git,
}  # fmt: skip
"""Handlers by program."""
