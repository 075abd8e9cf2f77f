"""Reading statements of several languages into the tree of nodes.py."""

from __future__ import annotations

from shellward.command.follow.awkrules import AwkRules
from shellward.command.follow.defining import DECLARES
from shellward.command.follow.loops import spread
from shellward.command.follow.nodes import (
    Assign,
    Block,
    Call,
    Choice,
    Const,
    Loop,
    Name,
    Node,
    Pairs,
    Return,
    Seq,
)
from shellward.command.follow.parser import DEEPEST

_ENDS = frozenset(("end", "else", "elsif", "elseif", "rescue", "ensure", "when", "until", "in"))
LONGEST_INNER = 4000
"""Characters of an expression within a text that are read."""


class Parser(AwkRules):
    """Reads programs of one language."""

    def within(self, code: str) -> Node:
        """Read an expression that stands within a text.

        Raises:
            RecursionError: it is nested too deeply.
        """
        if self.depth > 8:
            raise RecursionError
        inner = Parser(self.language, code[:LONGEST_INNER], self.depth + 1)
        made = inner.program()
        self.errors += inner.errors + (len(code) > LONGEST_INNER)
        return made.items[0] if len(made.items) == 1 else made

    def program(self) -> Block:
        """Read a whole program."""
        items: list[Node] = []
        while self.token.kind != "end":
            before = self.at
            items.append(self.statement())
            if self.at == before:
                self.errors += 1
                self.at += 1
        return Block([*items, *self.aside])

    def braces(self) -> Block:
        """Read statements up to a closing brace; the opening one is read."""
        before, self.level_in_call = self.level_in_call, 0
        no_do, self.no_do = self.no_do, 0
        items: list[Node] = []
        while self.token.kind != "end" and not self.accept("}"):
            at = self.at
            items.append(self.statement())
            if self.at == at:
                self.errors += not self.is_op(",", ")")
                self.at += 1
        self.level_in_call, self.no_do = before, no_do
        return Block(items)

    def words_block(self) -> Block:
        """Read statements up to ``end``, which is read."""
        items = self.until_word()
        while self.is_name("rescue", "ensure", "else", "when", "elsif") or (
            self.language == "lua" and self.is_name("until")
        ):
            self.at += 1
            if self.token.kind != "end" and not self.token.line:
                self.aside += self.arguments("")[0]
            self.accept("then", "do")
            items += self.until_word()
        self.accept("end")
        return Block(items)

    def until_word(self) -> list[Node]:
        """Read statements up to a word that ends them."""
        items: list[Node] = []
        before, self.level_in_call = self.level_in_call, 0
        no_do, self.no_do = self.no_do, 0
        while self.token.kind != "end" and not (self.token.kind == "name" and self.token.text in _ENDS):
            at = self.at
            items.append(self.statement())
            if self.at == at:
                self.errors += 1
                self.at += 1
        self.level_in_call, self.no_do = before, no_do
        return items

    # -- statements ---------------------------------------------------------------------------------------

    def statement(self) -> Node:
        """Read one statement.

        Raises:
            RecursionError: it is nested too deeply.
        """
        self.depth += 1
        if self.depth > DEEPEST:
            raise RecursionError
        try:
            return self._statement()
        finally:
            self.depth -= 1

    def _statement(self) -> Node:  # noqa: C901
        if self.accept(";", ","):
            return Const(None)
        token = self.token
        if token.kind == "op" and token.text == "{" and self.language != "ruby":
            self.at += 1
            return self.braces()
        made: Node | None = None
        if token.kind == "name" and not (self.ahead().kind == "op" and self.ahead().text == "=>"):
            made = self._keyword_statement(token.text)
        if made is None and self.language == "awk":
            made = self.awk_statement()
        if made is None:
            made = self.expression()
            if self.is_op(",") and self.level_in_call == 0:
                items = [made]
                while self.accept(","):
                    items.append(self.expression())
                last = items[-1]
                if (
                    isinstance(last, Assign)
                    and self.language in {"lua", "ruby"}
                    and all(isinstance(item, Name) for item in items[:-1])
                ):
                    more = [last.value]
                    while self.accept(","):
                        more.append(self.expression())
                    made = Assign(Seq([*items[:-1], last.target]), Seq(more) if len(more) > 1 else last.value)
                else:
                    made = Block(items)
        if self.language == "awk":
            made = self.awk_output(made)
        made = self.modified(made)
        self.accept(";")
        return made

    def modified(self, made: Node) -> Node:
        """``statement if test``, ``statement for list``."""
        if self.language not in {"ruby", "perl"}:
            return made
        while self.token.kind == "name" and not self.token.line:
            if self.accept("if", "unless"):
                made = Choice(self.expression(), Block([made]))
            elif self.accept("for", "foreach"):
                values = self.expression()
                made = Loop(Name("$_"), spread(values), made)
            elif self.accept("while", "until"):
                made = Choice(self.expression(), Block([made]), repeats=True)
            else:
                break
        return made

    def keyword(self, token: object) -> Node | None:  # noqa: C901, PLR0911
        """Read what a keyword begins that may stand within an expression; None when it is none."""
        word = self.token.text
        if self.ahead().kind == "op" and self.ahead().text in {"=>", ".", "="} and word != "function":
            return None
        if word in {"function", "fn", "async", "sub", "lambda", "proc"}:
            return self.function_value(word)
        if self.declares(word) and self.ahead().kind != "end":
            self.at += 1
            return self.operand() if not self.is_name(*DECLARES) else self.keyword(token)
        if word in {"if", "unless", "case", "begin", "while"} and self.language in {"ruby", "r"}:
            return self._keyword_statement(word)
        if word == "do" and self.language == "perl":
            self.at += 1
            return self.braces() if self.accept("{") else Call(Name("do"), [self.operand()])
        if word == "eval" and self.language == "perl" and self.ahead().text == "{":
            self.at += 2
            return self.braces()
        if word == "not":
            self.at += 1
            return self.expression(5)
        if word == "class" and self.language in {"javascript", "php"}:
            return self.read_class()
        if word == "getline" and self.language == "awk":
            self.at += 1
            return self.awk_getline(None)
        if word in {"use", "defined?"} and self.language != "perl":
            return None
        return None

    def _keyword_statement(self, word: str) -> Node | None:  # noqa: C901, PLR0911, PLR0912
        language = self.language
        if self.declares(word):
            return self.declaration(word)
        if word in {"function", "sub", "def", "fun"} and word != "fun":
            return self.definition(word)
        if word in {"if", "unless"}:
            return self.read_if(word)
        if word in {"while", "until"}:
            return self.read_while()
        if word in {"for", "foreach"}:
            return self.read_for()
        if word in {"class", "module", "interface", "trait"} and self.ahead().kind == "name":
            return self.read_class()
        if word == "return":
            self.at += 1
            if self.is_op(";", "}") or self.token.line or self.is_name("if", "unless", "end"):
                return Return()
            value = self.expression()
            return Return(value)
        if word in {"begin", "repeat"} and language in {"ruby", "lua", "julia"}:
            self.at += 1
            return self.words_block()
        if word == "case" and language == "ruby":
            self.at += 1
            if not self.token.line:
                self.aside.append(self.expression())
            return self.words_block()
        if word in {"try", "do", "finally", "else", "BEGIN", "END"} and (self.ahead().text == "{"):
            self.at += 2
            return self.braces()
        if word == "do" and language in {"lua", "julia"}:
            self.at += 1
            return self.words_block()
        if word == "catch" and language in {"javascript", "php"}:
            return self.catch()
        if word == "switch":
            self.at += 1
            self.aside.append(self.operand())
            self.expect("{")
            return self.braces()
        if word in {"case", "default"} and language in {"javascript", "php"}:
            self.at += 1
            if word == "case":
                self.aside.append(self.expression(4))
            self.accept(":")
            return Const(None)
        if word == "alias" and language == "ruby":
            return self._alias()
        if word == "import" and language == "javascript" and self.ahead().text != "(":
            return self.read_import()
        if word in {"use", "no", "package", "namespace"} and language in {"perl", "php"}:
            self.at += 1
            names = frozenset(("package", "namespace"))
            while self.token.kind != "end" and not self.accept(";") and not (word in names and self.is_op("{")):
                self.pass_over()
            return Const(None)
        if word in {"echo", "print"} and language == "php":
            self.at += 1
            return Call(Name("echo"), self.listed(""))
        if word in {"throw", "export", "default", "break", "continue", "next", "redo", "last", "pass"}:
            self.at += 1
            return Const(None)
        if word == "async" and self.ahead().text == "function":
            self.at += 1
            return self.definition("function")
        return None

    def _alias(self) -> Node | None:
        """``alias new old``: names or symbols; None when it is a name like any other."""
        names = [self.ahead(), self.ahead(2)]
        if any(token.line or token.kind not in {"name", "value"} for token in names):
            return None
        self.at += 3
        said = [str(t.node.value) if isinstance(t.node, Const) else t.text for t in names]
        return Call(Name("alias_method"), [Const(name) for name in said])


def parsed(language: str, code: str) -> tuple[Block, bool]:
    """Read a program; also tell whether all of it was understood.

    Raises:
        RecursionError: it is nested too deeply.
    """
    parser = Parser(language, code)
    made = parser.program()
    return made, not parser.errors


__all__ = ["Pairs", "Parser", "parsed"]
