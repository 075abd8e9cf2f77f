"""``search_files``: in the contents of files, or for files by name. With ripgrep where the sandbox has it.

Without it find and grep do the same, as far as they go: extended regular expressions of POSIX, and only the usual
directories of tools are left out, not what ``.gitignore`` names.
"""

import re
import secrets
from typing import TYPE_CHECKING, Any, Final

from shellward.core.errors import ConfigError
from shellward.terminal_tool import telling
from shellward.terminal_tool.default import tasks
from shellward.terminal_tool.files import place

if TYPE_CHECKING:
    from shellward.core.types import Result
    from shellward.terminal_tool.guard import Terminal
    from shellward.terminal_tool.tasks import Task

MOST: Final = 1_000
_LINE: Final = 500
"""Characters of a line that are shown."""
_LIMIT: Final = 60.0
"""Seconds for one search."""
_OUTPUT: Final = 4_000_000
_LEFT_OUT: Final = (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache")
_FOUND: Final = re.compile(r"(\d+)([:-])(.*)", re.DOTALL)
_NOTHING: Final = 1

# Each name between a sign that nobody can know and a NUL, which no name holds; then its matches.
_GREP: Final = """
s=$1 p=$2 c=$3 m=$4; shift 4
for f do printf '%s%s\\0' "$s" "$f"; grep -n -E -m "$m" -C "$c" -e "$p" -- "$f"; done
"""
_FIND: Final = """find "$@" -exec grep -l -E -e "$p" {} + 2>/dev/null"""


@telling.answers
def search_files(  # noqa: PLR0917  # the order is fixed by those who call it so
    pattern: str,
    target: str = "content",
    path: str = ".",
    file_glob: str | None = None,
    limit: int = 50,
    offset: int = 0,
    output_mode: str = "content",
    context: int = 0,
    task_id: str | None = None,
) -> dict[str, Any]:
    """Search files.

    Args:
        pattern: with ``content`` a regular expression, with ``files`` a pattern of names, such as ``*.py``.
        target: ``content`` or ``files``.
        path: directory or file to search in, relative to the session's directory.
        file_glob: with ``content``: only in files of such names.
        limit: most matches.
        offset: so many are left out before them.
        output_mode: with ``content``: ``content`` (lines), ``files_only``, or ``count`` (matches of each file).
        context: lines around each match.
        task_id: in whose environment; None: that of the default task.

    Returns:
        JSON: ``matches``, ``files`` or ``counts``; ``total_count``, ``truncated``.
    """
    if target not in {"content", "files"}:
        raise ConfigError(f"target: content or files, not {target!r}")
    if output_mode not in {"content", "files_only", "count"}:
        raise ConfigError(f"output_mode: content, files_only or count, not {output_mode!r}")
    if not pattern or "\n" in pattern or "\0" in pattern:
        raise ConfigError("pattern: needs one, in one line")
    with tasks.call(task_id) as (task, call):
        terminal = task.terminal
        with task.turns.turn(call, alone=False):
            where = place(terminal, path)
            terminal.stat(where)
            search = _Search(task, pattern, where, file_glob, max(0, min(context, 20)))
            found = search.names() if target == "files" else search.contents()
        shown = _page(found, target, output_mode, max(0, offset), max(1, min(limit, MOST)))
        return telling.with_news(task, shown)


class _Search:
    """One search, by whatever the sandbox has."""

    def __init__(self, task: "Task", pattern: str, where: str, glob: str | None, context: int) -> None:
        self._terminal: Terminal = task.terminal
        self._pattern = pattern
        self._where = where if where.startswith("/") else f"./{where}"  # which is no option, whatever its name
        self._glob = glob
        self._context = context
        self._rg = self._run(["sh", "-c", "command -v rg"]).exit_code == 0

    def names(self) -> list[dict[str, Any]]:
        """Return the files whose names match."""
        if self._rg:
            words = ["rg", "--no-config", "--files", "--null", "--hidden", *_globs(), "--iglob", self._pattern]
            result = self._run([*words, "--", self._where])
            names = result.stdout.split("\0")
        else:
            result = self._run(["find", *_start(self._where), "-type", "f", "-name", self._pattern, "-print0"])
            names = result.stdout.split("\0")
        _see(result)
        return [{"path": _shown(name)} for name in sorted(filter(None, names))]

    def contents(self) -> list[dict[str, Any]]:
        """Return the lines that match, and those around them."""
        if not self._rg:
            return self._by_grep()
        words = ["rg", "--no-config", "--null", "--line-number", "--no-heading", "--with-filename", "--color=never"]
        words += ["--hidden", "--sort=path", *_globs(), f"--context={self._context}", f"--max-columns={_LINE * 2}"]
        if self._glob:
            words += ["--glob", self._glob]
        result = self._run([*words, "-e", self._pattern, "--", self._where])
        _see(result)
        found = []
        for line in result.stdout.split("\n"):
            name, separator, rest = line.partition("\0")
            if separator and (match := _FOUND.match(rest)) is not None:
                found.append(_match(name, match))
        return found

    def _by_grep(self) -> list[dict[str, Any]]:
        chosen = [*_start(self._where), "-type", "f", *(["-name", self._glob] if self._glob else [])]
        result = self._run(["sh", "-c", f"p=$1; shift; {_FIND}", "sh", self._pattern, *chosen])
        names = sorted(filter(None, result.stdout.split("\n")))
        if not names:
            # Of a pattern that is none, grep complains when it reads the first line.
            _see(self._terminal.run(["grep", "-E", "-e", self._pattern], stdin="\n", timeout=_LIMIT))
            return []
        sign = f"\n{secrets.token_hex(16)} "
        words = ["sh", "-c", _GREP, "sh", sign, self._pattern, str(self._context), str(MOST), *names[:MOST]]
        found: list[dict[str, Any]] = []
        for part in self._run(words).stdout.split(sign)[1:]:
            name, _, text = part.partition("\0")
            if "\0" not in text:  # of a binary file GNU grep says no more than that it matches, others show it
                found += [_match(name, match) for line in text.split("\n") if (match := _FOUND.match(line))]
        return found

    def _run(self, words: list[str]) -> "Result":
        return self._terminal.run(words, timeout=_LIMIT, max_output=_OUTPUT, full_output=False)


def _globs() -> list[str]:
    return [word for name in _LEFT_OUT for word in ("--glob", f"!**/{name}/**")]


def _start(where: str) -> list[str]:
    """Return how find begins: where, and without the directories of tools."""
    names = [word for name in _LEFT_OUT for word in ("-o", "-name", name)][1:]
    return [where, "-type", "d", "(", *names, ")", "-prune", "-o"]


def _see(result: "Result") -> None:
    """Raise what a search complained of."""
    if result.timed_out:
        raise ConfigError(f"the search took longer than {_LIMIT:g} s; name a smaller directory, or file_glob")
    if result.exit_code > _NOTHING and not result.stdout:
        raise ConfigError(f"the search failed: {result.stderr.strip()[:500]}")


def _match(name: str, match: "re.Match[str]") -> dict[str, Any]:
    text = match[3].rstrip("\r")
    found = {"path": _shown(name), "line": int(match[1]), "content": telling.text_of(text[:_LINE])}
    return found if match[2] == ":" else {**found, "context": True}


def _shown(name: str) -> str:
    while name.startswith("./") and name != "./":
        name = name[2:].lstrip("/")
    return name


def _page(found: list[dict[str, Any]], target: str, mode: str, offset: int, limit: int) -> dict[str, Any]:
    if target == "files":
        return _cut("files", [each["path"] for each in found], offset, limit)
    matches = [each for each in found if "context" not in each]
    if mode == "content":
        if len(matches) == len(found):
            return _cut("matches", matches, offset, limit)
        return _with_context(found, matches, offset, limit)
    counts: dict[str, int] = {}
    for each in matches:
        counts[each["path"]] = counts.get(each["path"], 0) + 1
    if mode == "files_only":
        return _cut("files", list(counts), offset, limit)
    return _cut("counts", [{"path": path, "count": count} for path, count in counts.items()], offset, limit)


def _with_context(
    found: list[dict[str, Any]], matches: list[dict[str, Any]], offset: int, limit: int
) -> dict[str, Any]:
    told = _cut("matches", matches, offset, limit)
    page = told["matches"]
    if page:
        first, last = found.index(page[0]), found.index(page[-1])
        while first and "context" in found[first - 1] and found[first - 1]["path"] == page[0]["path"]:
            first -= 1
        while last + 1 < len(found) and "context" in found[last + 1] and found[last + 1]["path"] == page[-1]["path"]:
            last += 1
        told["matches"] = found[first : last + 1]
    return told


def _cut(name: str, items: list[Any], offset: int, limit: int) -> dict[str, Any]:
    page = items[offset : offset + limit]
    told: dict[str, Any] = {name: page, "total_count": len(items), "truncated": offset + len(page) < len(items)}
    if told["truncated"]:
        told["hint"] = f"go on with offset={offset + len(page)}, or search for less"
    return told
