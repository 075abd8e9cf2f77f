"""Reading expansions: substitutions, parameters, arithmetic, ``$'..'``. Words and quotes are wordreader.py's."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from shellward.command.escapes import unescape_ansi
from shellward.command.syntax import Arithmetic, Param, Problem, Script, Span, Substitution, Text, Word
from shellward.command.work import Work

if TYPE_CHECKING:
    from shellward.command.syntax import Part

MAX_DEPTH = 48
"""Deepest nesting that is followed. Deeper text is a finding of its own, never a crash."""
_BRACED_TEXT = re.compile(r"[^\\'\"$`}/<>]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_BRACED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_OPERATOR = re.compile(r":[-=+?]|##?|%%?|//|/#|/%|/|\^\^?|,,?|@|:|[-=+?]")
_ACTIVE = re.compile(r"[*?\[{~]")


class TooDeep(Exception):  # noqa: N818  # control flow inside this package, never seen outside
    """The text nests deeper than MAX_DEPTH."""


class ExpansionReader(ABC):
    """Reads what begins with a dollar sign or a backtick, in ``s[i:n]``.

    Args:
        text: what to read.
        start: where to begin.
        end: where to stop.
        base: what to add to a position to get one of the submitted text.
        fixed: the span that stands for everything read here, when positions do not map one to one.
        depth: nesting so far.
        work: what reading may cost.
    """

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
        self.s = text
        self.i = start
        self.n = len(text) if end is None else end
        self.base = base
        self.fixed = fixed
        self.depth = depth
        self.problems: list[Problem] = []
        self.rereads = 0
        self.work = work or Work()

    def span(self, start: int, end: int) -> Span:
        """Translate positions here into a span of the submitted text."""
        if self.fixed:
            return self.fixed
        end = min(end, self.n)
        return (start + self.base if start < end else end + self.base), end + self.base

    def problem(self, kind: str, start: int, what: str = "") -> None:
        """Note improper syntax; reading goes on."""
        self.problems.append(Problem(kind, self.span(start, self.n), what))

    def deeper(self) -> None:
        """Count one level of nesting."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.problem("too-deep", self.i)
            raise TooDeep

    @abstractmethod
    def script_until(self, close: str) -> Script:
        """Read a list up to a closing character."""

    @abstractmethod
    def nested(self, text: str, start: int, end: int, fixed: Span | None) -> Script:
        """Read a script from other text or a part of this one."""

    @staticmethod
    def fold(word: Word) -> None:
        """Set ``lit`` when the word's parts are constant text that nothing can change."""
        texts: list[str] = []
        for part in word.parts:
            if not isinstance(part, Text) or (not part.quoted and _ACTIVE.search(part.value)):
                return
            texts.append(part.value)
        word.lit = "".join(texts)

    def backticks(self, parts: list[Part], *, quoted: bool) -> None:
        """Read a substitution in backticks."""
        s, start = self.s, self.i + 1
        end = start
        while True:
            end = s.find("`", end, self.n)
            if end < 0:
                self.problem("unterminated", self.i, "`")
                end = self.n
                break
            slashes = end - len(s[start:end].rstrip("\\")) - start if s[end - 1] == "\\" else 0
            if slashes % 2 == 0:
                break
            end += 1
        self.i = min(end + 1, self.n)
        if start == end:
            return
        if s.find("\\", start, end) < 0:
            script = self.nested(s, start, end, None)
        else:
            text = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", s[start:end])
            script = self.nested(text, 0, len(text), self.span(start, end))
        parts.append(Substitution(script, "$", quoted))

    def dollar(self, parts: list[Part], *, quoted: bool) -> None:
        """Read what follows a dollar sign."""
        s, i = self.s, self.i
        c = s[i + 1] if i + 1 < self.n else ""
        if c == "(":
            if s.startswith("(", i + 2) and self.arithmetic(parts, i + 3, quoted=quoted):
                return
            self.i = i + 2
            parts.append(Substitution(self.script_until(")"), "$", quoted))
        elif c == "{":
            self.braced(parts, quoted=quoted)
        elif c == "'" and not quoted:
            self.ansi(parts)
        elif c == '"' and not quoted:
            self.i = i + 1
            self.double_quotes(parts)
        elif c == "[":
            end = s.find("]", i, self.n)
            self.i = end + 1 if end > 0 else self.n
            parts.append(Arithmetic([Text(s[i + 2 : self.i - 1])], quoted))
        else:
            match = _NAME.match(s, i + 1, self.n)
            if match:
                self.i = match.end()
                parts.append(Param(match.group(), quoted=quoted))
            else:
                self.i = i + 1
                parts.append(Text("$", quoted=True))

    def ansi(self, parts: list[Part]) -> None:
        """Read ``$'..'``."""
        s, start = self.s, self.i
        end = start + 2
        while True:
            end = s.find("'", end, self.n)
            if end < 0:
                self.problem("unterminated", start, "$'")
                end = self.n
                break
            body = s[start + 2 : end]
            if (len(body) - len(body.rstrip("\\"))) % 2 == 0:
                break
            end += 1
        parts.append(Text(unescape_ansi(s[start + 2 : end]), quoted=True))
        self.i = min(end + 1, self.n)

    def arithmetic(self, parts: list[Part], start: int, *, quoted: bool) -> bool:
        """Read ``$((..))``; tell False when it turns out to be a substitution that begins with a subshell."""
        if self.rereads > 2 * self.n:  # keeps reading linear: each failed attempt reads twice
            return False
        back, problems = self.i, len(self.problems)
        self.i = start
        inner: list[Part] = []
        if self.arithmetic_parts(inner):
            parts.append(Arithmetic(inner, quoted))
            return True
        self.rereads += self.i - back
        self.i = back
        del self.problems[problems:]
        return False

    def arithmetic_parts(self, parts: list[Part]) -> bool:
        """Read up to ``))``; tell whether it was there."""
        self.deeper()
        s, level, start = self.s, 0, self.i
        try:
            while self.i < self.n:
                c = s[self.i]
                if c == "(":
                    level += 1
                elif c == ")":
                    if not level:
                        parts.append(Text(s[start : self.i], quoted=True))
                        ok = s.startswith("))", self.i)
                        self.i += 2
                        return ok
                    level -= 1
                elif c in "$`":
                    parts.append(Text(s[start : self.i], quoted=True))
                    self.special(parts, c, quoted=True)
                    start = self.i
                    continue
                elif c in "'\";\n" and not level and self.looks_like_list():
                    return False
                self.i += 1
        finally:
            self.depth -= 1
        return False

    def looks_like_list(self) -> bool:
        """Tell whether text at this place cannot be arithmetic."""
        return self.s[self.i] in "';"

    def braced(self, parts: list[Part], *, quoted: bool) -> None:
        """Read ``${..}``."""
        s, start = self.s, self.i
        self.i += 2
        param = Param("", quoted=quoted)
        if (
            s.startswith("#", self.i)
            and _BRACED_NAME.match(s, self.i + 1, self.n)
            and not s.startswith("}", self.i + 1)
        ):
            param.op = "length"
            self.i += 1
        elif s.startswith("!", self.i) and not s.startswith("}", self.i + 1):
            param.op = "!"
            self.i += 1
        match = _BRACED_NAME.match(s, self.i, self.n)
        if not match:
            end = s.find("}", self.i, self.n)
            self.problem("unexpected", start, "${")
            self.i = end + 1 if end >= 0 else self.n
            return
        param.name = match.group()
        self.i = match.end()
        if s.startswith("[", self.i):
            end = s.find("]", self.i, self.n)
            if end > 0:
                param.index = s[self.i + 1 : end]
                self.i = end + 1
                self.index_substitutions(parts, param.index, start)
        self.deeper()
        operator = _OPERATOR.match(s, self.i, self.n)
        if operator and not param.op:
            param.op = operator.group()
            self.i = operator.end()
            slash = param.op.startswith("/")
            param.arg = self.brace_word(slash=slash, quoted=quoted)
            if slash and s.startswith("/", self.i):
                self.i += 1
                param.replacement = self.brace_word(slash=False, quoted=quoted)
        else:
            self.brace_word(slash=False, quoted=quoted)
        self.depth -= 1
        if self.i < self.n:
            self.i += 1
        else:
            self.problem("unterminated", start, "${")
        parts.append(param)

    def index_substitutions(self, parts: list[Part], index: str, start: int) -> None:
        """A subscript is arithmetic, so a substitution in it runs."""
        if "$(" in index or "`" in index:
            inner: list[Part] = []
            self.nested_parts(index, inner, self.span(start, self.i))
            parts.extend(part for part in inner if isinstance(part, Substitution))

    @abstractmethod
    def nested_parts(self, text: str, parts: list[Part], fixed: Span) -> None:
        """Read other text as if it stood in double quotes."""

    def brace_word(self, *, slash: bool, quoted: bool) -> Word:
        """Read a word inside ``${..}``, up to ``}`` (or ``/``)."""
        s, n, start = self.s, self.n, self.i
        parts: list[Part] = []
        while self.i < n:
            c = s[self.i]
            if c == "}" or (slash and c == "/" and self.i > start):
                break
            match = _BRACED_TEXT.match(s, self.i, n)
            if match:
                self.i = match.end()
                parts.append(Text(match.group()))
            elif c in "/<>" or (c == "'" and quoted):
                self.i += 1
                parts.append(Text(c))
            else:
                self.special(parts, c, quoted=quoted and c != '"')
        word = Word(self.span(start, self.i), parts)
        self.fold(word)
        return word

    @abstractmethod
    def special(self, parts: list[Part], c: str, *, quoted: bool) -> bool:
        """Read a quote, escape or expansion; tell whether the word is still bare."""

    @abstractmethod
    def double_quotes(self, parts: list[Part]) -> None:
        """Read ``".."``."""
