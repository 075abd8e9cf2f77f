"""The calls of an environment that concern files; how they are done is in files.py."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from shellward.core.errors import ConfigError
from shellward.core.types import FileInfo, FilePart
from shellward.environments import files
from shellward.environments.call import Directory, path_text

if TYPE_CHECKING:
    from shellward.environments.environment import Environment


class FileCalls:
    """Part of ``Environment``: files and trees in it."""

    def _whole(self) -> "Environment":
        return cast("Environment", self)

    def read_file(self, path: Directory, *, offset: int = 0, length: int | None = None) -> bytes:
        """Return the contents of a file, or a piece of them.

        Args:
            path: of the file.
            offset: of the first byte; negative: so many before the end.
            length: most bytes; None: all there are.

        Raises:
            FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, OSError: as of open(2).
            ConfigError: ``offset`` or ``length`` is no number of bytes.
        """
        for name, value in (("offset", offset), ("length", 0 if length is None else length)):
            if not isinstance(value, int) or abs(value) >= 1 << 63 or (name == "length" and value < 0):
                raise ConfigError(f"{name}: a number of bytes, not {value!r}")
        return files.read(self._whole(), path_text(path, "path"), int(offset), None if length is None else int(length))

    def read_lines(self, path: Directory, first: int = 1, count: int = 500, *, most: int = 1 << 20) -> FilePart:
        """Return some lines of a file, however large it is.

        Args:
            path: of the file.
            first: number of the first line, from 1.
            count: most lines.
            most: most bytes; the last line may be cut.

        Raises:
            FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, OSError: as of open(2).
        """
        return files.lines(self._whole(), path_text(path, "path"), max(1, int(first)), max(0, int(count)), most)

    def write_file(self, path: Directory, data: bytes | str, *, mode: int | None = None, parents: bool = False) -> None:
        """Write a file at once: a reader sees the old contents or the new, never a part.

        Args:
            path: relative to ``cwd``. Links are followed.
            data: text is written as UTF-8.
            mode: permission bits; None: those of the file that was there, else 0o644.
            parents: make the directories above it that are missing, as ``mkdir -p`` does.

        Raises:
            OSError: as of open(2) and write(2); the old contents are there still. So it is a PermissionError where the
                environment's user may not write to the file that is there (0o444).
            ConnectionLost: the sandbox went away, or what worked in it was killed; it may have been written.
        """
        content = data.encode() if isinstance(data, str) else data
        files.write(self._whole(), path_text(path, "path"), content, mode=mode, parents=parents)

    def list_dir(self, path: Directory = ".") -> list[FileInfo]:
        """Return the entries of a directory, sorted by name.

        Raises:
            FileNotFoundError, NotADirectoryError, PermissionError: as of opendir(3).
        """
        return files.list_dir(self._whole(), path_text(path, "path"))

    def stat(self, path: Directory) -> FileInfo:
        """Return what a path is; links are not followed.

        Raises:
            FileNotFoundError, NotADirectoryError, PermissionError: as of lstat(2).
        """
        return files.stat(self._whole(), path_text(path, "path"))

    def upload(
        self,
        local: str | PathLike[str],
        remote: Directory,
        *,
        progress: files.Progress | None = None,
        parents: bool = False,
    ) -> None:
        """Copy a file or a tree into the environment; permissions and times are kept.

        Args:
            local: file or directory on this machine.
            remote: path of the copy itself. A directory that is there already is added to.
            progress: called with bytes done and, where known, bytes in all.
            parents: make the directories above a file that are missing; for a tree they are made anyway.

        Raises:
            OSError: as of either side.
        """
        files.upload(self._whole(), Path(local), path_text(remote, "remote"), progress, parents=parents)

    def download(
        self,
        remote: Directory,
        local: str | PathLike[str],
        *,
        progress: files.Progress | None = None,
    ) -> None:
        """Copy a file or a tree out of the environment; see ``upload``."""
        files.download(self._whole(), path_text(remote, "remote"), Path(local), progress)
