"""Texts of several languages: where they end, their escapes, and what stands in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.escapes import unescape_ansi
from shellward.command.follow.nodes import Call, Const, Name, Node, Seq, Shell, Template
from shellward.command.follow.things import Pattern

if TYPE_CHECKING:
    from collections.abc import Callable

_SPACE = re.compile(r"[^\S\n]+|\\\n")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_PERL_TEXT = re.compile(
    r"@\{\[(.*?)\]\}|[$@]\{\s*(\^?\w+)\s*\}((?:\[[^\]]*\]|\{[^{}]*\})*)|([$@](?:::)?[^\W\d]\w*(?:::\w+)*|\$\d+|\$[&!@0])((?:(?:->)?\[-?[$\w]+\]|(?:->)?\{[^{}]*\})*)",
    re.DOTALL,
)
_PHP_TEXT = re.compile(r"\{(\$[^{}]+)\}|\$\{(\w+)\}|(\$[^\W\d]\w*)(\[[^\]]*\]|->\w+)?")


_ONLY_GROUPS = re.compile(r"(?=.*[$\\]\{?[\d&])(?:[^$@\\]|\$\{\d\}|[$\\][\d&])+", re.DOTALL)
"""A replacement in which groups are named and nothing else is: what replaces puts them in."""
HOLDS = re.compile(r"[$@]\{|\{\$|\(\?\??\{")
"""What an expression begins with within a text or an expression of Perl, or a text of PHP."""


class Texts:
    """Reads texts of one program.

    Args:
        language: its language.
        code: its text.
        parse: reads an expression within a text.
    """

    def __init__(self, language: str, code: str, parse: Callable[[str], Node]) -> None:
        self.language = language
        self.code = code
        self.parse = parse
        self.at = 0
        self.doubts = 0
        """Texts that may hold an expression which was not read."""
        self.unclosed: set[str] = set()
        """What opens a text that nothing closes."""
        self.resume = 0
        """Where reading goes on behind the here-documents of a line."""

    def _delimited(self, at: int) -> tuple[str, int]:
        """Read up to the delimiter that closes what opens at a place; return the text and where it ends."""
        opening = self.code[at]
        closing = _CLOSING.get(opening, opening)
        level, i = 0, at + 1
        while i < len(self.code):
            c = self.code[i]
            if c == "\\":
                i += 1
            elif c == closing and not level:
                return self.code[at + 1 : i], i + 1
            elif c == opening and closing != opening:
                level += 1
            elif c == closing:
                level -= 1
            i += 1
        return self.code[at + 1 :], len(self.code)

    def perl_quote(self, quote: re.Match[str]) -> tuple[str, Node]:
        """Read ``q(..)``, ``qw(..)``, ``s/../../`` and their like."""
        kind, at = quote.group(1), quote.end()
        text, end = self._delimited(at)
        self.doubts += kind in {"m", "qr", "s"} and bool(HOLDS.search(text))
        if kind in {"s", "tr", "y"}:
            if self.code[at] in _CLOSING:
                space = _SPACE.match(self.code, end)
                second, end = self._delimited(space.end() if space else end) if end < len(self.code) else ("", end)
            else:
                second, end = self._delimited(end - 1)
            flags = re.compile(r"[a-z]*").match(self.code, end)
            end = flags.end() if flags else end
            self.at = end
            given: list[Node] = [
                Const(Pattern(text) if kind == "s" else text),
                Const(second) if kind != "s" or _ONLY_GROUPS.fullmatch(second) else self.filled(second),
            ]
            if kind == "s" and flags and "e" in flags.group():
                given[1] = self.parse(second)
            once = kind == "s" and not (flags and "g" in flags.group())
            return kind, Call(Name("=~sub" if once else "=~gsub" if kind == "s" else "=~tr"), given)
        if kind in {"m", "qr"}:
            flags = re.compile(r"[a-z]*").match(self.code, end)
            self.at = flags.end() if flags else end
            return kind, Const(Pattern(text))
        self.at = end
        if kind == "qw":
            return kind, Seq([Const(word) for word in text.split()])
        filled = Const(text) if kind == "q" or self.code[at] == "'" else self.filled(text)
        return kind, Shell(filled) if kind == "qx" else filled

    def percent(self, percent: re.Match[str]) -> tuple[str, Node] | None:
        """Read ``%w[..]`` and its like."""
        kind = percent.group(1)
        if not kind and percent.group(2) not in "([{<|!":
            return None
        text, end = self._delimited(percent.end() - 1)
        self.at = end
        if kind in {"w", "W", "i", "I"} and kind:
            return "%w", Seq([self.filled(word) if kind in {"W", "I"} else Const(word) for word in text.split()])
        if kind == "r":
            self.doubts += "#{" in text
            return "%r", Const(Pattern(text))
        filled = Const(text) if kind == "q" else self.filled(text)
        return "%", Shell(filled) if kind == "x" else filled

    def filled(self, text: str) -> Node:
        """Undo the escapes of a text, and read what stands in it."""
        language = self.language
        if language == "javascript" and "${" in text:
            return self._pieces(text, "${")
        if language == "ruby" and "#{" in text:
            return self._pieces(text, "#{")
        if language == "julia" and "$(" in text:
            return self._pieces(text, "$(")
        if language == "perl" and ("$" in text or "@" in text):
            return self._matched(text, _PERL_TEXT)
        if language == "php" and "$" in text:
            return self._matched(text, _PHP_TEXT)
        return Const(unescaped(text))

    def _pieces(self, text: str, opening: str) -> Node:
        """Texts with expressions in brackets, which may be nested."""
        parts: list[Node] = []
        at = 0
        while True:
            start = text.find(opening, at)
            if start < 0:
                parts.append(Const(unescaped(text[at:])))
                return Template(parts)
            parts.append(Const(unescaped(text[at:start])))
            inner = Texts(self.language, text, self.parse)
            body, at = inner._delimited(start + len(opening) - 1)
            parts.append(self.parse(body))

    def _matched(self, text: str, pattern: re.Pattern[str]) -> Node:
        """Texts with variables in them."""
        parts: list[Node] = []
        at = 0
        self.doubts += bool(HOLDS.search(pattern.sub("", text)))
        for match in pattern.finditer(text):
            if match.start() and text[match.start() - 1] == "\\":
                continue
            parts.append(Const(unescaped(text[at : match.start()])))
            at = match.end()
            if self.language == "perl" and match.group(1) is not None:
                parts.append(self.parse(match.group(1)))
            elif self.language == "perl":
                name = match.group(4) or match.group()[0] + (match.group(2) or "")
                parts.append(self.parse(name + (match.group(5) or match.group(3) or "")))
            elif (
                match.group(3) and (match.group(4) or "").startswith("[") and match.group(4)[1:2] not in {"'", '"', "$"}
            ):
                key = match.group(4)[1:-1]
                parts.append(self.parse(f"{match.group(3)}[{key if key.lstrip('-').isdigit() else repr(key)}]"))
            else:
                parts.append(
                    self.parse(match.group(1) or (match.group(3) or "$" + match.group(2)) + (match.group(4) or ""))
                )
        parts.append(Const(unescaped(text[at:])))
        return Template(parts)

    def heredoc(self, kind: str, word: str) -> Node:
        """Read a here-document: its text begins with the next line."""
        start = self.resume or self.code.find("\n", self.at) + 1 or len(self.code)
        end = re.compile(rf"^[ \t]*{re.escape(word)}\b", re.MULTILINE).search(self.code, start)
        self.resume = end.end() if end else len(self.code)
        body = self.code[start : end.start() if end else len(self.code)]
        return Const(body) if kind == "'" else self.filled(body)


def unescaped(text: str) -> str:
    """Undo the escapes that most languages share."""
    if "\\" not in text:
        return text
    text = re.sub(
        r"\\u\{([0-9a-fA-F]{1,6})\}", lambda m: chr(int(m.group(1), 16)) if int(m.group(1), 16) < 0xD800 else "", text
    )
    return re.sub(r"\\([^abefnrtv0-7xuUcE])", r"\1", unescape_ansi(text.replace("\\\n", "")))
