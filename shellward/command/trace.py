"""Following a command line: which commands would run, with which words, input and effects. Nothing is executed.

The tracer walks the syntax tree the way the shell would, along every branch, keeps what is known of variables,
functions, files and directory, and notes each command as an Invocation. It has no opinion about any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shellward.command.environ import follow_variables, loads
from shellward.command.invocation import Invocation
from shellward.command.known import NOTHING
from shellward.command.links import behind_links
from shellward.command.operands import cut
from shellward.command.outputs import DECODERS, output
from shellward.command.reader import read
from shellward.command.running import MAX_CALLS
from shellward.command.storing import Storer
from shellward.command.syntax import Compound, Problem, Simple, Substitution
from shellward.command.trees import runs_from_tree
from shellward.command.values import clean, known_part, unknown
from shellward.command.work import FOLLOWING, READING, TooMuch, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shellward.command.known import Known
    from shellward.command.state import State
    from shellward.command.syntax import Command, Pipeline, Script

MAX_ROUNDS = 24
"""Most rounds of one loop that are followed."""
DECLARING = frozenset(("export", "declare", "local", "readonly", "typeset", "alias"))
BUILTIN_NAMES = frozenset(
    ("cd", "pushd", "popd", "export", "declare", "typeset", "local", "readonly", "alias", "unset", "unalias",
     "set", "shift", "eval", "source", ".", "trap", "read", "mapfile", "readarray", "printf", "hash", "let",
     "env", "exec", "history", "fc", "getopts")
)  # fmt: skip
"""Commands that change what later words mean."""


def _constant(command: Simple) -> list[str] | None:
    """Return the words of a command that are all known from the text alone, and that has nothing besides words."""
    if command.plain is not None or command.redirects or command.assigns or not command.words:
        return command.plain
    words = [word.lit for word in command.words if word.lit is not None]
    return words if len(words) == len(command.words) else None


_STAY = frozenset(("cd", "set", "read", "mapfile", "readarray", "eval", "exec"))
"""Builtins whose effects on variables stay, but not what is assigned before them: ``IFS= read x``."""
_PRINT_NOTHING = frozenset((":", "true", "cat /dev/null", "echo -n", "printf", "echo"))


class Tracer(Storer):
    """Follows one command line; see trace() for the way in."""

    # -- lists and pipelines ----------------------------------------------------------------------------

    def visit(self, script: Script, stdin: str | None = None, *, want: bool = False) -> str:
        """Follow a script; return what it would print when that is wanted."""
        out: list[str] = []
        silent = not want and stdin is None
        for pipeline in script.items:
            commands = pipeline.commands
            alone = len(commands) == 1
            if silent and alone and self.repeated(commands[0]):
                continue
            self.work.left -= 1
            if not alone or pipeline.end == "&":
                printed = self.pipeline(pipeline, stdin, want=want)
            elif type(commands[0]) is Simple:
                self.work.spend(1)
                printed = self.simple(commands[0], stdin, want=want)
            else:
                printed = self.command(commands[0], stdin, want=want)
            if printed:
                out.append(printed)
        return cut("".join(out)) if len(out) != 1 else out[0]

    def pipeline(self, pipeline: Pipeline, stdin: str | None, *, want: bool) -> str:
        """Follow commands joined by pipes, each with the output of the one before, or one in the background."""
        commands = pipeline.commands
        self.parallel += 1
        data = stdin
        last = len(commands) - 1
        for at, command in enumerate(commands):
            mark = self.state.mark()
            data = self.command(command, data, want=want or at < last)
            self.state.undo(mark)
        self.parallel -= 1
        return data or ""

    def command(self, command: Command, stdin: str | None, *, want: bool) -> str:
        """Follow one command of any kind."""
        self.work.spend(1)
        if isinstance(command, Simple):
            return self.simple(command, stdin, want=want)
        if command.redirects:
            stdin, files = self.redirects(command.redirects, stdin)
            self.emptying(files, command.span, nothing=False)
            printed = self.compound(command, stdin, want=want or bool(files))
            return self.store(files, printed)
        return self.compound(command, stdin, want=want)

    def substitute(self, part: Substitution) -> str:
        """Visit the commands of a substitution and return what it would become."""
        self.work.spend(3)
        mark = self.state.mark()
        want = part.kind != ">"
        given = self.input
        printed = self.visit(part.script, given if want else None, want=want)
        self.input = given
        self.state.undo(mark)
        if part.kind == "$":
            return printed.replace("\0", "").rstrip("\n")
        self.substitutions += 1
        path = f"/dev/fd/{63 - self.substitutions % 50}-{self.substitutions}"
        if part.kind == ">":
            self.sinks[path] = part.script
        self.state.put(self.state.files, path, printed)
        return path

    # -- compound commands ------------------------------------------------------------------------------

    def compound(self, node: Compound, stdin: str | None, *, want: bool) -> str:
        """Follow a compound command along every branch."""
        self.work.left -= 2
        self.input = stdin
        kind = node.kind
        if kind == "function":
            self.state.put(self.state.functions, node.name, node)
            if node.name in {"command_not_found_handle", "command_not_found_handler"}:
                before = self.state.positional
                self.state.positional = [unknown("var", "command"), unknown("var", "argument")]
                self.visit(node.bodies[0], None)  # any mistyped name runs it
                self.state.positional = before
            return ""
        if kind in {"while", "until"}:
            return self.loop(node, stdin, want=want)
        if kind in {"for", "select"}:
            return self.iterate(node, stdin, want=want)
        if kind in {"subshell", "coproc"}:
            mark = self.state.mark()
            self.parallel += kind == "coproc"
            printed = self.visit(node.bodies[0], stdin, want=want)
            self.parallel -= kind == "coproc"
            self.state.undo(mark)
            if kind == "coproc":
                self.feeds(node)
            return printed
        for word in node.words or ():
            self.subscript(self.expander.text(word), word.span)
        return "".join([self.visit(body, stdin, want=want) for body in node.bodies])

    def feeds(self, node: Compound) -> None:
        """Note the descriptors of a coprocess: what is written to the second one, it reads."""
        path = f"/dev/fd/{node.name}"
        self.sinks[path] = node.bodies[0]
        self.state.assign(node.name, [f"{path}-output", path])

    def loop(self, node: Compound, stdin: str | None, *, want: bool) -> str:
        """Follow ``while`` and ``until``, once for each line that is read."""
        condition, body = node.bodies
        if self.endless(condition) and any(item.end == "&" for item in body.items) and not self.waits(body):
            self.effect(["@fork-bomb", "loop"], node.span)
        lines: list[str | None] = [stdin]
        if stdin and self.reads(condition):
            lines = list(stdin.splitlines()[:MAX_ROUNDS]) or [stdin]
        out = []
        for line in lines:
            self.visit(condition, line)
            out.append(self.visit(body, line, want=want))
        return "".join(out)

    @staticmethod
    def _first_words(script: Script) -> list[str]:
        found = []
        for item in script.items:
            for command in item.commands:
                if isinstance(command, Simple):
                    first = command.plain[0] if command.plain else (command.words[0].lit if command.words else None)
                    found.append(first or "")
        return found

    def endless(self, condition: Script) -> bool:
        """Tell whether a condition is always true."""
        return self._first_words(condition)[:1] in (["true"], [":"])

    def waits(self, body: Script) -> bool:
        """Tell whether a loop waits for something."""
        return bool({"sleep", "wait", "read", "break", "inotifywait"} & set(self._first_words(body)))

    def reads(self, condition: Script) -> bool:
        """Tell whether a condition reads a line."""
        return "read" in self._first_words(condition)

    def iterate(self, node: Compound, stdin: str | None, *, want: bool) -> str:
        """Follow ``for``, once for each value."""
        values = self.state.look_at_positional() if node.words is None else self.expander.fields(node.words)[0]
        if not want and len(values) > MAX_ROUNDS:  # the same round again is no other deed, but it may add to a text
            values = list(dict.fromkeys(values))
        values = values or [unknown("var", node.name)]
        most = 4 * MAX_ROUNDS if want else MAX_ROUNDS
        if len(values) > most:
            values = [*values[:most], " ".join(values[most:])]
        out = []
        for value in values:
            self.state.assign(node.name, value)
            out += [self.visit(body, stdin, want=want) for body in node.bodies]
        return "".join(out)

    # -- simple commands --------------------------------------------------------------------------------

    def simple(self, node: Simple, stdin: str | None, *, want: bool) -> str:  # noqa: C901, PLR0912
        """Follow a simple command: expand its words, then its redirections, then what it names."""
        if node.plain is not None:
            inv = Invocation("", node.plain, node.span, None, stdin, self.via, {}, self.state.cwd)
            return self.start(inv, want=want, bare=True)
        self.work.left -= 3
        self.input = stdin
        words = node.words
        first = words[0] if words else None
        if first is not None and first.lit in DECLARING:
            argv = [self.expander.text(word) for word in words]
            spans = [word.span for word in words]
        else:
            argv, spans = self.expander.fields(words)
        self.resolved[id(node)] = argv
        files: list[tuple[str, str]] = []
        if node.redirects:
            stdin, files = self.redirects(node.redirects, stdin)
        if files:
            # "< in > out" is meant as a copy, and some shells make one; that it loses what was in out, all writes do.
            copies = not argv and stdin and any(one.op == "<" for one in node.redirects)
            self.emptying(files, node.span, nothing=self.empties(argv) and not copies)
        if not argv:
            for assign in node.assigns:
                self.assign(assign)
            return self.store(files, (stdin or "") if want and not node.assigns else "")  # $(< file)
        env: dict[str, str] = {}
        mark = self.state.mark() if node.assigns else None
        held = self.state.before([assign.name for assign in node.assigns]) if argv[0] in _STAY else {}
        for assign in node.assigns:
            self.assign(assign)
            if assign.value is not None:
                env[assign.name] = self.state.text(assign.name)
                known = assign.name == "PATH" and self.on_path(argv[0]) is not None  # and followed
                if not known and loads(assign.name, env[assign.name]):
                    self.effect(["env", f"{assign.name}={env[assign.name]}"], node.span)
        cwd = self.state.cwd
        inv = Invocation("", argv, node.span, spans, stdin, self.via, env, cwd, (), tuple(path for path, _ in files))
        bare = first is not None and first.bare
        printed = self.start(inv, want=want or bool(files), bare=bare)
        if mark is not None:
            if argv[0] in _STAY:
                self.state.back(held)
            elif argv[0] not in DECLARING:
                cwd = self.state.cwd
                self.state.undo(mark)
                self.state.cwd = cwd
        return self.store(files, printed) if files else printed

    def repeated(self, command: Command) -> bool:
        """Tell whether the same command was followed before and can change nothing: it says nothing new.

        Behind another wrapper (ssh, sudo) or in another directory it is another deed.
        """
        words = _constant(command) if type(command) is Simple else None
        state = self.state
        if (
            words is None
            or words[0] in BUILTIN_NAMES
            or state.aliases
            or state.functions
            or state.earlier
            or state.files
        ):
            return False
        key = (self.via, state.cwd, state.version, *words)
        if key in self.seen:
            self.work.spend(1)
            return True
        self.seen.add(key)
        return False

    @staticmethod
    def empties(argv: list[str]) -> bool:
        """Tell whether a command prints nothing, so that redirecting it empties the file."""
        return not argv or " ".join(argv).strip() in _PRINT_NOTHING

    # -- running ----------------------------------------------------------------------------------------

    def dispatch(self, inv: Invocation, *, want: bool) -> str:  # noqa: C901
        """Note a command whose name is known, and follow what it runs."""
        name = inv.name
        state = self.state
        self.work.spend(2 + (len(inv.stdin) >> 7 if inv.stdin else 0))
        if name in state.functions and "/" not in inv.argv[0] and "command" not in inv.via[-1:]:
            return self.call(inv, state.functions[name], want=want)
        if name in state.earlier and "/" not in inv.argv[0]:
            self.recall(inv, want=want)  # and go on: whether it is still there when this runs, is not sure
        if state.noted:
            self.work.left -= min(len(inv.argv), 40) >> 3
            inv.notes = self.operand_notes(inv)
        if state.links:
            self.work.spend(len(inv.argv))
            inv.argv = behind_links(state, inv)
        self.invocations.append(inv)
        printed: str | None = None
        if state.trees and "/" in inv.argv[0]:
            runs_from_tree(self, inv, inv.argv[0])
        if state.searched and state.files and (content := self.on_path(inv.argv[0])) is not None:
            return self.script(inv, content, want=want)
        follow_variables(self, inv)
        handler = self.handler(name)
        self.work.left -= handler is None
        if handler is not None:
            self.work.left -= 2
            self.level += 1
            if self.level > MAX_CALLS:
                self.problems.append(Problem("too-deep", inv.span, name))
                self.level -= 1
                return ""
            try:
                self.also_written(inv)
                printed = handler(self, inv, want)
            finally:
                self.level -= 1
        elif state.files and (content := state.files.get(state.path(inv.argv[0]))) is not None:
            return self.script(inv, content, want=want)
        if printed is None and want:
            printed = output(name, inv.argv, inv.stdin, state)
            if name in DECODERS and known_part(printed).strip():
                self.decoded.append(known_part(printed).strip())
        return printed or ""


@dataclass(slots=True)
class Trace:
    """Everything that following a command line showed."""

    text: str
    script: Script
    invocations: list[Invocation]
    problems: list[Problem]
    resolved: dict[int, list[str]]
    work: Work
    state: State

    @property
    def used(self) -> frozenset[tuple[str, str]]:
        """What was made use of that earlier command lines had left, see ``Known.lines``."""
        return frozenset(self.state.used)


def trace(
    text: str,
    *,
    cwd: str | None = None,
    aliases: Mapping[str, str] | None = None,
    names: Callable[[], frozenset[str]] = frozenset,
    known: Known = NOTHING,
    stdin: str | None = None,
    limit: int = READING,
) -> Trace:
    """Follow a command line.

    Args:
        text: the command line.
        cwd: working directory, when known.
        aliases: aliases known beforehand.
        names: gives the names of programs that a glob in command position may mean.
        known: what the shell knows from command lines before.
        stdin: what the line would read, as far as known; a marker (values.py) for what is not.
        limit: units of work for reading it.

    Returns:
        Every command that would run, as far as that can be known. Never raises on any text.
    """
    text = clean(text)
    work = Work(limit)
    script, problems = read(text, work=work)
    work.grant(FOLLOWING)
    tracer = Tracer(text, cwd, aliases, names, work, known=known)
    tracer.problems += problems
    try:
        tracer.visit(script, stdin)
        for text_at_exit, span in tracer.deferred[:20]:
            tracer.run_text(text_at_exit, span)
    except TooMuch:
        tracer.problems.append(Problem("too-much", script.span))
    except RecursionError:
        tracer.problems.append(Problem("too-deep", script.span))
    del tracer.expander  # it knows the tracer, and rings are left to the collector, which takes its time at any moment
    return Trace(text, script, tracer.invocations, tracer.problems, tracer.resolved, work, tracer.state)
