"""From the expressions of Python's own syntax tree to those of nodes.py."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar, Final

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
    Seq,
    Spelled,
    Splat,
    Template,
    Unary,
    Yield,
)
from shellward.command.follow.things import Bytes

if TYPE_CHECKING:
    from collections.abc import Callable

OPERATORS: Final = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitXor: "^",
    ast.BitOr: "|", ast.BitAnd: "&", ast.LShift: "<<", ast.RShift: ">>", ast.Pow: "**", ast.MatMult: "@",
}  # fmt: skip
_COMPARES = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in"}  # fmt: skip
_UNARY = {ast.Not: "!", ast.USub: "-", ast.Invert: "~", ast.UAdd: "+"}


class Expressions:
    """Reads expressions.

    Attributes:
        calls: every call that was read, so that nobody needs to look for them in the tree.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def expression(self, node: ast.expr) -> Node:
        """Read one expression."""
        read = self.expressions.get(type(node))
        return read(self, node) if read is not None else Const(None)

    def every(self, nodes: list[ast.expr]) -> list[Node]:
        """Read several expressions."""
        return [self.expression(node) for node in nodes]

    def maybe(self, node: ast.expr | None) -> Node | None:
        """Read an expression where there is one."""
        return self.expression(node) if node is not None else None

    def call(self, func: Node, args: list[Node], named: list[tuple[str, Node]] | None = None) -> Call:
        """Make a call."""
        made = Call(func, args, named or [])
        self.calls.append(made)
        return made

    # -- names, values, and what is below them ------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Node:
        value = node.value
        if isinstance(value, bytes):
            return Const(Bytes(value.decode("latin-1")))
        return Const(value if isinstance(value, str | int | float) else None)

    def _name(self, node: ast.Name) -> Node:
        return Name(node.id)

    def _attribute(self, node: ast.Attribute) -> Node:
        return Member(self.expression(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Node:
        owner, key = self.expression(node.value), node.slice
        if isinstance(key, ast.Slice):
            return Index(owner, [self.maybe(part) for part in (key.lower, key.upper, key.step)], slices=True)
        return Index(owner, [self.expression(key)])

    def _slice(self, node: ast.Slice) -> Node:
        return Seq([self.expression(part) for part in (node.lower, node.upper, node.step) if part])

    def _called(self, node: ast.Call) -> Node:
        args = [self.expression(arg) for arg in node.args]
        named = [(word.arg or "**", self.expression(word.value)) for word in node.keywords]
        return self.call(self.expression(node.func), args, named)

    def _starred(self, node: ast.Starred) -> Node:
        return Splat(self.expression(node.value))

    # -- lists, dictionaries, texts -----------------------------------------------------------------------

    def _listed(self, node: ast.List | ast.Tuple) -> Node:
        return Seq(self.every(node.elts))

    def _set(self, node: ast.Set) -> Node:
        return self.call(Name("@set"), [Seq(self.every(node.elts))])

    def _dict(self, node: ast.Dict) -> Node:
        return Pairs([(self.maybe(k), self.expression(v)) for k, v in zip(node.keys, node.values, strict=True)])

    def _text(self, node: ast.JoinedStr) -> Node:
        return Template(self.every(node.values))

    def _field(self, node: ast.FormattedValue) -> Node:
        how = chr(node.conversion) if node.conversion > 0 else ""
        return Spelled(self.expression(node.value), how, self.maybe(node.format_spec))

    # -- operators ----------------------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp) -> Node:
        """Operands of the same operator side by side, so that a long sum is not deep."""
        kind, items = type(node.op), [node.right]
        left: ast.expr = node.left
        while isinstance(left, ast.BinOp) and type(left.op) is kind:
            items.append(left.right)
            left = left.left
        items.append(left)
        return Join(OPERATORS.get(kind, "?"), [self.expression(item) for item in reversed(items)])

    def _logic(self, node: ast.BoolOp) -> Node:
        return Join("and" if isinstance(node.op, ast.And) else "or", self.every(node.values))

    def _compare(self, node: ast.Compare) -> Node:
        first, *others = node.comparators
        made = Join(_COMPARES.get(type(node.ops[0]), "?"), [self.expression(node.left), self.expression(first)])
        return Join("and", [made, *self.every(others)]) if others else made

    def _unary(self, node: ast.UnaryOp) -> Node:
        return Unary(_UNARY.get(type(node.op), "?"), self.expression(node.operand))

    def _conditional(self, node: ast.IfExp) -> Node:
        return Choice(self.expression(node.test), self.expression(node.body), self.expression(node.orelse))

    def _walrus(self, node: ast.NamedExpr) -> Node:
        return Assign(self.expression(node.target), self.expression(node.value))

    # -- functions, comprehensions ------------------------------------------------------------------------

    def _lambda(self, node: ast.Lambda) -> Node:
        said = self.said(node.args)
        function = Function(self.params(node.args), self.expression(node.body))
        return Block([*said, function]) if said else function

    def said(self, args: ast.arguments) -> list[Node]:
        """What is evaluated when a function is made, besides its defaults: what is said of its parameters."""
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(one for one in (args.vararg, args.kwarg) if one)]
        found = [one.annotation for one in every]
        return [
            self.expression(one) for one in found if one is not None and not isinstance(one, ast.Constant | ast.Name)
        ]

    def params(self, args: ast.arguments) -> list[Node]:
        """Parameters; one with a default is an assignment, those that take the rest are splats."""
        plain = [*args.posonlyargs, *args.args]
        without = len(plain) - len(args.defaults)
        made: list[Node] = [
            Name(arg.arg) if at < without else Assign(Name(arg.arg), self.expression(args.defaults[at - without]))
            for at, arg in enumerate(plain)
        ]
        if args.vararg:
            made.append(Splat(Name(args.vararg.arg)))
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=False):
            made.append(Assign(Name(arg.arg), self.maybe(default) or Const(None), "named"))
        if args.kwarg:
            made.append(Splat(Name(args.kwarg.arg), named=True))
        return made

    def _each(self, node: ast.ListComp | ast.GeneratorExp) -> Node:
        return self._comprehension(self.expression(node.elt), node.generators)

    def _each_of_set(self, node: ast.SetComp) -> Node:
        return self.call(Name("@set"), [self._comprehension(self.expression(node.elt), node.generators)])

    def _each_pair(self, node: ast.DictComp) -> Node:
        pair = Seq([self.expression(node.key), self.expression(node.value)])
        return self.call(Name("dict"), [self._comprehension(pair, node.generators)])

    def _comprehension(self, body: Node, generators: list[ast.comprehension]) -> Node:
        made = body
        for at, each in enumerate(reversed(generators)):
            inner = Splat(made) if at else made  # an outer loop collects the elements of the inner lists
            tests = self.every(each.ifs)
            made = Loop(self.expression(each.target), self.expression(each.iter), inner, tests, collects=True)
        return made

    def _await(self, node: ast.Await) -> Node:
        return self.expression(node.value)

    def _yield(self, node: ast.Yield) -> Node:
        return Yield(self.expression(node.value)) if node.value is not None else Const(None)

    def _yield_from(self, node: ast.YieldFrom) -> Node:
        return Yield(self.expression(node.value), each=True)

    expressions: ClassVar[dict[type, Callable[..., Node]]] = {
        ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript,
        ast.Slice: _slice, ast.Call: _called, ast.Starred: _starred, ast.List: _listed, ast.Tuple: _listed,
        ast.Set: _set, ast.Dict: _dict, ast.JoinedStr: _text, ast.FormattedValue: _field, ast.BinOp: _binary,
        ast.BoolOp: _logic, ast.Compare: _compare, ast.UnaryOp: _unary, ast.IfExp: _conditional,
        ast.NamedExpr: _walrus, ast.Lambda: _lambda, ast.ListComp: _each, ast.GeneratorExp: _each,
        ast.SetComp: _each_of_set, ast.DictComp: _each_pair, ast.Await: _await, ast.Yield: _yield,
        ast.YieldFrom: _yield_from,
    }  # fmt: skip
