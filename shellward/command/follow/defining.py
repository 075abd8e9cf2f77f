"""Reading functions, classes, declarations and imports."""

from __future__ import annotations

from abc import ABC

from shellward.command.follow.loops import Loops
from shellward.command.follow.nodes import (
    Assign,
    Block,
    Call,
    Class,
    Const,
    Function,
    Import,
    Member,
    Name,
    Node,
    Seq,
)

DECLARES = frozenset(
    (
        "var",
        "let",
        "const",
        "my",
        "our",
        "local",
        "state",
        "static",
        "public",
        "private",
        "protected",
        "global",
        "final",
        "readonly",
        "export",
        "declare",
    )
)
"""Words that may stand before a name that is declared."""


_DECLARING = {
    "javascript": frozenset(("var", "let", "const", "export")),
    "perl": frozenset(("my", "our", "local", "state")),
    "php": frozenset(("static", "global", "public", "private", "protected", "final", "readonly", "var", "const")),
    "lua": frozenset(("local",)),
}
"""Words that declare a name, by language."""


class Defining(Loops, ABC):
    """Reads what gives names."""

    def declares(self, word: str) -> bool:
        """Tell whether a word declares what follows."""
        return word in _DECLARING.get(self.language, ())

    def definition(self, word: str) -> Node | None:
        """Read a function with a name; None when it is none."""
        if word in {"function", "sub"}:
            if self.language == "awk" or self.ahead().kind == "name" or self.ahead().text in {"*", "&"}:
                return self.function_value(word)
            return None
        if self.language not in {"ruby", "groovy"}:
            return None
        self.at += 1
        name = self.take().text
        while self.accept("."):
            name = self.take().text
        params: list[Node] = []
        if self.accept("("):
            params = self.params(")")
        elif not self.token.line and not self.is_op(";", "="):
            while not self.token.line and self.token.kind != "end" and not self.is_op(";", "="):
                if self.token.kind == "name":
                    params.append(Name(self.take().text))
                else:
                    self.at += 1
        if self.accept("="):
            return Function(params, self.expression(), name)
        return Function(params, self.words_block(), name)

    def read_class(self) -> Node:  # noqa: C901
        """Read a class."""
        self.at += 1
        name = self.take().text if self.token.kind == "name" else "class"
        if self.language == "ruby":
            if self.accept("<"):
                self.aside.append(self.expression())
            return Class(name, self.words_block())
        while self.token.kind != "end" and not self.accept("{"):
            self.pass_over()
        items: list[Node] = []
        while self.token.kind != "end" and not self.accept("}"):
            before = self.at
            while self.is_name(*DECLARES, "async", "get", "set", "function"):
                self.at += 1
            method = self.take()
            if method.kind == "op" and method.text not in {";", "*", "#", "}", "?"}:
                self.errors += 1
            if method.text == "static" and self.accept("{"):
                items.append(self.braces())
            elif self.accept("("):
                params = self.params(")")
                while self.token.kind != "end" and not self.is_op("{", ";"):
                    self.at += 1
                if self.accept("{"):
                    items.append(Function(params, self.braces(), method.text))
            elif self.accept("="):
                items.append(Assign(Name(method.text.lstrip("$")), self.expression(2)))
            self.accept(";", ",")
            if self.at == before:
                self.at += 1
        return Class(name, Block(items))

    def catch(self) -> Node:
        """Read what happens when something was raised."""
        self.at += 1
        if self.accept("("):
            self.aside.append(Function(self.params(")"), Const(None)))
        return self.braces() if self.accept("{") else Const(None)

    def read_import(self) -> Node:
        """``import x, {a as b}, * as c from 'module'``."""
        self.at += 1
        names: list[tuple[str, str]] = []
        while self.token.kind != "end" and not self.accept("from"):
            token = self.take()
            if token.kind == "value":
                return Const(None)
            if token.text == "*":
                self.accept("as")
                names.append(("", self.take().text))
            elif token.text == "{":
                while self.token.kind != "end" and not self.accept("}"):
                    name = self.take().text
                    names.append((name, self.take().text if self.accept("as") else name))
                    self.accept(",")
            elif token.kind == "name":
                names.append(("", token.text))
        source = self.operand()
        module = str(source.value).removeprefix("node:") if isinstance(source, Const) else ""
        return Block(
            [Import(f"{module}.{name}" if name and name != "default" else module, alias) for name, alias in names]
        )

    def function_value(self, word: str) -> Node | None:  # noqa: C901, PLR0911, PLR0912
        """Read a function within an expression."""
        if word == "async":
            self.at += 1
            return self.keyword(self.token) or self.operand()
        if word in {"lambda", "proc"}:
            if self.language != "ruby" or self.ahead().text not in {"{", "do", "("}:
                return None
            self.at += 1
            call = Call(Name("lambda"), [])
            self.with_block(call)
            return call.args[0] if call.args else Name(word)
        if word == "sub" and self.language != "perl":
            return None
        if word == "fn" and self.language != "php":
            return None
        self.at += 1
        self.accept("*", "&")
        name, owner = "", ""
        if self.token.kind == "name" and not self.is_op("("):
            name = self.take().text
            while self.accept(".", ":"):
                owner, name = name, self.take().text
        params: list[Node] = []
        if self.accept("("):
            params = self.params(")")
        if self.is_name("use") and self.language == "php":
            self.at += 1
            self.expect("(")
            self.params(")")
        if self.accept(":"):
            self.take()  # a type
        if self.language == "lua" and owner:
            return Assign(Member(Name(owner), name), Function(params, self.words_block()))
        if self.language == "lua":
            return Function(params, self.words_block(), name)
        if word == "fn" and self.accept("=>"):
            return Function(params, self.expression(2), name)
        if self.accept("{"):
            return Function(params, self.braces(), name)
        return Function(params, self.expression(2), name)

    def declaration(self, word: str) -> Node:
        """Read ``let``, ``my`` and their like."""
        self.at += 1
        if self.is_name("function", "class", "async", *DECLARES):
            return self.statement()
        if word == "local" and self.language == "perl" and self.token.kind == "name" and self.ahead().text == ";":
            self.at += 1
            return Const(None)
        items: list[Node] = []
        if self.language == "lua":
            names: list[Node] = [Name(self.take().text)]
            while self.accept(","):
                names.append(Name(self.take().text))
            if not self.accept("="):
                return Const(None)
            values = self.listed("")
            return (
                Assign(names[0], values[0] if values else Const(None))
                if len(names) == 1
                else Assign(Seq(names), Seq(values) if len(values) > 1 else values[0] if values else Const(None))
            )
        while self.token.kind != "end":
            items.append(self.expression(2 if self.language == "javascript" else 0))
            if not self.accept(","):
                break
        return self.modified(Block(items)) if len(items) > 1 else items[0] if items else Const(None)
