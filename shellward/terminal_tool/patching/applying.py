"""Carry out patches on texts: all of them or none."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from shellward.terminal_tool.patching import unified, v4a
from shellward.terminal_tool.patching.looks import LADDER, exact, places, stripped
from shellward.terminal_tool.patching.model import FilePatch, Hunk, Kind, PatchError, Text

_SHOWN: Final = 3

Read = Callable[[str], str | None]
"""Returns the text of a file; None when there is none."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a patch comes to.

    Attributes:
        files: path to new text; None for a file that is gone. Only those that change.
        notes: places that were not found as they were written, for the model.
    """

    files: dict[str, str | None]
    notes: tuple[str, ...] = field(default=())


def parse(patch: str) -> list[FilePatch]:
    """Read a patch, V4A or a unified diff.

    Raises:
        PatchError: it is neither; names the line.
    """
    return v4a.parse(patch) if v4a.BEGIN in patch else unified.parse(patch)


def apply(patch: str | list[FilePatch], read: Read) -> Changes:
    """Carry out a patch on texts.

    Args:
        patch: its text, or what ``parse`` made of it.
        read: returns the texts; a file that occurs twice is read once.

    Returns:
        The new texts. Nothing is written.

    Raises:
        PatchError: it cannot be read, or one of its parts does not fit; names each that does not. Also what ``read``
            raises.
    """
    state: dict[str, str | None] = {}
    before: dict[str, str | None] = {}
    notes: list[str] = []
    problems: list[str] = []

    def current(path: str) -> str | None:
        if path not in state:
            state[path] = before[path] = read(path)
        return state[path]

    for each in parse(patch) if isinstance(patch, str) else patch:
        try:
            text = _changed(each, current(each.path), notes)
            if each.move_to is not None:
                _must_be_free(each, current(each.move_to))
                state[each.path] = None
            state[each.move_to or each.path] = text
        except PatchError as problem:
            problems.append(str(problem))
    if problems:
        raise PatchError("nothing was changed. " + "\n".join(problems))
    return Changes({path: text for path, text in state.items() if text != before[path]}, tuple(notes))


def _must_be_free(patch: FilePatch, there: str | None) -> None:
    if there is not None:
        raise PatchError(f"{patch.path} cannot become {patch.move_to}: there is one already")


def _changed(patch: FilePatch, text: str | None, notes: list[str]) -> str | None:
    """Return the new text of one file."""
    if patch.kind is Kind.ADD:
        if text is not None:
            raise PatchError(f"{patch.path} cannot be added: it is there already; update it")
        added = [line.text for hunk in patch.hunks for line in hunk.lines if line.op == "+"]
        newline = all(hunk.newline is not False for hunk in patch.hunks)
        return Text(added, newline).joined()
    if text is None:
        raise PatchError(f"{patch.path}: there is no such file")
    whole = Text.of(text)
    position = moved = 0
    for number, hunk in enumerate(patch.hunks, 1):
        try:
            at, how = _place(whole, hunk, position, moved)
        except PatchError as problem:
            raise PatchError(f"{patch.path}, hunk {number}: {problem}") from None
        if how != "exact":
            notes.append(f"{patch.path}, hunk {number} was found at line {at + 1}, but for {how}")
        size = len(whole.lines)
        position = _put(whole, hunk, at)
        if hunk.start is not None:
            moved = at + 1 - hunk.start + len(whole.lines) - size
    if patch.kind is Kind.DELETE:
        if whole.lines and patch.hunks:
            raise PatchError(f"{patch.path} is to be deleted, but has more lines than the patch knows")
        return None
    return whole.joined()


def _place(whole: Text, hunk: Hunk, position: int, moved: int) -> tuple[int, str]:
    """Find where a hunk goes: its first line, from 0, and how it was found."""
    start = _below_anchors(whole, hunk, position)
    old = hunk.old
    if not old:
        return _of_insertion(whole, hunk, start, moved), "exact"
    for how, look in LADDER.items():
        found = [each for each in places([*map(look, whole.lines)], [*map(look, old)]) if each >= start]
        if hunk.at_end:
            found = [each for each in found if each + len(old) == len(whole.lines)]
        if not found:
            continue
        if hunk.start is None:
            if len(found) > 1 and not hunk.anchors and how != "exact":
                raise PatchError(f"its lines are there {len(found)} times, but for {how}; give more of what is around")
            return found[0], how
        expected = hunk.start - 1 + moved
        best = min(found, key=lambda each: (abs(each - expected), each))
        return best, how
    raise PatchError(_missing(whole, old, start))


def _below_anchors(whole: Text, hunk: Hunk, position: int) -> int:
    """Return the line after the last anchor."""
    for anchor in hunk.anchors:
        for look in (exact, stripped):
            at = next((i for i in range(position, len(whole.lines)) if look(whole.lines[i]) == look(anchor)), None)
            if at is not None:
                break
        else:
            at = next((i for i in range(position, len(whole.lines)) if anchor in whole.lines[i]), None)
        if at is None:
            raise PatchError(f"there is no line {anchor!r} below line {position}")
        position = at + 1
    return position


def _of_insertion(whole: Text, hunk: Hunk, start: int, moved: int) -> int:
    """Return where lines go that have no others around them."""
    if hunk.start is not None:
        return min(max(hunk.start + moved, start), len(whole.lines))  # "-3,0" is after line 3
    return start if hunk.anchors and not hunk.at_end else len(whole.lines)


def _put(whole: Text, hunk: Hunk, at: int) -> int:
    """Change the lines; returns the line after the hunk. Context stays as it is in the file."""
    # A patch that has carriage returns means them; one that has none was written without a thought of them.
    carry = "\r" if whole.crlf and not any(line.text.endswith("\r") for line in hunk.lines) else ""
    made: list[str] = []
    index = at
    for line in hunk.lines:
        if line.op == "+":
            made.append(line.text + carry)
            continue
        if line.op == " ":
            made.append(whole.lines[index])
        index += 1
    at_end = index == len(whole.lines)
    was_empty = not whole.lines
    whole.lines[at:index] = made
    if at_end:
        whole.newline = hunk.newline if hunk.newline is not None else whole.newline or was_empty
    return at + len(made)


def _missing(whole: Text, old: list[str], start: int) -> str:
    """Say what of a hunk is not there."""
    there = {stripped(line) for line in whole.lines[start:]}
    absent = [line for line in old if stripped(line) and stripped(line) not in there]
    if not absent:
        return f"its lines are there below line {start}, but not one after the other"
    close = difflib.get_close_matches(absent[0].strip()[:200], [each[:200] for each in there], n=1, cutoff=0.7)
    near = f"; the file has {close[0]!r}" if close else ""
    return f"not in the file below line {start}: " + ", ".join(repr(line[:100]) for line in absent[:_SHOWN]) + near
