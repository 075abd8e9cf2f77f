"""Reading branches and loops."""

from __future__ import annotations

from abc import ABC, abstractmethod

from shellward.command.follow.nodes import (
    Block,
    Call,
    Choice,
    Const,
    Loop,
    Member,
    Name,
    Node,
    Seq,
)
from shellward.command.follow.parser import Expressions

_WITH_END = frozenset(("ruby", "lua", "julia", "elixir"))


class Loops(Expressions, ABC):
    """Reads branches and loops."""

    @abstractmethod
    def statement(self) -> Node:
        """Read one statement."""

    @abstractmethod
    def modified(self, made: Node) -> Node:
        """``statement if test``, ``statement for list``."""

    @abstractmethod
    def until_word(self) -> list[Node]:
        """Read statements up to a word that ends them."""

    def test(self) -> Node:
        """Read what a branch or a loop asks."""
        if self.language in {"javascript", "php", "perl", "awk", "r"}:
            self.expect("(")
            items = self.listed(")")
            return items[0] if items else Const(True)
        self.no_do += 1
        test = self.expression()
        self.no_do -= 1
        return test

    def body(self) -> Block:
        """Read the body of a branch or a loop, in braces, in words, or one statement."""
        if self.accept("{"):
            return self.braces()
        if self.language == "php" and self.accept(":"):
            items: list[Node] = []
            while self.token.kind != "end" and not self.is_name(
                "endif", "endforeach", "endwhile", "endfor", "else", "elseif"
            ):
                items.append(self.statement())
            self.accept("endif", "endforeach", "endwhile", "endfor")
            return Block(items)
        return Block([self.statement()])

    def read_if(self, word: str) -> Node:
        """Read a branch."""
        self.at += 1
        test = self.test()
        if word == "unless":
            test = Block([test])
        if self.language not in _WITH_END:
            then = self.body()
            self.accept(";") if self.ahead().text == "else" else None
            other: Node | None = None
            if self.is_name("elsif", "elseif"):
                other = self.read_if("if")
            elif self.accept("else"):
                other = self.read_if("if") if self.is_name("if") else self.body()
            return Choice(test, then, other)
        self.accept("then")
        then = Block(self.until_word())
        if self.is_name("elsif", "elseif"):
            return Choice(test, then, self.read_if("if"))
        other = None
        if self.accept("else"):
            other = Block(self.until_word())
        self.accept("end")
        return Choice(test, then, other)

    def read_while(self) -> Node:
        """Read a loop with a test."""
        self.at += 1
        test = self.test()
        if self.language not in _WITH_END:
            return Choice(test, self.body(), repeats=True)
        self.accept("do")
        return Choice(test, self.words_block(), repeats=True)

    def read_for(self) -> Node:  # noqa: C901
        """Read a loop over values or numbers."""
        self.at += 1
        self.accept("await")
        if self.language in _WITH_END:
            return self._for_words()
        target: Node = Name("$_")
        if self.language == "perl":
            self.accept("my", "our")
            if self.token.kind == "name":
                target = Name(self.take().text)
            self.expect("(")
            first = self._head()
            if self.accept(";"):
                return self._counted(first)
            values: Node = Seq([first]) if not isinstance(first, Seq) else first
            while self.accept(","):
                values = Seq([values, self.expression()])
            self.expect(")")
            return Loop(target, spread(values), self.body())
        self.expect("(")
        while self.is_name("var", "let", "const"):
            self.at += 1
        target = Name(self.take().text) if self.token.kind == "name" and self.ahead().text == "in" else self._head()
        if self.accept(";"):
            return self._counted(target)
        if self.accept("of", "in"):
            keys = self.tokens[self.at - 1].text == "in"
            values = self.expression()
            if keys and self.language in {"javascript", "awk"}:
                values = Call(Member(values, "keys"), [])
        elif self.accept("as"):
            values, target = target, self.expression()
            if self.accept("=>"):
                target = Seq([target, self.expression()])
                values = Call(Name("enumerate"), [values])
        else:
            self.errors += 1
            values = Seq([])
        self.expect(")")
        return Loop(target, values, self.body())

    def _head(self) -> Node:
        """Read what stands first in the parentheses of a loop."""
        if self.is_op(";", ")"):
            return Seq([])
        first = self.expression(2)
        items = [first]
        while self.accept(","):
            items.append(self.expression(2))
        return first if len(items) == 1 else Seq(items)

    def _counted(self, first: Node) -> Node:
        """``for (first; test; step) body``."""
        test = Const(True) if self.is_op(";") else self.expression()
        self.expect(";")
        step = Block([]) if self.is_op(")") else Block(self.listed(")"))
        if not step.items:
            self.accept(")")
        body = self.body()
        return Block([first, Choice(test, Block([body, step]), repeats=True)])

    def _for_words(self) -> Node:
        targets: list[Node] = [Name(self.take().text)]
        self.names.add(targets[0].name)  # type: ignore[union-attr]
        while self.accept(","):
            targets.append(Name(self.take().text))
        if self.accept("="):
            numbers: list[Node] = [self.expression(2)]
            while self.accept(","):
                numbers.append(self.expression(2))
            self.accept("do")
            values: Node = numbers[0]
            if len(numbers) > 1:
                values = Call(Name("@count"), numbers)
            return Loop(targets[0], values, self.words_block())
        self.accept("in")
        self.no_do += 1
        values = self.expression()
        self.no_do -= 1
        while self.accept(","):
            self.aside.append(self.expression())
        self.accept("do")
        return Loop(targets[0] if len(targets) == 1 else Seq(targets), values, self.words_block())


def spread(values: Node) -> Node:
    """The elements of lists within a list."""
    from shellward.command.follow.nodes import Splat

    return Seq([Splat(item) for item in values.items]) if isinstance(values, Seq) else values
