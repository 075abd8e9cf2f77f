"""Where reading stands in the tokens of a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from shellward.command.doing import call_names
from shellward.command.follow.lexer import Lexer, Token
from shellward.command.follow.nodes import Const, Seq

if TYPE_CHECKING:
    from shellward.command.follow.nodes import (
        Block,
        Node,
    )


class Cursor(ABC):
    """Goes through the tokens of a program.

    Args:
        language: the program's language.
        code: its text.
        depth: how deep it stands within other programs.
    """

    printing = 0
    """What awk prints is read, and ``>`` would be where it goes."""
    level_in_call = 0
    """How many lists of arguments are open."""
    no_do = 0
    """Within the head of a loop ``do`` belongs to the loop."""

    def __init__(self, language: str, code: str, depth: int = 0) -> None:
        self.language = language
        self.depth = depth
        self.errors = 0
        self.at = 0
        self.names: set[str] = set()
        self.aside: list[Node] = []
        """What is evaluated, too, and has no place in the tree."""
        lexer = Lexer(language, code, self.within)
        self.tokens = lexer.cut()
        self.errors += lexer.doubts
        self.fuel = 12 * len(self.tokens) + 200
        """Steps that are left: reading ends whatever the text is."""

    @abstractmethod
    def within(self, code: str) -> Node:
        """Read an expression that stands within a text."""

    @abstractmethod
    def braces(self) -> Block:
        """Read statements up to a closing brace; the opening one is read."""

    @abstractmethod
    def words_block(self) -> Block:
        """Read statements up to ``end``."""

    @abstractmethod
    def keyword(self, token: Token) -> Node | None:
        """Read what a keyword begins that may stand within an expression; None when it is none."""

    @property
    def token(self) -> Token:
        """The token at hand."""
        return self.tokens[self.at]

    def ahead(self, by: int = 1) -> Token:
        """Return a token further on."""
        return self.tokens[min(self.at + by, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Return the token at hand and go on."""
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def pass_over(self) -> None:
        """Go on behind a token that nothing is made of; that is an error where it could be a call."""
        token = self.take()
        calls = token.kind == "op" and token.text in {"(", "{"}
        calls = calls or (token.kind == "name" and any(token.text in names for names in call_names(self.language)))
        self.errors += calls or (token.kind == "value" and not isinstance(token.node, Const | Seq))

    def is_op(self, *texts: str) -> bool:
        """Tell whether an operator is at hand."""
        return self.token.kind == "op" and self.token.text in texts

    def is_name(self, *texts: str) -> bool:
        """Tell whether a word is at hand."""
        return self.token.kind == "name" and self.token.text in texts

    def accept(self, *texts: str) -> bool:
        """Go on when one of these is at hand."""
        if self.token.kind in {"op", "name"} and self.token.text in texts:
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Go on behind what must be there; when it is not, it is an error."""
        if not self.accept(text):
            self.errors += 1

    @abstractmethod
    def expression(self, level: int = 0) -> Node:
        """Read an expression whose operators bind at least so tightly."""

    @abstractmethod
    def operand(self) -> Node:
        """Read one operand."""

    @abstractmethod
    def postfix(self, left: Node) -> Node:
        """Read calls, elements and members behind an operand."""

    @abstractmethod
    def infix(self, left: Node, level: int) -> Node:
        """Read operators and what stands behind them."""
