"""Following what a command names: programs, functions, aliases, scripts, code for interpreters and nested shells."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from shellward.command.expand import Expander
from shellward.command.globs import glob_regex
from shellward.command.invocation import Invocation, quote
from shellward.command.known import NOTHING
from shellward.command.loading import is_pattern, texts
from shellward.command.powershell import as_shell
from shellward.command.reader import read
from shellward.command.state import State
from shellward.command.syntax import Compound, Problem, Substitution
from shellward.command.values import OPEN, known_part, labels, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from shellward.command.handling import Handler
    from shellward.command.known import Known
    from shellward.command.syntax import Script, Span
    from shellward.command.work import Work

MAX_CALLS = 24
"""Deepest chain of shell functions and nested shells that is followed."""
_NO_NAMES = frozenset(("", ".", "..", "~"))
"""How a path may end that does not end with the name of what it leads to."""
_FOREIGN = frozenset(("net", "decoded", "encoded", "cut"))
"""Where text comes from that nobody has read, or not to its end."""


@lru_cache(maxsize=1)
def _finder() -> Callable[[str], Handler | None]:
    """Return what finds the handler of a command."""
    from shellward.command import handlers  # each of them imports this module

    return handlers.find


class Runner(ABC):
    """Follows commands whose words are known."""

    def __init__(
        self,
        text: str,
        cwd: str | None,
        aliases: Mapping[str, str] | None,
        names: Callable[[], frozenset[str]],
        work: Work,
        *,
        known: Known = NOTHING,
    ) -> None:
        self.handler = _finder()
        self.text = text
        self.work = work
        self.state = State(cwd, aliases, known, work)
        self.expander = Expander(self.state, self.substitute, self.prompted)
        self.invocations: list[Invocation] = []
        self.problems: list[Problem] = []
        self.resolved: dict[int, list[str]] = {}
        self.decoded: list[str] = []
        self.names = names
        self.level = 0
        self.parallel = 0
        self.via: tuple[str, ...] = ()
        self.substitutions = 0
        self.seen: set[tuple[object, ...]] = set()
        self.globs: dict[str, list[str]] = {}
        self.sinks: dict[str, Script] = {}
        self.deferred: list[tuple[str, Span]] = []
        self.input: str | None = None
        """What substitutions in the words at hand would read."""
        self.emptied: dict[str, Invocation] = {}
        """Files of this project that the line has emptied, and the effect that says so."""

    def effect(self, argv: list[str], span: Span, stdin: str | None = None) -> None:
        """Note something that is no program of its own: a write, unknown code, a pattern of a whole program."""
        self.work.left -= 2
        self.invocations.append(Invocation(argv[0], argv, span, None, stdin, self.via, {}, self.state.cwd))

    def child(
        self,
        parent: Invocation,
        argv: list[str],
        at: int = 0,
        *,
        stdin: str | None = None,
        via: str = "",
        want: bool = False,
    ) -> str:
        """Follow a command that another one runs.

        Args:
            parent: the wrapper.
            argv: the inner command's words.
            at: index in the parent's words where they begin, for the span; 0 when they come from elsewhere.
            stdin: what it reads.
            via: name to add to the chain of wrappers; the parent's name when empty.
            want: whether its output matters.

        Returns:
            Its output, when wanted.
        """
        if not argv:
            return ""
        self.work.spend(3)
        spans = parent.spans[at:] if at and parent.spans and len(parent.spans) == len(parent.argv) else None
        span = (spans[0][0], parent.span[1]) if spans and spans[0][0] < parent.span[1] else parent.span
        before, self.via = self.via, (*parent.via, via or parent.name)
        inv = Invocation("", argv, span, spans, stdin, self.via, parent.env, self.state.cwd)
        try:
            return self.start(inv, want=want, bare=False)
        finally:
            self.via = before

    @contextmanager
    def within(self, folder: str) -> Iterator[None]:
        """Follow commands in another directory; in the one of now when none is named."""
        before = self.state.cwd
        self.state.cwd = (self.state.opened(folder) or ".") if folder else before
        try:
            yield
        finally:
            self.state.cwd = before

    def start(self, inv: Invocation, *, want: bool, bare: bool) -> str:
        """Find out what the first word names, then follow it."""
        first = inv.argv[0]
        if bare and first in self.state.aliases and first not in self.state.calls:
            return self.alias(inv, first, want=want)
        if OPEN in first:
            held = texts(self.state, first)
            if held:
                return "".join([self.script(inv, text, want=want) for _, text in held])
            return self.unknown_name(inv, first, want=want)
        inv.name = (first.rpartition("/")[2] if "/" in first else first).removesuffix(".exe")
        name = inv.name
        if "/" in first and is_pattern(first):
            for _, text in texts(self.state, first):
                self.script(inv, text, want=want)
        if ("*" in name or "?" in name or "[" in name) and len(name) > 1:
            return self.glob_name(inv, want=want)
        return self.dispatch(inv, want=want)

    def operand_notes(self, inv: Invocation) -> tuple[str, ...]:
        """Say which operands are files that this command line fetched, or made of others (``file:``)."""
        state = self.state
        files, made, noted = state.files, state.made, state.noted
        notes: list[str] = []
        for word in inv.argv[1:40]:
            if word[:2] == "--" and "=" in word:
                word = word.partition("=")[2]  # noqa: PLW2901  # --post-file=FILE
            last = word.rpartition("/")[2]
            if last not in noted and last.rpartition("@")[2] not in noted and last not in _NO_NAMES and not state.links:
                continue  # without working out the path
            self.work.spend(1)
            given = state.opened(word.rpartition("@")[2] or word)
            held = labels(files.get(given, ""))
            if any(label.startswith("net") for label in held):
                notes.append(f"net:{word}")
            notes += [label for label in held if label.startswith(("file:", "out:"))]
            notes += [f"file:{source}" for source in made.get(given, ())]
        return tuple(notes)

    def on_path(self, name: str) -> str | None:
        """Find a program that the line has written in a directory which it has put on the search path."""
        if "/" in name or not self.state.searched:
            return None
        files, path = self.state.files, self.state.path
        folders = self.state.text("PATH").split(":")[:8]
        self.work.spend(len(folders))
        return next((found for one in folders if (found := files.get(path(f"{one or '.'}/{name}"))) is not None), None)

    def also_written(self, inv: Invocation) -> None:
        """Follow what the line has written to a program's path, besides the program that is known by that name.

        Which of the two runs is not sure: the line may have written on another way than it goes.
        """
        if self.state.files and "/" in inv.argv[0]:
            content = self.state.files.get(self.state.path(inv.argv[0]))
            held = labels(content or "")
            if content and (not held or any(label.startswith("net") for label in held)):
                self.script(inv, content, want=False)

    def unknown_name(self, inv: Invocation, first: str, *, want: bool) -> str:
        """The command's name has an unknown piece: the rest may name it; else that is an effect of its own."""
        known = known_part(first)
        base = known.rpartition("/")[2]
        if base and not base.startswith("-") and not known.endswith("/"):
            inv.name = base
            inv.argv = [known, *inv.argv[1:]]
            return self.dispatch(inv, want=want)
        self.effect(["@name", *labels(first)[:3], "--", *inv.argv[1:]], inv.span)
        if known:
            return unknown("out", "unknown") if want else ""
        at = next((at for at, word in enumerate(inv.argv) if known_part(word)), len(inv.argv))
        if at < len(inv.argv) and not inv.argv[at].startswith("-"):
            return self.child(inv, inv.argv[at:], at, stdin=inv.stdin, via="$", want=want)
        return unknown("out", "unknown") if want else ""

    def glob_name(self, inv: Invocation, *, want: bool) -> str:
        """The command's name is a pattern: follow each well-known program that it matches."""
        matching = self.globs.get(inv.name)
        if matching is None:
            self.work.spend(300)  # every known name is tried
            pattern = glob_regex(inv.name)
            matching = sorted(name for name in self.names() if pattern is not None and pattern.fullmatch(name))[:48]
            self.globs[inv.name] = matching
        self.work.spend(len(matching))
        printed = ""
        for name in matching:
            printed = self.dispatch(
                Invocation(name, [name, *inv.argv[1:]], inv.span, inv.spans, inv.stdin, inv.via, inv.env, inv.cwd),
                want=want,
            )
        return printed

    def alias(self, inv: Invocation, first: str, *, want: bool) -> str:
        """Replace an alias by its text; the other words follow its last command."""
        self.state.calls.append(first)
        rest = inv.argv[1:]
        text = self.state.aliases[first] + (" " + " ".join(quote(word) for word in rest) if rest else "")
        printed = self.run_text(text, inv.span, stdin=inv.stdin, want=want)
        self.state.calls.pop()
        return printed

    def call(self, inv: Invocation, function: Compound, *, want: bool) -> str:
        """Follow a call of a shell function defined in this command line."""
        state = self.state
        shrinks = 1 < len(inv.argv) <= len(state.positional) and not self.parallel
        if inv.name in state.calls and not shrinks:
            if self.parallel:
                self.effect(["@fork-bomb", "function"], inv.span)
            return ""
        if len(state.calls) >= MAX_CALLS:
            self.problems.append(Problem("too-deep", inv.span, inv.name))
            return ""
        state.calls.append(inv.name)
        before, state.positional = state.positional, inv.argv[1:]
        parallel, self.parallel = self.parallel, 0
        printed = self.visit(function.bodies[0], inv.stdin, want=want)
        self.parallel = parallel
        state.positional = before
        state.calls.pop()
        return printed

    def recall(self, inv: Invocation, *, want: bool) -> None:
        """Follow a call of a function that an earlier command line defined."""
        self.state.used.add(("function", inv.name))
        text = self.state.earlier[inv.name]
        script, _problems = read(text, fixed=inv.span, depth=self.level, work=self.work)
        for pipeline in script.items:
            for command in pipeline.commands:
                if isinstance(command, Compound) and command.kind == "function":
                    self.call(inv, command, want=want)

    def script(self, inv: Invocation, content: str, *, want: bool) -> str:
        """Follow a file that was written in this command line and is now run."""
        from shellward.command import handlers

        program = re.match("\ue000exe:([^\ue001]*)\ue001", content)
        if program:
            return self.child(inv, [program.group(1), *inv.argv[1:]], 0, stdin=inv.stdin, via="link", want=want)
        shebang = re.match(r"#!\s*(\S+)(?:[ \t]+([^\n]*))?", content)
        language = "sh"
        if shebang:
            name = shebang.group(1).rpartition("/")[2]
            if name == "env" and shebang.group(2):
                name = shebang.group(2).split()[-1]
            language = handlers.language(name) or "sh"
        return self.run_file(language, self.state.opened(inv.argv[0]), content, inv, inv.argv[1:], want=want)

    def run_file(  # as run_code()
        self, language: str, path: str, text: str, inv: Invocation, args: list[str], *, want: bool = False
    ) -> str:
        """Follow a file given to an interpreter or a shell; what it loads is looked for beside it."""
        state = self.state
        before, state.program, state.module = (state.program, state.module), path, path
        try:
            return self.run_code(language, text, inv, args, want=want)
        finally:
            state.program, state.module = before

    def run_code(
        self,
        language: str,
        code: str,
        inv: Invocation,
        args: list[str],
        *,
        stdin: str | None = None,
        want: bool = False,
    ) -> str:
        """Follow code given to an interpreter or a shell."""
        from shellward.command.interpreting import run_program

        self.work.spend(8 + (len(code) >> 5))
        if language == "pwsh" and "Net.Sockets.TCPClient" in code:
            self.effect(["@reverse-shell", "pwsh"], inv.span)
        if language == "pwsh":
            language, code = "sh", as_shell(code)
        if language == "sh":
            before, self.state.positional = self.state.positional, args
            printed = self.run_text(code, self.code_span(inv, code), stdin=stdin, want=want, via=(*inv.via, inv.name))
            self.state.positional = before
            return printed
        return run_program(self, language, code, inv, args, stdin=stdin, want=want)

    def code_span(self, inv: Invocation, code: str) -> Span:
        """Find where the code stands in the submitted text."""
        if inv.spans and len(inv.spans) == len(inv.argv) and code in inv.argv:
            return inv.spans[inv.argv.index(code)]
        return inv.span

    def unknown_code(self, code: str, language: str, span: Span) -> bool:
        """Note when code that would run is fetched, decoded or unknown; tell whether nothing of it is known."""
        found = labels(code)
        known = known_part(code).strip()
        if found and (
            not known or any(label.partition(":")[0] in {"net", "decoded", "encoded", "cut"} for label in found)
        ):
            self.effect(["@run", language, *found[:6]], span)
        if known and any(piece and piece in code for piece in self.decoded[-8:]):
            self.effect(["@run", language, "decoded"], span)
        return not known

    def run_text(  # noqa: D417  # the other arguments are those of visit()
        self,
        text: str,
        span: Span,
        *,
        stdin: str | None = None,
        want: bool = False,
        via: tuple[str, ...] | None = None,
        quiet: bool = False,
    ) -> str:
        """Follow text that a shell would run.

        Args:
            text: the shell text, perhaps with markers.
            span: where it comes from.
            via: the wrappers around it.
            quiet: do not report code that is entirely unknown.
        """
        text = text.replace("\0", "")
        if not text.strip():
            return ""
        if OPEN in text or self.decoded:
            if quiet and not known_part(text).strip():
                return ""
            if self.unknown_code(text, "sh", span):
                return unknown("out", "code") if want else ""
        if self.level >= MAX_CALLS:
            self.problems.append(Problem("too-deep", span, "nested shells"))
            return ""
        self.work.spend(5)
        base, fixed = self.locate(text, span)
        script, problems = read(text, base=base, fixed=fixed, depth=self.level, work=self.work)
        self.problems += [problem for problem in problems if problem.kind in {"too-deep", "too-much"}]
        before = self.via
        if via is not None:
            self.via = via
        self.level += 1
        try:
            return self.visit(script, stdin, want=want)
        finally:
            self.level -= 1
            self.via = before

    def prompted(self, text: str) -> None:
        """Follow what ``${x@P}`` would run: a prompt is expanded once more."""
        if len(text) < 4000 and ("$(" in text or "`" in text):
            self.run_text(f'echo "{text}"', (0, len(self.text)))

    def locate(self, text: str, span: Span) -> tuple[int, Span | None]:
        """Map positions of inner text to the submitted text: exactly when it stands there as it is."""
        start, end = span
        for skip in (0, 1, 2):
            if end - start >= len(text) + skip and self.text.startswith(text, start + skip):
                return start + skip, None
        return 0, span

    @abstractmethod
    def visit(self, script: Script, stdin: str | None = None, *, want: bool = False) -> str:
        """Follow a script; return what it would print when that is wanted."""

    @abstractmethod
    def dispatch(self, inv: Invocation, *, want: bool) -> str:
        """Note a command whose name is known, and follow what it runs."""

    @abstractmethod
    def substitute(self, part: Substitution) -> str:
        """Visit the commands of a substitution and return what it would become."""
