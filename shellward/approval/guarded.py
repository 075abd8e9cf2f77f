"""The places of this machine that decide what the gate does, and whether a write reaches them.

Places and paths are compared as they really are: made absolute, symbolic links resolved. Patterns of paths (patterns/)
hold everywhere, also on other machines; what is here holds wherever home and settings happen to be.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import posixpath
import pwd
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from shellward.approval.inner import shorten, write
from shellward.command.values import MARKER, OPEN, known_part, show
from shellward.config import paths
from shellward.core.gate import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shellward.approval.writes import Write
    from shellward.command.invocation import Invocation

FILES: Final = "gate.files"
OVER: Final = "gate.over"
"""Rule id: something is copied or unpacked into a directory above a guarded place."""
PROGRAM: Final = "gate.program"
"""Rule id: Shellward's own program is changed."""
HOME: Final = "files.over-home"
"""Rule id: something is copied or unpacked into a home directory."""
SHARED: Final = frozenset({"local", "singularity"})
"""Kinds of environments that see the files of this machine as they are."""
_MAGIC: Final = frozenset("*?[")
_PACKAGES: Final = frozenset({"site-packages", "dist-packages"})
_AS_IF: Final = frozenset({"system.startup", "secrets.write"})
"""Rules of what stands in a home that are asked about a home elsewhere as well."""


def real_path(path: str) -> str:
    """Return a path without links; as it is written where a link may not be read, as some of /proc may not."""
    try:
        return os.path.realpath(path)
    except OSError:
        return posixpath.normpath(path)


class Said(NamedTuple):
    """What a finding says, as rules do."""

    id: str
    description: str
    severity: Severity
    why: str
    never_allow: bool = False


_UNGUARDED: Final = "What the gate guards would no longer be guarded."
_DESCRIBED: Final = {
    said.id: said
    for said in (
        Said(FILES, "touches the gate's settings, questions or records", Severity.CRITICAL, _UNGUARDED, True),
        Said(
            OVER,
            "puts files into a directory that holds the gate's settings or records",
            Severity.HIGH,
            "What is in them is not known, and may take the place of the gate's settings.",
        ),
        Said(PROGRAM, "changes the gate's own program", Severity.HIGH, _UNGUARDED),
        Said(
            HOME,
            "puts files into a home directory",
            Severity.MEDIUM,
            "What is in them is not known, and may run at the next login.",
        ),
    )
}


class Guarded:
    """The guarded places of this machine, and the question whether a write reaches one.

    Args:
        files: settings files, audit log and packs, in addition to the usual directories.
        home: home directory of the environment, when it is another than this program's.
    """

    def __init__(self, files: Iterable[Path] = (), home: str | None = None) -> None:
        self._files = tuple(files)
        self._home = home

    @cached_property
    def homes(self) -> tuple[str, ...]:
        """Home directories, as named and as they really are; the one that ``~`` means comes first."""
        found = [self._home, os.environ.get("HOME")]
        with contextlib.suppress(KeyError):  # a user without an entry, as in many containers
            found.append(pwd.getpwuid(os.geteuid()).pw_dir)
        named = [posixpath.normpath(home) for home in found if home and home[0] == "/"]
        return tuple(dict.fromkeys([*named, *map(real_path, named)]))

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Files and directories of the gate itself, as named and as they really are."""
        named = [paths.config_dir(), paths.config_file(), paths.state_dir(), paths.audit_file(), *self._files]
        found = [os.path.abspath(place) for place in named]  # noqa: PTH100  # links are kept on purpose
        return tuple(dict.fromkeys([*found, *map(real_path, found)]))

    @cached_property
    def program(self) -> str:
        """The directory of this package."""
        return real_path(str(Path(__file__).parent.parent))

    def findings(self, written: Sequence[Write], cwd: str | None, kind: str) -> tuple[Finding, ...]:
        """Say what is to be asked about the writes of a line.

        Args:
            written: what ``writes`` listed.
            cwd: the directory that the line begins in, when known.
            kind: kind of the environment.
        """
        made: dict[tuple[str, tuple[int, int]], Finding] = {}
        for one in written:
            found = self._of(one, cwd) if kind in SHARED else self._elsewhere(one)
            for finding in found:
                made.setdefault((finding.rule, finding.span), finding)
        return tuple(made.values())

    # -- one write ----------------------------------------------------------------------------------------

    def _elsewhere(self, one: Write) -> Iterator[Finding]:
        """On another machine only the home is known, by its name."""
        if one.deep and not _named_in(one) and _absolute(one, None) in {"~", "~/", "~/."}:
            yield _finding(HOME, one, "~")

    def _of(self, one: Write, cwd: str | None) -> Iterator[Finding]:
        sure = OPEN not in one.path
        for path in self._real(one, cwd):
            if any(_within(path, place) for place in self.places):
                yield _finding(FILES if sure else OVER, one, path)
            elif _within(path, self.program) or (one.deep and self._holds_program(path)):
                yield _finding(PROGRAM, one, path)
            elif one.deep and any(_within(place, path) for place in self.places):
                yield _finding(OVER, one, path)
            elif one.puts and (home := next((home for home in self.homes if _below(path, home)), None)):
                yield from _as_if_home(one, path, path[len(home.rstrip("/")) + 1 :])
            elif one.puts and one.deep and any(_within(home, path) for home in self.homes):
                yield _finding(HOME, one, path)

    def _holds_program(self, path: str) -> bool:
        above = posixpath.dirname(self.program)
        return path == above and posixpath.basename(above) in _PACKAGES

    def _real(self, one: Write, cwd: str | None) -> Iterator[str]:
        """Yield the real paths that may be meant."""
        full = _absolute(one, cwd)
        if not full:
            return
        seen: dict[str, None] = {}
        for named in self._spelled(full):
            place = MARKER.sub("*", named)  # a piece that is not known may be any name
            for path in self._globbed(place):
                seen.update(self._meant(one, path))
        yield from seen

    def _meant(self, one: Write, path: str) -> dict[str, None]:
        found: dict[str, None] = {}
        real = real_path(path)
        name = known_part(one.into)
        if one.into and name == one.into and os.path.isdir(real):  # noqa: PTH112  # on the way of many commands
            found[real_path(f"{real}/{name}")] = None
            found[f"{real}/{name}"] = None
            if any(_within(home, real) for home in self.homes):
                return found  # a home, and what is above one, is there for good; other directories may be taken away
        found[real] = None
        if one.itself:
            found[posixpath.join(real_path(posixpath.dirname(path)), posixpath.basename(path))] = None
        return found

    def _spelled(self, full: str) -> Iterator[str]:
        """Yield what a path with ``~`` may mean; the tracer writes the XDG directories with it, too."""
        if full[0] != "~":
            yield full
            return
        user, _, rest = full.partition("/")
        if len(user) > 1:
            with contextlib.suppress(KeyError):
                yield posixpath.join(pwd.getpwnam(user[1:]).pw_dir, rest)
            return
        for home in self.homes:
            yield posixpath.join(home, rest)
        for name, usual in (("XDG_CONFIG_HOME", ".config"), ("XDG_STATE_HOME", ".local/state")):
            there = os.environ.get(name)
            if there and f"{rest}/".startswith(f"{usual}/"):
                yield posixpath.join(there, rest[len(usual) + 1 :])

    def _globbed(self, path: str) -> Iterator[str]:
        """Yield what a pattern may mean: the guarded places and what is above them, by their names."""
        if _MAGIC.isdisjoint(path):
            yield path
            return
        parts = posixpath.normpath(path).split("/")
        if parts[-1] in {"*", "**"}:  # everything in a directory
            yield from self._globbed("/".join(parts[:-1]) or "/")
        for place in (*self.places, *self.homes):
            there = place.split("/")
            if len(parts) <= len(there) and all(map(fnmatch.fnmatchcase, there, parts)):
                yield "/".join(there[: len(parts)])
            elif len(parts) > len(there) and all(map(fnmatch.fnmatchcase, there, parts[: len(there)])):
                yield "/".join([*there, *parts[len(there) :]])


def _named_in(one: Write) -> bool:
    """Tell whether only one name in the directory is written."""
    return bool(one.into) and OPEN not in one.into


def _within(path: str, place: str) -> bool:
    """Tell whether a path is a place, or lies in it."""
    return path == place or path.startswith(f"{place.rstrip('/')}/")


def _below(path: str, place: str) -> bool:
    return path != place and _within(path, place)


def _absolute(one: Write, cwd: str | None) -> str:
    """Return a write's path from its working directory; empty when that is not known."""
    path = one.path
    if path[:1] in {"/", "~"}:
        return path
    if path[:1] == OPEN:
        return ""
    place = one.inv.cwd
    if place[:1] not in {"/", "~"}:
        if cwd is None or place[:1] == OPEN:
            return ""
        place = cwd if place in {".", ""} else f"{cwd}/{place}"
    return place if path in {".", "./"} else f"{place.rstrip('/')}/{path}"


def _finding(rule: str, one: Write, path: str) -> Finding:
    return _made(_DESCRIBED[rule], one.inv, path)


def _made(said: Said, inv: Invocation, path: str) -> Finding:
    argv = tuple(inv.argv)
    return Finding(
        said.id,
        said.description,
        said.severity,
        inv.span,
        shorten(write(argv)),
        (show(path),),
        said.why,
        said.never_allow,
        inv.via,
        inv.cwd,
        argv,
    )


def _as_if_home(one: Write, path: str, name: str) -> Iterator[Finding]:
    """Ask the rules of what stands in a home about a file of one that lies elsewhere."""
    if name[:1] not in {".", "L"}:  # Library
        return
    from shellward.approval.engine import apply, rules_for
    from shellward.approval.rule import Call
    from shellward.command.invocation import Invocation

    inv = one.inv
    names = (f"~/{name}", f"~/{name}/x") if one.deep else (f"~/{name}",)
    for spelled in names:
        call = Call(Invocation(">", [">", spelled], inv.span, via=(*inv.via, inv.name), cwd="~"))
        for rule in rules_for(">"):
            if rule.id in _AS_IF and apply(rule, call):
                said = Said(rule.id, rule.description, rule.severity, rule.why, rule.never_allow)
                yield _made(said, inv, path)
                return
