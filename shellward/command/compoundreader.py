"""Reading compound commands: groups, loops, conditions, functions, tests."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING

from shellward.command.redirectreader import RedirectReader
from shellward.command.syntax import (
    Compound,
    Pipeline,
    Script,
    Word,
)

if TYPE_CHECKING:
    from shellward.command.syntax import Command, Part

_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_CLOSERS = frozenset(("then", "else", "elif", "fi", "do", "done", "esac", "}", "in"))
_ENDS = frozenset(_CLOSERS - {"in"})


class CompoundReader(RedirectReader):
    """Reads commands that hold lists of commands."""

    split_words: dict[int, int]
    """Reserved words with line continuations in them: position and length as written."""

    def take(self, word: str) -> None:
        """Step over a reserved word that ``peek_reserved`` has seen here."""
        self.i += self.split_words.get(self.i, len(word)) if self.split_words else len(word)

    def parenthesis(self, start: int) -> Compound:
        """Read ``((..))`` or a subshell."""
        if self.s.startswith("((", start):
            problems = len(self.problems)
            self.i = start + 2
            parts: list[Part] = []
            if self.rereads <= 2 * self.n and self.arithmetic_parts(parts):
                word = Word(self.span(start, self.i), parts)
                return self.finish(Compound("arith", word.span, words=[word]), start)
            self.rereads += self.i - start
            del self.problems[problems:]
        self.i = start + 1
        return self.finish(Compound("subshell", (0, 0), [self.script_until(")")]), start)

    def finish(self, compound: Compound, start: int) -> Compound:
        """Take the redirections after a compound command and set its span."""
        while True:
            self.blanks()
            redirect = self.redirect()
            if redirect is None:
                break
            compound.redirects.append(redirect)
        compound.span = self.span(start, self.i)
        return compound

    def compound(self, word: str, start: int) -> Compound | None:  # noqa: PLR0911
        """Read what follows an opening reserved word."""
        if word == "{":
            return self.finish(Compound("group", (0, 0), [self.block("}")]), start)
        if word in {"while", "until"}:
            condition = self.block("do")
            return self.finish(Compound(word, (0, 0), [condition, self.block("done")]), start)
        if word == "if":
            return self.conditional(start)
        if word in {"for", "select"}:
            return self.loop(word, start)
        if word == "case":
            return self.case(start)
        if word == "function":
            return self.function_keyword(start)
        if word == "[[":
            return self.test(start)
        return self.coproc(start) if word == "coproc" else None

    def block(self, *closers: str) -> Script:
        """Read a list up to one of the reserved words, which is taken."""
        start = self.i
        script = Script(self.span(start, start))
        while True:
            self.list_into(script, frozenset())
            reserved = self.peek_reserved()
            if reserved in closers:
                self.take(reserved)
                break
            if self.i >= self.n or self.s[self.i] == ")" or reserved in _ENDS or self.s.startswith(";", self.i):
                self.problem("unterminated", start, closers[0])
                break
        script.span = self.span(start, self.i)
        return script

    def conditional(self, start: int) -> Compound:
        """Read what follows ``if``."""
        bodies: list[Script] = [self.block("then")]
        while True:
            begin = self.i
            bodies.append(self.block("elif", "else", "fi"))
            closed = self.s[begin : self.i]
            if closed.endswith("elif"):
                bodies.append(self.block("then"))
            elif not closed.endswith("else"):
                return self.finish(Compound("if", (0, 0), bodies), start)
            if self.i >= self.n:
                return self.finish(Compound("if", (0, 0), bodies), start)

    def loop(self, kind: str, start: int) -> Compound:
        """Read what follows ``for`` or ``select``."""
        self.blanks()
        compound = Compound(kind, (0, 0))
        if self.s.startswith("((", self.i):
            parts: list[Part] = []
            self.i += 2
            self.arithmetic_parts(parts)
            compound.words = [Word(self.span(start, self.i), parts)]
            compound.kind = "cfor"
        else:
            compound.name = self.word().lit or ""
            self.newlines()
            if self.peek_reserved() == "in":
                self.take("in")
                compound.words = []
                self.words_into(compound.words)
        self.blanks()
        if self.i < self.n and self.s[self.i] == ";":
            self.i += 1
        self.newlines()
        opener = self.peek_reserved()
        if opener in {"do", "{"}:
            self.take(opener)
            compound.bodies.append(self.block("done" if opener == "do" else "}"))
        else:
            self.problem("unexpected", start, kind)
        return self.finish(compound, start)

    def words_into(self, words: list[Word]) -> None:
        """Read words to the end of the line."""
        while True:
            self.blanks()
            before = self.i
            word = self.word()
            if self.i == before:
                return
            words.append(word)

    def case(self, start: int) -> Compound:
        """Read what follows ``case``."""
        self.blanks()
        compound = Compound("case", (0, 0), words=[self.word()])
        self.newlines()
        if self.peek_reserved() == "in":
            self.take("in")
        s = self.s
        while True:
            self.newlines()
            if self.i >= self.n:
                self.problem("unterminated", start, "esac")
                break
            if self.peek_reserved() == "esac":
                self.take("esac")
                break
            if s[self.i] == "(":
                self.i += 1
            if not self.case_patterns(compound):
                break
            body = Script(self.span(self.i, self.i))
            self.list_into(body, frozenset())
            compound.bodies.append(body)
            if s.startswith(";;&", self.i):
                self.i += 3
            elif s.startswith((";;", ";&"), self.i):
                self.i += 2
            elif self.i < self.n and self.peek_reserved() != "esac":
                self.problem("unexpected", self.i, "case")
                break
        return self.finish(compound, start)

    def case_patterns(self, compound: Compound) -> bool:
        """Skip ``a | b )``; substitutions in patterns are kept as words."""
        while True:
            self.newlines()
            before = self.i
            word = self.word()
            if word.lit is None and compound.words is not None:
                compound.words.append(word)
            self.blanks()
            if self.i < self.n and self.s[self.i] == "|":
                self.i += 1
            elif self.i < self.n and self.s[self.i] == ")":
                self.i += 1
                return True
            elif self.i == before or self.i >= self.n:
                self.problem("unexpected", before, "case pattern")
                return False

    def function_keyword(self, start: int) -> Compound:
        """Read what follows ``function``."""
        self.blanks()
        name = self.word().lit or ""
        match = _FUNCTION.match(self.s, self.i, self.n)
        if match:
            self.i = match.end()
        return self.function_body(name, start)

    def function_body(self, name: str, start: int) -> Compound:
        """Read a function's body."""
        self.newlines()
        self.deeper()
        command = self.command(self.peek_reserved())
        self.depth -= 1
        script = Script(self.span(start, self.i))
        if command is not None:
            script.items.append(Pipeline([command]))
        return Compound("function", self.span(start, self.i), [script], name)

    def test(self, start: int) -> Compound:
        """Read what follows ``[[``."""
        words: list[Word] = []
        s = self.s
        while True:
            self.newlines()
            if self.i >= self.n:
                self.problem("unterminated", start, "]]")
                break
            if s.startswith("]]", self.i):
                self.i += 2
                break
            before = self.i
            word = self.word()
            if self.i == before:
                self.i += 1
                continue
            self.work.spend(1)
            words.append(word)
        return self.finish(Compound("test", (0, 0), words=words), start)

    def coproc(self, start: int) -> Compound:
        """Read what follows ``coproc``."""
        self.blanks()
        body = Script(self.span(self.i, self.i))
        match = re.compile(r"([A-Za-z_]\w*)[ \t]+(?=[{(])").match(self.s, self.i, self.n)
        if match:
            self.i = match.end()
        command = self.command(self.peek_reserved())
        if command is not None:
            body.items.append(Pipeline([command], "&"))
        return Compound("coproc", self.span(start, self.i), [body], match.group(1) if match else "COPROC")

    @abstractmethod
    def list_into(self, script: Script, stops: frozenset[str]) -> None:
        """Read pipelines into ``script`` until a stop character, a closing reserved word, or the end."""

    @abstractmethod
    def command(self, reserved: str) -> Command | None:
        """Read one command of any kind."""

    @abstractmethod
    def peek_reserved(self) -> str:
        """Look at a reserved word at the current position; empty text when there is none."""
