"""Constant expressions in the languages people write one-liners in: strings, concatenation, lists, decoding.

One tolerant evaluator for Python, JavaScript, Ruby, Perl, PHP, Lua, R and their like. It knows what such code would
build without running it; anything else is a marker. Never raises, bounded in time and depth.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice

from shellward.command.escapes import unescape_ansi
from shellward.command.purecalls import PureCalls, Value, squeeze
from shellward.command.values import LIMIT, decimal, labels, unknown

MAX_DEPTH = 12
MAX_LENGTH = 6000
"""How far one expression is followed, in characters."""

MAX_ASSIGNED = 400
"""How far the value of an assignment is followed, in characters."""
MAX_LOOKUPS = 40
"""Names whose assignment is looked for, in one program."""

_ASSIGNED = re.compile(
    r"(?:^|[;\n{(,]|\b(?:var|let|const|my|local|our)\s)(?=[ \t]*[$@]?(\w++)(\s*(?:<-|:?=)(?![=>~])\s*))"
)
_ADDED = re.compile(r"(\w++)\s*[+.]=")
_SPACE = re.compile(r"(?:\s|#[^\n]*\n|\\\n)*")
_STRING = re.compile(
    r"([rRbBuUfF]{0,2})(\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)",
    re.DOTALL,
)
_PERL_QUOTE = re.compile(r"q[qwx]?\s*([^\w\s])")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0o?[0-7]+\b|\d+")
_NAME = re.compile(r"[$@%&]?[A-Za-z_][\w]*(?:(?:\.|::|->|\\)[A-Za-z_]\w*)*!?")
_MAPPED = re.compile(r"\(\s*(chr|str)\s*,")
_KEYWORD = re.compile(r"(?:([A-Za-z_]\w*)\s*(?:=(?![=>])|:(?!:))|:?[\"']?(\w+)[\"']?\s*=>)\s*")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_INTERPOLATION = {
    "python": re.compile(r"\{([^{}]*)\}"),
    "ruby": re.compile(r"#\{([^{}]*)\}"),
    "javascript": re.compile(r"\$\{([^{}]*)\}"),
    "perl": re.compile(r"[$@]\{?(\w+)\}?"),
    "php": re.compile(r"\{?\$(\w+)\}?"),
}


_ELEMENT = re.compile(r"\[\s*(\d{0,3})\s*(:)?\s*\]")
_SPLAT = re.compile(r"(?:\*{1,2}|\.\.\.)(?=[A-Za-z_$@\[(])")
"""What gives the elements of a list as arguments."""
_BRACED = re.compile(r"\{\s*['\"]?(\w+)['\"]?\s*\}")


def _variable(name: str) -> str:
    """Return what a variable of the environment holds: the home, or a marker."""
    return "~" if name == "HOME" else unknown("var", name)


class Literals(PureCalls):
    """Evaluates expressions in one piece of code.

    Args:
        code: the program text.
        language: its language.
    """

    def __init__(self, code: str, language: str) -> None:
        self.code = code
        self.language = language
        self.i = 0
        self.end = len(code)
        self.cut = False
        self.constants: dict[str, Value] = {}
        self.decoded: list[str] = []
        self.lookups = 0

    def constant(self, name: str, depth: int) -> Value | None:
        """Find what a simple assignment gives a name, when it is asked for."""
        if name in self.constants:
            return self.constants[name]
        self.lookups += 1
        if self.lookups > MAX_LOOKUPS or depth > MAX_DEPTH:
            return None
        self.constants[name] = unknown("code")
        start = self._start_of(name)
        if start is not None:
            at, end = self.i, self.end
            self.i, self.end = start, min(len(self.code), start + MAX_ASSIGNED)
            value = self.expression(depth + 1)
            for more in self._added(name, start):
                self.i, self.end = more, min(len(self.code), more + MAX_ASSIGNED)
                value = self.add(value, self.expression(depth + 1))
            self.constants[name] = value
            self.i, self.end = at, end
        return self.constants[name]

    def _start_of(self, name: str) -> int | None:
        """Say where the value begins that a name is given first; None when it is given none."""
        if name.isascii():
            return self._starts.get(name)
        # Other letters, which \w does not take all, are rare enough to make an expression for.
        match = re.search(_ASSIGNED.pattern.replace(r"\w++", re.escape(name)), self.code)
        return match.end(2) if match else None

    @cached_property
    def _starts(self) -> dict[str, int]:
        """Where the value begins that each name is given first."""
        found: dict[str, int] = {}
        for match in _ASSIGNED.finditer(self.code):
            found.setdefault(match.group(1), match.end(2))
        return found

    @cached_property
    def _grown(self) -> frozenset[str]:
        """The names that something is added to."""
        return frozenset(_ADDED.findall(self.code))

    def _added(self, name: str, start: int) -> list[int]:
        """List where the values begin that are added to a name behind ``start``, the first ones."""
        if name.isascii() and name not in self._grown:  # making an expression takes longer than all else
            return []
        adds = re.compile(rf"(?<![\w$@]){re.escape(name)}\s*[+.]=\s*")
        return [match.end() for match in islice(adds.finditer(self.code, start), 10)]

    # -- arguments --------------------------------------------------------------------------------------

    def arguments(self, start: int) -> tuple[list[Value], dict[str, Value]]:
        """Evaluate what a call at ``start`` (its parenthesis, or its first bare argument) is given."""
        self.i, self.end = start, min(len(self.code), start + MAX_LENGTH)
        self.space()
        close = ")" if self.code.startswith("(", self.i) else ""
        if close:
            self.i += 1
        found = self.sequence(close, 0)
        if self.end <= self.i and self.code[self.i - 1 : self.i + 1].strip("\"' \n;)}"):
            self.cut = True  # it goes on behind what is read of it
        self.end = len(self.code)
        return found

    def sequence(self, close: str, depth: int) -> tuple[list[Value], dict[str, Value]]:  # noqa: C901
        """Evaluate values separated by commas up to a closing character."""
        values: list[Value] = []
        named: dict[str, Value] = {}
        code = self.code
        for _ in range(64):
            self.space()
            if self.i >= self.end or (close and code.startswith(close, self.i)):
                self.i += 1
                break
            splat = _SPLAT.match(code, self.i)
            if splat:
                self.i = splat.end()
                given = self.expression(depth + 1)
                values += given if isinstance(given, list) else [given]
                self.space()
                if self.i < self.end and code[self.i] == ",":
                    self.i += 1
                continue
            keyword = _KEYWORD.match(code, self.i)
            if keyword and not _STRING.match(code, self.i):
                self.i = keyword.end()
                named[keyword.group(1) or keyword.group(2)] = self.expression(depth + 1)
            else:
                if code[self.i] == "{" and close == ")":
                    self.i += 1
                    named.update(self.sequence("}", depth + 1)[1])
                else:
                    values.append(self.expression(depth + 1))
                if keyword and "=>" in code[self.i : self.i + 4] and values:
                    self.i = code.index("=>", self.i) + 2
                    named[squeeze(values.pop())] = self.expression(depth + 1)
            self.space()
            if self.i < self.end and code[self.i] == ":" and values:
                self.i += 1
                named[squeeze(values.pop())] = self.expression(depth + 1)
                self.space()
            if self.i < self.end and code[self.i] == ",":
                self.i += 1
                continue
            if close:
                self.skip_to(close)
            break
        return values, named

    def skip_to(self, close: str) -> None:
        """Go behind the closing character, over what was not understood."""
        code, level = self.code, 0
        opening = {v: k for k, v in _CLOSING.items()}[close]
        while self.i < self.end:
            c = code[self.i]
            if c in "\"'`":
                match = _STRING.match(code, self.i)
                if match:
                    self.i = match.end()
                    continue
            if c == opening:
                level += 1
            elif c == close:
                if not level:
                    self.i += 1
                    return
                level -= 1
            self.i += 1

    def space(self) -> None:
        """Skip blanks and comments."""
        match = _SPACE.match(self.code, self.i)
        if match:
            self.i = match.end()

    # -- expressions ------------------------------------------------------------------------------------

    def expression(self, depth: int) -> Value:  # noqa: C901
        """Evaluate operands joined by ``+``, ``.``, ``..`` or nothing (adjacent strings)."""
        if depth > MAX_DEPTH:
            return unknown("code")
        value = self.postfix(self.operand(depth), depth)
        code = self.code
        for _ in range(200):
            at = self.i
            if self.language == "python" or code[at : at + 1] in "+.":
                self.space()
            if self.i >= self.end:
                break
            c = code[self.i]
            if c == "+" or (c == "." and self.language in {"perl", "php", "lua"}):
                self.i += 2 if code.startswith("..", self.i) else 1
                value = self.add(value, self.postfix(self.operand(depth), depth))
            elif c in "\"'" and self.language in {"python", "ruby", "c"}:
                value = self.add(value, self.postfix(self.operand(depth), depth))
            elif c == "*" and isinstance(value, str):
                self.i += 1
                count = squeeze(self.operand(depth))
                value = self.held(value * decimal(count, 64)) if count.isdecimal() else value + unknown("code")
            elif c == "%" and self.language in {"python", "ruby"} and isinstance(value, str):
                self.i += 1
                value = self.percent(value, self.operand(depth))
            else:
                space = _SPACE.match(code, self.i)
                ahead = space.end() if space else self.i
                if code[ahead : ahead + 1] in {"+", "."} and self.language != "python" and ahead > self.i:
                    self.i = ahead
                    if code[ahead] == "+" or self.language in {"perl", "php", "lua"}:
                        continue
                break
        return value

    @staticmethod
    def percent(template: str, values: Value) -> str:
        """Apply the ``%`` operator of a format text."""
        items = [squeeze(v) for v in values] if isinstance(values, list) else [values]
        return re.sub(r"%[-\d.]*[sdrxi]", lambda _: items.pop(0) if items else unknown("code"), template)

    def add(self, left: Value, right: Value) -> Value:
        """Join two values as ``+`` does."""
        if isinstance(left, list) and isinstance(right, list):
            return [*left, *right]
        return self.held(squeeze(left) + squeeze(right))

    def held(self, text: str) -> str:
        """Return as much of a text as is held, and remember that there is more."""
        self.cut = self.cut or len(text) > LIMIT
        return text[:LIMIT]

    def operand(self, depth: int) -> Value:  # noqa: C901, PLR0911
        """Evaluate a string, list, number, name or call."""
        self.space()
        code = self.code
        if self.i >= self.end:
            return ""
        string = _STRING.match(code, self.i)
        if string:
            self.i = string.end()
            return self.string(string.group(1), string.group(2))
        c = code[self.i]
        if c in "([":
            self.i += 1
            values, _ = self.sequence(_CLOSING[c], depth + 1)
            return values[0] if c == "(" and len(values) == 1 else values
        if c == "{":
            self.i += 1
            self.sequence("}", depth + 1)
            return unknown("code")
        if self.language in {"perl", "ruby"}:
            quoted = self.perl_quote()
            if quoted is not None:
                return quoted
        if c == "~" and _NUMBER.match(code, self.i + 1):
            self.i += 1
            number_text = squeeze(self.operand(depth))
            return str(~int(number_text)) if number_text.isdecimal() and len(number_text) < 10 else unknown("code")
        if c == "-" and _NUMBER.match(code, self.i + 1):
            self.i += 1
            return "-" + squeeze(self.operand(depth))
        number = _NUMBER.match(code, self.i)
        if number:
            self.i = number.end()
            text = number.group()
            return str(int(text, 16)) if text[:2] in {"0x", "0X"} else text
        name = _NAME.match(code, self.i)
        if name:
            self.i = name.end()
            return self.named(name.group(), depth)
        self.i += 1
        return unknown("code")

    def perl_quote(self) -> Value | None:
        """Read ``q(..)``, ``qw(..)``, ``%w[..]`` and their like; None when it is none."""
        match = _PERL_QUOTE.match(self.code, self.i)
        percent = re.compile(r"%[wWqQix]?([^\w\s=])").match(self.code, self.i) if self.language == "ruby" else None
        match = match if self.language == "perl" else percent
        if not match:
            return None
        close = _CLOSING.get(match.group(1), match.group(1))
        end = self.code.find(close, match.end())
        if end < 0:
            return None
        text = self.code[match.end() : end]
        self.i = end + 1
        return [*text.split()] if "w" in match.group() else text

    def string(self, prefix: str, quoted: str) -> str:
        """Undo the quotes and escapes of a string; interpolated names become their values or markers."""
        size = 3 if quoted[:3] in {'"""', "'''"} else 1
        text = quoted[size:-size]
        single = quoted[0] == "'"
        if "r" not in prefix.lower() and "\\" in text and not (single and self.language in {"perl", "ruby", "php"}):
            text = unescape_ansi(text)
        pattern = _INTERPOLATION.get(self.language)
        active = (
            "f" in prefix.lower()
            if self.language == "python"
            else (quoted[0] == "`" if self.language == "javascript" else not single)
        )
        if pattern and active:
            text = pattern.sub(lambda m: self.interpolated(m.group(1).strip()), text)
        return text

    def interpolated(self, name: str) -> str:
        """Return the text that a name inside a string stands for."""
        value: Value | None = None
        if name.isidentifier():
            value = self.constant(name, 0)
        elif len(name) <= 60 and ("(" in name or "env" in name.lower() or "home" in name):
            value = Literals(name, self.language).expression(0)
        return squeeze(value) if value is not None else unknown("code")

    def named(self, name: str, depth: int) -> Value:  # noqa: PLR0911
        """Evaluate a name: a constant that is known, or a call of a function that is."""
        code = self.code
        plain = name.lstrip("$@%&")
        mapped = _MAPPED.match(code, self.i) if plain == "map" else None
        if mapped:
            self.i = mapped.end()
            values, _ = self.sequence(")", depth + 1)
            return [
                self.call(mapped.group(1), [item])
                for item in (values[0] if values and isinstance(values[0], list) else values)
            ]
        after = _SPACE.match(code, self.i)
        at = after.end() if after else self.i
        if code[at : at + 1] == "(" or (
            self.language in {"perl", "ruby"}
            and plain in {"pack", "decode_base64", "get", "chr", "glob", "reverse", "join", "sprintf"}
            and code[at : at + 1] in {'"', "'"}
        ):
            self.i = at + (1 if code[at] == "(" else 0)
            values, _ = self.sequence(")" if code[at] == "(" else "", depth + 1)
            return self.call(plain, values)
        if plain == "Dir.home":
            return "~"
        if re.search(r"\benviron$|(?:process|Bun|meta)\.env$|^ENV$|^_ENV$", plain):
            if code[self.i : self.i + 1] == "[":
                self.i += 1
                values, _ = self.sequence("]", depth + 1)
                return _variable(squeeze(values[0]) if values else "")
            braced = _BRACED.match(code, self.i)
            if braced:
                self.i = braced.end()
                return _variable(braced.group(1))
            return unknown("out", "env")
        if re.search(r"(?:process|Bun|meta)\.env\.\w+$", plain):
            return _variable(plain.rpartition(".")[2])
        if plain.isidentifier():
            known = self.constant(plain, depth)
            if known is not None:
                return known
        return unknown("code")

    def postfix(self, value: Value, depth: int) -> Value:
        """Apply ``.join(..)``, ``[::-1]``, ``.replace(..)``, ``.decode()`` and their like."""
        code = self.code
        for _ in range(20):
            if code.startswith("[::-1]", self.i):
                self.i += 6
                value = squeeze(value)[::-1]
                continue
            match = re.compile(r"\s*(?:\.|->|&\.)\s*([A-Za-z_]\w*[!?]?)").match(code, self.i)
            if match and (self.language not in {"perl", "php", "lua"} or "->" in match.group()):
                self.i = match.end()
                values: list[Value] = []
                if code.startswith("(", self.i):
                    self.i += 1
                    values, _ = self.sequence(")", depth + 1)
                value = self.method(match.group(1), value, values)
                continue
            element = _ELEMENT.match(code, self.i) if isinstance(value, list) else None
            if element:
                self.i = element.end()
                first = decimal(element.group(1) or "0", 1000)
                value = value[first:] if element.group(2) else value[first] if first < len(value) else unknown("code")
                continue
            if code.startswith("[", self.i) and isinstance(value, str) and labels(value):
                self.i += 1
                self.sequence("]", depth + 1)
                continue
            if code.startswith("(", self.i) and isinstance(value, str) and labels(value):
                self.i += 1
                self.sequence(")", depth + 1)
                continue
            return value
        return value
