"""Reading lists: arguments, parameters, elements, and blocks that stand like arguments."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING

from shellward.command.follow.cursor import Cursor
from shellward.command.follow.nodes import (
    Assign,
    Block,
    Call,
    Const,
    Function,
    Member,
    Name,
    Node,
    Pairs,
    Seq,
    Splat,
)

if TYPE_CHECKING:
    from shellward.command.follow.lexer import Token

_STOPS = frozenset((")", "]", "}", ",", ";", ":", "=>"))
_BLOCK_WORDS = frozenset(
    ("end", "then", "do", "else", "elsif", "elseif", "if", "unless", "while", "until", "for", "foreach", "rescue", "ensure", "when", "and", "or", "in",
     "x", "eq", "ne", "lt", "gt", "as", "of", "xor", "instanceof", "until", "cmp")
)  # fmt: skip


class Listing(Cursor, ABC):
    """Reads arguments, parameters and elements."""

    def listed(self, closing: str) -> list[Node]:
        """Read values separated by commas."""
        return self.arguments(closing)[0]

    def arguments(self, closing: str) -> tuple[list[Node], list[tuple[str, Node]]]:  # noqa: C901, PLR0912
        """Read arguments up to a closing character; an empty one means up to the end of the statement."""
        items: list[Node] = []
        named: list[tuple[str, Node]] = []
        self.level_in_call += 1
        while self.token.kind != "end":
            if closing and self.accept(closing):
                break
            if not closing and (self.is_op(*_STOPS - {","}) or (self.token.line and items)):
                break
            before = self.at
            label = self._label()
            if label is not None:
                named.append((label, self.expression(2)))
            else:
                value = self.expression(2)
                if self.accept("=>"):
                    key = value
                    value = self.expression(2)
                    if self.language == "perl":
                        items.append(key)
                        items.append(value)
                    elif isinstance(key, Const):
                        named.append((str(key.value), value))
                elif not (isinstance(value, Const) and value.value is None and self.at == before):
                    items.append(value)
            if self.accept(","):
                continue
            if closing and self.accept(closing):
                break
            if not closing:
                break
            if self.at == before:
                self.errors += 1
                self.at += 1
        self.level_in_call -= 1
        return items, named

    def _label(self) -> str | None:
        """Read ``name:`` or ``name =`` before an argument."""
        token, after = self.token, self.ahead()
        if token.kind == "name" and after.kind == "op":
            if after.text == ":" and self.language in {"ruby", "php"} and not after.space:
                self.at += 2
                return token.text
            if after.text == "=" and self.language in {"r", "julia"}:
                self.at += 2
                return token.text
        if (
            token.kind == "value"
            and after.kind == "op"
            and after.text == ":"
            and self.language == "ruby"
            and not after.space
            and isinstance(token.node, Const)
        ):
            self.at += 2
            return str(token.node.value)
        return None

    def params(self, closing: str) -> list[Node]:
        """Read parameters up to a closing character."""
        found: list[Node] = []
        while self.token.kind != "end" and not self.accept(closing):
            before = self.at
            splat = self.accept("...", "*", "**", "&")
            if self.is_op("(") or self.is_op("[", "{"):
                value = self.operand()
            else:
                while self.token.kind == "name" and self.ahead().kind == "name":
                    self.at += 1  # a type
                value = Name(self.take().text)
                self.names.add(value.name)
            if self.accept("=", ":") and not self.is_op(",", closing):
                value = Assign(value, self.expression(3))
            found.append(Splat(value) if splat else value)
            self.accept(",")
            if self.at == before:
                self.at += 1
        return found

    def bracketed(self, closing: str) -> Node:
        """Read what stands in square brackets: a list, or an array with keys."""
        items: list[Node] = []
        pairs: list[tuple[Node | None, Node]] = []
        while self.token.kind != "end" and not self.accept(closing):
            before = self.at
            value = self.expression(2)
            if self.accept("=>"):
                pairs.append((value, self.expression(2)))
            elif self.at > before:
                items.append(value)
            if self.is_name("for") and self.language == "julia":
                self.errors += 1
            if not self.accept(",", ";") and self.at == before:
                self.at += 1
                self.errors += 1
        return Pairs(pairs) if pairs else Seq(items)

    def braced(self) -> Node:
        """Read what stands in braces within an expression: an object, a hash, a table."""
        if self.language == "r":
            return self.braces()
        pairs: list[tuple[Node | None, Node]] = []
        items: list[Node] = []
        while self.token.kind != "end" and not self.accept("}"):
            before = self.at
            self._pair(pairs, items)
            if not self.accept(",", ";") and self.at == before:
                self.at += 1
                self.errors += 1
        if self.language == "lua":
            return (
                Seq(items)
                if items and not pairs
                else Pairs([*pairs, *((Const(str(at)), item) for at, item in enumerate(items, 1))])
            )
        return Pairs(pairs)

    def _pair(self, pairs: list[tuple[Node | None, Node]], items: list[Node]) -> None:  # noqa: C901, PLR0912
        token, after = self.token, self.ahead()
        while (
            token.kind == "name" and token.text in {"async", "get", "set", "static"} and after.kind in {"name", "value"}
        ):
            self.at += 1
            token, after = self.token, self.ahead()
        if self.accept("...", "**"):
            pairs.append((None, self.expression(2)))
            return
        key: Node | None = None
        if token.kind == "op" and token.text == "[" and self.language in {"javascript", "lua"}:
            self.at += 1
            key = self.expression()
            self.expect("]")
        elif (
            token.kind == "name"
            and after.kind == "op"
            and after.text in {":", "=", "(", ",", "}"}
            and self.language in {"javascript", "ruby", "lua"}
        ):
            if (after.text == "(" and self.language != "javascript") or (
                after.text in {",", "}"} and self.language == "lua"
            ):
                key = None
            else:
                self.at += 1
                key = Const(token.text)
        if key is None:
            value = self.expression(2)
            if self.accept("=>", ":") or (self.accept(",") and self.language == "perl"):
                pairs.append((value, self.expression(2)))
            else:
                items.append(value)
            return
        if self.is_op("(") and self.language == "javascript":
            self.at += 1
            params = self.params(")")
            self.expect("{")
            pairs.append((key, Function(params, self.braces())))
        elif self.accept(":", "="):
            pairs.append((key, self.expression(2)))
        else:
            pairs.append((key, Name(token.text)))
            if self.accept("="):
                self.aside.append(self.expression(2))

    def block_argument(self) -> Node:
        """``&method(:name)``, ``&:name``."""
        if self.token.kind == "value" and isinstance(self.token.node, Const):
            name = str(self.take().node.value)  # type: ignore[union-attr]
            return Function([Name("it")], Call(Member(Name("it"), name), []))
        return self.expression(14)

    def stabby(self) -> Node:
        """Read a function of Ruby that begins with an arrow."""
        params: list[Node] = []
        if self.accept("("):
            params = self.params(")")
        elif self.token.kind == "name" and not self.is_name("do"):
            params = [Name(self.take().text)]
        if self.accept("{"):
            return Function(params, self.braces())
        self.accept("do")
        return Function(params, self.words_block())

    def _ruby_block(self, *, braces: bool) -> Node:
        params: list[Node] = []
        if self.accept("|"):
            params = self.params("|")
        self.accept("||")
        before, self.no_do = self.no_do, 0
        in_call, self.level_in_call = self.level_in_call, 0
        body = self.braces() if braces else self.words_block()
        self.no_do, self.level_in_call = before, in_call
        return Function(params, body)

    def with_block(self, call: Call) -> None:
        """Read the block behind a call of Ruby."""
        if self.language != "ruby" or self.token.line:
            return
        if self.is_op("{"):
            self.at += 1
            call.args.append(self._ruby_block(braces=True))
        elif self.is_name("do") and not self.no_do:
            self.at += 1
            call.args.append(self._ruby_block(braces=False))

    def bare_call(self, token: Token) -> bool:  # noqa: PLR0911
        """Tell whether a name is followed by arguments without parentheses."""
        after = self.token
        if after.line or after.kind == "end" or token.text in self.names:
            return False
        if self.language == "lua":
            return (after.kind == "value" and after.text in {'"', "'", "["}) or (
                after.kind == "op" and after.text == "{"
            )
        if self.language == "php":
            return token.text in {"echo", "print", "include", "include_once", "require", "require_once"} and not (
                after.kind == "op" and after.text == "("
            )
        if self.language != "ruby" or not after.space:
            return False
        if after.kind == "value":
            return True
        if after.kind == "name":
            return after.text not in _BLOCK_WORDS or after.text in self.names
        if after.text in {"[", "->", "*", "&", "-", "::", "**"}:
            return not after.gap
        return after.text == "!"

    def without_parentheses(self, func: Node) -> Node:
        """Read the arguments of a call without parentheses."""
        items, named = self.arguments("")
        call = Call(func, items, named)
        self.with_block(call)
        return call

    def parenthesis(self) -> Node:
        """Read what stands in parentheses; the opening one is read."""
        start = self.at
        if self.language == "javascript" and self._arrow_ahead():
            params = self.params(")")
            return self.arrow(params)
        self.at = start
        items = self.listed(")")
        if self.language == "ruby" and not items and self.tokens[self.at - 1].text != ")":
            return Const(None)
        while self.is_op(";") and self.language == "ruby":
            self.at += 1
        if self.language == "javascript" and len(items) > 1:
            return Block(items)
        if self.language == "perl" and self.is_op("="):
            return Seq(items)
        return (
            items[0]
            if len(items) == 1
            and not (self.language == "perl" and isinstance(items[0], Name) and items[0].name.startswith("@"))
            else Seq(items)
        )

    def _arrow_ahead(self) -> bool:
        """Tell whether the parenthesis at hand holds the parameters of ``=>``."""
        level, i = 1, self.at
        while i < len(self.tokens) and i < self.at + 400:
            token = self.tokens[i]
            if token.kind == "op" and token.text in {"(", "[", "{"}:
                level += 1
            elif token.kind == "op" and token.text in {")", "]", "}"}:
                level -= 1
                if not level:
                    return self.tokens[min(i + 1, len(self.tokens) - 1)].text == "=>"
            i += 1
        return False

    def arrow(self, params: list[Node]) -> Node:
        """Read a function behind its parameters."""
        self.expect("=>")
        if self.accept("{"):
            return Function(params, self.braces())
        return Function(params, self.expression(2))
