"""What backends need of the machine that Shellward runs on: processes with pipes, and a place for small files."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from shellward.environments.pipes import PIPE, PipeChannel


def wait_for(process: "subprocess.Popen[bytes]", timeout: float | None) -> int | None:
    """Return the exit status of a child as a shell tells it (128 + n for signal n); None when time is up."""
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    return status if status >= 0 else 128 - status


class _Child:
    """The life of a child process; see ``pipes.Life``."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._pidfd = os.pidfd_open(process.pid)

    def fileno(self) -> int:
        return self._pidfd

    def wait(self, timeout: float | None = None) -> int | None:
        return wait_for(self._process, timeout)

    def close(self) -> None:
        """It gets a second to end by itself."""
        if self.wait(1.0) is None:
            self._process.kill()
            self._process.wait()
        os.close(self._pidfd)


def spawn(kind: str, argv: Sequence[str], **options: Any) -> PipeChannel:
    """Start a process in a session of its own, with pipes."""
    ours: list[int] = []
    theirs: list[int] = []
    try:
        for end in range(3):
            read, write = os.pipe()
            ours.append(read if end else write)
            theirs.append(write if end else read)
        process = subprocess.Popen(
            argv, stdin=theirs[0], stdout=theirs[1], stderr=theirs[2], start_new_session=True, **options
        )
    except BaseException:
        for descriptor in ours:
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    stdin, stdout, stderr = ours
    return PipeChannel(kind, stdin, stdout, stderr, _Child(process))


def memory_backed() -> str | None:
    """Where small files never touch a disk: the user's runtime directory, /dev/shm, else the usual place."""
    for place in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):  # noqa: S108  # a private directory is made in it
        if place and os.access(place, os.W_OK | os.X_OK) and shutil.disk_usage(place).free > PIPE:
            return place
    return None
