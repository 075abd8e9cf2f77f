"""Reading the names of Perl, which say by their sigil and their place what they are."""

from __future__ import annotations

from abc import ABC

from shellward.command.follow.behind import Behind
from shellward.command.follow.nodes import (
    Call,
    Const,
    Function,
    Loop,
    Member,
    Name,
    Node,
    Seq,
    Splat,
)

_BLOCK_WORDS = frozenset(
    ("end", "then", "do", "else", "elsif", "elseif", "if", "unless", "while", "until", "for", "foreach", "rescue", "ensure", "when", "and", "or", "in",
     "x", "eq", "ne", "lt", "gt", "as", "of", "xor", "instanceof", "until", "cmp")
)  # fmt: skip
_UNARY_CALLS = frozenset(
    ("shift", "pop", "defined", "lc", "uc", "lcfirst", "ucfirst", "chr", "ord", "scalar", "length", "hex", "oct", "ref", "quotemeta", "chomp", "rmdir",
     "readline", "exists", "delete", "keys", "values", "each", "local", "chdir", "close", "require", "int", "sleep", "umask", "exit", "undef", "glob")
)  # fmt: skip
"""Functions of Perl that take one argument when there are no parentheses."""


class PerlWords(Behind, ABC):
    """Reads names of Perl."""

    def perl_name(self, name: str) -> Node:  # noqa: C901, PLR0911, PLR0912
        """Read what a name of Perl begins."""
        if name in {"$", "@", "%", "&"} and self.is_op("{"):
            self.at += 1
            inner = self.expression()
            self.expect("}")
            if isinstance(inner, Name) and not inner.name.startswith(("$", "@", "%")):
                return Name(name + inner.name)
            return inner
        if name in {"$", "@", "%"}:
            return self.operand()
        if name.startswith("$") and not self.token.space:
            if self.is_op("["):
                return Name("@" + name[1:]) if not self._is_reference() else Name(name)
            if self.is_op("{"):
                return Name("%" + name[1:])
        if name.startswith("@") and not self.token.space and self.is_op("{", "["):
            return Name(("%" if self.is_op("{") else "@") + name[1:])
        if name.startswith("&"):
            return Name(name[1:])
        if name[0] in "$@%":
            return Name(name)
        if self.is_op("=>"):
            return Const(name)
        if name in {"map", "grep", "sort", "first", "any", "finddepth", "find"} and (
            self.is_op("{") or (self.is_op("(") and self.ahead().text == "{")
        ):
            return self._perl_block_call(name)
        if name in {"map", "grep"}:
            closes = self.accept("(")
            body = self.expression(2)
            self.accept(",")
            values: Node = Seq([Splat(item) for item in self.listed(")" if closes else "")])
            kept = name == "grep"
            return Loop(Name("$_"), values, Name("$_") if kept else body, [body] if kept else [], collects=True)
        if name in {"print", "printf", "say"}:
            return self._perl_print(name)
        if name in _UNARY_CALLS and not self.is_op("("):
            if (
                self.is_op(";", ")", "}", ",", "]")
                or self.token.kind == "end"
                or self.is_name("if", "unless", "for", "foreach", "while", "or", "and")
            ):
                return Call(Name(name), [] if name in {"shift", "pop"} else [Name("$_")])
            return Call(Name(name), [self.infix(self.postfix(self.operand()), 14)])
        if (self.token.kind in {"value", "name"} and self.token.text not in _BLOCK_WORDS) or (
            self.is_op("[", "\\", "@", "-") and not self.is_op("->")
        ):
            return self.without_parentheses(Name(name))
        return (
            Call(Name(name), [Name("$_")])
            if name in {"system", "exec", "unlink", "eval", "rmdir"} and not self.is_op("(", "{", "->")
            else Name(name)
        )

    def _perl_block_call(self, name: str) -> Node:
        closes = self.accept("(")
        self.expect("{")
        made = Function([], self.braces())
        self.accept(",")
        items = self.listed(")" if closes else "")
        if name in {"find", "finddepth"}:
            return Call(Name(name), [made, *items])
        values: Node = Seq([Splat(item) for item in items])
        loop = Loop(Name("$_"), values, made.body, collects=True)
        if name in {"grep", "first", "any"}:
            loop.body, loop.tests = Name("$_"), [made.body]
        if name == "sort":
            self.aside.append(made)
            return values
        return loop

    def _perl_print(self, name: str) -> Node:
        closes = self.accept("(")
        handle: Node | None = None
        if self.is_op("{"):
            self.at += 1
            handle = self.expression()
            self.expect("}")
        elif (
            self.token.kind == "name"
            and self.ahead().kind in {"value", "name"}
            and not self.ahead().line
            and self.ahead().text not in _BLOCK_WORDS | {"."}
            and (self.token.text[0] == "$" or self.token.text.isupper())
        ):
            handle = Name(self.take().text)
        items = self.listed(")" if closes else "")
        if handle is not None and not (isinstance(handle, Name) and handle.name in {"STDOUT", "STDERR"}):
            return Call(Member(handle, "print"), items)
        return Call(Name(name), items or [Name("$_")])

    @staticmethod
    def _is_reference() -> bool:
        return False
