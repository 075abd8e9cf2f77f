"""Whether a person accepts looser settings: at a terminal of their own, not inside a command that Shellward runs."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shellward.config.paths import INSIDE

_MOST_ANCESTORS: Final = 256


def refusal() -> str:
    """Say why nobody can accept anything here; empty when a person can."""
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        return "only a person at a terminal can accept settings: standard input and output must be one"
    if is_inside():
        return "this runs inside a command of Shellward's: accept settings in a terminal of your own"
    return ""


def is_inside() -> bool:
    """Tell whether this runs inside a command of Shellward's, as far as can be seen: nobody is asked there."""
    return INSIDE in os.environ or any(map(_is_marked, ancestors(os.getpid())))


def confirmed(question: str) -> bool:
    """Ask on the controlling terminal; only ``y`` or ``yes`` is yes.

    Raises:
        OSError: there is no controlling terminal.
    """
    with open("/dev/tty", "r+b", buffering=0) as terminal:  # noqa: PTH123  # unbuffered, both ways
        terminal.write(f"{question} [y/N] ".encode())
        return terminal.readline(64).strip().lower() in {b"y", b"yes"}


def ancestors(pid: int) -> Iterator[int]:
    """Yield the processes above one, as far as they can be seen (proc_pid_stat(5))."""
    for _ in range(_MOST_ANCESTORS):
        try:
            text = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return
        pid = int(text.rpartition(b")")[2].split()[1])  # the name before it may hold anything
        if pid <= 0:
            return
        yield pid


def _is_marked(pid: int) -> bool:
    """Tell whether a process was started inside an environment; of those of other users that is not known."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(each.startswith(f"{INSIDE}=".encode()) for each in variables)


def _is_terminal(stream: object) -> bool:
    try:
        return os.isatty(stream.fileno())  # type: ignore[attr-defined]  # None, or closed, is no terminal
    except (AttributeError, OSError, ValueError):
        return False
