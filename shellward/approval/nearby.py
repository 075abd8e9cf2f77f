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
from shellward.command.loading import MOST_SOUGHT, is_pattern
from shellward.command.values import OPEN, labels
from shellward.core.gate import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shellward.command.invocation import Invocation
    from shellward.command.trace import Trace

FILE_RULE: Final = "unknown.new-file"
"""Rule id of the finding that stands for a new program that cannot be read."""
MORE_RULE: Final = "unknown.new-files"
"""Rule id of the finding that stands for new files beyond what is read for one command."""
MOST_PATHS: Final = 128
"""So many paths that one command changes are looked at."""
MOST_PATTERNS: Final = 16
"""So many patterns of files that one command loads are looked for."""
MOST_TEXT: Final = 64 << 10
"""Characters of a new program that are read; a longer one is a finding."""
MOST_FILES: Final = 32
"""So many new files are read for one command; more are a finding."""
MOST_IN_ALL: Final = 256 << 10
"""Characters of all new files of one command that are read; more are a finding."""
_MAKES: Final = frozenset(("make", "gmake", "bmake"))
_SOURCES: Final = frozenset((".", "source"))
_MORE_READERS: Final = frozenset(
    (
        *("awk", "gawk", "mawk", "sed", "psql", "mysql", "sqlite3", "crontab", "at", "batch"),
        *("ed", "ex", "vi", "vim", "gdb", "lldb", "ftp", "lftp", "xargs", "parallel"),
    )
)
_TOUCHES: Final = frozenset(
    (
        *("rm", "rmdir", "unlink", "shred", "truncate", "find", "chmod", "chown", "chgrp", "setfacl", "chattr", "tee"),
        *("cp", "mv", "dd", "rsync", "install", "sed", "tar", "ln"),
    )
)
_SYSTEM: Final = re.compile(r"/(?:usr/(?:local/)?)?s?bin/?\Z")
_VALUE: Final = re.compile(r"(?:--?[\w-]+=|of=|-f)(.+)", re.DOTALL)
_PROGRAM_IN_WORDS: Final = re.compile(r"-[A-Za-z]*[cmeE]\Z")
_FIRST_WORDS: Final = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which paths decide what a command does, as the command would find them.

    Attributes:
        programs: files that would be run or read as code.
        paths: what would be changed, and may be a link or lie behind one.
        searched: those of the programs that stand where a bare name is looked for.
        patterns: of files that would be run or read as code; ``/**/`` stands for directories of any depth.
        more: there are more of them than are listed.
        lenient: those of the programs and patterns of which as much is read as may be; about more nobody is asked.
    """

    programs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    more: bool = False
    lenient: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.programs or self.paths or self.patterns)

    def joined(self, other: Wanted) -> Wanted:
        """Return what this and another one want."""
        return Wanted(
            _both(self.programs, other.programs),
            _both(self.paths, other.paths),
            _both(self.searched, other.searched),
            _both(self.patterns, other.patterns),
            self.more or other.more,
            # What either of them is strict about counts.
            frozenset(one for one in self.lenient | other.lenient if not (self.is_strict(one) or other.is_strict(one))),
        )

    def is_strict(self, path: str) -> bool:
        """Tell whether somebody is asked when this path cannot be read in full."""
        return path not in self.lenient and (path in self.programs or path in self.patterns)

    def strict(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the programs and patterns of which all has to be read."""
        programs = tuple(path for path in self.programs if path not in self.lenient)
        return programs, tuple(path for path in self.patterns if path not in self.lenient)


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


NOTHING_WANTED: Final = Wanted()


@dataclass(frozen=True, slots=True)
class Nearby:
    """What is there.

    Attributes:
        programs: new files, with their text.
        links: links, and where they lead.
        unread: new files that cannot be read, or are too long.
        names: bare names, and the new programs that they mean.
        copies: new files that are copies of the system's programs, and of which.
        beyond: says which bound of the search there is more behind; empty when everything was looked at.
    """

    programs: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    beyond: str = ""

    def __bool__(self) -> bool:
        return bool(self.programs or self.links or self.unread or self.copies or self.beyond)

    def lines(self) -> str:
        """Write it as shell lines that would make the same."""
        from shellward.command.invocation import quote

        made = [f"/bin/cp {quote(program)} {_path(path)}\n" for path, program in self.copies.items()]
        made += [f"/bin/ln -sfn {quote(target)} {_path(link)}\n" for link, target in self.links.items()]
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
        found = tuple(
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
        if self.beyond:
            rest = "What the rest of them does is not known."
            text = f"loads more new files than are read ({self.beyond})"
            found += (Finding(MORE_RULE, text, Severity.MEDIUM, (0, len(shown)), shown, (), rest),)
        return found


NOTHING_NEARBY: Final = Nearby()


def wanted(traced: Trace, own: int = 0) -> Wanted:  # noqa: C901  # one kind of path after the other
    """List the paths that decide what a followed command does.

    Args:
        traced: the command.
        own: so many characters at its beginning are lines of ``Nearby.lines``.
    """
    programs: dict[str, None] = {}
    paths: dict[str, None] = {}
    for_all = _searched(traced.state.vars.get("PATH"))
    searched: dict[str, None] = {}
    for inv in traced.invocations:
        if own and 0 < inv.span[1] <= own:
            continue
        programs.update(_full(_read_by(inv), inv.cwd))
        if inv.name in {">", ">>"}:
            paths.update(_full(inv.argv[1:2], inv.cwd))
        if not inv.argv or inv.name[:1] in "@<>":
            continue
        programs.update(_full(_programs(inv), inv.cwd))
        directories = _searched(inv.env["PATH"]) if "PATH" in inv.env else for_all
        if directories and "/" not in inv.argv[0]:
            searched.update(_full([f"{directory}/{inv.argv[0]}" for directory in directories], inv.cwd))
        if inv.name in _TOUCHES and len(paths) < MOST_PATHS:
            paths.update(_full((_plain(word) for word in inv.argv[1:_FIRST_WORDS]), inv.cwd))
    programs.update(searched)
    patterns: dict[str, None] = {}
    lenient: dict[str, None] = {}
    for path, is_lenient in traced.state.sought.items():
        if is_lenient:
            lenient.update(_full([path], ""))
        else:
            (patterns if is_pattern(path) else programs).update(_full([path], ""))
    for path in [path for path in programs if is_pattern(path)]:
        del programs[path]
        patterns[path] = None
    more = len(programs) > MOST_SOUGHT or len(traced.state.sought) > MOST_SOUGHT or len(patterns) > MOST_PATTERNS
    few = frozenset(path for path in lenient if path not in programs and path not in patterns)
    for path in lenient:  # behind the others, so that they are the first to be left out
        (patterns if is_pattern(path) else programs).setdefault(path, None)
    if not programs and not paths and not patterns:
        return NOTHING_WANTED
    most = tuple(patterns)[:MOST_PATTERNS]
    return Wanted(tuple(programs)[:MOST_SOUGHT], tuple(paths)[:MOST_PATHS], tuple(searched), most, more, few)


def _read_by(inv: Invocation) -> Iterator[str]:
    """List the files whose contents reach a program as its orders."""
    if inv.name == "@run":
        given = inv.argv
    elif inv.stdin and OPEN in inv.stdin and (inv.name in _MORE_READERS or handlers.language(inv.name)):
        given = labels(inv.stdin)
    else:
        return
    yield from (label[5:] for label in given if label.startswith("file:") and not label.endswith("*"))


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


def _searched(path: object) -> tuple[str, ...]:
    """List the directories of PATH in which programs are looked for before those of the system."""
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
        if full.startswith("/dev/") and not full.startswith("/dev/shm/"):  # the one place there for files
            continue
        yield (full if full[0] == "~" else posixpath.normpath(full)), None


def _path(path: str) -> str:
    from shellward.command.invocation import quote

    head, slash, rest = path.partition("/")
    return f"{head}/{quote(rest)}" if head[:1] == "~" and slash else quote(path)
