"""Settings that follow their file: a deny rule that is written down holds in programs that run already."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from shellward.config.schema import Config
from shellward.core.errors import ConfigError

_State = tuple[int, int, int] | None


class LiveSettings:
    """Notices that the settings' file has changed. Thread-safe.

    Args:
        config: as they were read.
        file: where from.
        reload: reads them again.
    """

    def __init__(self, config: Config, file: Path, reload: Callable[[], Config]) -> None:
        self._config = config
        self._file = os.fspath(file)
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
        try:
            there = os.stat(self._file)  # noqa: PTH116  # before every command
        except OSError:
            return None
        return there.st_mtime_ns, there.st_size, there.st_ino
