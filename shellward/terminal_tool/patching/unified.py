"""Unified diffs, as diff -u and git write them and as models imitate them (counts in the headers are not believed)."""

import re
from typing import Final

from shellward.terminal_tool.patching.model import FilePatch, Hunk, Kind, Line, PatchError

_HUNK: Final = re.compile(r"@@+ ?(?:-(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? ?@@+)?")
_NOTHING: Final = "/dev/null"
_ESCAPE: Final = re.compile(r"\\([0-7]{3}|.)")
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_NO_NEWLINE: Final = "\\"


class _Reader:
    """Goes through the lines of a diff."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            del self.lines[-1]
        self.at = 0

    @property
    def line(self) -> str | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def wrong(self, what: str) -> PatchError:
        return PatchError(f"line {self.at + 1} of the patch: {what}")

    def begins_file(self) -> bool:
        line = self.line
        if line is None or line.startswith("diff --git "):
            return line is not None
        after = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
        return line.startswith("--- ") and after.startswith("+++ ")


def parse(text: str) -> list[FilePatch]:
    """Read a unified diff of one or more files.

    Raises:
        PatchError: it is none; names the line.
    """
    reader = _Reader(text)
    found: list[FilePatch] = []
    while reader.line is not None:
        if found and reader.line.rstrip() == "--":
            break  # the signature of a mail
        if not reader.begins_file():
            if found and reader.line.strip():
                raise reader.wrong(f"neither a hunk nor a file begins here: {reader.line[:80]!r}")
            reader.at += 1  # what stands above the first file: a mail, a log
            continue
        found.append(_file(reader))
    if not found:
        raise PatchError("the patch has no file header (--- and +++, or diff --git)")
    return found


def _file(reader: _Reader) -> FilePatch:
    headers: dict[str, str] = {}
    if reader.line is not None and reader.line.startswith("diff --git "):
        headers = _git_headers(reader)
    old, new = headers.get("rename from", ""), headers.get("rename to", "")
    if reader.line is not None and reader.line.startswith("--- "):
        names = [_name(reader.lines[reader.at + offset][4:]) for offset in (0, 1)]
        old, new = _without_prefixes(*names)
        reader.at += 2
    elif not old:
        old, new = _of_git(headers, reader)
    hunks = _hunks(reader)
    if old == _NOTHING and new == _NOTHING:
        raise reader.wrong("both files are /dev/null")
    if old == _NOTHING or "new file mode" in headers:
        return FilePatch(Kind.ADD, new, tuple(hunks))
    if new == _NOTHING or "deleted file mode" in headers:
        return FilePatch(Kind.DELETE, old, tuple(hunks))
    if not hunks and old == new:
        raise reader.wrong(f"{old}: a hunk (@@) must follow")
    return FilePatch(Kind.UPDATE, old, tuple(hunks), new if new != old else None)


def _git_headers(reader: _Reader) -> dict[str, str]:
    """Read what git writes between ``diff --git`` and ``---``."""
    found = {"git": (reader.line or "").removeprefix("diff --git ")}
    reader.at += 1
    while reader.line is not None and not reader.line.startswith(("--- ", "diff --git ", "@@")):
        if reader.line.startswith(("GIT binary patch", "Binary files ")):
            raise reader.wrong("binary files cannot be patched")
        for key in ("rename from", "rename to", "new file mode", "deleted file mode", "copy from"):
            if reader.line.startswith(f"{key} "):
                found[key] = _name(reader.line.removeprefix(f"{key} "))
        if "copy from" in found:
            raise reader.wrong("copies are not understood; add the file")
        reader.at += 1
    return found


def _of_git(headers: dict[str, str], reader: _Reader) -> tuple[str, str]:
    """Return the names of a file without ``---`` (an empty one, or one whose mode changes)."""
    text = headers.get("git", "")
    half = len(text) // 2
    old, new = _without_prefixes(_name(text[:half]), _name(text[half + 1 :]))
    if not old or old != new:
        raise reader.wrong("the names of the file cannot be told")
    if not {"new file mode", "deleted file mode"} & set(headers):
        raise reader.wrong(f"{old}: changes of mode alone cannot be applied")
    return old, new


def _name(text: str) -> str:
    """Return a file's name without a time stamp, and without git's quotes."""
    if text.startswith('"') and text.rstrip().endswith('"'):
        raw = _ESCAPE.sub(_unescaped, text.rstrip()[1:-1])
        return (
            raw.encode("latin-1", "surrogateescape").decode("utf-8", "surrogateescape") if raw.isascii() else _utf8(raw)
        )
    return text.split("\t", 1)[0].rstrip("\r")


def _utf8(raw: str) -> str:
    """Decode the bytes that octal escapes stand for."""
    try:
        return raw.encode("latin-1").decode()
    except UnicodeError:
        return raw


def _unescaped(match: re.Match[str]) -> str:
    what = match[1]
    return chr(int(what, 8) & 0xFF) if what.isdigit() else _LETTERS.get(what, what)


def _without_prefixes(old: str, new: str) -> tuple[str, str]:
    """Take ``a/`` and ``b/`` away where both have them."""
    fits = all(name == _NOTHING or name.startswith(prefix) for name, prefix in ((old, "a/"), (new, "b/")))
    return (old.removeprefix("a/"), new.removeprefix("b/")) if fits else (old, new)


def _hunks(reader: _Reader) -> list[Hunk]:
    found = []
    while reader.line is not None and reader.line.startswith("@@"):
        found.append(_hunk(reader))
    return found


def _hunk(reader: _Reader) -> Hunk:
    match = _HUNK.match(reader.line or "")
    start = int(match[1]) if match and match[1] else None
    counts = [int(match[index] or 1) for index in (2, 4)] if match and match[1] else None
    reader.at += 1
    lines: list[Line] = []
    old_newline = new_newline = True
    marked = False
    while (text := reader.line) is not None and not text.startswith(("@@", "diff --git ")):
        if text.startswith(_NO_NEWLINE) and lines:
            marked = True
            old_newline &= lines[-1].op == "+"
            new_newline &= lines[-1].op == "-"
            reader.at += 1
            continue
        # The counts of a header tell "--- x" as a removed line from the beginning of the next file. For the rest they
        # are not believed: models write the lines right and the counts wrong.
        if reader.begins_file() and not _expects(counts, lines):
            break
        done = counts is not None and _counted(lines) == counts
        if done and (not text or text[0] not in " +-" or text.rstrip() == "--"):
            break
        if text and text[0] not in " +-":
            raise reader.wrong(f"a line of a hunk begins with ' ', '+' or '-': {text[:80]!r}")
        lines.append(Line(text[0] if text else " ", text[1:]))  # type: ignore[arg-type]  # one of the three
        reader.at += 1
    while counts != _counted(lines) and lines and lines[-1] == Line(" ", ""):
        lines.pop()  # empty lines below a hunk
    if not lines:
        raise reader.wrong("the hunk is empty")
    return Hunk(tuple(lines), start, newline=new_newline if marked else None)


def _counted(lines: list[Line]) -> list[int]:
    return [sum(line.op != "+" for line in lines), sum(line.op != "-" for line in lines)]


def _expects(counts: list[int] | None, lines: list[Line]) -> bool:
    """Say whether the header's counts say that more lines follow."""
    return counts is not None and any(there < wanted for there, wanted in zip(_counted(lines), counts, strict=True))
