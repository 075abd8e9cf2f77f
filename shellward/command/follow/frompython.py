"""From Python's own syntax tree to the tree of nodes.py."""

from __future__ import annotations

import ast
import warnings

from shellward.command.follow.nodes import (
    Assign,
    Block,
    Call,
    Choice,
    Class,
    Const,
    Function,
    Import,
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
    Template,
    Tried,
    Unary,
)
from shellward.command.follow.things import Bytes

_FILE = "<program>"
_OPS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitXor: "^",
    ast.BitOr: "|", ast.BitAnd: "&", ast.LShift: "<<", ast.RShift: ">>", ast.Pow: "**", ast.MatMult: "@",
}  # fmt: skip
_COMPARES = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in"}  # fmt: skip
_UNARY = {ast.Not: "!", ast.USub: "-", ast.Invert: "~", ast.UAdd: "+"}


def from_python(code: str) -> Node:
    """Read a program.

    Raises:
        SyntaxError: it is no program of this Python.
        ValueError: it has characters that no program has.
        RecursionError: it is nested too deeply.
        MemoryError: the same, noticed elsewhere.
    """
    # What Python has to say of somebody's program is not ours to print, nor to raise where warnings are errors.
    warnings.filterwarnings("ignore", module=_FILE)
    return block(ast.parse(code, filename=_FILE).body)


def block(items: list[ast.stmt]) -> Block:
    """Read statements."""
    return Block([statement(item) for item in items])


def statement(node: ast.stmt) -> Node:  # noqa: C901, PLR0911, PLR0912  # one kind after the other
    """Read one statement."""
    match node:
        case ast.Expr(value=value):
            return expression(value)
        case ast.Assign(targets=targets, value=value):
            made = expression(value)
            if len(targets) == 1:
                return Assign(expression(targets[0]), made)
            return Block([Assign(expression(target), made) for target in targets])
        case ast.AnnAssign(target=target, annotation=said, value=given):
            held_by = Assign(expression(target), expression(given)) if given is not None else Const(None)
            return Block([expression(said), held_by])
        case ast.AugAssign(target=target, op=op, value=value):
            return Assign(expression(target), expression(value), _OPS.get(type(op), "?"))
        case ast.For() | ast.AsyncFor():
            return Block([Loop(expression(node.target), expression(node.iter), block(node.body)), block(node.orelse)])
        case ast.While():
            return Choice(expression(node.test), block(node.body), block(node.orelse), repeats=True)
        case ast.If():
            return Choice(expression(node.test), block(node.body), block(node.orelse))
        case ast.With() | ast.AsyncWith():
            held: list[Node] = []
            for item in node.items:
                opened = expression(item.context_expr)
                held.append(Assign(expression(item.optional_vars), opened) if item.optional_vars else opened)
            return Block([*held, block(node.body)])
        case ast.Try() | ast.TryStar():
            handlers: list[Node] = []
            for handler in node.handlers:
                handlers += [expression(handler.type)] if handler.type else []
                handlers.append(Choice(Name("@raised"), block(handler.body)))
            return Tried(Block([block(node.body), *handlers, block(node.orelse)]), block(node.finalbody))
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            said_of = [*_said(node.args), *([expression(node.returns)] if node.returns else [])]
            made_of = Function(_params(node.args), block(node.body), node.name)
            return _decorated(Block([*said_of, made_of]) if said_of else made_of, node)
        case ast.ClassDef():
            bases = [*map(expression, node.bases), *(expression(word.value) for word in node.keywords)]
            return _decorated(Class(node.name, block(node.body), bases), node)
        case ast.Return(value=returned):
            return Return(expression(returned) if returned else None)
        case ast.Import(names=names):
            return Block([_imported(name) for name in names])
        case ast.ImportFrom(module=module, names=names):
            return Block(
                [
                    Import(
                        f"{module or ''}.{name.name}" if name.name != "*" else module or "", name.asname or name.name
                    )
                    for name in names
                ]
            )
        case ast.Match():
            cases: list[Node] = [expression(node.subject)]
            for case in node.cases:
                cases += [expression(case.guard)] if case.guard else []
                cases.append(Choice(Name("@matched"), block(case.body)))
            return Block(cases)
        case ast.Raise(exc=raised, cause=cause) if raised is not None:
            return Block([expression(raised), expression(cause)]) if cause else expression(raised)
        case ast.Assert(test=test, msg=msg):
            return Block([expression(test), expression(msg)]) if msg else expression(test)
        case ast.Delete(targets=targets):
            return Block([expression(target) for target in targets])
    return Const(None)


def _decorated(made: Node, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Node:
    for decorator in node.decorator_list:
        made = Block([made, Call(expression(decorator), [Name(node.name)])])
    return made


def _said(args: ast.arguments) -> list[Node]:
    """What is evaluated when a function is made: calls in defaults and in what is said of its parameters."""
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(one for one in (args.vararg, args.kwarg) if one)]
    found = [*args.defaults, *args.kw_defaults, *(one.annotation for one in every)]
    return [expression(one) for one in found if one is not None and not isinstance(one, ast.Constant | ast.Name)]


def _imported(name: ast.alias) -> Node:
    if name.asname:
        return Import(name.name, name.asname)
    first = name.name.partition(".")[0]
    return Import(first, first)


def _params(args: ast.arguments) -> list[Node]:
    """Parameters; one with a default is an assignment, those that take the rest are splats."""
    plain = [*args.posonlyargs, *args.args]
    without = len(plain) - len(args.defaults)
    made: list[Node] = [
        Name(arg.arg) if at < without else Assign(Name(arg.arg), expression(args.defaults[at - without]))
        for at, arg in enumerate(plain)
    ]
    if args.vararg:
        made.append(Splat(Name(args.vararg.arg)))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=False):
        made.append(Assign(Name(arg.arg), expression(default) if default else Const(None)))
    return made


def expression(node: ast.expr) -> Node:  # noqa: C901, PLR0911, PLR0912  # one kind after the other
    """Read one expression."""
    match node:
        case ast.Constant(value=value):
            if isinstance(value, bytes):
                return Const(Bytes(value.decode("latin-1")))
            return Const(value if isinstance(value, str | int | float | bool) else None)
        case ast.Name(id=name):
            return Name(name)
        case ast.Attribute(value=value, attr=attr):
            return Member(expression(value), attr)
        case ast.Call():
            return _call(node)
        case ast.BinOp():
            return _joined(node)
        case ast.BoolOp(op=op, values=values):
            return Join("and" if isinstance(op, ast.And) else "or", [expression(value) for value in values])
        case ast.Compare(left=left, ops=ops, comparators=others):
            made_join = Join(_COMPARES.get(type(ops[0]), "?"), [expression(left), expression(others[0])])
            return Join("and", [made_join, *map(expression, others[1:])]) if others[1:] else made_join
        case ast.UnaryOp(op=op, operand=operand):
            return Unary(_UNARY.get(type(op), "?"), expression(operand))
        case ast.IfExp(test=test, body=body, orelse=other):
            return Choice(expression(test), expression(body), expression(other))
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
            return Seq([expression(elt) for elt in elts])
        case ast.Dict(keys=keys, values=values):
            return Pairs([(expression(k) if k else None, expression(v)) for k, v in zip(keys, values, strict=True)])
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=step)):
            return Index(expression(value), [expression(k) if k else None for k in (lower, upper, step)], slices=True)
        case ast.Slice(lower=lower, upper=upper, step=step):
            return Seq([expression(k) for k in (lower, upper, step) if k])
        case ast.Subscript(value=value, slice=key):
            return Index(expression(value), [expression(key)])
        case ast.Starred(value=value):
            return Splat(expression(value))
        case ast.JoinedStr(values=values):
            return Template([expression(value) for value in values])
        case ast.FormattedValue(value=value, format_spec=spec):
            return Index(Seq([expression(value), expression(spec)]), [Const(0)]) if spec else expression(value)
        case ast.Lambda(args=args, body=body):
            said = _said(args)
            function = Function(_params(args), expression(body))
            return Block([*said, function]) if said else function
        case ast.NamedExpr(target=target, value=value):
            return Assign(expression(target), expression(value))
        case ast.ListComp(elt=elt) | ast.SetComp(elt=elt) | ast.GeneratorExp(elt=elt):
            return _comprehension(expression(elt), node.generators)
        case ast.DictComp(key=key, value=value):
            pairs = _comprehension(Seq([expression(key), expression(value)]), node.generators)
            return Call(Name("dict"), [pairs])
        case ast.Await(value=value):
            return expression(value)
        case ast.Yield(value=given) if given is not None:
            return expression(given)
        case ast.YieldFrom(value=value):
            return expression(value)
    return Const(None)


def _call(node: ast.Call) -> Node:
    args = [expression(arg) for arg in node.args]
    named = [(word.arg or "**", expression(word.value)) for word in node.keywords]
    return Call(expression(node.func), args, named)


def _joined(node: ast.BinOp) -> Node:
    """Operands of the same operator side by side, so that a long sum is not deep."""
    kind, items = type(node.op), [node.right]
    left: ast.expr = node.left
    while isinstance(left, ast.BinOp) and type(left.op) is kind:
        items.append(left.right)
        left = left.left
    items.append(left)
    return Join(_OPS.get(kind, "?"), [expression(item) for item in reversed(items)])


def _comprehension(body: Node, generators: list[ast.comprehension]) -> Node:
    made = body
    for at, each in enumerate(reversed(generators)):
        inner = Splat(made) if at else made  # an outer loop collects the elements of the inner lists
        tests = [expression(test) for test in each.ifs]
        made = Loop(expression(each.target), expression(each.iter), inner, tests, collects=True)
    return made
