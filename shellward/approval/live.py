"""Settings that follow their file: a deny rule that is written down holds in programs that run already."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from shellward.config.schema import Config
from shellward.core.errors import ConfigError

_State = tuple[tuple[int, int, int] | None, ...] | None


class LiveSettings:
    """Notices that the settings' file has changed. Thread-safe.

    Args:
        config: as they were read.
        file: where from.
        reload: reads them again.
        beside: other files on which it depends what holds; they may be missing.
    """

    def __init__(self, config: Config, file: Path, reload: Callable[[], Config], beside: Sequence[Path] = ()) -> None:
        self._config = config
        self._file = os.fspath(file)
        self._beside = tuple(map(os.fspath, beside))
        self._reload = reload
        self._lock = threading.Lock()
        self._state = self._look()

    def changed(self) -> Config | None:
        """Return the settings when they are others than at the last call, else None.

        A file that cannot be understood, or is gone, changes nothing: what held before holds on.
        """
        state = self._look()
        if state == self._state or state is None:
            return None
        with self._lock:
            if state == self._state:
                return None
            self._state = state  # from before it is read: what is written while it is read is another state
            try:
                config = self._reload()
            except ConfigError:  # somebody is in the middle of changing it, or is told at the next start
                return None
            if config == self._config:
                return None
            self._config = config
            return config

    def _look(self) -> _State:
        there = look(self._file)
        return None if there is None else (there, *map(look, self._beside))


def look(file: str) -> tuple[int, int, int] | None:
    """Return what changes when a file does; None when it is not there."""
    try:
        there = os.stat(file)  # noqa: PTH116  # before every command
    except OSError:
        return None
    return there.st_mtime_ns, there.st_size, there.st_ino
