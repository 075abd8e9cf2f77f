"""What lies in the file system beside a command and decides what it does: files that it runs, links that it follows.

A script that was written a moment ago is as much the command's program as its own words, and a link may lead anywhere.
Pure: which paths matter is read from the followed command; what is there is looked up by whoever may (the door), and
comes back as shell lines that would make the same, to be read before the command.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shellward.command import handlers
from shellward.command.values import OPEN
from shellward.core.gate import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shellward.command.invocation import Invocation
    from shellward.command.trace import Trace

FILE_RULE: Final = "unknown.new-file"
"""Rule id of the finding that stands for a new program that cannot be read."""
MOST_PATHS: Final = 32
"""So many paths of one command are looked at."""
MOST_TEXT: Final = 64 << 10
"""Characters of a new program that are read; a longer one is a finding."""
_MAKES: Final = frozenset(("make", "gmake", "bmake"))
_SOURCES: Final = frozenset((".", "source"))
_MORE_READERS: Final = frozenset(("awk", "gawk", "mawk", "sed", "psql", "mysql", "sqlite3", "crontab", "at", "batch"))
_TOUCHES: Final = frozenset(
    (
        *("rm", "rmdir", "unlink", "shred", "truncate", "find", "chmod", "chown", "chgrp", "setfacl", "chattr", "tee"),
        *("cp", "mv", "dd", "rsync", "install", "sed", "tar", "ln"),
    )
)
_SYSTEM: Final = re.compile(r"/(?:usr/(?:local/)?)?s?bin/?\Z")
_VALUE: Final = re.compile(r"(?:--?[\w-]+=|of=|-f)(.+)", re.DOTALL)
_PROGRAM_IN_WORDS: Final = re.compile(r"-[A-Za-z]*[cmeE]\Z")
_FIRST_WORDS: Final = 12


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which paths decide what a command does, as the command would find them.

    Attributes:
        programs: files that would be run or read as code.
        paths: what would be changed, and may be a link or lie behind one.
        searched: those of the programs that stand where a bare name is looked for.
    """

    programs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.programs or self.paths)


NOTHING_WANTED: Final = Wanted()


@dataclass(frozen=True, slots=True)
class Nearby:
    """What is there.

    Attributes:
        programs: new files, with their text.
        links: links, and where they lead.
        unread: new files that cannot be read, or are too long.
        names: bare names, and the new programs that they mean.
    """

    programs: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.programs or self.links or self.unread)

    def lines(self) -> str:
        """Write it as shell lines that would make the same."""
        from shellward.command.invocation import quote

        made = [f"/bin/ln -sfn {quote(target)} {_path(link)}\n" for link, target in self.links.items()]
        for path, text in self.programs.items():
            end = "END"
            while end in text:
                end += "_"
            made.append(f"/bin/cat >{_path(path)} <<'{end}'\n{text}{'' if text.endswith(chr(10)) else chr(10)}{end}\n")
        made += [f"hash -p {_path(path)} {quote(name)}\n" for name, path in self.names.items()]
        return "".join(made)

    def findings(self, shown: str) -> tuple[Finding, ...]:
        """Return what is to be said of the files that cannot be read."""
        why = "What it does is not known."
        return tuple(
            Finding(
                FILE_RULE,
                "runs a new file that cannot be read in full",
                Severity.MEDIUM,
                (0, len(shown)),
                path,
                (path,),
                why,
            )
            for path in self.unread
        )


NOTHING_NEARBY: Final = Nearby()


def wanted(traced: Trace) -> Wanted:
    """List the paths that decide what a followed command does."""
    programs: dict[str, None] = {}
    paths: dict[str, None] = {}
    directories = _searched(traced)
    searched: dict[str, None] = {}
    for inv in traced.invocations:
        name = inv.name
        if name in {">", ">>"}:
            paths.update(_full(inv.argv[1:2], inv.cwd))
            continue
        if not inv.argv or name[:1] in "@<" or len(programs) + len(paths) > MOST_PATHS:
            continue
        programs.update(_full(_programs(inv), inv.cwd))
        if directories and "/" not in inv.argv[0]:
            searched.update(_full([f"{directory}/{inv.argv[0]}" for directory in directories], inv.cwd))
        if name in _TOUCHES:
            paths.update(_full((_plain(word) for word in inv.argv[1:_FIRST_WORDS]), inv.cwd))
    programs.update(searched)
    if not programs and not paths:
        return NOTHING_WANTED
    return Wanted(tuple(programs)[:MOST_PATHS], tuple(paths)[:MOST_PATHS], tuple(searched))


def _programs(inv: Invocation) -> Iterator[str]:
    first, name = inv.argv[0], inv.name
    if "/" in first and not _SYSTEM.match(first[: first.rfind("/") + 1]):
        yield first
    if name in _MAKES:
        for place in ("", *_values(inv.argv, "-C")):
            yield from (posixpath.join(place, file) for file in ("GNUmakefile", "makefile", "Makefile"))
        yield from _values(inv.argv, "-f")
    elif name in _SOURCES or name in _MORE_READERS:
        yield from map(_plain, inv.argv[1:_FIRST_WORDS])
    elif handlers.language(name):
        for word in inv.argv[1:_FIRST_WORDS]:
            if _PROGRAM_IN_WORDS.match(word) and not (name in {"bash", "sh"} and word[-1] in "emE"):
                return
            if not word.startswith("-"):
                yield word


def _values(argv: list[str], option: str) -> Iterator[str]:
    for at, word in enumerate(argv[1:], 1):
        if word == option:
            yield from argv[at + 1 : at + 2]
        elif word.startswith(option):
            yield word[len(option) :]


def _plain(word: str) -> str:
    """Return the path in a word: of ``of=x``, ``-fx`` and ``--file=x`` the x."""
    value = _VALUE.match(word)
    return value[1] if value else "" if word.startswith("-") else word


def _searched(traced: Trace) -> tuple[str, ...]:
    """List the directories in which programs are looked for before those of the system."""
    path = traced.state.vars.get("PATH")
    if not isinstance(path, str):
        return ()
    own = []
    for directory in path.split(":"):
        if OPEN in directory or _SYSTEM.match(directory + "/"):
            break
        own.append(directory or ".")
    return tuple(own[:4])


def _full(words: Iterator[str] | list[str], cwd: str) -> Iterator[tuple[str, None]]:
    for word in words:
        if not word or OPEN in word or "\n" in word or "\0" in word or "://" in word:
            continue
        if word[0] in "/~":
            full = word
        elif cwd[:1] == "/":
            full = f"{cwd.rstrip('/')}/{word}"
        else:
            continue
        if full.startswith("/dev/"):
            continue
        yield (full if full[0] == "~" else posixpath.normpath(full)), None


def _path(path: str) -> str:
    from shellward.command.invocation import quote

    head, slash, rest = path.partition("/")
    return f"{head}/{quote(rest)}" if head[:1] == "~" and slash else quote(path)
