"""Looking up what a command's look wanted to know of the file system of its environment.

New is what has changed since the environment was opened here: what these very commands may have written. What was
there before is the user's, and is not read.
"""

import os
import re
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from shellward.approval.nearby import MOST_FILES, MOST_IN_ALL, MOST_TEXT, NOTHING_NEARBY, Nearby, Wanted
from shellward.command.loading import DEEP, is_pattern, matches
from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.encoding import encode_text, quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellward.approval.context import Detected
    from shellward.approval.engine import Packs
    from shellward.environments.environment import Environment

_SLACK: Final = 2.0
"""Seconds by which times of files may lag behind the clock."""
_MOST_LINKS: Final = 8
_MOST_ENTRIES: Final = 20_000
"""So many entries of directories are looked at for one pattern."""
_DEPTH: Final = 8
"""Directories below the first one that are looked into for one pattern."""
_SCRIPT: Final = "look.sh"
_FIELDS: Final = 7
_MACHINE_CODE: Final = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_COMPILED: Final = (".pyc", ".pyo", ".so", ".luac", ".jar")
_HEAD: Final = 1024
"""Bytes at the beginning of an ELF file that tell how it was linked, its build id included."""
_NEAR: Final = 4096
"""Bytes that may have been added to a copy of a program."""
_PROGRAMS: Final = ("/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin")


class _File(NamedTuple):
    """What is known of one path.

    Attributes:
        real: its path without links; empty: it is not there, or need not be told.
        is_file: it is a regular file.
        is_new: it has changed since the environment was opened.
        size: in bytes.
        data: what it holds, when that was asked for; None: not read.
        copy: the system's program that it is a copy of.
        waits: it is a FIFO.
    """

    real: str = ""
    is_file: bool = False
    is_new: bool = False
    size: int = 0
    data: bytes | None = None
    copy: str = ""
    waits: bool = False


_NOT_THERE: Final = _File()
_NO_TESTS: Final = frozenset(("node_modules", "venv", "site-packages", "__pycache__"))
_NO_FILES: Final = re.compile("/(?:proc|sys|dev(?!/shm(?:/|$)))(?:/|$)")
"""Where the kernel shows itself, and nobody puts a script."""


class Places:
    """Looks at files on behalf of one environment. Thread-safe.

    Args:
        environment: whose file system it is.
        since: what changed after this is new, in seconds since the epoch; None: from now on.
    """

    def __init__(self, environment: "Environment | None", since: float | None = None) -> None:
        self._environment = environment
        self._since = time.time() - _SLACK if since is None else since
        self._copies: dict[tuple[int, int, float], str] = {}

    def see(self, wanted: Wanted) -> Nearby:
        """Return what is there now of what was wanted."""
        if not wanted:
            return NOTHING_NEARBY
        ask = self._local if self._environment is None or self._environment.kind == "local" else self._ask
        found, matched, beyond = ask(wanted)
        return _seen(wanted, found, matched, beyond or ("too many names" if wanted.more else ""))

    def real(self, paths: tuple[str, ...]) -> list[str]:
        """Return where those of the paths lead that do not stand for themselves."""
        ask = self._local if self._environment is None or self._environment.kind == "local" else self._ask
        found, _, _ = ask(Wanted(paths=paths))
        return [there.real for path, there in found.items() if there.real and there.real != path]

    # -- this machine --------------------------------------------------------------------------------------

    def _local(self, wanted: Wanted) -> tuple[dict[str, _File], list[str], str]:
        found = {path: self._local_file(path, read=True) for path in wanted.programs}
        found.update((path, self._local_file(path)) for path in wanted.paths if path not in found)
        matched: list[str] = []
        beyond = ""
        for pattern in wanted.patterns:
            lenient = pattern in wanted.lenient
            if (listed := _listed(pattern, lenient=lenient)) is None:
                beyond = "a search that does not end"
                continue
            for path in listed:
                if lenient and len(matched) >= MOST_FILES:
                    break
                if path not in found:
                    there = self._local_file(path, read=True)
                    if not there.is_new:
                        continue
                    found[path] = there
                matched.append(path)
                if len(matched) > MOST_FILES:
                    return found, matched, beyond
        return found, matched, beyond

    def _local_file(self, path: str, *, read: bool = False) -> _File:
        whole = os.path.expanduser(path)  # noqa: PTH111  # on the way of every command that names a file
        try:
            there = os.stat(whole)  # noqa: PTH116
        except OSError:
            return _NOT_THERE if read else _File(_real(path, whole))
        is_file = stat.S_ISREG(there.st_mode)
        is_new = there.st_ctime >= self._since
        data, copy = None, ""
        if read and is_file and is_new:
            data, copy = self._held(whole, there)
        waits = stat.S_ISFIFO(there.st_mode)
        return _File(_real(path, whole), is_file, is_new, there.st_size, data, copy, waits)

    def _held(self, whole: str, there: os.stat_result) -> tuple[bytes | None, str]:
        try:
            with open(whole, "rb") as file:  # noqa: PTH123
                head = file.read(_HEAD)
                if head.startswith(_MACHINE_CODE):
                    return head, self._copy_of(head, there)
                return (head + file.read(MOST_TEXT) if there.st_size <= MOST_TEXT else None), ""
        except OSError:
            return None, ""

    def _copy_of(self, head: bytes, there: os.stat_result) -> str:
        """Find the system's program that a file is a copy of."""
        key = (there.st_dev, there.st_ino, there.st_ctime)
        known = self._copies.get(key)
        if known is None:
            known = self._copies[key] = next(_copies(head, there.st_size), "")
        return known

    # -- another place -------------------------------------------------------------------------------------

    def _ask(self, wanted: Wanted) -> tuple[dict[str, _File], list[str], str]:
        assert self._environment is not None  # noqa: S101  # see ``see``
        words = [str(int(time.time() - self._since) + 1)]
        for path in wanted.programs:
            words += ["P", _word(path)]
        others = [path for path in wanted.paths if path not in set(wanted.programs)]
        for path in others:
            words += ["L", _word(path)]
        beyond = ""
        for pattern in wanted.patterns:
            if (search := _search(pattern)) is None:
                beyond = "a search that does not end"
            else:
                base, depth, name = search
                words += ["G", _word(base), str(depth), _word(name)]
        found = dict.fromkeys([*wanted.programs, *wanted.paths], _NOT_THERE)
        try:
            answer = self._environment.control(None).ask(_SCRIPT, f"sw_files {' '.join(words)} 2>/dev/null")
        except EnvironmentUnavailable:
            return found, [], beyond
        told, matched, endless = _answered(answer, [*wanted.programs, *others], wanted.patterns)
        endless = endless and bool(wanted.strict()[1])
        return {**found, **told}, matched, beyond or ("a search that does not end" if endless else "")


def _answered(answer: str, asked: list[str], patterns: tuple[str, ...]) -> tuple[dict[str, _File], list[str], bool]:
    """Read what look.sh printed: the files, those of them that patterns mean, and whether there are more."""
    fields = answer.split("\0")
    records = [fields[at : at + _FIELDS] for at in range(0, len(fields) - _FIELDS, _FIELDS)]
    found: dict[str, _File] = {}
    matched: list[str] = []
    for given, (_, path, real, *rest) in zip(asked, records, strict=False):
        found[given] = _told("" if given != path and real == path else real, *rest)
    for kind, path, real, *rest in records[len(asked) :]:
        if kind == "P" and any(matches(path, pattern) for pattern in patterns):
            found[path] = _told(real, *rest)
            matched.append(path)
    return found, matched, any(record[0] == "M" for record in records)


def _told(real: str, about: str, new: str, text: str, copy: str) -> _File:
    _, _, rest = about.partition(" ")
    size, _, kind = rest.partition(" ")
    if not size.isdecimal():
        return _File(real)
    data = bytes.fromhex(text[:-1]) if text.endswith(".") else b"\x7fELF" if copy else None
    return _File(real, "file" in kind, new == "1", int(size), data, copy, "fifo" in kind)


def _seen(wanted: Wanted, found: dict[str, _File], matched: list[str], beyond: str) -> Nearby:
    links: dict[str, str] = {}
    for path, there in found.items():
        if there.real and len(links) < _MOST_LINKS and (link := _first_link(path, there.real)) is not None:
            links[link[0]] = link[1]
    programs: dict[str, str] = {}
    unread: list[str] = []
    left = MOST_IN_ALL
    strict = {path for path in (*wanted.programs, *matched) if not _is_lenient(wanted, path)}
    # The sort is stable: what has to be read comes first.
    every = sorted((*wanted.programs, *matched), key=lambda path: path not in strict)
    new = {path: found[path] for path in every if found[path].is_new}
    copies = {path: there.copy for path, there in new.items() if there.copy}
    for path, there in new.items():
        texts = _texts(path, there)
        if texts is None:
            unread += [path] if path in strict else []
            continue
        size = sum(map(len, texts.values()))
        if len(programs) + len(texts) > MOST_FILES or size > left:
            if path in strict:
                beyond = beyond or (f"{MOST_FILES} files" if size <= left else f"{MOST_IN_ALL >> 10} KiB")
            continue
        left -= size
        programs.update(texts)
    if not (programs or links or unread or copies or beyond):
        return NOTHING_NEARBY
    names = {path.rpartition("/")[2]: path for path in reversed(wanted.searched) if path in programs or path in copies}
    return Nearby(programs, links, tuple(unread), names, copies, beyond)


def _is_lenient(wanted: Wanted, path: str) -> bool:
    """Tell whether nobody is asked about a file that is not read."""
    if not wanted.lenient or wanted.is_strict(path):
        return False
    return path in wanted.lenient or not any(matches(path, pattern) for pattern in wanted.strict()[1])


def _texts(path: str, there: _File) -> dict[str, str] | None:
    """Return the texts in a file, by the path of each: one, or those of an archive; None when it cannot be read."""
    data = there.data
    if not there.is_file:
        return None if there.waits else {}
    if data is None:
        return None
    if data.startswith(_MACHINE_CODE):
        return {}
    if data.startswith(b"PK") or b"PK\x05\x06" in data[-1024:]:
        return _archived(path, data)
    if b"\0" in data.partition(b"\n")[0]:
        return None if path.endswith(_COMPILED) else {}
    # A shell passes over zero bytes behind the first line.
    return {path: data.replace(b"\0", b"").decode("utf-8", "surrogateescape")}


def _archived(path: str, data: bytes) -> dict[str, str] | None:
    """Return the programs in a zip file that Python runs."""
    import io
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith((".py", ".pyc"))]
            if any(one.file_size > MOST_TEXT or one.filename.endswith(".pyc") for one in members):
                return None
            return {
                f"{path}/{one.filename}": archive.read(one).decode("utf-8", "surrogateescape")
                for one in members[: MOST_FILES + 1]
            }
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, OSError):
        return None


def _search(pattern: str) -> tuple[str, int, str] | None:
    """Split a pattern into where to begin, how deep to look, and the name; None for what is not walked."""
    base, deep, name = pattern.partition(DEEP)
    if deep and not is_pattern(base):
        begins = base or "/"
        if begins == "/" or _NO_FILES.match(begins):
            return None
        return begins, _DEPTH, name
    parts = pattern.split("/")
    first = next((at for at, part in enumerate(parts) if is_pattern(part)), len(parts) - 1)
    begins = "/".join(parts[:first]) or "/"
    if _NO_FILES.match(begins):
        return None
    return begins, len(parts) - first if not deep else _DEPTH, parts[-1]


def _listed(pattern: str, *, lenient: bool = False) -> list[str] | None:
    """List the files here that a pattern means; None when there are too many places to look into.

    A lenient search ends there with what it found, and passes over directories in which no project keeps tests.
    """
    search = _search(pattern)
    if search is None:
        return [] if lenient else None
    base, depth, _ = search
    found: list[str] = []
    entries = 0
    todo = [(base, 1)]
    while todo:
        folder, level = todo.pop()
        try:
            listing = sorted(os.scandir(os.path.expanduser(folder)), key=lambda one: one.name)  # noqa: PTH111
        except OSError:
            continue
        entries += len(listing)
        if entries > _MOST_ENTRIES:
            return found if lenient else None
        for entry in listing:
            path = f"{folder.rstrip('/')}/{entry.name}"
            if lenient and (entry.name in _NO_TESTS or entry.name[:1] == "."):
                continue
            if level < depth and entry.is_dir(follow_symlinks=False):
                todo.append((path, level + 1))
            elif matches(path, pattern):
                found.append(path)
    return found


def _copies(head: bytes, size: int) -> "Iterator[str]":
    for folder in _PROGRAMS:
        try:
            listing = list(os.scandir(folder)) if not os.path.islink(folder) else []  # noqa: PTH114
        except OSError:
            continue
        for entry in listing:
            try:
                if not entry.is_file(follow_symlinks=False) or abs(entry.stat().st_size - size) > _NEAR:
                    continue
                with Path(entry.path).open("rb") as file:
                    same = file.read(_HEAD) == head
            except OSError:
                continue
            if same:
                yield entry.path


def seen_here(found: "Detected", cwd: str | None, packs: "Packs", *, since: float) -> "Detected":
    """Find what should pause an agent in a command of this machine together with new files and links that it names.

    Args:
        found: what was found in its text.
        cwd: working directory, when known.
        packs: rules of the user's own.
        since: what changed after this is new, in seconds since the epoch.

    Returns:
        The same object when it names none, so that its text says all.
    """
    from shellward.approval.brought import Brought, again, look, look_of
    from shellward.approval.detecting import Unreadable
    from shellward.approval.reading import read_on

    text = found.command
    try:
        place = os.path.realpath(cwd) if cwd else None
        seen = look_of(found) if place == cwd else None
        last, nearby = read_on(
            seen or look(text, cwd=place, brought=Brought(), packs=packs),
            Places(None, since).see,
            lambda nearby, before: again(before, text, cwd=place, brought=Brought(nearby=nearby), packs=packs),
        )
    except Exception as error:  # noqa: BLE001  # a defect in detection must stop the command
        return Unreadable(text, error)
    return last.detection if nearby else found


def _real(path: str, whole: str) -> str:
    real = os.path.realpath(whole)
    return "" if whole != path and real == whole else real


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
