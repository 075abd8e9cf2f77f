"""Cutting programs of several languages into tokens; tolerant, never raises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shellward.command.follow.nodes import Call, Const, Name, Node, Shell
from shellward.command.follow.quoting import HOLDS, Texts, unescaped
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
_FILLED = {
    "ruby": re.compile(r'"((?:[^"\\#]|\\.|#(?!\{)|#\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\})*)"', re.DOTALL),
    "javascript": re.compile(r"`((?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\})*)`", re.DOTALL),
}
"""Texts in which an expression may hold the same quotes."""
_SINGLE = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BACK = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_REGEX = re.compile(r"/((?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,500})/([a-z]*)")
_HEREDOC = re.compile(r"<<<?([~-]?)([\"'`]?)([A-Za-z_]\w*)\2")
_COMMENT = {
    "javascript": re.compile(r"//[^\n\r\u2028\u2029]*|/\*.*?\*/", re.DOTALL),
    "php": re.compile(r"//(?:(?!\?>)[^\n\r])*|#(?!\[)(?:(?!\?>)[^\n\r])*|/\*.*?\*/|<\?(?:php|=)?|\?>", re.DOTALL),
    "lua": re.compile(r"--\[(=*)\[.*?\]\1\]|--[^\n\r]*", re.DOTALL),
    "ruby": re.compile(r"#[^\n]*|^=begin.*?^=end[^\n]*", re.DOTALL | re.MULTILINE),
}
_LONG_COMMENT = re.compile(r"--\[(=*)\[")
_HASH = re.compile(r"#[^\n]*")
_SIGILED = re.compile(
    r"[$@%&](?:#?(?:::)?[^\W\d]\w*(?:::\w+)*|\d+)|\$#\{|[$@%&](?=\{)|[$@%](?=\$)|\$[&!@/\\,;.0<>\"]|[$@]_\b"
)
_QUOTES = re.compile(r"(qq|qw|qx|qr|q|m|s|tr|y)(?=\s*[^\w\s,;)=]|=(?![>=~]))\s*")
_PERCENT = re.compile(r"%([wWqQiIxr]?)([^\w\s=])")
_LIST = re.compile(r" %[wWiI][\[({<|!]")
"""After a name: the argument of a call, which nobody means as a rest."""
_WORDS_BEFORE_OPERAND = frozenset(
    ["my", "our", "local", "keys", "values", "each", "delete", "exists", "scalar", "for", "foreach", "unlink", "chmod", "reverse", "sort", "defined", "lc", "uc", "rmtree", "kill", "open"]
) | frozenset(
    ("return", "and", "or", "not", "if", "unless", "while", "until", "print", "puts", "split", "in", "of", "typeof", "case", "when", "grep",
     "map", "system", "exec", "x", "eq", "ne", "push", "join", "elsif", "then", "do", "else", "say", "printf", "echo", "function", "end")
)  # fmt: skip


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


class Lexer(Texts):
    """Cuts one program into tokens.

    Args:
        language: its language.
        code: its text.
        parse: reads an expression within a text.
    """

    def __init__(self, language: str, code: str, parse: Callable[[str], Node]) -> None:
        super().__init__(language, code, parse)
        self.tokens: list[Token] = []
        self.line = False
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
        opening, closing = self.code[self.at : self.at + 2], None
        if self.language == "lua" and (long := _LONG_COMMENT.match(self.code, self.at)):
            opening, closing = long.group(), f"]{long.group(1)}]"
        elif self.language != "lua" and opening == "/*":
            closing = "*/"
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
            self.doubts += text in {"r", "R"} and self.code[end : end + 1] in {'"', "'"}  # a raw text
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

    def _texts(self, c: str) -> tuple[str, Node] | None:  # noqa: C901, PLR0911, PLR0912
        code, at = self.code, self.at
        if c in self.unclosed:
            return None
        if c == '"':
            found = (_FILLED["ruby"] if self.language == "ruby" else _DOUBLE).match(code, at) or _DOUBLE.match(code, at)
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
                return c, Const(re.sub(r"\\(['\\])", r"\1", text) if simple else unescaped(text))
        if c == "`":
            found = _FILLED["javascript"].match(code, at) if self.language == "javascript" else None
            found = found or _BACK.match(code, at)
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
                return "<<", self.heredoc(found.group(2), found.group(3))
        return None

    def _special(self, c: str) -> tuple[str, Node] | None:  # noqa: C901, PLR0911
        code, at, language = self.code, self.at, self.language
        if c == "/" and language in {"javascript", "ruby", "perl", "awk"} and self._regex_here():
            found = _REGEX.match(code, at)
            if found:
                self.at = found.end()
                self.doubts += language in {"ruby", "perl"} and bool(HOLDS.search(found.group(1).replace("#{", "${")))
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
                return self.perl_quote(quote)
        if language == "ruby" and c == "%" and (self.operand_next() or _LIST.match(code, at - 1)):
            percent = _PERCENT.match(code, at)
            if percent:
                return self.percent(percent)
        if (
            language == "ruby"
            and c == ":"
            and self.operand_next() | (self.tokens[-1:] != [] and code[at - 1] in " (,[")
        ):
            if code.startswith(':"', at):
                self.at += 1
                quoted = self._texts('"')
                self.at -= quoted is None
                return quoted
            symbol = re.compile(r":([^\W\d]\w*[?!=]?)").match(code, at)
            if symbol and not code.startswith("::", at):
                self.at = symbol.end()
                return ":", Const(symbol.group(1))
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
