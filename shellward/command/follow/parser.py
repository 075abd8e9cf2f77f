"""Reading expressions of several languages into the tree of nodes.py; statements are in statements.py.

Tolerant: what is not understood is left out and counted in ``errors``; it never raises but for too deep a nesting.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from shellward.command.follow.lexer import Lexer, Token
from shellward.command.follow.nodes import (
    Assign,
    Block,
    Call,
    Choice,
    Const,
    Function,
    Index,
    Join,
    Loop,
    Member,
    Name,
    Node,
    Pairs,
    Return,
    Seq,
    Splat,
    Unary,
)
from shellward.command.follow.things import Pattern

DEEPEST = 60
"""Nesting that is followed."""

_ASSIGNS = frozenset(("=", "+=", "-=", "*=", "/=", ".=", "..=", "%=", "|=", "^=", "||=", "&&=", "??=", "//=", "**=", "<<=", "x=", "<-", "<<-", ":="))
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
_UNARY_CALLS = frozenset(
    ("shift", "pop", "defined", "lc", "uc", "lcfirst", "ucfirst", "chr", "ord", "scalar", "length", "hex", "oct", "ref", "quotemeta", "chomp", "rmdir",
     "readline", "exists", "delete", "keys", "values", "each", "local", "chdir", "close", "require", "int", "sleep", "umask", "exit", "undef", "glob")
)  # fmt: skip
"""Functions of Perl that take one argument when there are no parentheses."""


class Expressions(ABC):
    """Reads expressions.

    Args:
        language: the program's language.
        code: its text.
        depth: how deep it stands within other programs.
    """

    def __init__(self, language: str, code: str, depth: int = 0) -> None:
        self.language = language
        self.depth = depth
        self.errors = 0
        self.at = 0
        self.names: set[str] = set()
        self.tokens = Lexer(language, code, self.within).cut()
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

    # -- tokens -------------------------------------------------------------------------------------------

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

    # -- expressions --------------------------------------------------------------------------------------

    def expression(self, level: int = 0) -> Node:
        """Read an expression whose operators bind at least so tightly.

        Raises:
            RecursionError: it is nested too deeply.
        """
        self.depth += 1
        if self.depth > DEEPEST:
            raise RecursionError
        try:
            return self._infix(self.postfix(self.operand()), level)
        finally:
            self.depth -= 1

    def _infix(self, left: Node, level: int) -> Node:  # noqa: C901, PLR0912
        while True:
            self.fuel -= 1
            if self.fuel < 0:
                raise RecursionError
            token = self.token
            op = token.text
            if token.kind == "end" or (token.line and self._ends_at_line(op)):
                return left
            if token.kind == "op" and op in _ASSIGNS and level <= 2:
                left = self._assigned(left, op)
                continue
            if token.kind == "op" and op in {"++", "--"}:
                self.at += 1
                left = Assign(left, Const(1), op[0])
                continue
            if token.kind == "name" and op not in _WORD_OPS:
                if self.language == "awk" and op not in _BLOCK_WORDS and op != "getline" and level <= 12 and not token.line:
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
            prec = _LEVELS.get(op)
            if self.language == "awk" and op in {"(", "$", "!"} and level <= 12 and op != "!":
                left = self._joined(left)
                continue
            if prec is None or prec < max(level, 1) or (op == "|" and self.language == "awk"):
                return left
            if op == "in" and self.language != "javascript":
                return left
            left = self._operated(left, op, prec)

    def _ends_at_line(self, op: str) -> bool:
        """Tell whether an expression ends when the next token begins a line."""
        if op in {".", "?.", "&.", "&&", "||", "??", "|>", "%>%"} or (op in {"->", "::"} and self.language == "php"):
            return False
        if self.language in {"php", "perl", "javascript"}:
            return op in {"(", "[", "{", "++", "--"} or self.token.kind in {"name", "value"}
        return not (self.language == "lua" and op in {"..", "+"})

    def _joined(self, left: Node) -> Node:
        """Texts side by side, as awk joins them."""
        items = [left]
        while (self.token.kind in {"value", "name"} or self.is_op("(", "$", "-")) and not self.token.line:
            if self.token.text in _BLOCK_WORDS | {"getline"}:
                break
            items.append(self._infix(self.postfix(self.operand()), 13))
        return Join("text", items) if len(items) > 1 else left

    def _assigned(self, left: Node, op: str) -> Node:
        self.at += 1
        if isinstance(left, Name):
            self.names.add(left.name)
        value: Node = self.expression(2)
        if self.language in {"ruby", "perl"} and isinstance(left, Name) and not left.name.startswith("@") and self.is_op(",") and not self.level_in_call:
            if self.language == "ruby":
                items = [value]
                while self.accept(","):
                    items.append(self.expression(2))
                value = Seq(items)
        return Assign(left, value, op[:-1] if op not in {"<-", "<<-", ":="} else "")

    level_in_call = 0
    """How many lists of arguments are open."""

    def _operated(self, left: Node, op: str, prec: int) -> Node:  # noqa: C901, PLR0911
        self.at += 1
        if op == "?":
            then = self.expression(2) if not self.is_op(":") else left
            self.expect(":")
            return Choice(left, then, self.expression(2))
        if op in {"=~", "!~"}:
            right = self.operand()
            if isinstance(right, Call) and isinstance(right.func, Name) and right.func.name.startswith("=~"):
                target = left.value if isinstance(left, Seq) and left.items else left
                return self._changed(target, right)
            return Join("?", [left, self.postfix(right)])
        if op in {"|>", "%>%"}:
            right = self.expression(prec + 1)
            return Call(right.func, [left, *right.args], right.named) if isinstance(right, Call) else Call(right, [left])
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

    # -- operands -----------------------------------------------------------------------------------------

    def operand(self) -> Node:  # noqa: C901, PLR0911
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
                return self._arrow([Name(token.text)])
            return self._plain_name(token)
        op = token.text
        if op in _STOPS:
            if op in {":", "=>"}:
                self.at += 1
                self.errors += 1
            return Const(None)
        self.at += 1
        if op == "(":
            return self._parenthesis()
        if op == "[":
            return self._list("]")
        if op == "{":
            return self.braced()
        if op in {"...", "*", "**"} and self.language in {"javascript", "ruby", "php"}:
            return Splat(self.expression(14))
        if op == "&" and self.language == "ruby":
            return self._block_argument()
        if op == "->" and self.language == "ruby":
            return self._stabby()
        if op == "$" and self.language == "awk":
            return Call(Name("@field"), [self.postfix(self.operand())])
        if op in {"$", "#"}:
            return Unary("?", self.postfix(self.operand()))
        if op in {"\\", "&", "@", "%", "++", "--"}:
            return self.postfix(self.operand())
        if op == "::":
            return self.operand()
        if op in {"!", "-", "+", "~", "<"}:
            return Unary(op, self._infix(self.postfix(self.operand()), 15))
        if op == "@" or op == "/":
            return self.operand()
        self.errors += 1
        return Const(None)

    def _constant(self, token: Token) -> Node:
        node = token.node if token.node is not None else Const(None)
        if isinstance(node, Call) and isinstance(node.func, Name) and node.func.name.startswith("=~") and not (self.at > 1 and self.tokens[self.at - 2].text in {"=~", "!~"}):
            return self._changed(Name("$_"), node)
        return node

    def _plain_name(self, token: Token) -> Node:
        name = token.text
        if self.language == "perl":
            return self._perl_name(name)
        if name in {"new", "await", "async", "typeof", "void", "delete", "yield", "clone", "throw"} and self.language in {"javascript", "php"} and (self.token.kind in {"name", "value"} or self.is_op("(", "$", "[")):
            made = self.postfix(self.operand())
            return made if isinstance(made, Call) or name != "new" else Call(made, [])
        if self._bare_call(token):
            return self._without_parentheses(Name(name))
        return Name(name)

    def _perl_name(self, name: str) -> Node:
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
        if name in {"map", "grep", "sort", "first", "any", "finddepth", "find"} and (self.is_op("{") or (self.is_op("(") and self.ahead().text == "{")):
            return self._perl_block_call(name)
        if name in {"print", "printf", "say"}:
            return self._perl_print(name)
        if name in _UNARY_CALLS and not self.is_op("("):
            if self.is_op(";", ")", "}", ",", "]") or self.token.kind == "end" or self.is_name("if", "unless", "for", "foreach", "while", "or", "and"):
                return Call(Name(name), [] if name in {"shift", "pop"} else [Name("$_")])
            return Call(Name(name), [self._infix(self.postfix(self.operand()), 14)])
        if self.token.kind in {"value", "name"} and self.token.text not in _BLOCK_WORDS or self.is_op("[", "\\", "@", "-") and not self.is_op("->"):
            return self._without_parentheses(Name(name))
        return Call(Name(name), [Name("$_")]) if name in {"system", "exec", "unlink", "eval", "rmdir"} and not self.is_op("(", "{", "->") else Name(name)

    @staticmethod
    def _is_reference() -> bool:
        return False

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
        return values if name == "sort" else loop

    def _perl_print(self, name: str) -> Node:
        closes = self.accept("(")
        handle: Node | None = None
        if self.is_op("{"):
            self.at += 1
            handle = self.expression()
            self.expect("}")
        elif self.token.kind == "name" and self.ahead().kind in {"value", "name"} and not self.ahead().line and self.ahead().text not in _BLOCK_WORDS | {"."} and (self.token.text[0] == "$" or self.token.text.isupper()):
            handle = Name(self.take().text)
        items = self.listed(")" if closes else "")
        if handle is not None and not (isinstance(handle, Name) and handle.name in {"STDOUT", "STDERR"}):
            return Call(Member(handle, "print"), items)
        return Call(Name(name), items or [Name("$_")])

    def _bare_call(self, token: Token) -> bool:  # noqa: PLR0911
        """Tell whether a name is followed by arguments without parentheses."""
        after = self.token
        if after.line or after.kind == "end" or token.text in self.names:
            return False
        if self.language == "lua":
            return after.kind == "value" and after.text in {'"', "'", "["} or (after.kind == "op" and after.text == "{")
        if self.language == "php":
            return token.text in {"echo", "print", "include", "include_once", "require", "require_once"} and not (after.kind == "op" and after.text == "(")
        if self.language != "ruby" or not after.space:
            return False
        if after.kind == "value":
            return True
        if after.kind == "name":
            return after.text not in _BLOCK_WORDS
        if after.text in {"[", "->", "*", "&", "-", "::", "**"}:
            return not after.gap
        return after.text == "!"

    def _without_parentheses(self, func: Node) -> Node:
        items, named = self.arguments("")
        call = Call(func, items, named)
        self._with_block(call)
        return call

    def listed(self, closing: str) -> list[Node]:
        """Read values separated by commas."""
        return self.arguments(closing)[0]

    def arguments(self, closing: str) -> tuple[list[Node], list[tuple[str, Node]]]:
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
        if token.kind == "value" and after.kind == "op" and after.text == ":" and self.language == "ruby" and not after.space and isinstance(token.node, Const):
            self.at += 2
            return str(token.node.value)
        return None

    def _parenthesis(self) -> Node:
        start = self.at
        if self.language == "javascript" and self._arrow_ahead():
            params = self.params(")")
            return self._arrow(params)
        self.at = start
        items = self.listed(")")
        if self.language == "ruby" and not items and self.tokens[self.at - 1].text != ")":
            return Const(None)
        while self.is_op(";") and self.language == "ruby":
            self.at += 1
        return items[0] if len(items) == 1 and not (self.language == "perl" and isinstance(items[0], Name) and items[0].name.startswith("@")) else Seq(items)

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

    def _arrow(self, params: list[Node]) -> Node:
        self.expect("=>")
        if self.accept("{"):
            return Function(params, self.braces())
        return Function(params, self.expression(2))

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

    def _list(self, closing: str) -> Node:
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
            return Seq(items) if items and not pairs else Pairs([*pairs, *((Const(str(at)), item) for at, item in enumerate(items, 1))])
        return Pairs(pairs)

    def _pair(self, pairs: list[tuple[Node | None, Node]], items: list[Node]) -> None:  # noqa: C901, PLR0912
        token, after = self.token, self.ahead()
        while token.kind == "name" and token.text in {"async", "get", "set", "static"} and after.kind in {"name", "value"}:
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
        elif token.kind == "name" and after.kind == "op" and after.text in {":", "=", "(", ",", "}"} and self.language in {"javascript", "ruby", "lua"}:
            if after.text == "(" and self.language != "javascript":
                key = None
            elif after.text in {",", "}"} and self.language == "lua":
                key = None
            else:
                self.at += 1
                key = Const(token.text)
        if key is None:
            value = self.expression(2)
            if self.accept("=>", ":"):
                pairs.append((value, self.expression(2)))
            elif self.accept(",") and self.language == "perl":
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
                self.expression(2)

    def _block_argument(self) -> Node:
        """``&method(:name)``, ``&:name``."""
        if self.token.kind == "value" and isinstance(self.token.node, Const):
            name = str(self.take().node.value)  # type: ignore[union-attr]
            return Function([Name("it")], Call(Member(Name("it"), name), []))
        return self.expression(14)

    def _stabby(self) -> Node:
        params: list[Node] = []
        if self.accept("("):
            params = self.params(")")
        elif self.token.kind == "name" and not self.is_name("do"):
            params = [Name(self.take().text)]
        if self.accept("{"):
            return Function(params, self.braces())
        self.accept("do")
        return Function(params, self.words_block())

    # -- behind an operand --------------------------------------------------------------------------------

    def postfix(self, left: Node) -> Node:  # noqa: C901, PLR0911, PLR0912
        """Read calls, elements and members behind an operand."""
        while True:
            token = self.token
            if token.kind != "op" or (token.line and (token.text in {"(", "[", "{"} or self._ends_at_line(token.text))):
                return left
            op = token.text
            if op == "(" and not (token.space and self.language in {"awk"}) and not (isinstance(left, Const) and not isinstance(left.value, str)):
                if token.space and self.language == "ruby" and not isinstance(left, Name | Member):
                    return left
                self.at += 1
                items, named = self.arguments(")")
                left = Call(left, items, named)
                if self.language == "ruby":
                    self._with_block(left)
            elif op == "[" and not (token.space and self.language in {"ruby", "awk"}):
                self.at += 1
                left = self._element(left)
            elif op == "{" and self.language == "perl" and not token.space and isinstance(left, Name | Index | Member | Call):
                if isinstance(left, Name) and not left.name.startswith(("%", "$")):
                    return left
                self.at += 1
                left = self._perl_key(left)
            elif op in {"{"} and self.language == "ruby" and isinstance(left, Name | Member | Call) and token.space:
                if isinstance(left, Name) and left.name in self.names:
                    return left
                call = left if isinstance(left, Call) else Call(left, [])
                self._with_block(call)
                left = call
            elif op in {".", "?.", "&.", "->", "::", ":"} and self._member_here(op, token):
                self.at += 1
                left = self._reached(left, op)
            else:
                return left
            if self.language == "ruby" and self.is_name("do") and isinstance(left, Call | Member) and not self.no_do:
                call = left if isinstance(left, Call) else Call(left, [])
                self._with_block(call)
                left = call

    no_do = 0
    """Within the head of a loop ``do`` belongs to the loop."""

    def _member_here(self, op: str, token: Token) -> bool:
        after = self.ahead()
        if op == ":":
            return self.language == "lua" and after.kind == "name" and self.ahead(2).text in {"(", '"', "'", "{"}
        if op == ".":
            if self.language in {"php", "perl", "awk"}:
                return False
            return after.kind == "name" or after.text in {"(", "[", "`"} or (after.kind == "value" and after.text in {"'", '"'})
        if op == "->" and self.language not in {"perl", "php"}:
            return False
        return not (op == "::" and self.language == "r" and token.space)

    def _reached(self, left: Node, op: str) -> Node:  # noqa: C901
        """Read what stands behind ``.`` and its like."""
        if op == "->" and self.language == "perl":
            if self.accept("["):
                return self._element(left)
            if self.accept("{"):
                return self._perl_key(left)
        if self.is_op("(") and self.language in {"ruby", "javascript", "perl"}:
            self.at += 1
            items, named = self.arguments(")")
            return Call(left if self.language != "ruby" else Member(left, "call"), items, named)
        if self.accept("["):
            return self._element(left)
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
        made: Node = Member(left, name.lstrip("$"))
        if self.language == "ruby":
            if self._bare_call(Token("name", "")):
                return self._without_parentheses(made)
            if self.is_op("=") and not self.ahead().text == "=":
                return made
            if not self.is_op("("):
                call = Call(made, [])
                self._with_block(call)
                return call
        if self.language == "lua" and self._bare_call(Token("name", "")):
            return self._without_parentheses(made)
        if self.language == "perl" and not self.is_op("(", "->"):
            return Call(made, [])
        return made

    def _element(self, left: Node) -> Node:
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
        return Index(left, [items[0] if items else None])

    def _perl_key(self, left: Node) -> Node:
        if self.token.kind == "name" and self.ahead().text == "}" and self.token.text[0] not in "$@%":
            key: Node = Const(self.take().text)
        else:
            key = self.expression()
        self.expect("}")
        return Index(left, [key])

    def _with_block(self, call: Call) -> None:
        """Read the block behind a call of Ruby."""
        if self.language != "ruby" or self.token.line:
            return
        if self.is_op("{"):
            self.at += 1
            call.args.append(self._ruby_block(braces=True))
        elif self.is_name("do") and not self.no_do:
            self.at += 1
            call.args.append(self._ruby_block(braces=False))

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


__all__ = ["Expressions", "Pattern", "Return"]
