"""From Python's own syntax tree to the tree of nodes.py."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, ClassVar

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
    Name,
    Node,
    Outer,
    Raise,
    Remove,
    Return,
    Tried,
)
from shellward.command.follow.pyexpressions import OPERATORS, Expressions

if TYPE_CHECKING:
    from collections.abc import Callable

_FILE = "<program>"


def from_python(code: str) -> tuple[Node, list[Call]]:
    """Read a program.

    Returns:
        Its tree, and the calls that stand in there.

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
    reader = _Statements()
    return reader.block(tree.body), reader.calls


class _Statements(Expressions):
    """Reads statements."""

    def block(self, items: list[ast.stmt]) -> Block:
        """Read statements."""
        return Block([self.statement(item) for item in items])

    def statement(self, node: ast.stmt) -> Node:
        """Read one statement."""
        read = self.statements.get(type(node))
        return read(self, node) if read is not None else Const(None)

    def _expression(self, node: ast.Expr) -> Node:
        return self.expression(node.value)

    # -- assignments --------------------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> Node:
        made = self.expression(node.value)
        if len(node.targets) == 1:
            return Assign(self.expression(node.targets[0]), made)
        return Block([Assign(self.expression(target), made) for target in node.targets])

    def _annotated(self, node: ast.AnnAssign) -> Node:
        held = Assign(self.expression(node.target), self.expression(node.value)) if node.value else Const(None)
        return Block([self.expression(node.annotation), held])

    def _changed(self, node: ast.AugAssign) -> Node:
        return Assign(self.expression(node.target), self.expression(node.value), OPERATORS.get(type(node.op), "?"))

    def _delete(self, node: ast.Delete) -> Node:
        return Remove(self.every(node.targets))

    def _outer(self, node: ast.Global | ast.Nonlocal) -> Node:
        return Outer(node.names, near=isinstance(node, ast.Nonlocal))

    def _import(self, node: ast.Import) -> Node:
        return Block([_imported(name) for name in node.names])

    def _import_from(self, node: ast.ImportFrom) -> Node:
        module = node.module or ""
        return Block(
            [
                Import(f"{module}.{name.name}" if name.name != "*" else module, name.asname or name.name)
                for name in node.names
            ]
        )

    # -- the way through ----------------------------------------------------------------------------------

    def _for(self, node: ast.For | ast.AsyncFor) -> Node:
        other = self.block(node.orelse) if node.orelse else None
        return Loop(self.expression(node.target), self.expression(node.iter), self.block(node.body), other=other)

    def _while(self, node: ast.While) -> Node:
        other = self.block(node.orelse) if node.orelse else None
        return Choice(self.expression(node.test), self.block(node.body), other, repeats=True)

    def _if(self, node: ast.If) -> Node:
        return Choice(self.expression(node.test), self.block(node.body), self.block(node.orelse))

    def _with(self, node: ast.With | ast.AsyncWith) -> Node:
        held: list[Node] = []
        for item in node.items:
            opened = self.call(Name("@entered"), [self.expression(item.context_expr)])
            held.append(Assign(self.expression(item.optional_vars), opened) if item.optional_vars else opened)
        return Block([*held, self.block(node.body)])

    def _try(self, node: ast.Try | ast.TryStar) -> Node:
        handlers: list[Node] = []
        for handler in node.handlers:
            handlers += [self.expression(handler.type)] if handler.type else []
            named: list[Node] = [Assign(Name(handler.name), Name("@raised"))] if handler.name else []
            handlers.append(Choice(Name("@raised"), Block([*named, self.block(handler.body)])))
        return Tried(self.block(node.body), Block([*handlers, self.block(node.orelse)]), self.block(node.finalbody))

    def _return(self, node: ast.Return) -> Node:
        return Return(self.maybe(node.value))

    def _raise(self, node: ast.Raise) -> Node:
        return Raise([self.expression(one) for one in (node.exc, node.cause) if one is not None])

    def _jump(self, node: ast.Break | ast.Continue) -> Node:
        return Jump(again=isinstance(node, ast.Continue))

    def _assert(self, node: ast.Assert) -> Node:
        test = self.expression(node.test)
        return Block([test, self.expression(node.msg)]) if node.msg else test

    # -- functions and classes ----------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
        said = [*self.said(node.args), *([self.expression(node.returns)] if node.returns else [])]
        yields = hasattr(node, "shellward_yields")
        made = Function(self.params(node.args), self.block(node.body), node.name, yields=yields)
        return self._decorated(Block([*said, made]) if said else made, node)

    def _class(self, node: ast.ClassDef) -> Node:
        bases = [*self.every(node.bases), *(self.expression(word.value) for word in node.keywords)]
        return self._decorated(Class(node.name, self.block(node.body), bases, _is_odd(node), _fields(node)), node)

    def _decorated(self, made: Node, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Node:
        for decorator in reversed(node.decorator_list):
            changed = self.call(Name("@decorated"), [Name(node.name), self.expression(decorator)])
            made = Block([made, Assign(Name(node.name), changed)])
        return made

    # -- match --------------------------------------------------------------------------------------------

    def _matched(self, node: ast.Match) -> Node:
        """``match``: a chain of choices; what a pattern asks that is not known here is not known."""
        subject = Name("@subject")
        made: Node | None = None
        for case in reversed(node.cases):
            test, given = self._pattern(case.pattern, subject)
            if case.guard:
                test = Join("and", [test, Block([*given, self.expression(case.guard)])])
            made = Choice(test, Block([*given, self.block(case.body)]), made)
        return Block([Assign(subject, self.expression(node.subject)), made or Const(None)])

    def _pattern(self, pattern: ast.pattern, subject: Node) -> tuple[Node, list[Node]]:  # noqa: PLR0911  # one kind after the other
        """What a pattern asks of a value, and the names that it gives to parts of it."""
        match pattern:
            case ast.MatchValue(value=value):
                return Join("==", [subject, self.expression(value)]), []
            case ast.MatchAs(pattern=None, name=name):
                return Const(True), [Assign(Name(name), subject)] if name else []
            case ast.MatchAs(pattern=inner, name=name) if inner is not None:
                test, given = self._pattern(inner, subject)
                return test, [*given, *([Assign(Name(name), subject)] if name else [])]
            case ast.MatchOr(patterns=patterns):
                found = [self._pattern(one, subject) for one in patterns]
                return Join("or", [test for test, _ in found]), [one for _, given in found[:1] for one in given]
            case ast.MatchSequence(patterns=patterns):
                return self._sequence(patterns, subject)
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                found = [
                    self._pattern(one, Index(subject, [self.expression(k)]))
                    for k, one in zip(keys, patterns, strict=True)
                ]
                given = [one for _, more in found for one in more]
                return Join("and", [Name("@matched"), *(test for test, _ in found)]), [
                    *given, *([Assign(Name(rest), Name("@matched"))] if rest else [])
                ]  # fmt: skip
            case ast.MatchClass(cls=kind, patterns=patterns):
                asked = self.call(Name("isinstance"), [subject, self.expression(kind)])
                found = [self._pattern(one, Name("@matched")) for one in [*patterns, *pattern.kwd_patterns]]
                return (Join("and", [asked, Name("@matched")]) if found else asked), [
                    one for _, more in found for one in more
                ]
        return Name("@matched"), []

    def _sequence(self, patterns: list[ast.pattern], subject: Node) -> tuple[Node, list[Node]]:
        """``case [a, 'b', *rest]``."""
        star = next((at for at, one in enumerate(patterns) if isinstance(one, ast.MatchStar)), None)
        count = len(patterns) - (star is not None)
        tests: list[Node] = [
            self.call(Name("isinstance"), [subject, Name("list")]),
            Join("==" if star is None else ">=", [self.call(Name("len"), [subject]), Const(count)]),
        ]
        given: list[Node] = []
        for at, one in enumerate(patterns):
            back = at - len(patterns)
            if isinstance(one, ast.MatchStar):
                end = Const(back + 1) if back < -1 else None
                given += (
                    [Assign(Name(one.name), Index(subject, [Const(at), end, None], slices=True))] if one.name else []
                )
                continue
            test, more = self._pattern(one, Index(subject, [Const(at if star is None or at < star else back)]))
            tests.append(test)
            given += more
        return Join("and", tests), given

    statements: ClassVar[dict[type, Callable[..., Node]]] = {
        ast.Expr: _expression, ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _changed,
        ast.Delete: _delete, ast.Global: _outer, ast.Nonlocal: _outer, ast.Import: _import,
        ast.ImportFrom: _import_from, ast.For: _for, ast.AsyncFor: _for, ast.While: _while, ast.If: _if,
        ast.With: _with, ast.AsyncWith: _with, ast.Try: _try, ast.TryStar: _try, ast.Return: _return,
        ast.Raise: _raise, ast.Break: _jump, ast.Continue: _jump, ast.Assert: _assert,
        ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.ClassDef: _class, ast.Match: _matched,
    }  # fmt: skip


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


def _imported(name: ast.alias) -> Node:
    if name.asname:
        return Import(name.name, name.asname)
    first = name.name.partition(".")[0]
    return Import(first, first)
