"""Who makes environments and starts processes: this program, named so that others can tell whether it lives."""

import getpass
import os
import socket
from functools import cache
from pathlib import Path


def owner() -> str:
    """Say who makes environments here: ``user@host:pid``."""
    return _named(os.getpid())


def since() -> str:
    """When this program began, as ``born`` tells it."""
    return _since(os.getpid())


@cache
def _named(pid: int) -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}:{pid}"


@cache
def _since(pid: int) -> str:
    return born(pid)


def born(pid: int) -> str:
    """When a process of this machine began, in clock ticks since boot (proc(5), starttime); empty: there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def lives(name: str, since: str = "") -> bool | None:
    """Whether the owner of this name lives; None: he is of another machine, so it cannot be known.

    Args:
        name: as ``owner`` gave it.
        since: as ``born`` gave it; empty: any process of that number is him.
    """
    who, _, pid = name.rpartition(":")
    if not pid.isdecimal() or who.rpartition("@")[2] != socket.gethostname():
        return None
    now = born(int(pid))
    return bool(now) and (not since or now == since)
