"""Replace one piece of a text by another, also where the model did not write the old piece quite as it stands.

Exact first. Then whole lines, on the rungs of ``looks``; then with escapes taken literally; then by first and last line
with what is between nearly the same. What is found leniently must be found once: a guess between two places is refused.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shellward.terminal_tool.patching.looks import LADDER, exact, places, stripped
from shellward.terminal_tool.patching.model import PatchError, Text

_SIMILAR: Final = 0.8
"""How much of a block must be the same when only its first and last line are."""
_ANCHORED: Final = 3
"""Lines that a block must have to be found by its first and last."""
_CANDIDATES: Final = 20
_LONGEST: Final = 200_000
"""Characters of a block that are compared letter by letter."""
_SHOWN: Final = 10
_ESCAPES: Final = "escapes"


@dataclass(frozen=True, slots=True)
class Replaced:
    """What came of it.

    Attributes:
        text: the new text.
        count: how many places were replaced.
        how: ``exact``, or how the place was found.
        lines: the line of each place, from 1.
    """

    text: str
    count: int
    how: str
    lines: tuple[int, ...]


def replace(text: str, old: str, new: str, *, every: bool = False) -> Replaced:
    """Replace ``old`` by ``new``.

    Args:
        text: the whole text.
        old: what is there; must be there once, unless ``every``.
        new: what is to be there.
        every: replace all of them, where they are found exactly.

    Raises:
        PatchError: it is not there, it is there several times, or nothing would change.
    """
    if not old:
        raise PatchError("the old text is empty; to begin a file, write it")
    if old == new:
        raise PatchError("the old text and the new one are the same; nothing would change")
    count = text.count(old)
    if count:
        if count > 1 and not every:
            raise PatchError(_several(count, [_line(text, at) for at in _all(text, old)]))
        lines = tuple(_line(text, at) for at in _all(text, old))
        return Replaced(text.replace(old, new), count, "exact", lines)
    return _by_lines(text, old, new)


def _by_lines(text: str, old: str, new: str) -> Replaced:
    whole, wanted = Text.of(text), Text.of(old)
    if not any(line.strip() for line in wanted.lines):
        raise PatchError("the old text is not there")
    for how, at, length in _found(whole.lines, wanted.lines):
        literal = how == _ESCAPES
        made = _fitted(whole, at, length, Text.of(_unescaped(old)) if literal else wanted, _new(new, literal=literal))
        lines = [*whole.lines[:at], *made, *whole.lines[at + length :]]
        return Replaced(Text(lines, whole.newline).joined(), 1, how, (at + 1,))
    raise PatchError(f"the old text is not there{_nearest(whole.lines, wanted.lines)}")


def _new(new: str, *, literal: bool) -> list[str]:
    return [exact(line) for line in Text.of(_unescaped(new) if literal else new).lines]


def _unescaped(text: str) -> str:
    """Return what a text is that was escaped once too often."""
    return text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _found(lines: list[str], wanted: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yield how and where the lines were found, and how many lines of the file that is; the most exact way first."""
    for how, look in LADDER.items():
        if at := _one(places([*map(look, lines)], [*map(look, wanted)])):
            yield how, at - 1, len(wanted)
    literal = Text.of(_unescaped("\n".join(wanted))).lines
    if literal != wanted and (at := _one(places([*map(stripped, lines)], [*map(stripped, literal)]))):
        yield _ESCAPES, at - 1, len(literal)
    if at := _one(_anchored(lines, wanted)):
        yield "first and last line", at - 1, len(wanted)


def _one(found: list[int]) -> int:
    """Return the one place, from 1; 0 for none.

    Raises:
        PatchError: there are several.
    """
    if len(found) > 1:
        raise PatchError(_several(len(found), [each + 1 for each in found]))
    return found[0] + 1 if found else 0


def _anchored(lines: list[str], wanted: list[str]) -> list[int]:
    """Return where a block of this length begins and ends as wanted, and is nearly the same between."""
    if len(wanted) < _ANCHORED:
        return []
    first, last = stripped(wanted[0]), stripped(wanted[-1])
    if not first or not last:
        return []
    size = len(wanted)
    candidates = [
        at
        for at in range(len(lines) - size + 1)
        if stripped(lines[at]) == first and stripped(lines[at + size - 1]) == last
    ]
    between = "\n".join(map(stripped, wanted[1:-1]))
    if len(candidates) > _CANDIDATES or len(between) > _LONGEST:
        return []
    return [at for at in candidates if _alike("\n".join(map(stripped, lines[at + 1 : at + size - 1])), between)]


def _alike(one: str, other: str) -> bool:
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return matcher.real_quick_ratio() >= _SIMILAR and matcher.quick_ratio() >= _SIMILAR and matcher.ratio() >= _SIMILAR


def _fitted(whole: Text, at: int, length: int, wanted: Text, new: list[str]) -> list[str]:
    """Return the new lines with the indentation and the line ends of the place where they go."""
    there: dict[str, str] = {}
    for said, found in zip(wanted.lines, whole.lines[at : at + length], strict=False):
        if said.strip() and found.strip():
            there.setdefault(_indent(said), _indent(found))
    made = [_indented(line, there) for line in new]
    return [line + "\r" for line in made] if whole.crlf else made


def _indented(line: str, there: dict[str, str]) -> str:
    """Return a line with the indentation that the file has where the model wrote another."""
    own = _indent(line)
    known = max((each for each in there if own.startswith(each)), key=len, default=None)
    return line if known is None or not line.strip() else there[known] + line[len(known) :]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _all(text: str, old: str) -> Iterator[int]:
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + len(old))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _several(count: int, lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:_SHOWN])) + (", ..." if len(lines) > _SHOWN else "")
    return f"the old text is there {count} times (lines {shown}); give more of what is around it"


def _nearest(lines: list[str], wanted: list[str]) -> str:
    """Say which line of the file is most like the first line that was wanted."""
    first = next(line.strip() for line in wanted if line.strip())
    close = difflib.get_close_matches(first[:200], [line.strip()[:200] for line in lines[:2000]], n=1, cutoff=0.7)
    if not close:
        return ""
    at = next(index for index, line in enumerate(lines) if line.strip()[:200] == close[0])
    return f"; line {at + 1} comes near it: {close[0]}"
