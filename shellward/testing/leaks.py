"""What this process holds: threads, descriptors, children. For guards that compare before and after."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

from shellward.testing.trial import eventually


def holdings() -> dict[str, list[str]]:
    """Name what this process holds now: threads, open descriptors, children."""
    descriptors = []
    for path in Path("/proc/self/fd").iterdir():
        try:
            descriptors.append(f"{path.name} -> {path.readlink()}")
        except OSError:
            continue  # the descriptor of the listing itself
    children = []
    for pid in sorted(_children()):
        try:
            command = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        children.append(f"{pid} {command}")
    return {
        "threads": [thread.name for thread in threading.enumerate()],
        "descriptors": [line for line in descriptors if "/proc/" not in line],
        "children": children,
    }


def _children() -> set[str]:
    """Return the ids of this process's children, which the kernel keeps by the thread that made them."""
    while True:
        try:
            return {
                pid
                for task in Path("/proc/self/task").iterdir()
                for pid in (task / "children").read_text(encoding="ascii").split()
            }
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread has ended meanwhile: its children are another's now, perhaps one's that was read before


def assert_nothing_new(before: dict[str, list[str]], within: float = 3, whose: str = "") -> None:
    """Fail when this process holds more than ``before``; things get ``within`` seconds to go."""

    def grown() -> dict[str, list[str]]:
        gc.collect()
        now = holdings()
        return {what: now[what] for what in before if len(now[what]) > len(before[what])}

    eventually(lambda: not grown(), within)
    assert not grown(), f"left behind {whose}: {grown()}; before: {before}"
