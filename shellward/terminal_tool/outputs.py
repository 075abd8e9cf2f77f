"""Files on this side that the model was told of: everything that commands of a task have printed, the newest of it."""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from shellward.core.limits import KEPT_OUTPUTS, KEPT_OUTPUTS_BYTES

MOST: Final = KEPT_OUTPUTS
"""So many are kept of a task, and so many moved commands that have ended."""
MOST_BYTES: Final = KEPT_OUTPUTS_BYTES
"""So many bytes likewise; the newest is kept however large it is."""


class Outputs:
    """The files of a task. Thread-safe. They are removed with their environment at the latest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Path] = {}
        self._others: dict[str, Path] = {}
        self._folders: set[str] = set()

    def add(self, path: Path) -> None:
        """Keep a file that is written; the oldest go when there are too many."""
        with self._lock:
            self._kept[str(path)] = path
            self._folders.add(str(path.parent))
            sizes = {name: size_of(each) for name, each in self._kept.items()}
            for name in list(sizes)[:-1]:
                if len(sizes) <= MOST and sum(sizes.values()) <= MOST_BYTES:
                    break
                del sizes[name]
                remove(self._kept.pop(name))

    def show(self, path: Path) -> None:
        """Have a file be found whose life somebody else looks after."""
        with self._lock:
            self._others[str(path)] = path

    def hide(self, path: Path) -> None:
        """Have such a file not be found any more."""
        with self._lock:
            self._others.pop(str(path), None)

    def find(self, name: str) -> Path | None:
        """Return the file that the model knows by this path."""
        with self._lock:
            return self._kept.get(name) or self._others.get(name)

    def gone(self, name: str) -> bool:
        """Whether the model was told of such a file, which has had to make room for newer ones."""
        folder, _, number = name.rpartition("/")
        with self._lock:
            return folder in self._folders and number.removesuffix(".txt").isdecimal() and not Path(name).exists()

    def clear(self) -> None:
        """Know of none any more; whoever has made them removes them."""
        with self._lock:
            self._kept.clear()
            self._others.clear()


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 when it is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    with suppress(OSError):
        path.unlink()
