"""Reading shell text into a syntax tree: lists, pipelines, compound commands, here-documents.

Written by hand so that it is linear on any input and forgiving: improper syntax is noted and reading goes on
(docs/decisions/0003-own-shell-reader.md). What the words mean is expand.py's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.compoundreader import _CLOSERS, _ENDS, _FUNCTION, CompoundReader
from shellward.command.expansionreader import MAX_DEPTH, TooDeep
from shellward.command.syntax import (
    Assign,
    Pipeline,
    Problem,
    Redirect,
    Script,
    Simple,
    Span,
    Word,
)
from shellward.command.work import TooMuch

if TYPE_CHECKING:
    from shellward.command.syntax import Command, Part
    from shellward.command.work import Work

_RESERVED = re.compile(
    r"(?:if|then|else|elif|fi|while|until|do|done|for|select|in|case|esac|function|time|coproc|\[\[|[{}!])"
    r"(?=[ \t\n|&;<>()]|\Z)"
)
_PLAIN = re.compile(
    r"(?!(?:if|then|else|elif|fi|while|until|do|done|for|select|case|esac|function|time|coproc)(?:[ \t\n;&|]|\Z))"
    r"([A-Za-z0-9_./+-][A-Za-z0-9_./+:@%,-]*+(?:[ \t]++[A-Za-z0-9_./+:@%,=-]++)*+)"
    r"[ \t]*+(?=(\n|;(?![;&])|&&|&(?![>&])|\|\||(?=;)|\Z))"
)
"""A simple command of bare constants and what ends it; reserved words are kept out here, so that none is read twice."""
_STRAY = re.compile(r"[A-Za-z]+|;;&?|;&|.", re.DOTALL)
_CONTINUED = re.compile(r"[^ \t\n|&;<>()\\]+\\\n")
_LITERAL = re.compile(r"[ \t]*+([A-Za-z0-9_./+:@%,=-]++)(?=[ \t\n|;)]|\Z)")
"""A word of a simple command that is a bare constant."""
_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]\n]*\])?(\+?)=")
_OPENERS = frozenset(("if", "while", "until", "for", "select", "case", "{", "function", "[[", "!", "time", "coproc"))
_RESERVED_FIRST = frozenset("itefwudscn{}[!")


class Reader(CompoundReader):
    """Reads a whole command line; see WordReader for the arguments."""

    def __init__(
        self,
        text: str,
        start: int = 0,
        end: int | None = None,
        *,
        base: int = 0,
        fixed: Span | None = None,
        depth: int = 0,
        work: Work | None = None,
    ) -> None:
        super().__init__(text, start, end, base=base, fixed=fixed, depth=depth, work=work)
        self.pending: list[tuple[Redirect, str, bool, bool]] = []
        self.split_words: dict[int, int] = {}
        """Reserved words with line continuations in them: position and length as written."""

    def script(self) -> Script:
        """Read everything."""
        script = Script(self.span(self.i, self.n))
        try:
            while self.i < self.n:
                self.list_into(script, frozenset())
                if self.i < self.n:  # a closing token without its opening one
                    self.problem("unexpected", self.i, self.s[self.i : self.i + 10])
                    self.work.spend(4)
                    match = _STRAY.match(self.s, self.i)
                    self.i = match.end() if match else self.n
        except TooDeep:
            pass
        except TooMuch:
            self.problem("too-much", self.i)
        return script

    def nested(self, text: str, start: int, end: int, fixed: Span | None) -> Script:
        """Read a script from other text or a part of this one."""
        inner = Reader(
            text, start, end, base=self.base, fixed=fixed or self.fixed, depth=self.depth + 1, work=self.work
        )
        if inner.depth > MAX_DEPTH:
            self.problem("too-deep", self.i)
            raise TooDeep
        script = inner.script()
        self.problems.extend(inner.problems)
        if any(problem.kind == "too-deep" for problem in inner.problems):
            raise TooDeep
        self.work.spend(4)
        return script

    def nested_parts(self, text: str, parts: list[Part], fixed: Span) -> None:
        """Read other text as if it stood in double quotes."""
        inner = Reader(text, fixed=fixed, depth=self.depth + 1, work=self.work)
        inner.quoted_text(parts, re.compile(r"[^\\$`]+"), "", "")
        self.problems.extend(inner.problems)

    def script_until(self, close: str) -> Script:
        """Read a list up to a closing character."""
        start = self.i
        self.deeper()
        script = Script(self.span(start, start))
        while True:
            self.list_into(script, frozenset((close,)))
            if self.i >= self.n:
                self.problem("unterminated", start, close)
                break
            if self.s[self.i] == close:
                self.i += 1
                break
            self.problem("unexpected", self.i, self.s[self.i : self.i + 10])
            self.i += 1
        script.span = self.span(start, self.i)
        self.depth -= 1
        return script

    # -- lists ------------------------------------------------------------------------------------------

    def list_into(self, script: Script, stops: frozenset[str]) -> None:  # noqa: C901
        """Read pipelines into ``script`` until a stop character, a closing reserved word, or the end."""
        items = script.items
        work = self.work
        while True:
            work.left -= 1
            s = self.s
            if self.i >= self.n:
                return
            c = s[self.i]
            if c in " \t\n\\#":
                self.newlines()
                if self.i >= self.n:
                    return
                c = s[self.i]
            if c in stops or c == ")":
                return
            if c in ";&|":
                if s.startswith((";;", ";&"), self.i):
                    return
                self.i += 1  # an empty command; bash would refuse it
                continue
            match = _PLAIN.match(s, self.i, self.n)
            if match:
                items.append(self.plain(match))
                work.left -= 1
                if work.left < 0:
                    raise TooMuch
                continue
            reserved = self.peek_reserved()
            if reserved in _ENDS:
                return
            before = self.i
            pipeline = self.pipeline(reserved)
            if self.i == before:
                self.problem("unexpected", self.i, c)
                self.i += 1
                continue
            work.spend(2)
            items.append(pipeline)

    def plain(self, match: re.Match[str]) -> Pipeline:
        """Take a simple command of bare constants at one go: most of what people type."""
        start, end = match.span(1)
        text, connector = match.groups()
        self.i = match.end() + (0 if connector == "\n" and self.pending else len(connector))
        span = self.fixed or (start + self.base, end + self.base)
        return Pipeline([Simple(span, [], [], [], text.split())], connector)

    def connector(self) -> str:
        """Take what separates two pipelines."""
        self.blanks()
        s, i = self.s, self.i
        if i >= self.n:
            return ""
        c = s[i]
        if c == "\n":
            return "\n"
        if c in "&|":
            two = s[i : i + 2]
            self.i += 2 if two in {"&&", "||"} else 1
            return two if two in {"&&", "||"} else c
        if c == ";" and not s.startswith((";;", ";&"), i):
            self.i += 1
        return ";"

    def pipeline(self, reserved: str) -> Pipeline:
        """Read commands joined by pipes, and what separates them from the next.

        Args:
            reserved: the reserved word at the current position.
        """
        commands: list[Command] = []
        while True:
            while reserved in {"!", "time"}:
                self.prefix(reserved)
                reserved = self.peek_reserved()
            command = self.command(reserved)
            if command is not None:
                commands.append(command)
            self.blanks()
            s = self.s
            self.work.spend(6)
            if self.i < self.n and s[self.i] == "|" and not s.startswith("||", self.i):
                self.i += 2 if s.startswith("|&", self.i) else 1
                self.newlines()
                reserved = self.peek_reserved()
                continue
            return Pipeline(commands, self.connector())

    def prefix(self, reserved: str) -> None:
        """Skip ``!``, ``time`` and ``time -p``."""
        self.take(reserved)
        self.blanks()
        if self.s.startswith("-p ", self.i):
            self.i += 3
            self.blanks()

    def peek_reserved(self) -> str:
        """Look at a reserved word at the current position; empty text when there is none."""
        s, i = self.s, self.i
        if i >= self.n or s[i] not in _RESERVED_FIRST:
            return ""
        match = _RESERVED.match(s, i, self.n)
        if match:
            return match.group()
        if s.find("\\\n", i, i + 9) > 0 and _CONTINUED.match(s, i, min(self.n, i + 9)):
            return self.continued_reserved()
        return ""

    def continued_reserved(self) -> str:
        """Look at a reserved word that line continuations split."""
        end, word = self.i, ""
        while end < self.n and len(word) < 9:  # "function" and one more
            if self.s.startswith("\\\n", end):
                end += 2
                continue
            if self.s[end] in " \t\n|&;<>()":
                break
            word += self.s[end]
            end += 1
        if word not in _OPENERS and word not in _CLOSERS:
            return ""
        self.split_words[self.i] = end - self.i
        return word

    # -- commands ---------------------------------------------------------------------------------------

    def command(self, reserved: str) -> Command | None:
        """Read one command of any kind.

        Args:
            reserved: the reserved word at the current position, if there is one.
        """
        if self.i >= self.n:
            return None
        start = self.i
        if self.s[start] == "(":
            return self.parenthesis(start)
        if reserved in _OPENERS:
            self.deeper()
            self.take(reserved)
            compound = self.compound(reserved, start)
            self.depth -= 1
            if compound is not None:
                return compound
            self.i = start
        return self.simple()

    def simple(self) -> Command | None:  # noqa: C901, PLR0912
        """Read a simple command, or a function definition that begins like one."""
        s, n, start = self.s, self.n, self.i
        simple = Simple((0, 0), [], [], [])
        words = simple.words
        end = start
        while True:
            literal = _LITERAL.match(s, self.i, n)
            if literal:
                text = literal.group(1)
                if words or "=" not in text:
                    begin, end = literal.span(1)
                    self.i = end
                    words.append(Word(self.fixed or (begin + self.base, end + self.base), [], text, True))
                    continue
            if self.i < n and s[self.i] in " \t\\#":
                self.blanks()
            if self.i >= n:
                break
            c = s[self.i]
            if c in "\n;|)":
                break
            if c in "&<>0123456789{":
                redirect = self.redirect()
                if redirect is not None:
                    simple.redirects.append(redirect)
                    end = self.i
                    continue
                if c == "&" or (c in "<>" and not s.startswith("(", self.i + 1)):
                    break
            if c == "(":
                if len(words) == 1 and not simple.assigns and words[0].lit is not None:
                    match = _FUNCTION.match(s, self.i, n)
                    if match:
                        self.i = match.end()
                        return self.function_body(words[0].lit, start)
                break
            if (not words or self.declares(words)) and self.assignment(simple):
                end = self.i
                continue
            before = self.i
            word = self.word()
            if self.i == before:
                break
            self.work.spend(1)
            if word.parts or word.lit or not word.bare:
                words.append(word)
            end = self.i
        if self.i == start:
            return None
        simple.span = self.span(start, end)
        return simple

    @staticmethod
    def declares(words: list[Word]) -> bool:
        """Tell whether the first word is a builtin that takes assignments."""
        return words[0].lit in {"export", "declare", "local", "readonly", "typeset", "alias", "env"}

    def assignment(self, simple: Simple) -> bool:
        """Take ``name=value`` when that is what comes; arguments of ``export`` stay words unless arrays."""
        s = self.s
        match = _ASSIGN.match(s, self.i, self.n)
        if not match:
            return False
        array = s.startswith("(", match.end())
        if simple.words and not array:
            return False
        self.i = match.end()
        name, index, append = match.groups()
        assign = Assign(name, None, append=bool(append), index=(index or "")[1:-1])
        if array:
            self.i += 1
            assign.array = []
            self.array_into(assign.array)
        else:
            assign.value = self.word()
        simple.assigns.append(assign)
        return True

    def array_into(self, words: list[Word]) -> None:
        """Read the values of ``name=(..)``."""
        while True:
            self.newlines()
            if self.i >= self.n:
                return
            if self.s[self.i] == ")":
                self.i += 1
                return
            before = self.i
            word = self.word()
            if self.i == before:
                self.i += 1
                continue
            words.append(word)

    # -- redirections -----------------------------------------------------------------------------------


def read(
    text: str, *, base: int = 0, fixed: Span | None = None, depth: int = 0, work: Work | None = None
) -> tuple[Script, list[Problem]]:
    """Read shell text into a tree.

    Args:
        text: the shell text.
        base: where it stands in the submitted text.
        fixed: the span that stands for all of it, when positions do not map one to one.
        depth: nesting so far; text deeper than the limit is not read.
        work: what it may cost; text after that is not read.

    Returns:
        The script and what was improper about the text. Never raises.
    """
    reader = Reader(text, base=base, fixed=fixed, depth=depth, work=work)
    return reader.script(), reader.problems
