"""Files that several programs change: an advisory lock, and replacement in one step.

Reading and writing what is in them belongs to their owners; only the discipline lives here.
"""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive advisory lock (``flock``) on ``path``, which is made if it is missing.

    The kernel drops the lock when its holder dies, so a crash never leaves one behind. Lock a file beside the
    data, never the data file itself when that is replaced by rename: the lock belongs to the inode.

    Args:
        path: the lock file; its directory must exist.

    Raises:
        OSError: the file cannot be made or opened.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def replace(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Put ``data`` in the place of ``path`` so that a reader sees the old file or the new one, never a part.

    Args:
        path: the file; a symbolic link is followed, so that a dotfiles checkout stays linked.
        data: all of the new content.
        mode: permission bits when the file is new; an existing file keeps its own.

    Raises:
        OSError: no space, no permission; the old file is untouched then.
    """
    path = path.resolve()
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode & 0o7777
    fd, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make a rename in ``path`` durable (fsync(2): the directory entry needs its own)."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
