"""Cutting programs of several languages into tokens; tolerant, never raises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shellward.command.escapes import unescape_ansi
from shellward.command.follow.nodes import Call, Const, Name, Node, Seq, Shell, Template
from shellward.command.follow.things import Everywhere, Pattern

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATORS = re.compile(
    r"===|!==|<=>|\*\*=|\|\|=|&&=|\?\?=|//=|\.\.\.|<<=|>>=|%>%|=~|!~|=>|->|::|==|!=|~=|<=|>=|&&|\|\||\|>|\?\?|\?\.|&\.|\+\+|--|\+=|-=|\*=|/=|"
    r"\.=|\.\.|%=|\|=|\^=|<<-?(?![\w\"'~])|<<|>>|\*\*|<-|\S"
)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0o?[0-7_]+(?![.\d])|\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?[nLf]?")
_WORD = re.compile(r"[^\W\d]\w*")
_DOLLAR_WORD = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_SPACE = re.compile(r"[^\S\n]+|\\\n")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BACK = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_REGEX = re.compile(r"/((?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/([a-z]*)")
_HEREDOC = re.compile(r"<<<?([~-]?)([\"'`]?)([A-Za-z_]\w*)\2")
_COMMENT = {
    "javascript": re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL),
    "php": re.compile(r"//[^\n]*|#[^\n\[]*|/\*.*?\*/|<\?(?:php|=)?|\?>", re.DOTALL),
    "lua": re.compile(r"--\[\[.*?\]\]|--[^\n]*", re.DOTALL),
    "ruby": re.compile(r"#[^\n]*|^=begin.*?^=end[^\n]*", re.DOTALL | re.MULTILINE),
}
_HASH = re.compile(r"#[^\n]*")
_SIGILED = re.compile(
    r"[$@%&](?:#?(?:::)?[^\W\d]\w*(?:::\w+)*|\d+)|\$#\{|[$@%&](?=\{)|[$@%](?=\$)|\$[&!@/\\,;.0<>\"]|[$@]_\b"
)
_QUOTES = re.compile(r"(qq|qw|qx|qr|q|m|s|tr|y)(?=\s*[^\w\s,;)=]|=(?![>=~]))\s*")
_PERCENT = re.compile(r"%([wWqQiIxr]?)([^\w\s=])")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_WORDS_BEFORE_OPERAND = frozenset(
    ["my", "our", "local", "keys", "values", "each", "delete", "exists", "scalar", "for", "foreach", "unlink", "chmod", "reverse", "sort", "defined", "lc", "uc", "rmtree", "kill", "open"]
) | frozenset(
    ("return", "and", "or", "not", "if", "unless", "while", "until", "print", "puts", "split", "in", "of", "typeof", "case", "when", "grep",
     "map", "system", "exec", "x", "eq", "ne", "push", "join", "elsif", "then", "do", "else", "say", "printf", "echo", "function", "end")
)  # fmt: skip
_PERL_TEXT = re.compile(
    r"@\{\[(.*?)\]\}|[$@]\{\s*(\^?\w+)\s*\}((?:\[[^\]]*\]|\{[^{}]*\})*)|([$@](?:::)?[^\W\d]\w*(?:::\w+)*|\$\d+|\$[&!@0])((?:(?:->)?\[-?[$\w]+\]|(?:->)?\{[^{}]*\})*)",
    re.DOTALL,
)
_PHP_TEXT = re.compile(r"\{(\$[^{}]+)\}|\$\{(\w+)\}|(\$[^\W\d]\w*)(\[[^\]]*\]|->\w+)?")


@dataclass(slots=True)
class Token:
    """A piece of a program.

    Attributes:
        kind: ``value`` (of a constant, in ``node``), ``name``, ``op`` or ``end``.
        text: as it is written.
        node: what a constant or text stands for.
        line: a line ends before it.
        space: a blank or the end of a line is before it.
        gap: a blank or the end of a line is behind it.
    """

    kind: str
    text: str
    node: Node | None = None
    line: bool = False
    space: bool = False
    gap: bool = False


class Lexer:
    """Cuts one program into tokens.

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
        self.tokens: list[Token] = []
        self.line = False
        self.unclosed: set[str] = set()
        """What opens a text that nothing closes."""
        self.resume = 0
        """Where reading goes on behind the here-documents of a line."""
        self.comment = _COMMENT.get(language, _HASH)

    def cut(self) -> list[Token]:
        """Return the tokens; the last one is of the kind ``end``."""
        end = len(self.code)
        while self.at < end:
            before = self.at
            self._blanks()
            if self.at >= end:
                break
            if self.at > before and self.tokens:
                self.tokens[-1].gap = True
            self._token(space=self.at > before or not before)
        self.tokens.append(Token("end", "", line=True, space=True))
        return self.tokens

    def _blanks(self) -> None:
        code = self.code
        while self.at < len(code):
            if code[self.at] == "\n":
                self.line = True
                self.at, self.resume = max(self.at + 1, self.resume), 0
                continue
            found = _SPACE.match(code, self.at) or (self._comment_at() if code[self.at] in "#/-=<?" else None)
            if found is None or found.end() == self.at:
                return
            self.line = self.line or "\n" in found.group()
            self.at = found.end()

    def _comment_at(self) -> re.Match[str] | None:
        if self.language == "lua" and self.code[self.at] == "#":
            return None
        if self.language == "ruby" and self.code[self.at] == "=" and not self.line:
            return None
        opening = self.code[self.at : self.at + 4] if self.language == "lua" else self.code[self.at : self.at + 2]
        closing = {"/*": "*/", "--[[": "]]"}.get(opening)
        if closing and (opening in self.unclosed or self.code.find(closing, self.at) < 0):
            self.unclosed.add(opening)
            return None
        return self.comment.match(self.code, self.at)

    def add(self, kind: str, text: str, node: Node | None = None, *, space: bool = False) -> Token:
        """Note a token."""
        made = Token(kind, text, node, self.line, space)
        self.line = False
        self.tokens.append(made)
        return made

    def operand_next(self) -> bool:
        """Tell whether an operand may stand here, judged by what is before."""
        if not self.tokens:
            return True
        last = self.tokens[-1]
        if last.kind == "value":
            return False
        if last.kind == "name":
            return last.text in _WORDS_BEFORE_OPERAND or self.line
        return last.text not in {")", "]", "}"}

    def _token(self, *, space: bool) -> None:
        code, at, language = self.code, self.at, self.language
        c = code[at]
        for reads in (self._texts, self._special):
            made = reads(c)
            if made is not None:
                text, node = made
                self.add("value", text, node, space=space)
                return
        if language in {"perl", "php"} and c in "$@%&" and (c in "$@" or self.operand_next()):
            found = _SIGILED.match(code, at)
            if found and (language == "perl" or c == "$"):
                self.at = found.end()
                self.add("name", found.group(), space=space)
                return
        if language == "ruby" and c in "$@":
            found = re.compile(r"@@?\w+|\$(?:\w+|[<>0_*!?~])").match(code, at)
            if found:
                self.at = found.end()
                self.add("name", found.group(), space=space)
                return
        word = (_DOLLAR_WORD if language == "javascript" else _WORD).match(code, at)
        if word:
            self._word(word, space=space)
            return
        number = _NUMBER.match(code, at)
        if number:
            self.at = number.end()
            self.add("value", number.group(), Const(_number(number.group())), space=space)
            return
        op = _OPERATORS.match(code, at)
        self.at = op.end() if op else at + 1
        self.add("op", op.group() if op else c, space=space)

    def _word(self, word: re.Match[str], *, space: bool) -> None:
        text, end = word.group(), word.end()
        if self.language in {"ruby", "perl"}:
            more = re.compile(r"(?:::[^\W\d]\w*)+").match(self.code, end)
            end = more.end() if more else end
        if self.language == "r":
            more = re.compile(r"[\w.]+").match(self.code, end)
            end = more.end() if more else end
        if (
            self.language == "ruby"
            and self.code[end : end + 1] in {"?", "!"}
            and self.code[end + 1 : end + 2] not in {"=", ":"}
        ):
            end += not (
                self.code[end] == "?" and self.code[end + 1 : end + 2] == " " and " : " in self.code[end : end + 200]
            )
        text = self.code[word.start() : end]
        self.at = end
        self.add("name", text, space=space)

    # -- texts --------------------------------------------------------------------------------------------

    def _texts(self, c: str) -> tuple[str, Node] | None:  # noqa: PLR0911
        code, at = self.code, self.at
        if c in self.unclosed:
            return None
        if c == '"':
            found = _DOUBLE.match(code, at)
            if not found:
                self.unclosed.add(c)
            else:
                self.at = found.end()
                return c, self.filled(found.group(1))
        if c == "'":
            found = _SINGLE.match(code, at)
            if not found:
                self.unclosed.add(c)
            else:
                self.at = found.end()
                text = found.group(1)
                simple = self.language in {"perl", "ruby", "php"}
                return c, Const(re.sub(r"\\(['\\])", r"\1", text) if simple else _unescaped(text))
        if c == "`":
            found = _BACK.match(code, at)
            if not found:
                self.unclosed.add(c)
            else:
                self.at = found.end()
                filled = self.filled(found.group(1))
                return c, filled if self.language == "javascript" else Shell(filled)
        if c == "[" and self.language == "lua":
            opening = re.compile(r"\[(=*)\[").match(code, at)
            end = code.find(f"]{opening.group(1)}]", opening.end()) if opening else 0
            if opening and end < 0:
                self.unclosed.add(c)
            elif opening:
                self.at = end + 2 + len(opening.group(1))
                return c, Const(code[opening.end() : end])
        if c == "<" and code.startswith("<<", at) and self.language in {"ruby", "perl", "php"}:
            found = _HEREDOC.match(code, at)
            if found and (self.operand_next() or self.language == "php" or (found.group(1) and "\n" in code[at:])):
                self.at = found.end()
                return "<<", self._heredoc(found.group(2), found.group(3))
        return None

    def _heredoc(self, kind: str, word: str) -> Node:
        """Read a here-document: its text begins with the next line."""
        start = self.resume or self.code.find("\n", self.at) + 1 or len(self.code)
        end = re.compile(rf"^[ \t]*{re.escape(word)}\b", re.MULTILINE).search(self.code, start)
        self.resume = end.end() if end else len(self.code)
        body = self.code[start : end.start() if end else len(self.code)]
        return Const(body) if kind == "'" else self.filled(body)

    def _special(self, c: str) -> tuple[str, Node] | None:  # noqa: C901, PLR0911
        code, at, language = self.code, self.at, self.language
        if c == "/" and language in {"javascript", "ruby", "perl", "awk", "php"} and self._regex_here():
            found = _REGEX.match(code, at)
            if found and language != "php":
                self.at = found.end()
                return c, Const(Everywhere(found.group(1)) if "g" in found.group(2) else Pattern(found.group(1)))
        if (
            language == "perl"
            and c in "qmsty"
            and not (
                self.tokens
                and self.tokens[-1].text in {"->", "{", "sub"}
                and re.match(r"\w+\s*[}(]", code[at : at + 12])
            )
        ):
            quote = _QUOTES.match(code, at)
            if (
                quote
                and not re.match(r"\s*=>", code[quote.end() : quote.end() + 5])
                and (at == 0 or code[at - 1] not in "$@%&")
            ):
                return self._perl_quote(quote)
        if language == "ruby" and c == "%" and self.operand_next():
            percent = _PERCENT.match(code, at)
            if percent:
                return self._percent(percent)
        if (
            language == "ruby"
            and c == ":"
            and self.operand_next() | (self.tokens[-1:] != [] and code[at - 1] in " (,[")
        ):
            symbol = re.compile(r":(?:\"([^\"]*)\"|([^\W\d]\w*[?!=]?))").match(code, at)
            if symbol and not code.startswith("::", at):
                self.at = symbol.end()
                return ":", Const(symbol.group(1) or symbol.group(2) or "")
        if language == "ruby" and c == "?" and self.operand_next() and re.match(r"\?\w(?!\w)", code[at : at + 3]):
            self.at += 2
            return "?", Const(code[at + 1])
        if language == "perl" and c == "<" and self.operand_next():
            found = re.compile(r"<([\w$]*|[^<>\s=;][^<>\n]*)>").match(code, at)
            if found:
                self.at = found.end()
                inner = found.group(1)
                read = inner.strip("$") in {"", "STDIN", "ARGV", "stdin"} or inner.startswith("$")
                return c, Call(
                    Name("readline"), [Name(inner if inner.startswith("$") else "STDIN")] if read else []
                ) if read else Call(Name("glob"), [self.filled(inner)])
        return None

    def _regex_here(self) -> bool:
        return not (
            not self.operand_next()
            and not (
                self.tokens[-1].kind == "name"
                and self.language == "ruby"
                and self.code[self.at - 1] == " "
                and self.code[self.at + 1 : self.at + 2] != " "
            )
        )

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

    def _perl_quote(self, quote: re.Match[str]) -> tuple[str, Node]:
        kind, at = quote.group(1), quote.end()
        text, end = self._delimited(at)
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
                self.filled(second) if kind == "s" else Const(second),
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

    def _percent(self, percent: re.Match[str]) -> tuple[str, Node] | None:
        kind = percent.group(1)
        if not kind and percent.group(2) not in "([{<|!":
            return None
        text, end = self._delimited(percent.end() - 1)
        self.at = end
        if kind in {"w", "W", "i", "I"} and kind:
            return "%w", Seq([self.filled(word) if kind == "W" else Const(word) for word in text.split()])
        if kind == "r":
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
        return Const(_unescaped(text))

    def _pieces(self, text: str, opening: str) -> Node:
        """Texts with expressions in brackets, which may be nested."""
        parts: list[Node] = []
        at = 0
        while True:
            start = text.find(opening, at)
            if start < 0:
                parts.append(Const(_unescaped(text[at:])))
                return Template(parts)
            parts.append(Const(_unescaped(text[at:start])))
            inner = Lexer(self.language, text, self.parse)
            body, at = inner._delimited(start + len(opening) - 1)
            parts.append(self.parse(body))

    def _matched(self, text: str, pattern: re.Pattern[str]) -> Node:
        """Texts with variables in them."""
        parts: list[Node] = []
        at = 0
        for match in pattern.finditer(text):
            if match.start() and text[match.start() - 1] == "\\":
                continue
            parts.append(Const(_unescaped(text[at : match.start()])))
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
        parts.append(Const(_unescaped(text[at:])))
        return Template(parts)


def _unescaped(text: str) -> str:
    """Undo the escapes that most languages share."""
    if "\\" not in text:
        return text
    text = re.sub(
        r"\\u\{([0-9a-fA-F]{1,6})\}", lambda m: chr(int(m.group(1), 16)) if int(m.group(1), 16) < 0xD800 else "", text
    )
    return re.sub(r"\\([^abefnrtv0-7xuUcE])", r"\1", unescape_ansi(text.replace("\\\n", "")))


def _number(text: str) -> int | float:
    """Read a number."""
    digits = text.rstrip("nLf").replace("_", "") if text[:2] not in {"0x", "0X"} else text.replace("_", "").rstrip("nL")
    try:
        if digits[:2] in {"0x", "0X"}:
            return int(digits[:12], 16)
        if digits[:2] in {"0b", "0B"}:
            return int(digits[:60], 2)
        if len(digits) > 1 and digits[0] == "0" and digits.lstrip("0o").isdecimal():
            return int(digits.lstrip("0o")[:12], 8)
        return float(digits[:30]) if "." in digits or "e" in digits.lower() else int(digits[:15])
    except ValueError:
        return 0
