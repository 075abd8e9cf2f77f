"""From words to fields: what the shell would make of a word, as far as that can be known without running it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.arithmetic import integer
from shellward.command.braces import MAX_FIELDS, expand_braces
from shellward.command.escapes import unescape_ansi
from shellward.command.globs import glob_regex
from shellward.command.syntax import Arithmetic, Param, Part, Substitution, Text, Word
from shellward.command.values import CUT, LIMIT, OPEN, labels, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.command.state import State
    from shellward.command.syntax import Span


MAX_EXPANDED = 1_000_000
"""Most characters that are worked out for one command line."""

_HOLE = "\ue010"


class Expander:
    """Expands words in a State.

    Args:
        state: the variables.
        substitute: called for each substitution met; visits its commands and returns their output.
        prompt: called for each text that is expanded as a prompt.
    """

    def __init__(self, state: State, substitute: Callable[[Substitution], str], prompt: Callable[[str], None]) -> None:
        self.state = state
        self.prompt = prompt
        self.substitute = substitute
        self.fuel = MAX_EXPANDED

    # -- words ------------------------------------------------------------------------------------------

    def fields(self, words: list[Word]) -> tuple[list[str], list[Span]]:
        """Expand words to the fields a command would get, with the span each came from."""
        argv: list[str] = []
        spans: list[Span] = []
        for word in words:
            if word.lit is not None:
                argv.append(word.lit)
                spans.append(word.span)
                continue
            self.state.work.left -= 3
            new = self.word_fields(word)
            argv += new
            spans += [word.span] * len(new)
        return argv, spans

    def word_fields(self, word: Word) -> list[str]:
        """Expand one word to fields, with brace expansion and splitting."""
        if word.lit is not None:
            return [word.lit]
        parts = word.parts
        if any(isinstance(p, Text) and not p.quoted and "{" in p.value for p in parts):
            alternatives = self.braces(parts)
            if alternatives is not None:
                self.state.work.spend(30 + len(parts) + 4 * len(alternatives) + 2 * sum(map(len, alternatives)))
                fields: list[str] = []
                for alternative in alternatives:
                    fields += self.split(alternative)
                return fields
        return self.split(parts)

    def text(self, word: Word | None) -> str:
        """Expand a word to one text, without splitting (assignments, here-documents, redirections)."""
        if word is None:
            return ""
        if word.lit is not None:
            return word.lit
        if self.fuel < 0:
            return CUT
        out = "".join(self.value(part) for part in word.parts)
        self.fuel -= len(out)
        return out if len(out) <= LIMIT else out[:LIMIT] + CUT

    def value(self, part: Part) -> str:
        """Expand one part to text."""
        if isinstance(part, Text):
            return part.value
        if isinstance(part, Substitution):
            return self.substitute(part)
        if isinstance(part, Arithmetic):
            return self.arithmetic(part.parts)
        values = self.param(part)
        return " ".join(values)

    def split(self, parts: list[Part]) -> list[str]:
        """Expand parts and split what is unquoted, as the shell does."""
        if self.fuel < 0:
            return [CUT]
        fields: list[str] = []
        whole: list[str] = []  # pieces of the open field; adding to a text again and again would be quadratic
        current: str | None = None
        for part in parts:
            if isinstance(part, Text):
                whole.append(part.value)
                continue
            values = self.param(part) if isinstance(part, Param) else [self.value(part)]
            quoted = part.quoted or (isinstance(part, Substitution) and part.kind != "$")
            if quoted and len(values) == 1:
                whole.append(values[0])
                continue
            if quoted and not values and isinstance(part, Param):
                continue
            current = "".join(whole) if whole else None
            if quoted:
                fields += [(current or "") + values[0], *values[1:MAX_FIELDS]] if values else []
                current = fields.pop() if values else current or ""
            else:
                current = self.split_values(values, fields, current)
            whole = [current] if current is not None else []
        if whole:
            fields.append("".join(whole))
        self.fuel -= sum(map(len, fields))
        return fields

    def split_values(self, values: list[str], fields: list[str], current: str | None) -> str | None:
        """Split unquoted values on IFS; return the field that is still open."""
        ifs = self.state.get("IFS")
        separators = ifs if isinstance(ifs, str) and OPEN not in ifs else " \t\n"
        for index, value in enumerate(values[:MAX_FIELDS]):
            if index and current is not None:
                fields.append(current)
                current = None
            if not value:
                continue
            if not separators:
                current = (current or "") + value
                continue
            pieces = re.split("[" + re.escape(separators) + "]+", value)
            if not pieces[0] and current is not None and len(pieces) > 1:
                fields.append(current)
                current = None
            for at, piece in enumerate(pieces[:MAX_FIELDS]):
                if at and current is not None:
                    fields.append(current)
                    current = None
                if piece:
                    current = (current or "") + piece
        return current

    # -- braces -----------------------------------------------------------------------------------------

    def braces(self, parts: list[Part]) -> list[list[Part]] | None:
        """Expand ``{a,b}`` and ``{1..3}`` over parts; None when there is nothing to expand."""
        holes: list[Part] = []
        text = ""
        for part in parts:
            if isinstance(part, Text) and not part.quoted:
                text += part.value.replace(_HOLE, "\ufffd")
            else:
                holes.append(part)
                text += f"{_HOLE}{len(holes) - 1}{_HOLE}"
        expanded = expand_braces(text)
        if expanded is None:
            return None
        result: list[list[Part]] = []
        for one in expanded:
            pieces = one.split(_HOLE)
            line: list[Part] = []
            for at, piece in enumerate(pieces):
                if at % 2:
                    line.append(holes[int(piece)])
                elif piece:
                    line.append(Text(piece))
            result.append(line)
        return result

    # -- parameters -------------------------------------------------------------------------------------

    def param(self, part: Param) -> list[str]:
        """Expand ``$x`` or ``${..}`` to one or more texts."""
        state = self.state
        name = part.name
        if part.op == "!" and name not in "@*":
            target = state.text(name)
            name = target if re.fullmatch(r"\w+", target) else ""
            if not name:
                return [unknown("var", part.name)]
        value = state.get(name)
        keyed = isinstance(value, dict)
        if isinstance(value, dict):
            value = value.get(part.index, "") if part.index not in {"@", "*", ""} else list(value.values())
        if isinstance(value, list) and name not in "@*":
            value = self.element(value, part.index)
        elif part.index and not keyed and isinstance(value, str) and part.index not in {"@", "*", "0"}:
            value = ""
        if part.op in {"", "!"}:
            if value is None:
                return [] if name in "@*" else [unknown("var", name)]
            return value if isinstance(value, list) else [value]
        return self.operate(part, name, value)

    def element(self, values: list[str], index: str) -> str | list[str]:
        """Pick an element of an array, or all of them."""
        if index in {"@", "*"}:
            return values
        number = integer(self.state.text(index) if index.isidentifier() else index or "0")
        if number is None:
            return unknown("var", "array")
        return values[number] if -len(values) <= number < len(values) else ""

    def operate(self, part: Param, name: str, value: str | list[str] | None) -> list[str]:  # noqa: PLR0911
        """Apply the operator of ``${name<op>arg}``."""
        op = part.op
        if op in {":-", "-", ":=", "="}:
            if value:
                return value if isinstance(value, list) else [value]
            default = self.text(part.arg)
            if "=" in op:
                self.state.assign(name, default)
            return [default]
        if op in {":+", "+"}:
            return [self.text(part.arg) if value or value is None else ""]
        if isinstance(value, list):
            if op == ":":
                return self.slice_list(value, self.text(part.arg))
            return [self.transform(part, item) for item in value[:MAX_FIELDS]]
        if value is None:
            return [unknown("var", name)]
        if name in {"HOME", "PWD"} and value[:1] in "~.":
            full = "/home/user" if name == "HOME" else "/cwd/dir"
            changed = self.transform(part, full)
            return ["~" + changed[10:] if changed.startswith("/home/user") else changed]
        return [self.transform(part, value)]

    def slice_list(self, values: list[str], arg: str) -> list[str]:
        """Apply ``${a[@]:offset:length}``."""
        offset, _, length = arg.partition(":")
        start, count = integer(offset) or 0, integer(length) if length else None
        start = max(start - 1, 0) if values is self.state.positional else start
        return values[start:] if count is None else values[start : start + count]

    def transform(self, part: Param, value: str) -> str:  # noqa: C901, PLR0911
        """Apply an operator to one text."""
        op = part.op
        if labels(value):
            return value
        if op == "length":
            return str(len(value))
        arg = self.text(part.arg)
        if op == ":":
            return self.slice_text(value, arg)
        if op in {"^", "^^", ",", ",,"}:
            change = str.upper if op[0] == "^" else str.lower
            return change(value) if len(op) > 1 else change(value[:1]) + value[1:]
        if op == "@":
            if arg == "P":
                self.prompt(value)
            if arg in {"P", "E"} and "\\" in value:
                return unescape_ansi(value)
            return {"U": value.upper(), "L": value.lower(), "u": value[:1].upper() + value[1:]}.get(arg, value)
        if op[0] in "#%":
            return self.trim(op, value, arg)
        if op[0] == "/":
            pattern = glob_regex(arg)
            if pattern is None or len(value) > 4000:
                return unknown("var", part.name)
            replacement = self.text(part.replacement)
            if op in {"/#", "/%"}:
                anchored = re.compile(
                    ("\\A(?:" if op == "/#" else "(?:") + pattern.pattern + (")" if op == "/#" else ")\\Z"),
                    re.DOTALL,
                )
                return anchored.sub(lambda _: replacement, value, count=1)
            return pattern.sub(lambda _: replacement, value, count=0 if op == "//" else 1) if arg else value
        return value

    @staticmethod
    def slice_text(value: str, arg: str) -> str:
        """Apply ``${x:offset:length}``."""
        offset, _, length = arg.partition(":")
        start = integer(offset)
        if start is None:
            return unknown("var", "slice")
        start = max(len(value) + start, 0) if start < 0 else start
        if not length:
            return value[start:]
        count = integer(length)
        if count is None:
            return unknown("var", "slice")
        return value[start : start + count] if count >= 0 else value[start:count]

    @staticmethod
    def trim(op: str, value: str, arg: str) -> str:
        """Apply ``#``, ``##``, ``%`` and ``%%``: drop what a pattern matches at one end."""
        pattern = glob_regex(arg)
        if pattern is None or len(value) > 1000:
            return unknown("var", "trim")
        size = len(value)
        cuts = range(size + 1) if op in {"#", "%%"} else range(size, -1, -1)
        for cut in cuts:
            piece = value[:cut] if op[0] == "#" else value[cut:]
            if pattern.fullmatch(piece):
                return value[cut:] if op[0] == "#" else value[:cut]
        return value

    def arithmetic(self, parts: list[Part]) -> str:
        """Work out ``$((..))``; the substitutions in it are visited."""
        text = "".join(self.value(part) for part in parts)
        text = (
            re.sub(
                r"\b[A-Za-z_]\w*\b",
                lambda m: self.state.text(m.group()) if not m.group().startswith("x") else m.group(),
                text,
            )
            if not labels(text)
            else text
        )
        number = integer(text) if not labels(text) else None
        return str(number) if number is not None else unknown("var", "number")
