"""OpenSSH's configuration (ssh_config(5)): what paramiko reads of it, and the files that it includes."""

import glob
import re
import shlex
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from shellward.core.errors import ConfigError
from shellward.environments.ssh.sdk import sdk

_LINE: Final = re.compile(r"\s*(\w+)(?:\s*=\s*|\s+)(.+?)\s*$")
_MOST_NESTED: Final = 16
"""As OpenSSH has it."""


class Configuration:
    """One file and those that it includes; paramiko knows nothing of ``Include``.

    Args:
        path: of the file; None: there is none.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def lookup(self, name: str) -> Mapping[str, Any]:
        """Return what it says of a host, by option in small letters.

        Raises:
            ConfigError: it cannot be read, or makes no sense.
        """
        paramiko = sdk()
        try:
            lines = [] if self._path is None else list(_lines(self._path, name, 0))
            configuration = paramiko.SSHConfig.from_text("\n".join(lines))
        except (OSError, UnicodeDecodeError, paramiko.SSHException) as error:
            raise ConfigError(f"ssh: config_file: {str(self._path)!r} cannot be read: {_short(error)}") from error
        try:
            found: Mapping[str, Any] = configuration.lookup(name)
        except Exception as error:  # it raises errors of several libraries for what it cannot expand
            raise ConfigError(f"ssh: config_file: {name!r}: {_short(error)}") from error
        return found


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _lines(path: Path, name: str, depth: int) -> Iterator[str]:
    """Read the lines that matter for a host, those of included files among them, each in its block."""
    if depth > _MOST_NESTED:
        raise ConfigError(f"ssh: config_file: {str(path)!r}: Include goes through more than {_MOST_NESTED} files")
    block = "Host *"  # which is what stands before the first one
    for line in path.read_text().splitlines():
        found = _LINE.match(line)
        word = found[1].lower() if found is not None else ""
        if word in ("host", "match"):
            block = line
        if found is None or word != "include":
            yield line
            continue
        for file in _included(found[2], path):
            inner = list(_lines(file, name, depth + 1))
            if not any(_begins_block(each) for each in inner):
                yield from inner
            elif _concerns(block, name, path):
                yield from inner
                yield block


def _included(value: str, path: Path) -> Iterator[Path]:
    """Expand what an ``Include`` names. What is not there is left out, as OpenSSH does."""
    for pattern in _words(value, path):
        whole = str(Path("~/.ssh").expanduser() / Path(pattern).expanduser())
        found = sorted(glob.glob(whole))  # noqa: PTH207  # Path.glob refuses absolute patterns
        yield from (Path(each) for each in found if Path(each).is_file())


def _begins_block(line: str) -> bool:
    found = _LINE.match(line)
    return found is not None and found[1].lower() in ("host", "match")


def _concerns(block: str, name: str, path: Path) -> bool:
    """Whether blocks inside a block count for a host: both have to be for it."""
    found = _LINE.match(block)
    patterns = _words(found[2], path) if found is not None else []
    if found is not None and found[1].lower() == "match":
        if patterns == ["all"]:
            return True
        raise ConfigError(f"ssh: config_file: {str(path)!r}: Host and Match in a file that {block.strip()!r} includes")
    if any(fnmatchcase(name, each[1:]) for each in patterns if each.startswith("!")):
        return False
    return any(fnmatchcase(name, each) for each in patterns)


def _words(value: str, path: Path) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError as error:
        raise ConfigError(f"ssh: config_file: {str(path)!r}: {value}: {error}") from error
