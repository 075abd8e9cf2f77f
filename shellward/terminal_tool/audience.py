"""Who reads what is typed at a guarded terminal, and the judgement of a line as each of them reads it."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from shellward.approval.detect import Detection
from shellward.approval.detecting import Unreadable
from shellward.approval.ways_out import is_vi, ways_out
from shellward.command.interpreters import SHELLS
from shellward.terminal_tool.front import Asks, Readers, named_in
from shellward.terminal_tool.recalls import recalls
from shellward.terminal_tool.typed import TypedInput

if TYPE_CHECKING:
    from shellward.approval.brought import Look

_SHELL_ALONE: Final = Readers(like_shell=True)
_DATABASES: Final = frozenset(("sqlite3", "psql", "mysql", "mariadb"))

_ESCAPES: Final = re.compile(r"\s*(?:[!;%]+|:!+|\\!|:sh\b)\s*(?:(?:sx|system|sh|bash|script)\b)?\s*(\S.*)")
"""Lines of consoles that a shell runs: ``!cmd`` of IPython, ``;cmd`` of Julia, ``:!cmd`` of GHC, ``%sx cmd``."""
_LOADS: Final = re.compile(r"\s*(?:\.load|%run|%load|:l|:load|:script|#use|/open)\s+(\S.*)")
"""Lines of consoles that run a file."""
_FOR_OTHERS: Final = re.compile(r"\s*(?::\s*[\w%]|\\[\w!]|\.[A-Za-z])")
"""Lines that nobody types into a shell: a program that was named before may be there to read them in a moment."""
_RUN_COMMANDS: Final = ("tclsh", "wish", "expect", "ipython", "xonsh")
"""Interpreters whose consoles run a word that they do not know as a command."""


class UnknownLineError(Exception):
    """The line that Enter would run cannot be known."""


class Audience:
    """Judges lines for whoever reads them. Called by one thread.

    Args:
        own: judges what the terminal's own command reads; None: it reads no program.
        words: of that command.
        look: looks at a command with its standard input; None: at the command alone.
        decide: decides about what was found; raises ApprovalDenied.
        front: says who is in the foreground; None: the terminal's own command always is.
    """

    def __init__(
        self,
        own: TypedInput | None,
        words: frozenset[str],
        look: "Callable[[str, str | None], Look]",
        decide: Callable[[Detection], object],
        front: Asks | None = None,
    ) -> None:
        self._own = own
        self._words = words
        self._own_shell = not SHELLS.isdisjoint(words)
        self._look = look
        self._decide = decide
        self._front = front
        self._now: Readers | None = None
        self._inputs: dict[str, TypedInput] = {}
        self._modes: dict[str, str] = {}
        self._last = _SHELL_ALONE
        self._named = named_in(" ".join(words)) if own is None else Readers(like_shell=False)

    def begin(self) -> None:
        """Forget who was in the foreground: more is typed now."""
        self._now = None

    @property
    def single_keys(self) -> bool:
        """Whether a key other than Enter may run what was typed before, in an editor that may be there."""
        return any(map(is_vi, self._last.others | self._named.others))

    def judge(self, line: str, keys: str, *, unknown: bool, in_quotes: bool, take: bool) -> None:
        """Judge a line for all who read it.

        Args:
            line: as an editor of lines would have it.
            keys: all that was typed since the last Enter.
            unknown: the line may be another.
            in_quotes: single quotes may be open from an earlier line.
            take: it is sent now; else more of it may come.

        Raises:
            ApprovalDenied: it may not run.
            EnvironmentUnavailable: the sandbox is gone.
        """
        readers = self._readers()
        inputs = self._reading(readers)
        shell = readers.known_shell or (readers.like_shell and self._own_shell)
        sure = self._own is not None or readers.known_shell or bool(readers.interpreters or readers.others & _DATABASES)
        if inputs and ((unknown and sure) or (shell and recalls(line, in_quotes=in_quotes))):
            text = line or "(a line from the program's history)"
            self._decide(Detection(text, Unreadable(text, UnknownLineError()).findings))
        elif line:
            data = (line + "\n").encode("utf-8", "surrogateescape")
            for each in inputs:
                if take:
                    each(data)
                else:
                    each.check(data)
            if readers.like_shell:
                for name in sorted(self._named.interpreters - readers.interpreters):
                    self._input(name).check(data)
        self._judge_escapes(readers, line)
        self._judge_ways(readers, keys, take=take)
        if take and readers.like_shell:
            more = named_in(line)
            self._named = Readers(
                like_shell=False,
                interpreters=self._named.interpreters | more.interpreters,
                others=self._named.others | more.others,
            )

    def _readers(self) -> Readers:
        if self._now is None:
            self._now = self._last = _SHELL_ALONE if self._front is None else self._front()
            self._modes = {name: mode for name, mode in self._modes.items() if name in self._now.others}
        return self._now

    def _reading(self, readers: Readers) -> list[TypedInput]:
        found = [self._own] if self._own is not None and (readers.like_shell or not self._own_shell) else []
        names = set(readers.interpreters) | (readers.others & _DATABASES)
        if self._own is not None and not self._own_shell:
            names -= self._words
        # What is not known counts as a shell; where it is what the terminal was started with, not for input's sake.
        if (readers.known_shell or (readers.like_shell and not readers.data)) and not self._own_shell:
            names.add("sh")
        for name in sorted(names):
            if name not in self._inputs:
                self._inputs[name] = self._input(name)
            found.append(self._inputs[name])
        return found

    def _input(self, name: str) -> TypedInput:
        return TypedInput(lambda text: self._look(name, text), self._decide, (), by_caller=True)

    def _judge_escapes(self, readers: Readers, line: str) -> None:
        """Judge a line that an interpreter's console does not take for its language."""
        if not readers.interpreters:
            return
        if found := _ESCAPES.match(line):
            self._decide(self._look(found[1], None).detection)
        if found := _LOADS.match(line):
            for name in sorted(readers.interpreters):
                self._decide(self._look(f"{name} {found[1]}", None).detection)
        if any(name.startswith(_RUN_COMMANDS) for name in readers.interpreters):
            self._decide(self._look(line, None).detection)

    def _judge_ways(self, readers: Readers, keys: str, *, take: bool) -> None:
        modes: dict[str, str] = {}
        for name in sorted(readers.others | (self._named.others if readers.like_shell else frozenset())):
            ways = ways_out(name, keys, self._modes.get(name, ""))
            modes[name] = ways.mode
            if ways.unknown and (name in readers.others or _FOR_OTHERS.match(keys)):
                text = keys or "(a key that runs what was typed before)"
                self._decide(Detection(text, Unreadable(text, UnknownLineError()).findings))
            for line in dict.fromkeys(ways.lines):
                self._decide(self._look(line, None).detection)
        if take:
            self._modes = {name: mode for name, mode in modes.items() if name in readers.others}
