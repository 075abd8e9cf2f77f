"""Walks the tree of a program with what is known, and notes the calls that would do something.

It knows texts, lists, dictionaries, functions and classes of the program; all else is a marker that says where it
would come from. Both sides of a branch are followed, loops for as many rounds as are known, at most ROUNDS. Nothing is
run. Steps are counted: what costs more is given up, and the tolerant reading of code.py is what counts.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from shellward.command.actions import MAX_CALLS, Action
from shellward.command.follow.branching import DEPTH, Branching, Raised, Returned
from shellward.command.follow.methods import MISSING
from shellward.command.follow.names import modules
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
    Shell,
    Spelled,
    Splat,
    Template,
    Tried,
    Unary,
    Yield,
)
from shellward.command.follow.pythonic import spelled, written
from shellward.command.follow.things import (
    Bytes,
    Exhausted,
    Func,
    Given,
    Obj,
    Ref,
    Scope,
    elements,
    held,
    number,
    text,
    truth,
)
from shellward.command.values import are_names, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STEPS = 2_000
"""Nodes that are walked in one program; one is about a microsecond."""


_JAVASCRIPT = frozenset(("child_process", "fs", "vm", "process"))
"""Modules whose functions are known by their own names."""


class Machine(Branching):
    """Follows one program.

    Args:
        language: its language.
        code: its text, for what is only told from the whole.
        given: what it is started with.
        parse: reads more code of the same language, for what it evaluates.
    """

    def __init__(self, language: str, code: str, given: Given, parse: Callable[[str], Node]) -> None:
        super().__init__(language, code, given, parse)
        self.left = STEPS
        self.depth = 0
        self.unsure = 0
        self.within: int | None = None
        self.jumps = self.skips = self.ends = 0
        self.yielded: list[object] = []
        self.functions: list[Func] = []
        self.trees: list[Node] = []
        self.calls: list[Call | Shell] = []
        self.reached: set[int] = set()
        """Of the trees' nodes, those that were walked at least once."""

    def read(self, tree: Node, calls: Iterable[Call | Shell]) -> None:
        """Note what was read, and the calls that stand in there."""
        self.trees.append(tree)  # what is noted of its nodes is noted by their addresses
        self.calls += calls

    def follow(self, node: Node) -> None:
        """Follow a whole program, then the functions that nothing has called."""
        lines: list[str | None] = [None]
        if (self.start.lines or self.language == "awk") and self.start.stdin and are_names(self.start.stdin):
            lines = [*self.start.stdin.splitlines()[:20]] or lines
        for line in lines:
            self.current = line
            with suppress(Returned, Raised):
                self.walk(node)
        for _ in range(40):
            waiting = [made for made in self.functions if not made.called]
            if not waiting:
                return
            first = waiting[0]
            first.called.append(True)
            with suppress(Raised):
                self.apply(first, [], {}, alone=True)
        self.gap = True

    def forget(self) -> None:
        """Let go of what knows the machine, and of functions that know where they stand: else they live on for long."""
        del self.parse
        self.scope.names.clear()

    def everything(self) -> bool:
        """Tell whether each call of the program was come to, and nothing was left out on the way."""
        return not self.gap and self.reached.issuperset(map(id, self.calls))

    def walk(self, node: Node) -> object:
        """Evaluate a node.

        Raises:
            Exhausted: the program costs more than it may.
        """
        self.left -= 1
        if self.left < 0 or len(self.actions) > MAX_CALLS:
            raise Exhausted
        return self.kinds[type(node)](self, node)

    # -- values -------------------------------------------------------------------------------------------

    def _const(self, node: Const) -> object:
        return node.value

    def _name(self, node: Name) -> object:
        return self.look_up(node.name)

    def look_up(self, name: str) -> object:
        """Return what a name stands for; what nothing was assigned to comes with the language."""
        if name[:1] == "@" and self.language == "ruby":
            own = self.look_up("self")
            if isinstance(own, Obj):
                return own.attrs.get(name, Ref(name))
        scope: Scope | None = self.scope
        while scope is not None:
            if name in scope.elsewhere:
                scope = scope.elsewhere[name]
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        if self.language == "ruby" and name in {"gets", "readline", "readlines"}:
            return self.native(Ref(name), [], {})
        return self.brought(name)

    def bind(self, name: str, value: object, *, here: bool = False) -> None:
        """Give a name a value, where it has one already if that is how the language does it."""
        if name[:1] == "@" and self.language == "ruby":
            own = self.look_up("self")
            if isinstance(own, Obj):
                own.attrs[name] = value
                return
        scope: Scope | None = self.scope
        while not here and self.language != "python" and scope is not None:
            if name in scope.names:
                break
            scope = scope.outer
        if self.language == "python":
            scope = self.scope.elsewhere.get(name)
        names = (scope if scope is not None and not here else self.scope).names
        if self.journal is not None:
            self.journal.append((names, name, names.get(name, MISSING)))
        self.gap = self.gap or self._hides(names.get(name, Ref(name) if self.maybe else MISSING), value)
        names[name] = value

    def _hides(self, before: object, value: object) -> bool:
        """Tell whether a name may stand for something else which matters, too."""
        if self.maybe and isinstance(before, str | list) and before not in ("", []) and before is not value:
            differs = text(before) != text(value)
            if differs and self.journal is None and self.language == "python":
                self.may_be(text(value), text(before))
            return differs
        if not isinstance(before, Ref) or before is value or "(" in before.path:
            return False
        if before.path in _JAVASCRIPT and self.language == "javascript":
            return not isinstance(value, Ref)
        if isinstance(value, Ref) and value.path.rpartition(".")[2] == before.path.rpartition(".")[2]:
            return False
        return bool(self.kind(before.path)) or before.path in modules(self.language)

    def _member(self, node: Member) -> object:
        return self.member(self.walk(node.owner), node.name)

    def _index(self, node: Index) -> object:
        owner = self.walk(node.owner)
        keys = [self.walk(key) if key is not None else None for key in node.keys]
        if not node.slices:
            return self.element(owner, keys[0] if keys else None)
        if not isinstance(owner, str | list):
            return owner if isinstance(owner, Ref) else unknown("code")
        start, end, step = (number(key) if key is not None else None for key in [*keys, None, None][:3])
        if any(key is not None and number(key) is None for key in keys) or step == 0:
            return text(owner)
        if node.inclusive and end is not None:
            end = None if end == -1 else end + 1
        return Bytes(owner[start:end:step]) if isinstance(owner, Bytes) else owner[start:end:step]

    def _seq(self, node: Seq) -> object:
        return self.given(node.items)

    def given(self, items: list[Node]) -> list[object]:
        """Evaluate arguments or elements."""
        values: list[object] = []
        for item in items:
            if isinstance(item, Splat):
                made = self.walk(item.value)
                values += [made] if isinstance(made, int | float) else elements(made)
            else:
                values.append(self.walk(item))
        return values

    def _splat(self, node: Splat) -> object:
        return self.walk(node.value)

    def _pairs(self, node: Pairs) -> object:
        made: dict[object, object] = {}
        for key, value in node.items:
            held_value = self.walk(value)
            if key is None:
                carried = {held_value.text: held_value} if isinstance(held_value, Ref) and held_value.text else {}
                made.update(held_value if isinstance(held_value, dict) else carried)
            else:
                made[text(self.walk(key))] = held_value
        return made

    def _template(self, node: Template) -> object:
        parts = [self.walk(part) for part in node.parts]
        if self.language == "python":
            parts = [written(self.in_words(part)) for part in parts]
        return held("".join(map(text, parts)))

    def _spelled(self, node: Spelled) -> object:
        value = self.walk(node.value)
        spec = text(self.walk(node.spec)) if node.spec is not None else ""
        return spelled(self.in_words(value) if node.conversion != "r" else value, node.conversion, spec)

    def _shell(self, node: Shell) -> object:
        self.reached.add(id(node))
        self.act(Action("shell", text(self.walk(node.text))))
        return Ref("shell()", unknown("out", self.language))

    # -- operators ----------------------------------------------------------------------------------------

    def _join(self, node: Join) -> object:
        value = self.walk(node.items[0])
        for item in node.items[1:]:
            if node.op in {"or", "and"}:
                value = self.logic(node.op, value, self.walk(item))
            else:
                value = self.combined(node.op, value, self.walk(item))
        return value

    def _unary(self, node: Unary) -> object:
        value = self.walk(node.value)
        if node.op in {"!", "not"}:
            sure = truth(value)
            return unknown("code") if sure is None else not sure
        count = number(value)
        if node.op in {"-", "~", "+"} and count is not None:
            return {"-": -count, "~": ~count, "+": count}[node.op]
        return value

    # -- statements ---------------------------------------------------------------------------------------

    def _import(self, node: Import) -> object:
        self.imported(node.path, node.name)
        return None

    def _function(self, node: Function) -> object:
        scope = self.scope
        while scope.of_class and scope.outer is not None and self.language == "python":
            scope = scope.outer
        made = Func(node.params, node.body, scope, node.name, yields=node.yields)
        if self.language == "python":
            for param in node.params:
                if isinstance(param, Assign) and isinstance(param.target, Name):
                    made.defaults[param.target.name] = self.walk(param.value)
        self.functions.append(made)
        if node.name:
            self.bind(node.name, made, here=True)
        return made

    def _class(self, node: Class) -> object:
        bases = [self.walk(base) for base in node.bases]
        before, self.scope = self.scope, Scope({}, self.scope, of_class=True)
        try:
            self.walk(node.body)
            made = self.make_class(node.name, self.scope.names, bases, node.said)
        finally:
            self.scope = before
        self.gap = self.gap or node.odd
        self.bind(node.name, made, here=True)
        return made

    # -- assignments --------------------------------------------------------------------------------------

    def _assign(self, node: Assign) -> object:
        value = self.walk(node.value)
        if node.op:
            before = self.walk(node.target)
            if self.language == "python" and isinstance(before, list | dict) and node.op in {"+", "|"}:
                return self.grown(before, value)
            if node.op in {"||", "??", "or"}:
                value = before if not isinstance(before, Ref) else value
            else:
                value = self.combined(node.op, before if not isinstance(before, Ref) or before.text else "", value)
        self.assign(node.target, value)
        return value

    # -- calls --------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> object:
        self.reached.add(id(node))
        func = node.func
        args = self.given(node.args)
        if self.language == "perl" and isinstance(func, Name):
            return self.perl_call(func, node.args, args)
        if self.language == "awk" and isinstance(func, Name):
            return self.awk_call(func.name, node.args, args)
        named: dict[str, object] = {}
        for key, word in node.named:
            value = self.walk(word)
            if key == "**":
                named.update({text(k): v for k, v in value.items()} if isinstance(value, dict) else {})
                self.gap = self.gap or not (isinstance(value, dict) or self._of_no_matter(func))
            else:
                named[key] = value
        if isinstance(func, Member):
            return self.call_method(self.walk(func.owner), func.name, args, named)
        return self.call(self.walk(func), args, named)

    def _of_no_matter(self, func: Node) -> bool:
        """Tell whether what is called is the library's and does nothing that matters."""
        found = self.look_up(func.name) if isinstance(func, Name) else None
        return isinstance(found, Ref) and self.kind(found.path) is None

    def apply(self, func: Func, args: list[object], named: dict[str, object], *, alone: bool = False) -> object:
        """Call a function of the program; ``alone`` when nothing says what it is given."""
        if not alone:
            func.called.append(True)
        if self.depth >= DEPTH:
            return unknown("code")
        before, self.scope = self.scope, Scope({}, func.scope)
        unsure, self.unsure = self.unsure, 0
        within, self.within = self.within, None
        skips, self.skips, ends, self.ends = self.skips, 0, self.ends, 0
        returned, self.returned = self.returned, []
        yielded, self.yielded = self.yielded, []
        self.depth += 1
        try:
            self.scope.names["@func"] = func
            self.bind_params(func, args, named, alone=alone)
            value = self.walk(func.body)
        except Returned as end:
            value = self._one_of(self.returned, end.value)
        except Raised:
            if not unsure and not alone:
                raise
            self.gap, value = True, None
        else:
            if self.returned:
                value = self._one_of(self.returned, self.returned[-1])
        finally:
            made, self.yielded = self.yielded, yielded
            self.scope, self.unsure, self.within, self.returned = before, unsure, within, returned
            self.skips, self.ends = skips, ends
            self.depth -= 1
        return made if func.yields else value

    def _one_of(self, others: list[object], value: object) -> object:
        """Return what a function returns that may return something else."""
        return self.either(others, value) if others and self.language == "python" else value

    # Of the class, so that no machine has to make it; what overrides one of these has to stand here, too.
    kinds: ClassVar[dict[type, Callable[..., object]]] = {
        Const: _const, Name: _name, Member: _member, Index: _index, Call: _call,
        Splat: _splat, Seq: _seq, Pairs: _pairs, Join: _join, Unary: _unary,
        Choice: Branching.choice, Template: _template, Shell: _shell, Assign: _assign,
        Function: _function, Class: _class, Block: Branching.block, Loop: Branching.loop,
        Return: Branching.return_, Import: _import, Tried: Branching.tried,
        Yield: Branching.yield_, Jump: Branching.jump, Raise: Branching.raise_, Outer: Branching.outer,
        Remove: Branching.remove, Spelled: _spelled,
    }  # fmt: skip
