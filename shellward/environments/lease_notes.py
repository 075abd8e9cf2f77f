"""Notes of when leases were renewed last, for other programs: a file for each, whose time of change it is.

The sandbox itself knows, too, but asking it takes long, and one that hangs does not answer.
"""

import hashlib
import os
import time
from pathlib import Path
from typing import Final

from shellward.config.paths import state_dir

_KEPT: Final = 7 * 86_400.0
"""Seconds after which the note of a lease that nobody has renewed is dropped."""


def _file(handle: str) -> Path:
    return state_dir() / "leases" / hashlib.sha256(handle.encode()).hexdigest()[:32]


def note(handle: str, when: float) -> None:
    """Note that a lease was renewed.

    Raises:
        OSError: there is no room for it.
    """
    file = _file(handle)
    try:
        os.utime(file, (when, when))
    except FileNotFoundError:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        os.utime(file, (when, when))
        _drop_old(file.parent)


def renewed(handle: str) -> float | None:
    """Return when a client of this user on this machine renewed a lease last; None: none has.

    In seconds since the epoch.
    """
    try:
        return _file(handle).stat().st_mtime
    except OSError:
        return None


def forget(handle: str) -> None:
    """Drop the note of a lease whose environment has ended."""
    _file(handle).unlink(missing_ok=True)


def _drop_old(directory: Path) -> None:
    for entry in os.scandir(directory):
        try:
            if time.time() - entry.stat().st_mtime > _KEPT:
                Path(entry.path).unlink(missing_ok=True)
        except FileNotFoundError:
            continue  # another program has dropped it
