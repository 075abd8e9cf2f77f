"""V4A patches: the form between ``*** Begin Patch`` and ``*** End Patch`` that OpenAI's models write."""

from typing import Final

from shellward.terminal_tool.patching.model import FilePatch, Hunk, Kind, Line, PatchError

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
_HEADERS: Final = {"*** Add File: ": Kind.ADD, "*** Update File: ": Kind.UPDATE, "*** Delete File: ": Kind.DELETE}
_MOVE: Final = "*** Move to: "
_END_OF_FILE: Final = "*** End of File"


def parse(text: str) -> list[FilePatch]:
    """Read a patch of one or more files.

    Raises:
        PatchError: it is none; names the line.
    """
    lines = [line.removesuffix("\r") for line in text.strip("\n").split("\n")]
    begin = next((index for index, line in enumerate(lines) if line.strip() == BEGIN), None)
    end = next((index for index, line in enumerate(lines) if line.strip() == END), None)
    if begin is None or end is None or end < begin:
        raise PatchError(f"the patch must begin with {BEGIN!r} and end with {END!r}")
    found: list[FilePatch] = []
    at = begin + 1
    while at < end:
        header = next((each for each in _HEADERS if lines[at].startswith(each)), None)
        if header is None:
            if not lines[at].strip():
                at += 1
                continue
            raise PatchError(f"line {at + 1} of the patch: a file must begin here: {lines[at][:80]!r}")
        stop = next((index for index in range(at + 1, end) if lines[index].startswith(tuple(_HEADERS))), end)
        found.append(_file(_HEADERS[header], lines[at].removeprefix(header).strip(), lines[at + 1 : stop], at + 2))
        at = stop
    if not found:
        raise PatchError("the patch names no file")
    return found


def _file(kind: Kind, path: str, lines: list[str], number: int) -> FilePatch:
    """Read the part of one file; ``number`` is that of its first line."""
    if not path:
        raise PatchError(f"line {number - 1} of the patch: the file has no name")
    if kind is Kind.DELETE:
        if any(line.strip() for line in lines):
            raise PatchError(f"line {number} of the patch: nothing follows a file that is deleted")
        return FilePatch(kind, path)
    if kind is Kind.ADD:
        while lines and not lines[-1].strip():
            lines = lines[:-1]
        for offset, line in enumerate(lines):
            if not line.startswith("+"):
                raise PatchError(f"line {number + offset} of the patch: each line of a new file begins with '+'")
        added = tuple(Line("+", line[1:]) for line in lines)
        return FilePatch(kind, path, (Hunk(added),) if added else ())
    move = None
    if lines and lines[0].startswith(_MOVE):
        move, lines, number = lines[0].removeprefix(_MOVE).strip(), lines[1:], number + 1
    hunks = _hunks(lines, number)
    if not hunks and move is None:
        raise PatchError(f"line {number - 1} of the patch: {path} is updated, but nothing changes")
    return FilePatch(kind, path, tuple(hunks), move)


def _hunks(lines: list[str], number: int) -> list[Hunk]:
    found: list[Hunk] = []
    anchors: list[str] = []
    body: list[Line] = []

    def close(*, at_end: bool = False) -> None:
        while body and not at_end and body[-1] == Line(" ", ""):
            body.pop()  # empty lines before the next part belong to nobody
        if any(line.op != " " for line in body):
            found.append(Hunk(tuple(body), anchors=tuple(anchors), at_end=at_end))
        if body:
            anchors.clear()
        body.clear()

    for offset, text in enumerate(lines):
        if text.startswith("@@"):
            close()
            name = text[2:].strip().removesuffix("@@").strip()
            if name:
                anchors.append(name)
        elif text.strip() == _END_OF_FILE:
            close(at_end=True)
        elif text == "" or text[0] in " +-":
            body.append(Line(text[0] if text else " ", text[1:]))  # type: ignore[arg-type]  # one of the three
        else:
            raise PatchError(f"line {number + offset} of the patch: a line begins with ' ', '+' or '-': {text[:80]!r}")
    close()
    return found
