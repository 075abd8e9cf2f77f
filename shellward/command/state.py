"""What the shell knows while a command line runs: variables, functions, aliases, directory, files written."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from shellward.command.known import NOTHING, Remembered
from shellward.command.values import OPEN, decimal, unknown
from shellward.command.work import Work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shellward.command.known import Known
    from shellward.command.syntax import Compound

_PRESET = {
    "HOME": "~",
    "TMPDIR": "/tmp",  # what it stands for; nothing is opened
    "TMP": "/tmp",
    "TEMP": "/tmp",
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_DATA_HOME": "~/.local/share",
    "XDG_CACHE_HOME": "~/.cache",
    "SHELL": "/bin/bash",
    "BASH": "/bin/bash",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "IFS": " \t\n",
    "OSTYPE": "linux-gnu",
    "HOSTTYPE": "x86_64",
    "0": "bash",
    "@": "",
    "*": "",
    "-": "himBHs",
    "?": "0",
}
MAX_PATH = 4096
"""Longest path of a working directory that is followed, in characters (PATH_MAX of Linux)."""
_ABSENT = object()
_MOST_LINKS = 32
_MOST_STEPS = 8
"""So many links, one behind the other, are followed."""
_BEFORE_PATH = re.compile(r"(?:-{0,2}\w[\w-]*=)?@?")


class State:
    """Everything that may change while the line runs. Changes inside a subshell are undone from a journal.

    Args:
        cwd: working directory, when known.
        aliases: aliases known beforehand.
        known: what else holds from commands before.
        work: what following may cost.
    """

    def __init__(
        self,
        cwd: str | None = None,
        aliases: Mapping[str, str] | None = None,
        known: Known = NOTHING,
        work: Work | None = None,
    ) -> None:
        self.work = work or Work()
        self.used: set[tuple[str, str]] = set()
        self.vars: dict[str, str | list[str] | dict[str, str]] = {}
        self.functions: dict[str, Compound] = {}
        self.aliases: dict[str, str] = dict(aliases or {})
        self.earlier: Mapping[str, str] = known.functions
        if known is not NOTHING:
            self.vars = Remembered("variable", known.variables, self.used)
            self.aliases = Remembered("alias", {**known.aliases, **self.aliases}, self.used)
        self.files: dict[str, str] = {}
        self.sought: dict[str, bool] = {}
        """Files, and patterns of files, that decide what runs, and whether nobody is asked about more than is read."""
        self.lenient = False
        """Whether what is looked for now is read as far as the bounds go, and no further; see testrunners.py."""
        self.loaded: set[str] = set()
        """Modules that a program has loaded."""
        self.program = ""
        """The file that the interpreter at hand was given; empty when its program stands in the line."""
        self.module = ""
        """The file that is being read by it."""
        self.trees: list[str] = []
        """Directories whose files came from the network."""
        self.made: dict[str, tuple[str, ...]] = {}
        """Files that are copies or archives, and of what; see ``make``."""
        self.links: dict[str, str] = {}
        """Symbolic links that the line makes, to directories perhaps, and where they lead."""
        self.noted: set[str] = set()
        """Last names of the files that held something unknown, or are made of others; most operands are none."""
        self.version = 0
        """Grows with what is copied and linked: after that, the same words may be another deed."""
        self.searched = False
        """Whether the line has changed where programs are searched for."""
        self.refs: dict[str, str] = {}
        self.fds: dict[str, str] = {}
        self.start = cwd
        self.cwd = cwd or "."
        self.positional: list[str] = list(known.positional)
        self._first = self.positional
        self.calls: list[str] = []
        self._journal: list[tuple[dict[str, Any], str, Any]] = []

    def put(self, table: dict[str, Any], key: str, value: Any) -> None:
        """Set ``table[key]`` so that it can be undone."""
        if table is self.files and OPEN in value:
            self.noted.add(key.rpartition("/")[2])
        self._journal.append((table, key, dict.get(table, key, _ABSENT)))
        table[key] = value

    def make(self, path: str, sources: tuple[str, ...]) -> None:
        """Note what a copy or an archive is made of."""
        if self.made.get(path) != sources:
            self.made[path] = sources
            self.noted.add(path.rpartition("/")[2])
            self.version += 1

    def link(self, path: str, place: str) -> None:
        """Note a link and where it leads."""
        if self.links.get(path) != place and len(self.links) < _MOST_LINKS:
            self.links[path] = place
            self.version += 1

    def drop(self, table: dict[str, Any], key: str) -> None:
        """Remove ``table[key]`` so that it can be undone."""
        if key in table:
            self._journal.append((table, key, table.pop(key)))

    def mark(self) -> tuple[int, str, list[str]]:
        """Remember this moment, for ``undo``."""
        return len(self._journal), self.cwd, self.positional

    def undo(self, mark: tuple[int, str, list[str]]) -> None:
        """Forget what changed since ``mark`` (files stay: they are outside the shell)."""
        length, self.cwd, self.positional = mark
        while len(self._journal) > length:
            table, key, old = self._journal.pop()
            if table is self.files:
                continue
            if old is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = old

    def before(self, names: list[str]) -> dict[str, Any]:
        """Remember what variables hold now, for ``back``."""
        return {name: dict.get(self.vars, name) for name in names}

    def back(self, held: dict[str, Any]) -> None:
        """Give variables what they held."""
        for name, value in held.items():
            if value is None:
                self.drop(self.vars, name)
            else:
                self.put(self.vars, name, value)

    # -- variables --------------------------------------------------------------------------------------

    def get(self, name: str) -> str | list[str] | dict[str, str] | None:
        """Return a variable's value, or None when nothing is known of it."""
        name = self.refs.get(name, name)
        value = self.vars.get(name)
        if value is not None:
            return value
        if name in "@*#" or name.isdecimal():
            self.look_at_positional()
        if name.isdecimal() and name != "0":
            index = decimal(name) - 1
            return self.positional[index] if 0 <= index < len(self.positional) else None
        if name in "@*" and self.positional:
            return self.positional
        if name == "#":
            return str(len(self.positional))
        if name == "PWD":
            return self.cwd
        return _PRESET.get(name)

    def look_at_positional(self) -> list[str]:
        """Return ``$1`` and so on, and note it when they are from before."""
        if self._first and self.positional is self._first:
            self.used.add(("positional", ""))
        return self.positional

    def text(self, name: str) -> str:
        """Return a variable's value as text, with a marker when it is not known."""
        value = self.get(name)
        if value is None:
            return unknown("var", name)
        if isinstance(value, dict):
            value = list(value.values())
        return " ".join(value) if isinstance(value, list) else value

    def assign(self, name: str, value: str | list[str] | dict[str, str]) -> None:
        """Set a variable."""
        if name == "PATH":
            self.searched = True
        self.put(self.vars, self.refs.get(name, name), value)

    # -- paths ------------------------------------------------------------------------------------------

    def path(self, path: str) -> str:
        """Make a path of what the command line says, from the current directory, without ``.`` and ``..``."""
        stands_alone = not path or path[0] in "/~\ue000" or self.cwd == "."
        self.work.left -= len(self.cwd) >> 8
        full = path if stands_alone else f"{self.cwd.rstrip('/')}/{path}"
        if full.startswith("~"):
            home, slash, rest = full.partition("/")
            rest = posixpath.normpath("/" + rest) if slash and ".." not in rest else slash + rest
            return (home + rest).rstrip("/") or full
        if "/." in full or "//" in full or full[:1] == "." or full[-1:] == "/":
            self.work.left -= len(full) >> 2
            full = posixpath.normpath(full)
        return self.through_links(full) if self.links else full

    def opened(self, path: str) -> str:
        """Return the path of the file that reading or writing a path opens: behind the last link as well."""
        full = self.path(path)
        return self.through_links(full, last=True) if self.links else full

    def behind(self, word: str, *, last: bool = False) -> str:
        """Return a word with the path in it that it leads to through a link that the line has made; else as it is.

        Args:
            word: a path, perhaps after ``name=``, ``--name=`` or ``@``.
            last: whether the program follows a path that is a link itself; one with a slash behind it always is.
        """
        head = _BEFORE_PATH.match(word)
        at = head.end() if head else 0
        path = word[at:]
        if not path or path[0] == "-":
            return word
        links, self.links = self.links, {}
        plain = self.path(path)
        self.links = links
        real = self.through_links(plain, last=last or path.endswith(("/", "/.")))
        return word if real == plain else word[:at] + real

    def through_links(self, path: str, *, last: bool = False) -> str:
        """Replace links that the line has made by what they lead to.

        Args:
            path: a path without ``.`` and ``..``.
            last: also when the path is such a link itself, not only when it leads through one.
        """
        self.work.left -= 1 + (len(self.links) >> 2)
        for _ in range(_MOST_STEPS):
            for link, target in self.links.items():
                if path.startswith(f"{link}/") or (last and path == link):
                    path = target.rstrip("/") + path[len(link) :] or "/"
                    break
            else:
                break
        return path

    def own(self, path: str) -> bool:
        """Tell whether a path is below the directory that the line starts in."""
        if self.start is None:
            return path[:1] not in {"/", "~", ".", OPEN}
        return path.startswith(f"{self.start}/")

    def chdir(self, path: str) -> None:
        """Change the working directory; each ``cd -`` goes back to what was."""
        old = self.cwd
        if path == "-":
            previous = self.vars.get("OLDPWD")
            self.cwd = previous if isinstance(previous, str) else (self.start or ".")
        else:
            self.cwd = self.through_links(self.path(path), last=True) or "."
            if len(self.cwd) > MAX_PATH:
                self.cwd = _deep(self.cwd)
        self.assign("OLDPWD", old)


def _deep(path: str) -> str:
    """Shorten a directory's path that no kernel would take: it is unknown, or the root when it only goes up."""
    return unknown("cut", "cwd") if path.strip("./") else "/"
