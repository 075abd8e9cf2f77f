"""Reading expressions of several languages into the tree of nodes.py; statements are in statements.py.

Tolerant: what is not understood is left out and counted in ``errors``; it never raises but for too deep a nesting.
"""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING

from shellward.command.follow.nodes import (
    Assign,
    Block,
    Call,
    Choice,
    Const,
    Join,
    Member,
    Name,
    Node,
    Seq,
    Splat,
    Unary,
)
from shellward.command.follow.perlwords import PerlWords

if TYPE_CHECKING:
    from shellward.command.follow.lexer import Token

DEEPEST = 60
"""Nesting that is followed."""
_ASSIGNS = frozenset(
    (
        "=",
        "+=",
        "-=",
        "*=",
        "/=",
        ".=",
        "..=",
        "%=",
        "|=",
        "^=",
        "||=",
        "&&=",
        "??=",
        "//=",
        "**=",
        "<<=",
        "x=",
        "<-",
        "<<-",
        ":=",
    )
)
_LEVELS = {
    "or": 1, "and": 1, "xor": 1, "if": 0,
    "?": 3, "..": 4, "...": 4, "||": 5, "??": 5, "//": 5, "&&": 6, "|": 7, "^": 8, "&": 9,
    "==": 10, "!=": 10, "===": 10, "!==": 10, "~=": 10, "=~": 14, "!~": 14, "eq": 10, "ne": 10, "<=>": 10, "instanceof": 10, "in": 10,
    "<": 11, ">": 11, "<=": 11, ">=": 11, "lt": 11, "gt": 11, "<<": 12, ">>": 12,
    "+": 13, "-": 13, ".": 13, "*": 15, "/": 15, "%": 15, "x": 15, "**": 16, "|>": 4, "%>%": 16, "%in%": 10,
}  # fmt: skip
_WORD_OPS = frozenset(("or", "and", "xor", "x", "eq", "ne", "lt", "gt", "in", "instanceof"))
_STOPS = frozenset((")", "]", "}", ",", ";", ":", "=>"))
_BLOCK_WORDS = frozenset(
    ("end", "then", "do", "else", "elsif", "elseif", "if", "unless", "while", "until", "for", "foreach", "rescue", "ensure", "when", "and", "or", "in",
     "x", "eq", "ne", "lt", "gt", "as", "of", "xor", "instanceof", "until", "cmp")
)  # fmt: skip


class Expressions(PerlWords, ABC):
    """Reads expressions."""

    def expression(self, level: int = 0) -> Node:
        """Read an expression whose operators bind at least so tightly.

        Raises:
            RecursionError: it is nested too deeply.
        """
        self.depth += 1
        if self.depth > DEEPEST:
            raise RecursionError
        try:
            return self.infix(self.postfix(self.operand()), level)
        finally:
            self.depth -= 1

    def infix(self, left: Node, level: int) -> Node:  # noqa: C901, PLR0912
        """Read operators and what stands behind them."""
        while True:
            self.fuel -= 1
            if self.fuel < 0:
                raise RecursionError
            token = self.token
            op = token.text
            if token.kind == "end" or (token.line and self.ends_at_line(op)):
                return left
            if token.kind == "op" and op in _ASSIGNS and level <= 2:
                left = self._assigned(left, op)
                continue
            if token.kind == "op" and op in {"++", "--"}:
                self.at += 1
                left = Assign(left, Const(1), op[0])
                continue
            if token.kind == "name" and op not in _WORD_OPS:
                if (
                    self.language == "awk"
                    and op not in _BLOCK_WORDS
                    and op != "getline"
                    and level <= 12
                    and not token.line
                ):
                    left = self._joined(left)
                    continue
                return left
            if token.kind == "value":
                if self.language == "awk" and level <= 12 and not token.line:
                    left = self._joined(left)
                    continue
                if self.language == "ruby" and isinstance(left, Const) and not token.line:
                    left = Join("text", [left, self.postfix(self.operand())])
                    continue
                return left
            if op in {">", ">>"} and self.printing and not self.level_in_call:
                return left
            prec = _LEVELS.get(op)
            if self.language == "awk" and op in {"(", "$", "!"} and level <= 12 and op != "!":
                left = self._joined(left)
                continue
            if prec is None or prec < max(level, 1) or (op == "|" and self.language == "awk"):
                return left
            if op == "in" and self.language != "javascript":
                return left
            left = self._operated(left, op, prec)

    def _joined(self, left: Node) -> Node:
        """Texts side by side, as awk joins them."""
        items = [left]
        while (self.token.kind in {"value", "name"} or self.is_op("(", "$", "-")) and not self.token.line:
            if self.token.text in _BLOCK_WORDS | {"getline"}:
                break
            items.append(self.infix(self.postfix(self.operand()), 13))
        return Join("text", items) if len(items) > 1 else left

    def _assigned(self, left: Node, op: str) -> Node:
        self.at += 1
        if isinstance(left, Name):
            self.names.add(left.name)
        value: Node = self.expression(2)
        if (
            self.language in {"ruby", "perl"}
            and isinstance(left, Name)
            and not left.name.startswith("@")
            and self.is_op(",")
            and not self.level_in_call
        ) and self.language == "ruby":
            items = [value]
            while self.accept(","):
                items.append(self.expression(2))
            value = Seq(items)
        return Assign(left, value, op[:-1] if op not in {"<-", "<<-", ":="} else "")

    def _operated(self, left: Node, op: str, prec: int) -> Node:  # noqa: C901, PLR0911
        self.at += 1
        if op == "<<" and self.language == "ruby":
            right = self.expression(prec + 1)
            if isinstance(left, Name):
                return Assign(left, right, "<<")
            if isinstance(left, Assign) and left.op == "<<":
                return Block([left, Assign(left.target, right, "<<")])
            if isinstance(left, Block) and isinstance(left.items[-1], Assign):
                return Block([*left.items, Assign(left.items[-1].target, right, "<<")])
            return Join("<<", [left, right])
        if op == "?":
            then = self.expression(2) if not self.is_op(":") else left
            self.expect(":")
            return Choice(left, then, self.expression(2))
        if op in {"=~", "!~"}:
            right = self.operand()
            if isinstance(right, Call) and isinstance(right.func, Name) and right.func.name.startswith("=~"):
                target = left.items[0] if isinstance(left, Seq) and left.items else left
                return self._changed(target, right)
            return Join("?", [left, self.postfix(right)])
        if op in {"|>", "%>%"}:
            right = self.expression(prec + 1)
            return (
                Call(right.func, [left, *right.args], right.named) if isinstance(right, Call) else Call(right, [left])
            )
        right = self.expression(prec + 1)
        if op in {"..", "..."} and self.language in {"ruby", "perl", "julia"}:
            stop: Node = Join("+", [right, Const(1)]) if op == ".." else right
            return Call(Name("range"), [left, stop])
        if op == ":" and self.language == "r":
            return Call(Name("range"), [left, Join("+", [right, Const(1)])])
        name = {"||": "or", "//": "or", "??": "or", "&&": "and", "lt": "<", "gt": ">"}.get(op, op)
        if op == "//" and self.language == "python":
            name = op
        if isinstance(left, Join) and left.op == name:
            left.items.append(right)
            return left
        return Join(name, [left, right])

    def _changed(self, target: Node, change: Call) -> Node:
        """``$x =~ s/a/b/``: a text that is changed in its place."""
        if isinstance(target, Assign):
            inner, holder = target.target, target
            return Block([holder, self._changed(inner, change)])
        name = change.func.name[2:] if isinstance(change.func, Name) else ""
        made = Call(Member(target, "gsub" if name == "gsub" else "sub" if name == "sub" else "tr"), change.args)
        return Assign(target, made)

    def operand(self) -> Node:  # noqa: C901, PLR0911, PLR0912
        """Read one operand."""
        self.fuel -= 1
        if self.fuel < 0:
            raise RecursionError
        token = self.token
        if token.kind == "value":
            self.at += 1
            return self._constant(token)
        if token.kind == "end":
            return Const(None)
        if token.kind == "name":
            made = self.keyword(token)
            if made is not None:
                return made
            self.at += 1
            if self.language == "javascript" and self.is_op("=>"):
                return self.arrow([Name(token.text)])
            return self._plain_name(token)
        op = token.text
        if op in _STOPS:
            if op in {":", "=>"}:
                self.at += 1
                self.errors += 1
            return Const(None)
        self.at += 1
        if op == "(":
            return self.parenthesis()
        if op == "[":
            return self.bracketed("]")
        if op == "{":
            return self.braced()
        if op in {"...", "*", "**"} and self.language in {"javascript", "ruby", "php"}:
            return Splat(self.expression(14))
        if op == "&" and self.language == "ruby":
            return self.block_argument()
        if op == "->" and self.language == "ruby":
            return self.stabby()
        if op == "$" and self.language == "awk":
            return Call(Name("@field"), [self.postfix(self.operand())])
        if op == "#" and self.language == "lua":
            return Call(Name("len"), [self.postfix(self.operand())])
        if op in {"$", "#"}:
            return Unary("?", self.postfix(self.operand()))
        if op in {"\\", "&", "@", "%", "++", "--"}:
            return self.postfix(self.operand())
        if op == "::":
            return self.operand()
        if op in {"!", "-", "+", "~", "<"}:
            return Unary(op, self.infix(self.postfix(self.operand()), 15))
        if op in {"@", "/"}:
            return self.operand()
        self.errors += 1
        return Const(None)

    def _constant(self, token: Token) -> Node:
        node = token.node if token.node is not None else Const(None)
        if (
            isinstance(node, Call)
            and isinstance(node.func, Name)
            and node.func.name.startswith("=~")
            and not (self.at > 1 and self.tokens[self.at - 2].text in {"=~", "!~"})
        ):
            return self._changed(Name("$_"), node)
        return node

    def _plain_name(self, token: Token) -> Node:
        name = token.text
        if self.language == "perl":
            return self.perl_name(name)
        if (
            name in {"new", "await", "async", "typeof", "void", "delete", "yield", "clone", "throw"}
            and self.language in {"javascript", "php"}
            and (self.token.kind in {"name", "value"} or self.is_op("(", "$", "["))
        ):
            made = self.postfix(self.operand())
            return made if isinstance(made, Call) or name != "new" else Call(made, [])
        if self.bare_call(token):
            return self.without_parentheses(Name(name))
        return Name(name)
