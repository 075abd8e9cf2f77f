"""``read_file``, ``write_file`` and ``patch`` on the files of a task's environment."""

import errno
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shellward.config import paths
from shellward.core.errors import ConfigError
from shellward.core.limits import KEPT_OUTPUTS, KEPT_OUTPUTS_BYTES
from shellward.core.types import FilePart
from shellward.terminal_tool import telling
from shellward.terminal_tool.default import tasks
from shellward.terminal_tool.judge import WHY
from shellward.terminal_tool.patching.applying import apply
from shellward.terminal_tool.patching.making import diff
from shellward.terminal_tool.patching.replacing import replace
from shellward.terminal_tool.placing import carry_out, write

if TYPE_CHECKING:
    from shellward.terminal_tool.guard import Terminal
    from shellward.terminal_tool.tasks import Task

LINES: Final = 500
MOST_LINES: Final = 2_000
_MOST_BYTES: Final = 60_000
_LINE: Final = 2_000
"""Characters of a line that are shown."""
_LARGEST: Final = 16 << 20
"""Bytes of a file that is patched."""
_DIFF: Final = 8_000
_GONE: Final = (
    f"it has made room: of long outputs the newest {KEPT_OUTPUTS} are kept, and {KEPT_OUTPUTS_BYTES >> 30} GiB of them"
)
_RESULT: Final = re.compile(r"[0-9a-f]{32}\Z")


def place(terminal: "Terminal", path: str) -> str:
    """Return a path with ``~`` spelled out, as it is in the environment.

    Raises:
        ConfigError: it is empty.
    """
    if not path:
        raise ConfigError("path: needs the path of a file")
    if path == "~" or path.startswith("~/"):
        home = terminal.run(["sh", "-c", 'printf %s "$HOME"']).stdout
        return posixpath.join(home, path[2:])
    return path


@telling.answers
def read_file(path: str, offset: int = 1, limit: int = LINES, task_id: str | None = None) -> dict[str, Any]:
    """Read lines of a text file.

    Args:
        path: relative to the session's directory.
        offset: number of the first line, from 1.
        limit: most lines.
        task_id: in whose environment; None: that of the default task.

    Returns:
        JSON: ``content`` with the number of each line before it, ``total_lines``, ``file_size``, ``truncated``.
    """
    with tasks.call(task_id) as (task, call):
        terminal = task.terminal
        first, count = max(1, offset), min(max(1, limit), MOST_LINES)
        with task.turns.turn(call, alone=False):
            ours = _ours(task, path)
            if ours is not None:
                part = _read_ours(ours, first, count)
            else:
                part = terminal.read_lines(place(terminal, path), first, count, most=_MOST_BYTES + 1)
        return telling.with_news(task, _told(part, first, path))


def _told(part: FilePart, first: int, path: str) -> dict[str, Any]:
    if b"\0" in part.data:
        size = part.size
        return {"error": f"{path}: a binary file of {size} bytes; look at it with a command", "file_size": size}
    data = part.data[:_MOST_BYTES]
    cut = len(part.data) > len(data)
    text = telling.whole_characters(data)[1] if cut else data.decode("utf-8", "replace")
    lines = text.removesuffix("\n").split("\n") if text else []
    if cut and len(lines) > 1:  # but for one that is too long alone, lines are shown whole
        lines.pop()
    last = first + len(lines) - 1
    total = part.lines
    told: dict[str, Any] = {
        "content": "\n".join(f"{number}|{_shown(line)}" for number, line in enumerate(lines, first)),
        "total_lines": total,
        "file_size": part.size,
        "truncated": last < total or cut,
    }
    if first > total and part.size:
        told["hint"] = f"the file has {total} lines"
    elif told["truncated"]:
        told["hint"] = f"lines {first} to {last} of {total}; read on with offset={last + 1}"
    return told


def _shown(line: str) -> str:
    line = line.removesuffix("\r")
    return line if len(line) <= _LINE else f"{line[:_LINE]} [... {len(line) - _LINE} more characters]"


def _ours(task: "Task", path: str) -> Path | None:
    """Return the file of this side that a path of an earlier answer names."""
    if task.outputs.gone(path):
        raise FileNotFoundError(errno.ENOENT, _GONE, path)
    if (known := task.outputs.find(path)) is not None:
        return known
    folder, _, name = path.rpartition("/")
    # Long results of other tools; their names cannot be guessed.
    if _RESULT.match(name) and folder == str(paths.state_dir() / "results"):
        return Path(path)
    return None


def _read_ours(path: Path, first: int, count: int) -> FilePart:
    ends, kept, size, line = 0, bytearray(), 0, b"\n"
    with path.open("rb") as file:
        while piece := file.readline(_MOST_BYTES):
            line = piece
            if first - 1 <= ends < first - 1 + count and len(kept) <= _MOST_BYTES:
                kept += line
            ends += line.endswith(b"\n")
            size += len(line)
    return FilePart(bytes(kept[: _MOST_BYTES + 1]), size, ends + (not line.endswith(b"\n")))


@telling.answers
def write_file(path: str, content: str, task_id: str | None = None, reason: str | None = None) -> dict[str, Any]:
    """Write a file, whole; directories on the way to it are made.

    Args:
        path: relative to the session's directory.
        content: all that is to be in it.
        task_id: in whose environment; None: that of the default task.
        reason: why the agent wants it; shown to whoever is asked.

    Returns:
        JSON: ``path``, ``bytes_written``, ``created``.
    """
    with tasks.call(task_id) as (task, call):
        why = WHY.set((reason or "", ""))
        try:
            with task.turns.turn(call, alone=True):
                terminal = task.terminal
                there = place(terminal, path)
                data = content.encode("utf-8", "surrogateescape")
                created = _is_new(terminal, there)
                write(terminal, there, data)
        finally:
            WHY.reset(why)
        return telling.with_news(task, {"path": path, "bytes_written": len(data), "created": created})


def _is_new(terminal: "Terminal", path: str) -> bool:
    try:
        terminal.stat(path)
    except FileNotFoundError:
        return True
    return False


@telling.answers
def patch(  # noqa: PLR0917  # the order is fixed by those who call it so
    mode: str = "replace",
    path: str | None = None,
    old_string: str | None = None,
    new_string: str | None = None,
    replace_all: bool = False,
    patch: str | None = None,
    task_id: str | None = None,
    reason: str | None = None,
) -> dict[str, Any]:
    """Change files: a place in one of them, or several by a patch, all of it or nothing.

    Args:
        mode: ``replace`` (``path``, ``old_string``, ``new_string``) or ``patch`` (``patch``).
        path: relative to the session's directory.
        old_string: what is there, once unless ``replace_all``; small differences in blanks are forgiven.
        new_string: what is to be there.
        replace_all: replace all of them.
        patch: a unified diff, or one that begins with ``*** Begin Patch``.
        task_id: in whose environment; None: that of the default task.
        reason: why the agent wants it; shown to whoever is asked.

    Returns:
        JSON: ``success``, ``diff``, ``files_modified``, ``files_created``, ``files_deleted``, ``notes``.
    """
    if mode not in {"replace", "patch"}:
        raise ConfigError(f"mode: replace or patch, not {mode!r}")
    with tasks.call(task_id) as (task, call):
        why = WHY.set((reason or "", ""))
        try:
            with task.turns.turn(call, alone=True):
                terminal = task.terminal
                if mode == "replace":
                    changed, notes = _replaced(terminal, path, old_string, new_string, every=replace_all)
                elif patch:
                    changes = apply(patch, lambda name: _text(terminal, place(terminal, name)))
                    changed = {place(terminal, name): text for name, text in changes.files.items()}
                    notes = list(changes.notes)
                else:
                    raise ConfigError("patch: mode patch needs it")
                before = carry_out(terminal, {name: _bytes(text) for name, text in changed.items()})
        finally:
            WHY.reset(why)
        return telling.with_news(task, _changes(before, changed, notes))


def _replaced(
    terminal: "Terminal", path: str | None, old: str | None, new: str | None, *, every: bool
) -> tuple[dict[str, str | None], list[str]]:
    if path is None or old is None or new is None:
        raise ConfigError("mode replace needs path, old_string and new_string")
    there = place(terminal, path)
    text = _text(terminal, there)
    if text is None:
        raise FileNotFoundError(2, "No such file or directory; begin a file with write_file", path)
    done = replace(text, old, new, every=every)
    notes = [] if done.how == "exact" else [f"found at line {done.lines[0]}, but for {done.how}"]
    if done.count > 1:
        notes.append(f"{done.count} places, in lines {', '.join(map(str, done.lines))}")
    return {there: done.text}, notes


def _text(terminal: "Terminal", path: str) -> str | None:
    try:
        if (size := terminal.stat(path).size) > _LARGEST:
            raise ConfigError(f"{path}: {size} bytes; files above {_LARGEST >> 20} MiB are changed with a command")
        data = terminal.read_file(path)
    except FileNotFoundError:
        return None
    if b"\0" in data:
        raise ConfigError(f"{path}: a binary file; it is not changed by text")
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def _changes(before: dict[str, bytes | None], changed: dict[str, str | None], notes: list[str]) -> dict[str, Any]:
    old = {name: None if data is None else data.decode("utf-8", "surrogateescape") for name, data in before.items()}
    text = "".join(diff(old[name], new, name) for name, new in changed.items())
    if len(text) > _DIFF:
        text = f"{text[:_DIFF]}\n[... {len(text) - _DIFF} more characters]"
    told: dict[str, Any] = {
        "success": True,
        "diff": telling.clean(text),
        "files_modified": [name for name, new in changed.items() if new is not None and old[name] is not None],
        "files_created": [name for name in changed if old[name] is None],
        "files_deleted": [name for name, new in changed.items() if new is None],
    }
    return {**told, "notes": notes} if notes else told
