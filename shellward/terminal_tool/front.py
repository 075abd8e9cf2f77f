"""The programs in the foreground of a guarded terminal: who reads the line that is about to end."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shellward.approval.ways_out import has_ways_out, is_vi
from shellward.command.interpreters import SHELLS, interpreter

if TYPE_CHECKING:
    from shellward.environments.environment import Environment

_CODE: Final = re.compile(r"-[a-zA-Z]*c")
_DATA: Final = frozenset(
    [
        "cat",
        "tac",
        "tee",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "head",
        "tail",
        "wc",
        "sort",
        "uniq",
        "tr",
        "cut",
        "paste",
        "join",
        "comm",
        "nl",
        "od",
        "xxd",
        "hexdump",
        "base64",
        "md5sum",
        "sha1sum",
        "sha256sum",
        "sha512sum",
        "cksum",
        "sum",
        "rev",
        "fold",
        "fmt",
        "column",
        "expand",
        "unexpand",
        "split",
        "csplit",
        "tsort",
        "gzip",
        "gunzip",
        "zcat",
        "xz",
        "bzip2",
        "zstd",
        "sleep",
        "jq",
        "yq",
        "diff",
        "cmp",
        "pv",
        "dd",
        "passwd",
        "openssl",
        "gpg",
    ]
)
"""Programs that take lines for data or secrets, never for orders."""
_TERMINALS: Final = frozenset(
    [
        "script",
        "tmux",
        "screen",
        "zellij",
        "byobu",
        "abduco",
        "dtach",
        "dvtm",
        "rlwrap",
        "rlfe",
        "expect",
        "unbuffer",
        "mosh",
        "mosh-client",
        "ssh",
        "slogin",
        "autossh",
        "telnet",
        "rlogin",
        "rsh",
        "su",
        "sudo",
        "doas",
        "login",
        "newgrp",
        "sg",
        "run0",
        "pkexec",
        "runuser",
        "setpriv",
        "docker",
        "podman",
        "nerdctl",
        "ctr",
        "crictl",
        "kubectl",
        "oc",
        "nsenter",
        "unshare",
        "chroot",
        "lxc",
        "lxc-attach",
        "incus",
        "machinectl",
        "systemd-run",
        "vagrant",
        "adb",
        "picocom",
        "minicom",
        "cu",
        "socat",
        "nc",
        "ncat",
        "netcat",
        "proot",
        "fakeroot",
        "flatpak",
        "firejail",
        "bwrap",
        "apptainer",
        "singularity",
        "asciinema",
        "ttyrec",
        "pty",
    ]
)
"""Programs with a shell behind them that is not in this terminal's foreground."""
_EDITORS: Final = frozenset(("emacs",))
"""Interpreters that are also editors with ways to a shell by single keys."""
_MANY: Final = frozenset(("busybox", "toybox"))
"""Programs that are what they are called as."""
_SYSTEM: Final = re.compile(
    r"/(?:usr|bin|sbin|lib\w*|opt|nix|snap|gnu|system|Applications|Library)/(?!.* \(deleted\)$)"
)
"""Where programs stand that commands do not make."""
_EX_MODE: Final = re.compile(r"-[a-zA-Z]*[eEs]|-E[s]?")
_WORD: Final = re.compile(r"[\w.+-]+")


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads a line.

    Attributes:
        like_shell: a shell, or what is not known and counts as one.
        known_shell: a shell for certain.
        interpreters: names of interpreters.
        others: names of programs with ways out.
        data: all those that are not known to be shells take lines for data.
    """

    like_shell: bool
    known_shell: bool = False
    interpreters: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    data: bool = False


class Front:
    """Asks the sandbox who is in the foreground of one terminal. Called by one thread.

    Args:
        environment: where the terminal is.
        user: who the program at it runs as.
        mark: what its environment has in it, with which it was started.
    """

    def __init__(self, environment: "Environment", user: str | None, mark: str) -> None:
        self._environment = environment
        self._user = user
        self._mark = mark
        self._pid = "0"

    def __call__(self) -> Readers:
        """Say who reads; one round trip.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        answer = self._environment.control(self._user).ask("front.sh", f"sw_front {self._pid} '{self._mark}'")
        pid, *groups = answer.split("\n")
        self._pid = pid if pid.isdecimal() else "0"
        return readers_of([line.split("\t") for line in groups if line])


def readers_of(programs: list[list[str]]) -> Readers:
    """Sort programs by how they read a line; none at all counts as a shell.

    A name in a program's words may be anything (``exec -a less bash``), so the file that it is counts as well.

    Args:
        programs: for each one its file, empty where that is not known, and its words.
    """
    sorted_ = _Sorted(unknown=not programs)
    for file, *words in programs:
        sorted_.take(file, words or [""])
    alone = sorted_.given and len(programs) == 1
    return Readers(
        sorted_.known_shell or sorted_.unknown or sorted_.data or sorted_.given,
        sorted_.known_shell,
        frozenset(sorted_.interpreters),
        frozenset(sorted_.others),
        data=not (sorted_.unknown or alone),
    )


@dataclass(slots=True)
class _Sorted:
    unknown: bool
    known_shell: bool = False
    data: bool = False
    given: bool = False
    interpreters: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    def take(self, file: str, words: list[str]) -> None:  # noqa: C901  # each kind once
        """Add one program."""
        name, real = _name(words[0]), _name(file)
        if real in _MANY and name == real and len(words) > 1:  # busybox vi
            words = words[1:]
            name = _name(words[0])
        names = {name} if not real or real in _MANY or real == name else {name, real}
        if not SHELLS.isdisjoint(names):
            if name in SHELLS and any(_CODE.fullmatch(word) for word in words[1:5]):
                self.given = True  # it reads its argument: the line that the terminal was started with is run so
            else:
                self.known_shell = True
        known = self._sort(names, words)
        if file and _SYSTEM.match(file) is None:  # it may be anything under this name
            self.unknown = True
        elif names <= _DATA:
            self.data = True
        elif real not in {"", name} | _MANY and not (known & {real}):
            self.unknown = self.unknown or real not in SHELLS
        elif not known and SHELLS.isdisjoint(names):
            self.unknown = True
        if not known:  # one that starts others, as ssh and sudo do, names them
            for word in words[1:]:
                _sort(_name(word), self.interpreters, self.others)
        if not _TERMINALS.isdisjoint(names):
            self.known_shell = True

    def _sort(self, names: set[str], words: list[str]) -> set[str]:
        known = set()
        for each in names:
            if has_ways_out(each) or interpreter(each) is not None:
                known.add(each)
                _sort(each, self.interpreters, self.others)
        if any(map(is_vi, known)) and any(_EX_MODE.fullmatch(word) for word in words[1:]):
            self.others.add("ex")
        if not _EDITORS.isdisjoint(names):
            self.unknown = True
        return known


def names_in(command: str) -> frozenset[str]:
    """Return the words of a command that may be programs, without directories."""
    return frozenset(_WORD.findall(command))


def named_in(line: str) -> Readers:
    """Sort the programs that a line names: it may have started them by the time that the next line is read."""
    interpreters: set[str] = set()
    others: set[str] = set()
    for word in _WORD.findall(line):
        _sort(word, interpreters, others)
    return Readers(like_shell=False, interpreters=frozenset(interpreters), others=frozenset(others))


def _sort(name: str, interpreters: set[str], others: set[str]) -> None:
    if has_ways_out(name):
        others.add(name)
    if name not in SHELLS and interpreter(name) is not None:
        interpreters.add(name)


def _name(word: str) -> str:
    return word.rpartition("/")[2].lstrip("-")


Asks = Callable[[], Readers]
