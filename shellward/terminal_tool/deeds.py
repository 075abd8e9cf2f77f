"""What is done without a shell, as shell lines that would do the same: what is judged, shown and recorded."""

import itertools
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from shellward.approval.brought import line_of

_MOST_SHOWN: Final = 8 << 10
"""Characters of a file's text that a person is shown; a longer one is told by its hash."""
_MOST_NAMES: Final = 1000
_ODD_BITS: Final = 0o7022


def writing(path: str, data: bytes | str, mode: int | None, *, parents: bool = False) -> str:
    """Say what writing a file is.

    Args:
        path: where.
        data: what.
        mode: permission bits, or None.
        parents: with the directories above it.
    """
    text = data if isinstance(data, str) else bytes(data[: _MOST_SHOWN * 4]).decode("utf-8", "surrogateescape")
    if len(text) > _MOST_SHOWN or len(data) > _MOST_SHOWN * 4 or "\0" in text:
        whole = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        text = f"({len(whole)} bytes, sha256 {sha256(whole).hexdigest()})"
    end = "END"
    while end in text:
        end += "_"
    target = line_of([path])
    lines = _above(path) if parents else ""
    lines += f"/bin/cat >{target} <<'{end}'\n{text}{'' if text.endswith(chr(10)) else chr(10)}{end}"
    if mode is not None and mode & _ODD_BITS:
        lines += f"\nchmod {mode:o} -- {target}"
    return lines


def copying(local: Path, remote: str, *, parents: bool = False) -> str:
    """Say what copying a file or a tree into an environment is.

    Args:
        local: what, on this machine.
        remote: where to.
        parents: with the directories above it.
    """
    lines = [_above(remote).rstrip("\n")] if parents and _above(remote) else []
    lines += [line_of(["cp", "-r", "--", str(local), remote])]
    # Names with a dot are what makes a difference in a home directory or a repository.
    lines += [line_of(["cp", "--", str(local / name), f"{remote.rstrip('/')}/{name}"]) for name in _dotted(local)]
    return "\n".join(lines)


def _above(path: str) -> str:
    """Say what making the directories above a file is."""
    above = path.rstrip("/").rpartition("/")[0]
    return line_of(["mkdir", "-p", "--", above]) + "\n" if above else ""


def _dotted(local: Path) -> Iterator[str]:
    def walk() -> Iterator[str]:
        for directory, _, files in os.walk(local):
            inside = os.path.relpath(directory, local)
            for file in files:
                name = os.path.normpath(os.path.join(inside, file))  # noqa: PTH118  # one of perhaps many
                if name[0] == "." or "/." in name:
                    yield name

    return itertools.islice(walk(), _MOST_NAMES)
