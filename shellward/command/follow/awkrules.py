"""Reading what only awk has: where it prints to, and where it reads from."""

from __future__ import annotations

from abc import ABC

from shellward.command.follow.defining import Defining
from shellward.command.follow.nodes import (
    Assign,
    Call,
    Const,
    Member,
    Name,
    Node,
    Shell,
)


class AwkRules(Defining, ABC):
    """Reads statements of awk."""

    def awk_statement(self) -> Node | None:
        """A rule of awk, or ``print``."""
        if self.is_name("print", "printf"):
            name = self.take().text
            closes = self.is_op("(") and self.whole_list()
            if closes:
                self.at += 1
            items: list[Node] = []
            if closes:
                items = self.listed(")")
            elif not self.is_op(">", ">>", "|", ";", "}") and not self.token.line:
                self.printing += 1
                items = [self.expression(2)]
                while self.accept(","):
                    items.append(self.expression(2))
                self.printing -= 1
            return Call(Name(name), items or [Name("$0")])
        return None

    def whole_list(self) -> bool:
        """Tell whether the parenthesis at hand holds all that is printed."""
        level, i = 0, self.at
        while i < len(self.tokens):
            text = self.tokens[i].text if self.tokens[i].kind == "op" else ""
            level += (text in {"(", "["}) - (text in {")", "]"})
            i += 1
            if not level:
                break
        after = self.tokens[min(i, len(self.tokens) - 1)]
        return after.kind == "end" or after.line or after.text in {";", "}", "|", ">", ">>"}

    def awk_output(self, made: Node) -> Node:
        """``print x | cmd``, ``print x > file``, ``cmd | getline``."""
        printed = isinstance(made, Call) and isinstance(made.func, Name) and made.func.name in {"print", "printf"}
        while self.is_op("|", ">", ">>"):
            op = self.take().text
            self.accept("&")
            if self.is_name("getline"):
                self.at += 1
                made = self.awk_getline(made)
                continue
            target = self.expression(13)
            if not printed:
                continue
            if op == "|":
                made = Call(Member(Call(Name("@pipe"), [target]), "print"), [made])
            else:
                made = Call(Name("@into"), [Const(op), target, made])
        return made

    def awk_getline(self, command: Node | None) -> Node:
        """``getline``, from a command or from what is read."""
        target: Node = Name("$0")
        if self.token.kind == "name" and not self.token.line:
            target = Name(self.take().text)
        if command is None:
            if self.accept("<"):
                self.expression(13)
            return Assign(target, Call(Name("readline"), []))
        return Assign(target, Shell(command))
