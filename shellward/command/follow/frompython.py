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
    Jump,
    Loop,
    Member,
    Name,
    Node,
    Outer,
    Pairs,
    Raise,
    Remove,
    Return,
    Seq,
    Spelled,
    Splat,
    Template,
    Tried,
    Unary,
    Yield,
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
    tree = ast.parse(code, filename=_FILE)
    if "yield" in code:
        _mark_generators(tree)
    return block(tree.body)


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
            other = block(node.orelse) if node.orelse else None
            return Loop(expression(node.target), expression(node.iter), block(node.body), other=other)
        case ast.While():
            other = block(node.orelse) if node.orelse else None
            return Choice(expression(node.test), block(node.body), other, repeats=True)
        case ast.If():
            return Choice(expression(node.test), block(node.body), block(node.orelse))
        case ast.With() | ast.AsyncWith():
            held: list[Node] = []
            for item in node.items:
                opened: Node = Call(Name("@entered"), [expression(item.context_expr)])
                held.append(Assign(expression(item.optional_vars), opened) if item.optional_vars else opened)
            return Block([*held, block(node.body)])
        case ast.Try() | ast.TryStar():
            handlers: list[Node] = []
            for handler in node.handlers:
                handlers += [expression(handler.type)] if handler.type else []
                named: list[Node] = [Assign(Name(handler.name), Name("@raised"))] if handler.name else []
                handlers.append(Choice(Name("@raised"), Block([*named, block(handler.body)])))
            return Tried(block(node.body), Block([*handlers, block(node.orelse)]), block(node.finalbody))
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            said_of = [*_said(node.args), *([expression(node.returns)] if node.returns else [])]
            made_of = Function(
                _params(node.args), block(node.body), node.name, yields=hasattr(node, "shellward_yields")
            )
            return _decorated(Block([*said_of, made_of]) if said_of else made_of, node)
        case ast.ClassDef():
            bases = [*map(expression, node.bases), *(expression(word.value) for word in node.keywords)]
            return _decorated(Class(node.name, block(node.body), bases, _is_odd(node), _fields(node)), node)
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
            return _matched(node)
        case ast.Raise(exc=raised, cause=cause):
            return Raise([expression(one) for one in (raised, cause) if one is not None])
        case ast.Break() | ast.Continue():
            return Jump(again=isinstance(node, ast.Continue))
        case ast.Global(names=given_names) | ast.Nonlocal(names=given_names):
            return Outer(given_names, near=isinstance(node, ast.Nonlocal))
        case ast.Assert(test=test, msg=msg):
            return Block([expression(test), expression(msg)]) if msg else expression(test)
        case ast.Delete(targets=targets):
            return Remove([expression(target) for target in targets])
    return Const(None)


def _decorated(made: Node, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Node:
    for decorator in reversed(node.decorator_list):
        changed = Call(Name("@decorated"), [Name(node.name), expression(decorator)])
        made = Block([made, Assign(Name(node.name), changed)])
    return made


def _is_odd(node: ast.ClassDef) -> bool:
    """Tell whether a class is made by another class than usual, which may change it."""
    made_by = [word.value for word in node.keywords if word.arg in {None, "metaclass"}]
    return any(ast.dump(one).find("'ABCMeta'") < 0 for one in made_by)


def _fields(node: ast.ClassDef) -> list[str]:
    """The attributes that a class says something of."""
    said = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return [
        one.target.id
        for one in said
        if isinstance(one.target, ast.Name) and "ClassVar" not in ast.dump(one.annotation)[:80]
    ]


def _mark_generators(tree: ast.Module) -> None:
    """Mark the functions that make their values one by one."""
    waiting: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while waiting:
        one, within = waiting.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            within.shellward_yields = True  # type: ignore[attr-defined]
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            within = one
        waiting += [(each, within) for each in ast.iter_child_nodes(one)]


def _matched(node: ast.Match) -> Node:
    """``match``: a chain of choices; what a pattern asks that is not known here is not known."""
    subject = Name("@subject")
    made: Node | None = None
    for case in reversed(node.cases):
        test, given = _pattern(case.pattern, subject)
        if case.guard:
            test = Join("and", [test, Block([*given, expression(case.guard)])])
        made = Choice(test, Block([*given, block(case.body)]), made)
    return Block([Assign(subject, expression(node.subject)), made or Const(None)])


def _pattern(pattern: ast.pattern, subject: Node) -> tuple[Node, list[Node]]:  # noqa: PLR0911  # one kind after the other
    """What a pattern asks of a value, and the names that it gives to parts of it."""
    match pattern:
        case ast.MatchValue(value=value):
            return Join("==", [subject, expression(value)]), []
        case ast.MatchAs(pattern=None, name=name):
            return Const(True), [Assign(Name(name), subject)] if name else []
        case ast.MatchAs(pattern=inner, name=name) if inner is not None:
            test, given = _pattern(inner, subject)
            return test, [*given, *([Assign(Name(name), subject)] if name else [])]
        case ast.MatchOr(patterns=patterns):
            found = [_pattern(one, subject) for one in patterns]
            return Join("or", [test for test, _ in found]), [one for _, given in found[:1] for one in given]
        case ast.MatchSequence(patterns=patterns):
            return _sequence(patterns, subject)
        case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
            found = [_pattern(one, Index(subject, [expression(k)])) for k, one in zip(keys, patterns, strict=True)]
            given = [one for _, more in found for one in more]
            return Join("and", [Name("@matched"), *(test for test, _ in found)]), [
                *given, *([Assign(Name(rest), Name("@matched"))] if rest else [])
            ]  # fmt: skip
        case ast.MatchClass(cls=kind, patterns=patterns):
            asked = Call(Name("isinstance"), [subject, expression(kind)])
            found = [_pattern(one, Name("@matched")) for one in [*patterns, *pattern.kwd_patterns]]
            return (Join("and", [asked, Name("@matched")]) if found else asked), [
                one for _, more in found for one in more
            ]
    return Name("@matched"), []


def _sequence(patterns: list[ast.pattern], subject: Node) -> tuple[Node, list[Node]]:
    """``case [a, 'b', *rest]``."""
    star = next((at for at, one in enumerate(patterns) if isinstance(one, ast.MatchStar)), None)
    count = len(patterns) - (star is not None)
    tests: list[Node] = [
        Call(Name("isinstance"), [subject, Name("list")]),
        Join("==" if star is None else ">=", [Call(Name("len"), [subject]), Const(count)]),
    ]
    given: list[Node] = []
    for at, one in enumerate(patterns):
        back = at - len(patterns)
        if isinstance(one, ast.MatchStar):
            end = Const(back + 1) if back < -1 else None
            given += [Assign(Name(one.name), Index(subject, [Const(at), end, None], slices=True))] if one.name else []
            continue
        test, more = _pattern(one, Index(subject, [Const(at if star is None or at < star else back)]))
        tests.append(test)
        given += more
    return Join("and", tests), given


def _said(args: ast.arguments) -> list[Node]:
    """What is evaluated when a function is made, besides its defaults: what is said of its parameters."""
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(one for one in (args.vararg, args.kwarg) if one)]
    found = [one.annotation for one in every]
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
        made.append(Assign(Name(arg.arg), expression(default) if default else Const(None), "named"))
    if args.kwarg:
        made.append(Splat(Name(args.kwarg.arg), named=True))
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
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            return Seq([expression(elt) for elt in elts])
        case ast.Set(elts=elts):
            return Call(Name("@set"), [Seq([expression(elt) for elt in elts])])
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
            said_how = chr(node.conversion) if node.conversion > 0 else ""
            return Spelled(expression(value), said_how, expression(spec) if spec else None)
        case ast.Lambda(args=args, body=body):
            said = _said(args)
            function = Function(_params(args), expression(body))
            return Block([*said, function]) if said else function
        case ast.NamedExpr(target=target, value=value):
            return Assign(expression(target), expression(value))
        case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt):
            return _comprehension(expression(elt), node.generators)
        case ast.SetComp(elt=elt):
            return Call(Name("@set"), [_comprehension(expression(elt), node.generators)])
        case ast.DictComp(key=key, value=value):
            pairs = _comprehension(Seq([expression(key), expression(value)]), node.generators)
            return Call(Name("dict"), [pairs])
        case ast.Await(value=value):
            return expression(value)
        case ast.Yield(value=given) if given is not None:
            return Yield(expression(given))
        case ast.YieldFrom(value=value):
            return Yield(expression(value), each=True)
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
