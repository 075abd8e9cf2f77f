"""Looking up what a command's look wanted to know of the file system of its environment.

New is what has changed since the environment was opened here: what these very commands may have written. What was
there before is the user's, and is not read.
"""

import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shellward.approval.nearby import MOST_TEXT, NOTHING_NEARBY, Nearby, Wanted
from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.encoding import encode_text, quote

if TYPE_CHECKING:
    from shellward.approval.context import Detected
    from shellward.approval.engine import Packs
    from shellward.environments.environment import Environment

_SLACK: Final = 2.0
"""Seconds by which times of files may lag behind the clock."""
_BINARY: Final = 1024
_MOST_LINKS: Final = 8
_LOOK: Final = (
    'for p in {}; do r=$(readlink -f -- "$p") || r=; s=$(stat -Lc \'%Z %s %F\' -- "$p") || s=-; '
    'printf "%s\\0%s\\0%s\\0" "$p" "$r" "$s"; done 2>/dev/null; date +%s'
)


class Places:
    """Looks at files on behalf of one environment. Thread-safe.

    Args:
        environment: whose file system it is.
        since: what changed after this is new, in seconds since the epoch; None: from now on.
    """

    def __init__(self, environment: "Environment | None", since: float | None = None) -> None:
        self._environment = environment
        self._since = time.time() - _SLACK if since is None else since

    def see(self, wanted: Wanted) -> Nearby:
        """Return what is there now of what was wanted."""
        if not wanted:
            return NOTHING_NEARBY
        if self._environment is None or self._environment.kind == "local":
            return self._seen(wanted, {path: _local(path) for path in (*wanted.programs, *wanted.paths)}, self._since)
        found, skew = self._ask((*wanted.programs, *wanted.paths))
        return self._seen(wanted, found, self._since + skew)

    def real(self, paths: tuple[str, ...]) -> list[str]:
        """Return where those of the paths lead that do not stand for themselves."""
        if self._environment is None or self._environment.kind == "local":
            found = {path: _local(path) for path in paths}
        else:
            found = self._ask(paths)[0]
        return [there.real for path, there in found.items() if there.real and there.real != path]

    def _seen(self, wanted: Wanted, found: "dict[str, _Found]", since: float) -> Nearby:
        links: dict[str, str] = {}
        for path, there in found.items():
            if there.real and len(links) < _MOST_LINKS and (link := _first_link(path, there.real)) is not None:
                links[link[0]] = link[1]
        programs: dict[str, str] = {}
        unread: list[str] = []
        for path in wanted.programs:
            there = found[path]
            if not there.is_file or there.changed < since:
                continue
            text = self._text(path) if there.size <= MOST_TEXT else None
            if text is None:
                if not self._is_binary(path):
                    unread.append(path)
            elif "\0" not in text[:_BINARY]:
                programs[path] = text
        if not (programs or links or unread):
            return NOTHING_NEARBY
        names = {path.rpartition("/")[2]: path for path in reversed(wanted.searched) if path in programs}
        return Nearby(programs, links, tuple(unread), names)

    def _is_binary(self, path: str) -> bool:
        """Whether a file too large to be read begins like a program that no interpreter reads."""
        if self._environment is not None and self._environment.kind != "local":
            answer = self._environment.control(None).call(f"head -c 4 -- {_word(path)} | od -An -c")
            return answer.split()[:4] == ["177", "E", "L", "F"]
        try:
            with Path(path).expanduser().open("rb") as file:
                return b"\0" in file.read(_BINARY)
        except OSError:
            return False

    def _text(self, path: str) -> str | None:
        try:
            if self._environment is None or self._environment.kind == "local":
                data = Path(path).expanduser().read_bytes()
            else:
                data = self._environment.read_file(path)
        except OSError:
            return None
        return data.decode("utf-8", "surrogateescape") if len(data) <= MOST_TEXT else None

    def _ask(self, paths: tuple[str, ...]) -> "tuple[dict[str, _Found], float]":
        assert self._environment is not None  # noqa: S101  # see ``see``
        unique = list(dict.fromkeys(paths))
        try:
            answer = self._environment.control(None).call(_LOOK.format(" ".join(map(_word, unique))))
        except EnvironmentUnavailable:
            return dict.fromkeys(unique, _NOT_THERE), 0.0
        *fields, now = answer.split("\0")
        found = {}
        for at, path in enumerate(unique):
            _, real, about = fields[3 * at : 3 * at + 3]
            changed, _, rest = about.partition(" ")
            size, _, kind = rest.partition(" ")
            known = changed.isdecimal() and size.isdecimal()
            found[path] = _Found(real, float(changed), int(size), "file" in kind) if known else _Found(real)
        skew = float(now) - time.time() if now.strip().isdecimal() else 0.0
        return found, skew


def seen_here(text: str, cwd: str | None, packs: "Packs", *, since: float) -> "Detected | None":
    """Find what should pause an agent in a command of this machine together with new files and links that it names.

    Args:
        text: the command line.
        cwd: working directory, when known.
        packs: rules of the user's own.
        since: what changed after this is new, in seconds since the epoch.

    Returns:
        None when it names none, so that its text says all.
    """
    from shellward.approval.brought import Brought, again, look
    from shellward.approval.detecting import Unreadable

    try:
        place = os.path.realpath(cwd) if cwd else None
        seen = look(text, cwd=place, brought=Brought(), packs=packs)
        nearby = Places(None, since).see(seen.wanted)
        if not nearby:
            return None
        return again(seen, text, cwd=place, brought=Brought(nearby=nearby), packs=packs).detection
    except Exception as error:  # noqa: BLE001  # a defect in detection must stop the command
        return Unreadable(text, error)


class _Found:
    __slots__ = ("changed", "is_file", "real", "size")

    def __init__(self, real: str, changed: float = 0.0, size: int = 0, is_file: bool = False) -> None:
        self.real = real
        self.changed = changed
        self.size = size
        self.is_file = is_file


_NOT_THERE: Final = _Found("")


def _local(path: str) -> _Found:
    whole = os.path.expanduser(path)  # noqa: PTH111  # on the way of every command that names a file
    real = os.path.realpath(whole)
    shown = "" if whole != path and real == whole else real
    try:
        there = os.stat(whole)  # noqa: PTH116
    except OSError:
        return _Found(shown)
    return _Found(shown, there.st_ctime, there.st_size, stat.S_ISREG(there.st_mode))


def _first_link(path: str, real: str) -> tuple[str, str] | None:
    """Return the part of a path that leads elsewhere, and where; None when nothing in it does.

    What follows the link is the same in both, so it is cut off from the ends.
    """
    if path[0] != "/" or path == real:
        return None
    here, there = path.split("/"), real.split("/")
    while len(here) > 2 and len(there) > 1 and here[-1] == there[-1]:  # noqa: PLR2004  # a link has a name
        here.pop()
        there.pop()
    return "/".join(here), "/".join(there) or "/"


def _word(path: str) -> str:
    if path[:1] == "~" and "/" in path:
        head, _, rest = path.partition("/")
        return f"{head}/{quote(encode_text(rest, 'path')).decode('ascii', 'surrogateescape')}"
    return quote(encode_text(path, "path")).decode("ascii", "surrogateescape")
