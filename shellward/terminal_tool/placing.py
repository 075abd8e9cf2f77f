"""Puts several files in their places, all of them or none: when one cannot be written, all get back what they had.

What is removed goes first: it is what a gate may refuse, and until then nothing has changed.
"""

import errno
import posixpath
from contextlib import suppress
from typing import TYPE_CHECKING

from shellward.core.errors import ApprovalDenied, EnvironmentUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shellward.terminal_tool.guard import Terminal


def carry_out(terminal: "Terminal", files: "Mapping[str, bytes | None]") -> "dict[str, bytes | None]":
    """Write and remove files.

    Args:
        terminal: where.
        files: path to contents; None: it is removed.

    Returns:
        What they held before; None: there was none.

    Raises:
        ApprovalDenied: one of them may not be changed; none was.
        OSError: one of them cannot be changed; none was.
        EnvironmentUnavailable: the sandbox is gone; some may be changed.
    """
    before = {path: _before(terminal, path) for path in files}
    modes = {path: terminal.stat(path).mode for path, data in files.items() if data is None}
    order = sorted(files, key=lambda path: files[path] is not None)
    done: list[str] = []
    made: list[str] = []
    try:
        for path in order:
            data = files[path]
            done.append(path)
            if data is None:
                _remove(terminal, path)
            else:
                made += write(terminal, path, data)
    except EnvironmentUnavailable:
        raise
    except BaseException as problem:
        left = _take_back(terminal, done, before, modes)
        _remove_directories(terminal, made)
        if left:
            raise OSError(
                5, f"{problem}; and these could not be given back what they had: {', '.join(left)}"
            ) from problem
        raise
    return before


def _before(terminal: "Terminal", path: str) -> bytes | None:
    try:
        return terminal.read_file(path)
    except FileNotFoundError:
        return None


def write(terminal: "Terminal", path: str, data: bytes) -> list[str]:
    """Write a file; returns the directories that were made for it, the outermost first.

    Raises:
        ApprovalDenied, OSError: it cannot be written; all is as it was.
    """
    try:
        terminal.write_file(path, data)
    except FileNotFoundError:  # nothing was written: its directory is missing
        made = _missing(terminal, posixpath.dirname(path))
        if not made:
            raise
        try:
            _run(terminal, "mkdir", "-p", "--", made[-1])
            terminal.write_file(path, data)
        except (OSError, ApprovalDenied):
            _remove_directories(terminal, made)
            raise
        return made
    return []


def _missing(terminal: "Terminal", directory: str) -> list[str]:
    missing: list[str] = []
    while directory not in {"", "/"}:
        try:
            terminal.stat(directory)
        except FileNotFoundError:
            missing.insert(0, directory)
            directory = posixpath.dirname(directory)
        else:
            break
    return missing


def _remove(terminal: "Terminal", path: str) -> None:
    _run(terminal, "rm", "-f", "--", path)


def _run(terminal: "Terminal", *words: str) -> None:
    """Run a program on the path that comes last."""
    result = terminal.run(list(words))
    if result.exit_code:
        raise OSError(errno.EIO, result.stderr.strip() or f"{words[0]} failed", words[-1])


def _take_back(
    terminal: "Terminal", done: list[str], before: "Mapping[str, bytes | None]", modes: "Mapping[str, int]"
) -> list[str]:
    """Give files back what they had; returns those of which that was not possible."""
    left = []
    for path in reversed(done):
        old = before[path]
        try:
            if _before(terminal, path) == old:  # it was not changed yet
                continue
            if old is None:
                _remove(terminal, path)
            else:
                terminal.write_file(path, old, mode=modes.get(path))
        except (OSError, ApprovalDenied):
            left.append(path)
    return left


def _remove_directories(terminal: "Terminal", made: list[str]) -> None:
    for directory in reversed(made):
        with suppress(ApprovalDenied):  # an empty directory stays
            terminal.run(["rmdir", "--", directory])
