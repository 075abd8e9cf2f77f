"""What a patch is, whichever way it was written, and a text as the lines that a patch speaks of."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple


class PatchError(ValueError):
    """A patch cannot be read, or does not fit; nothing was changed. The message is for the model that wrote it."""


class Kind(StrEnum):
    """What a patch does to one file."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


class Line(NamedTuple):
    """One line of a hunk.

    Attributes:
        op: context, removed or added.
        text: without its end of line.
    """

    op: Literal[" ", "-", "+"]
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place that changes.

    Attributes:
        lines: what is there and what is to be there.
        start: the line where it begins in the old file, from 1; None when the patch does not say.
        anchors: lines that stand somewhere above it, outermost first (V4A's ``@@ class A``).
        at_end: it must be at the end of the file.
        newline: whether the new file ends with a line end, where the patch says so.
    """

    lines: tuple[Line, ...]
    start: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    newline: bool | None = None

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [line.text for line in self.lines if line.op != "+"]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What happens to one file.

    Attributes:
        kind: see Kind.
        path: the file, as the patch names it.
        hunks: in order; for a new file, one with added lines only.
        move_to: its new name.
    """

    kind: Kind
    path: str
    hunks: tuple[Hunk, ...] = ()
    move_to: str | None = None


@dataclass(slots=True)
class Text:
    """A text as lines without their ends.

    Attributes:
        lines: each without its line feed; a carriage return before it stays.
        newline: whether the last one ends with a line end.
    """

    lines: list[str]
    newline: bool

    @classmethod
    def of(cls, text: str) -> "Text":
        """Split a text. Only a line feed ends a line, as for every tool that makes patches."""
        lines = text.split("\n")
        newline = lines[-1] == "" and len(lines) > 1
        if lines[-1] == "":
            del lines[-1]
        return cls(lines, newline)

    @property
    def crlf(self) -> bool:
        """Whether most of its lines end with a carriage return and a line feed."""
        return sum(line.endswith("\r") for line in self.lines) * 2 > len(self.lines)

    def joined(self) -> str:
        """Return the text."""
        return "\n".join(self.lines) + ("\n" if self.newline and self.lines else "")
