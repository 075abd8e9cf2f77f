"""Reading one shell word: quotes, escapes, expansions. Lists and compound commands are reader.py's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.expansionreader import (
    _ACTIVE,
    ExpansionReader,
)
from shellward.command.syntax import Substitution, Text, Word

if TYPE_CHECKING:
    from shellward.command.syntax import Part


STDIN_PATHS = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
"""Names of standard input."""

_TEXT = re.compile(r"[^ \t\n\\'\"$`|&;<>()]+")
_DQ_TEXT = re.compile(r'[^"\\$`]+')
_BODY_TEXT = re.compile(r"[^\\$`]+")


class WordReader(ExpansionReader):
    """Reads words and quotes; the rest of the grammar is added by Reader."""

    # -- words ------------------------------------------------------------------------------------------

    def word(self) -> Word:
        """Read one word at the current position; it may be empty when there is none."""
        s, start = self.s, self.i
        match = _TEXT.match(s, start, self.n)
        self.work.left -= 2
        if match:
            end = match.end()
            if end >= self.n or s[end] in " \t\n|&;)":
                text = match.group()
                self.i = end
                if not _ACTIVE.search(text) or text == "{}":  # as find and xargs have it
                    return Word(self.span(start, end), [], text, True)
                return Word(self.span(start, end), [Text(text)], bare=True)
        parts, bare = self.word_parts()
        self.work.spend(2 + len(parts))
        word = Word(self.span(start, self.i), parts, bare=bare)
        self.fold(word)
        return word

    def word_parts(self) -> tuple[list[Part], bool]:
        """Read the pieces of a word; tell too whether it is written without quotes."""
        s, n = self.s, self.n
        parts: list[Part] = []
        bare = True
        while self.i < n:
            c = s[self.i]
            if c in " \t\n|&;)":
                break
            match = _TEXT.match(s, self.i, n)
            if match:
                self.i = match.end()
                parts.append(Text(match.group()))
                if self.i < n and s[self.i] == "(" and s[self.i - 1] in "?*+@!":
                    self.extglob(parts)
                continue
            if c == "(":
                break
            if c in "<>":
                if not s.startswith("(", self.i + 1):
                    break
                self.i += 2
                parts.append(Substitution(self.script_until(")"), c))
                bare = False
                continue
            bare = self.special(parts, c, quoted=False) and bare
        return parts, bare

    def special(self, parts: list[Part], c: str, *, quoted: bool) -> bool:
        """Read a quote, escape or expansion; tell whether the word is still bare."""
        s = self.s
        if c == "\\":
            if s.startswith("\n", self.i + 1):
                self.i += 2
                return True
            if self.i + 1 < self.n:
                parts.append(Text(s[self.i + 1], quoted=True))
            self.i += 2
            return False
        if c == "'":
            end = s.find("'", self.i + 1, self.n)
            if end < 0:
                self.problem("unterminated", self.i, "'")
                end = self.n
            parts.append(Text(s[self.i + 1 : end], quoted=True))
            self.i = end + 1
            return False
        if c == '"':
            self.double_quotes(parts)
            return False
        if c == "`":
            self.backticks(parts, quoted=quoted)
            return False
        self.dollar(parts, quoted=quoted)
        return False

    def extglob(self, parts: list[Part]) -> None:
        """Take ``@(a|b)`` as text of the word."""
        s, start, level = self.s, self.i, 0
        i = start
        while i < self.n:
            c = s[i]
            if c == "(":
                level += 1
            elif c == ")":
                level -= 1
                if not level:
                    break
            elif c in " \t\n" and level == 1 and "|" not in s[start:i]:
                return
            i += 1
        parts.append(Text(s[start : i + 1]))
        self.i = min(i + 1, self.n)

    def double_quotes(self, parts: list[Part]) -> None:
        """Read ``".."``."""
        start = self.i
        self.i += 1
        before = len(parts)
        if not self.quoted_text(parts, _DQ_TEXT, '"', '$`"\\\n'):
            self.problem("unterminated", start, '"')
        if len(parts) == before:
            parts.append(Text("", quoted=True))

    def quoted_text(self, parts: list[Part], plain: re.Pattern[str], close: str, escapable: str) -> bool:
        r"""Read text in which only ``\\``, ``$`` and backticks are special; tell whether ``close`` was met."""
        s, n = self.s, self.n
        while self.i < n:
            match = plain.match(s, self.i, n)
            if match:
                self.i = match.end()
                parts.append(Text(match.group(), quoted=True))
                continue
            c = s[self.i]
            if c == close:
                self.i += 1
                return True
            if c == "\\":
                following = s[self.i + 1 : self.i + 2]
                if following == "\n":
                    pass
                elif following and following in escapable:
                    parts.append(Text(following, quoted=True))
                else:
                    parts.append(Text(c + following, quoted=True))
                self.i += 2
            elif c == "`":
                self.backticks(parts, quoted=True)
            else:
                self.dollar(parts, quoted=True)
        self.i = n
        return not close

    def body(self, start: int, end: int, *, literal: bool, strip: bool) -> Word:
        """Make a word of a here-document's body."""
        span = self.span(start, end)
        text = self.s[start:end]
        if literal or not ("$" in text or "`" in text or "\\" in text):
            if strip:
                text = re.sub(r"^\t+", "", text, flags=re.MULTILINE)
            return Word(span, lit=text)
        i, n, self.i, self.n = self.i, self.n, start, end
        parts: list[Part] = []
        self.quoted_text(parts, _BODY_TEXT, "", "$`\\")
        self.i, self.n = i, n
        if strip:
            for part in parts:
                if isinstance(part, Text):
                    part.value = re.sub(r"^\t+", "", part.value, flags=re.MULTILINE)
        word = Word(span, parts)
        self.fold(word)
        return word

    # -- expansions -------------------------------------------------------------------------------------
