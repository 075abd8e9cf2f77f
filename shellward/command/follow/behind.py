"""Reading what stands behind an operand: calls, elements, members."""

from __future__ import annotations

from abc import ABC

from shellward.command.follow.lexer import Token
from shellward.command.follow.listing import Listing
from shellward.command.follow.nodes import (
    Call,
    Const,
    Index,
    Member,
    Name,
    Node,
    Seq,
)


class Behind(Listing, ABC):
    """Reads calls, elements and members."""

    def postfix(self, left: Node) -> Node:  # noqa: C901, PLR0912
        """Read calls, elements and members behind an operand."""
        while True:
            token = self.token
            if (
                token.kind == "value"
                and token.text == "`"
                and self.language == "javascript"
                and isinstance(left, Name | Member)
            ):
                left = Call(left, [self.operand()])
                continue
            if token.kind != "op" or (token.line and (token.text in {"(", "[", "{"} or self.ends_at_line(token.text))):
                return left
            op = token.text
            if (
                op == "("
                and not (token.space and self.language == "awk")
                and not (isinstance(left, Const) and not isinstance(left.value, str))
            ):
                if token.space and self.language == "ruby" and not isinstance(left, Name | Member):
                    return left
                self.at += 1
                items, named = self.arguments(")")
                left = Call(left, items, named)
                if self.language == "ruby":
                    self.with_block(left)
            elif op == "[" and not (token.space and self.language in {"ruby", "awk"}):
                self.at += 1
                left = self.element(left)
            elif (
                op == "{"
                and self.language == "perl"
                and not token.space
                and isinstance(left, Name | Index | Member | Call)
            ):
                if isinstance(left, Name) and not left.name.startswith(("%", "$")):
                    return left
                self.at += 1
                left = self.perl_key(left)
            elif op == "{" and self.language == "ruby" and isinstance(left, Name | Member | Call) and token.space:
                if isinstance(left, Name) and left.name in self.names:
                    return left
                call = left if isinstance(left, Call) else Call(left, [])
                self.with_block(call)
                left = call
            elif op in {".", "?.", "&.", "->", "::", ":"} and self._member_here(op, token):
                self.at += 1
                left = self._reached(left, op)
            else:
                return left
            if self.language == "ruby" and self.is_name("do") and isinstance(left, Call | Member) and not self.no_do:
                call = left if isinstance(left, Call) else Call(left, [])
                self.with_block(call)
                left = call

    def _member_here(self, op: str, token: Token) -> bool:
        after = self.ahead()
        if op == ":":
            return self.language == "lua" and after.kind == "name" and self.ahead(2).text in {"(", '"', "'", "{"}
        if op == ".":
            if self.language in {"php", "perl", "awk"}:
                return False
            return (
                after.kind == "name"
                or after.text in {"(", "[", "`"}
                or (after.kind == "value" and after.text in {"'", '"'})
            )
        if op == "->" and self.language not in {"perl", "php"}:
            return False
        return not (op == "::" and self.language == "r" and token.space)

    def _reached(self, left: Node, op: str) -> Node:  # noqa: C901, PLR0911, PLR0912
        """Read what stands behind ``.`` and its like."""
        if op == "->" and self.language == "perl":
            if self.accept("["):
                return self.element(left)
            if self.accept("{"):
                return self.perl_key(left)
        if self.is_op("(") and self.language in {"ruby", "javascript", "perl"}:
            self.at += 1
            items, named = self.arguments(")")
            return Call(left if self.language != "ruby" else Member(left, "call"), items, named)
        if self.accept("["):
            return self.element(left)
        if self.accept("{"):
            inner = self.expression()
            self.expect("}")
            return Index(left, [inner])
        token = self.take()
        if token.kind not in {"name", "value"}:
            self.errors += 1
            return left
        name = token.text
        if self.language == "perl" and name.startswith("$"):
            return Index(left, [Name(name)])
        if self.language == "php" and name.startswith("$") and op != "::":
            return Index(left, [Name(name)])
        made: Node = Member(left, name.lstrip("$") if self.language == "php" else name)
        if self.language == "ruby":
            if self.bare_call(Token("name", "")):
                return self.without_parentheses(made)
            if self.is_op("=") and self.ahead().text != "=":
                return made
            if not self.is_op("("):
                call = Call(made, [])
                self.with_block(call)
                return call
        if self.language == "lua" and self.bare_call(Token("name", "")):
            return self.without_parentheses(made)
        if self.language == "perl" and not self.is_op("(", "->"):
            return Call(made, [])
        return made

    def element(self, left: Node) -> Node:  # noqa: PLR0911
        """Read what stands in square brackets behind an operand."""
        if self.language == "r" and self.accept("["):
            items = self.listed("]")
            self.accept("]")
            return Index(left, [items[0] if items else None])
        if self.accept("]"):
            return Index(left, [None])
        if self.language == "ruby":
            first = self.expression(5)
            if self.is_op("..", "..."):
                inclusive = self.take().text == ".."
                stop = None if self.is_op("]") else self.expression(5)
                self.expect("]")
                return Index(left, [first, stop], slices=True, inclusive=inclusive)
            if self.accept(","):
                more = self.listed("]")
                if isinstance(left, Name) and left.name == "Dir":
                    return Call(left, [first, *more])
                return Call(Member(left, "slice"), [first, *more])
            self.expect("]")
            return Index(left, [first])
        items = self.listed("]")
        if self.language == "perl" and len(items) > 1:
            return Seq([Index(left, [item]) for item in items])
        self.aside += items[1:]
        return Index(left, [items[0] if items else None])

    def perl_key(self, left: Node) -> Node:
        """Read what stands in braces behind an operand of Perl."""
        if self.token.kind == "name" and self.ahead().text == "}" and self.token.text[0] not in "$@%":
            key: Node = Const(self.take().text)
        else:
            key = self.expression()
        self.expect("}")
        return Index(left, [key])

    def ends_at_line(self, op: str) -> bool:
        """Tell whether an expression ends when the next token begins a line."""
        if op in {".", "?.", "&.", "&&", "||", "??", "|>", "%>%"} or (op in {"->", "::"} and self.language == "php"):
            return False
        if self.language in {"php", "perl", "javascript"}:
            return op in {"(", "[", "{", "++", "--"} or self.token.kind in {"name", "value"}
        return not (self.language == "lua" and op in {"..", "+"})
