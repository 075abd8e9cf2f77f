"""Reading statements of several languages into the tree of nodes.py."""

from __future__ import annotations

from shellward.command.follow.nodes import (
    Assign,
    Block,
    Call,
    Choice,
    Class,
    Const,
    Function,
    Import,
    Loop,
    Member,
    Name,
    Node,
    Pairs,
    Return,
    Seq,
    Shell,
)
from shellward.command.follow.parser import DEEPEST, Expressions

_ENDS = frozenset(("end", "else", "elsif", "elseif", "rescue", "ensure", "when", "until", "in"))
_DECLARES = frozenset(
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
_WITH_END = frozenset(("ruby", "lua", "julia", "elixir"))


class Parser(Expressions):
    """Reads programs of one language."""

    def within(self, code: str) -> Node:
        """Read an expression that stands within a text.

        Raises:
            RecursionError: it is nested too deeply.
        """
        if self.depth > 8:
            raise RecursionError
        inner = Parser(self.language, code[:4000], self.depth + 1)
        made = inner.program()
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
        return Block(items)

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
        items = self._until_word()
        while self.is_name("rescue", "ensure", "else", "when", "elsif") or (
            self.language == "lua" and self.is_name("until")
        ):
            self.at += 1
            if self.token.kind != "end" and not self.token.line:
                self.expression()
            self.accept("then", "do")
            items += self._until_word()
        self.accept("end")
        return Block(items)

    def _until_word(self) -> list[Node]:
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
            made = self._awk_statement()
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
            made = self._awk_output(made)
        made = self._modified(made)
        self.accept(";")
        return made

    def _modified(self, made: Node) -> Node:
        """``statement if test``, ``statement for list``."""
        if self.language not in {"ruby", "perl"}:
            return made
        while self.token.kind == "name" and not self.token.line:
            if self.accept("if", "unless"):
                made = Choice(self.expression(), Block([made]))
            elif self.accept("for", "foreach"):
                values = self.expression()
                made = Loop(Name("$_"), _spread(values), made)
            elif self.accept("while", "until"):
                made = Choice(self.expression(), Block([made]), repeats=True)
            else:
                break
        return made

    def keyword(self, token: object) -> Node | None:
        """Read what a keyword begins that may stand within an expression; None when it is none."""
        word = self.token.text
        if self.ahead().kind == "op" and self.ahead().text in {"=>", ".", "="} and word != "function":
            return None
        if word in {"function", "fn", "async", "sub", "lambda", "proc"}:
            return self._function_value(word)
        if word in _DECLARES and self.language in {"perl", "javascript", "php", "lua"} and self.ahead().kind != "end":
            self.at += 1
            return self.operand() if not self.is_name(*_DECLARES) else self.keyword(token)
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
            return self._class()
        if word == "getline" and self.language == "awk":
            self.at += 1
            return self._awk_getline(None)
        if word in {"use", "defined?"} and self.language != "perl":
            return None
        return None

    def _function_value(self, word: str) -> Node | None:
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
        name = ""
        if self.token.kind == "name" and not self.is_op("("):
            name = self.take().text
            while self.accept(".", ":"):
                name = self.take().text
        params: list[Node] = []
        if self.accept("("):
            params = self.params(")")
        if self.is_name("use") and self.language == "php":
            self.at += 1
            self.expect("(")
            self.params(")")
        if self.accept(":"):
            self.take()  # a type
        if self.language == "lua":
            return Function(params, self.words_block(), name)
        if word == "fn" and self.accept("=>"):
            return Function(params, self.expression(2), name)
        if self.accept("{"):
            return Function(params, self.braces(), name)
        return Function(params, self.expression(2), name)

    def _keyword_statement(self, word: str) -> Node | None:  # noqa: C901, PLR0911, PLR0912
        language = self.language
        if word in _DECLARES and language in {"javascript", "perl", "php", "lua", "ruby"} and language != "ruby":
            return self._declaration(word)
        if word in {"function", "sub", "def", "fun"} and word != "fun":
            return self._definition(word)
        if word in {"if", "unless"}:
            return self._if(word)
        if word in {"while", "until"}:
            return self._while()
        if word in {"for", "foreach"}:
            return self._for()
        if word in {"class", "module", "interface", "trait"} and self.ahead().kind == "name":
            return self._class()
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
                self.expression()
            return self.words_block()
        if word in {"try", "do", "finally", "else", "BEGIN", "END"} and (self.ahead().text == "{"):
            self.at += 2
            return self.braces()
        if word == "do" and language in {"lua", "julia"}:
            self.at += 1
            return self.words_block()
        if word == "catch" and language in {"javascript", "php"}:
            return self._catch()
        if word == "switch":
            self.at += 1
            self.operand()
            self.expect("{")
            return self.braces()
        if word in {"case", "default"} and language in {"javascript", "php"}:
            self.at += 1
            if word == "case":
                self.expression(4)
            self.accept(":")
            return Const(None)
        if word == "import" and language == "javascript" and self.ahead().text != "(":
            return self._import()
        if word in {"use", "no", "package", "namespace"} and language in {"perl", "php"}:
            self.at += 1
            while self.token.kind != "end" and not self.accept(";"):
                self.at += 1
            return Const(None)
        if word in {"echo", "print"} and language == "php":
            self.at += 1
            return Call(Name("echo"), self.listed(""))
        if word in {"throw", "export", "default", "break", "continue", "next", "redo", "last", "pass"}:
            self.at += 1
            return Const(None)
        if word == "async" and self.ahead().text == "function":
            self.at += 1
            return self._definition("function")
        return None

    def _declaration(self, word: str) -> Node:
        self.at += 1
        if self.is_name("function", "class", "async", *_DECLARES):
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
        return self._modified(Block(items)) if len(items) > 1 else items[0] if items else Const(None)

    def _definition(self, word: str) -> Node | None:
        if word in {"function", "sub"}:
            if self.language == "awk" or self.ahead().kind == "name" or self.ahead().text in {"*", "&"}:
                return self._function_value(word)
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

    def _test(self) -> Node:
        if self.language in {"javascript", "php", "perl", "awk", "r"}:
            self.expect("(")
            items = self.listed(")")
            return items[0] if items else Const(True)
        self.no_do += 1
        test = self.expression()
        self.no_do -= 1
        return test

    def _body(self) -> Block:
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

    def _if(self, word: str) -> Node:
        self.at += 1
        test = self._test()
        if word == "unless":
            test = Block([test])
        if self.language not in _WITH_END:
            then = self._body()
            self.accept(";") if self.ahead().text == "else" else None
            other: Node | None = None
            if self.is_name("elsif", "elseif"):
                other = self._if("if")
            elif self.accept("else"):
                other = self._if("if") if self.is_name("if") else self._body()
            return Choice(test, then, other)
        self.accept("then")
        then = Block(self._until_word())
        if self.is_name("elsif", "elseif"):
            return Choice(test, then, self._if("if"))
        other = None
        if self.accept("else"):
            other = Block(self._until_word())
        self.accept("end")
        return Choice(test, then, other)

    def _while(self) -> Node:
        self.at += 1
        test = self._test()
        if self.language not in _WITH_END:
            return Choice(test, self._body(), repeats=True)
        self.accept("do")
        return Choice(test, self.words_block(), repeats=True)

    def _for(self) -> Node:  # noqa: C901
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
            return Loop(target, _spread(values), self._body())
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
        return Loop(target, values, self._body())

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
        body = self._body()
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
                values = Call(Name("count"), numbers)
            return Loop(targets[0], values, self.words_block())
        self.accept("in")
        self.no_do += 1
        values = self.expression()
        self.no_do -= 1
        while self.accept(","):
            self.expression()
        self.accept("do")
        return Loop(targets[0] if len(targets) == 1 else Seq(targets), values, self.words_block())

    def _class(self) -> Node:
        self.at += 1
        name = self.take().text if self.token.kind == "name" else "class"
        if self.language == "ruby":
            if self.accept("<"):
                self.expression()
            return Class(name, self.words_block())
        while self.token.kind != "end" and not self.accept("{"):
            self.at += 1
        items: list[Node] = []
        while self.token.kind != "end" and not self.accept("}"):
            before = self.at
            while self.is_name(*_DECLARES, "async", "get", "set", "function"):
                self.at += 1
            method = self.take()
            if self.accept("("):
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

    def _catch(self) -> Node:
        self.at += 1
        if self.accept("("):
            self.params(")")
        return self.braces() if self.accept("{") else Const(None)

    def _import(self) -> Node:
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

    # -- awk ----------------------------------------------------------------------------------------------

    def _awk_statement(self) -> Node | None:
        """A rule of awk, or ``print``."""
        if self.is_name("print", "printf"):
            name = self.take().text
            closes = self.is_op("(") and self._whole_list()
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

    def _whole_list(self) -> bool:
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

    def _awk_output(self, made: Node) -> Node:
        """``print x | cmd``, ``print x > file``, ``cmd | getline``."""
        printed = isinstance(made, Call) and isinstance(made.func, Name) and made.func.name in {"print", "printf"}
        while self.is_op("|", ">", ">>"):
            op = self.take().text
            self.accept("&")
            if self.is_name("getline"):
                self.at += 1
                made = self._awk_getline(made)
                continue
            target = self.expression(13)
            if not printed:
                continue
            if op == "|":
                made = Call(Member(Call(Name("@pipe"), [target]), "print"), [made])
            else:
                made = Call(Name("@into"), [Const(op), target, made])
        return made

    def _awk_getline(self, command: Node | None) -> Node:
        target: Node = Name("$0")
        if self.token.kind == "name" and not self.token.line:
            target = Name(self.take().text)
        if command is None:
            if self.accept("<"):
                self.expression(13)
            return Assign(target, Call(Name("readline"), []))
        return Assign(target, Shell(command))


def _spread(values: Node) -> Node:
    """The elements of lists within a list."""
    from shellward.command.follow.nodes import Splat

    return Seq([Splat(item) for item in values.items]) if isinstance(values, Seq) else values


def parsed(language: str, code: str) -> tuple[Block, bool]:
    """Read a program; also tell whether all of it was understood.

    Raises:
        RecursionError: it is nested too deeply.
    """
    parser = Parser(language, code)
    made = parser.program()
    return made, not parser.errors


__all__ = ["Pairs", "Parser", "parsed"]
