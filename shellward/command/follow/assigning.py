"""Giving names, elements and parameters their values."""

from __future__ import annotations

from abc import ABC

from shellward.command.follow.methods import MISSING, replaced
from shellward.command.follow.nodes import (
    Assign,
    Call,
    Const,
    Index,
    Member,
    Name,
    Node,
    Outer,
    Pairs,
    Remove,
    Seq,
    Splat,
)
from shellward.command.follow.operators import Operators
from shellward.command.follow.things import (
    MOST,
    Func,
    Klass,
    Obj,
    Pattern,
    Ref,
    elements,
    number,
    text,
)
from shellward.command.values import unknown


class Assigning(Operators, ABC):
    """Gives values to what can hold them."""

    def assign(self, target: Node, value: object, *, here: bool = False) -> None:  # noqa: C901, PLR0912
        """Give a target a value, element by element where it is a list."""
        if isinstance(target, Assign):  # with a default
            target = target.target
        if isinstance(target, Name):
            if target.name.startswith("@") and not isinstance(value, list) and self.language == "perl":
                value = [value]
            if target.name.startswith("%") and isinstance(value, list) and self.language == "perl":
                value = {text(key): item for key, item in zip(value[::2], value[1::2], strict=False)}
            self.bind(target.name, value, here=here)
        elif isinstance(target, Seq):
            values = elements(value) if not isinstance(value, Ref) else [value] * len(target.items)
            for at, item in enumerate(target.items):
                if isinstance(item, Splat):
                    stop = len(values) - (len(target.items) - at - 1)
                    self.assign(item.value, values[at:stop], here=here)
                    values = [*values[:at], None, *values[stop:]]
                else:
                    self.assign(item, values[at] if at < len(values) else unknown("code"), here=here)
        elif isinstance(target, Pairs):
            for key, item in target.items:
                if key is not None:
                    self.assign(item, self.element(value, self.walk(key)), here=here)
        elif isinstance(target, Member):
            owner = self.walk(target.owner)
            held_in = owner.attrs if isinstance(owner, Obj | Klass) else owner
            if isinstance(owner, Obj) and self.language == "python" and self.takes(owner, target.name, value):
                return
            if isinstance(held_in, dict):
                self.changing(held_in, target.name)
                held_in[target.name] = value
        elif isinstance(target, Index):
            self._assign_element(target, value)
        elif isinstance(target, Call) and target.args and isinstance(target.func, Name):
            self.assign(target.args[0], value, here=here)

    def changing(self, owner: dict[object, object] | list[object], key: object = None) -> None:
        """Note that an element is about to change."""
        self.gap = self.gap or (self.maybe > 0 and self.language == "python")
        if self.journal is not None:
            if key is None or isinstance(owner, list):
                self.left -= len(owner) >> 4
                self.journal.append((owner, None, owner.copy()))
            else:
                self.journal.append((owner, key, owner.get(key, MISSING)))

    def remove(self, node: Remove) -> object:
        """``del``."""
        for target in node.targets:
            self.walk(target)
            if not isinstance(target, Index):
                continue
            owner = self.walk(target.owner)
            keys = [self.walk(key) if key is not None else None for key in target.keys]
            if isinstance(owner, dict):
                self.changing(owner)
                owner.pop(text(keys[0] if keys else None), None)
            elif isinstance(owner, list):
                self.changing(owner)
                numbers = [number(key) if key is not None else None for key in [*keys, None, None][:3]]
                if any(key is not None and number(key) is None for key in keys) or (target.slices and numbers[2] == 0):
                    owner[:] = [unknown("code")]
                elif target.slices:
                    del owner[slice(*numbers)]
                elif numbers[0] is not None and -len(owner) <= numbers[0] < len(owner):
                    del owner[numbers[0]]
        return None

    def grown(self, before: list[object] | dict[object, object], value: object) -> object:
        """``+=`` and ``|=`` change a list, a set or a dictionary that others may know, too."""
        self.changing(before)
        if isinstance(before, list):
            more = elements(value)[:MOST]
            before += more if len(before) < MOST else []
        elif isinstance(value, dict):
            before.update(value)
        return before

    def outer(self, node: Outer) -> object:
        """``global``, ``nonlocal``."""
        scope = self.scope
        for name in node.names:
            found = scope.outer or scope
            while found.outer is not None and not (node.near and name in found.names and not found.of_class):
                found = found.outer
            if found is not scope:
                scope.elsewhere[name] = found
        return None

    def _assign_element(self, target: Index, value: object) -> None:
        owner = self.walk(target.owner)
        if target.slices and isinstance(owner, list):
            numbers = [number(self.walk(key)) if key is not None else None for key in [*target.keys, None, None][:3]]
            asked = [key for key in target.keys if key is not None]
            self.changing(owner)
            if len(asked) != len([one for one in numbers if one is not None]) or numbers[2] is not None:
                owner[:] = [unknown("code")]
            else:
                owner[slice(*numbers)] = elements(value)[:MOST]
            return
        if isinstance(owner, Ref) and owner.path == "builtins" and self.language == "python" and target.keys[0]:
            self.bind(text(self.walk(target.keys[0])), value)  # globals()['name']
            return
        key = self.walk(target.keys[0]) if target.keys and target.keys[0] is not None else None
        unset = (isinstance(owner, Ref) and not owner.text) or owner in ("", None)
        if unset and isinstance(target.owner, Name):
            owner = [] if key is None or number(key) == 0 else {}
            self.bind(target.owner.name, owner)
        if isinstance(owner, dict):
            self.changing(owner, text(key))
            owner[text(key)] = value
        elif isinstance(owner, list):
            at = number(key)
            self.changing(owner)
            if key is None or at == len(owner):
                owner.append(value)
            elif at is not None and -len(owner) <= at < len(owner):
                owner[at] = value

    def bind_params(self, func: Func, args: list[object], named: dict[str, object], *, alone: bool) -> None:  # noqa: C901, PLR0912
        """Give the parameters of a function what it is called with."""
        values = [func.bound, *args] if func.bound is not None and self.language in {"python", "perl"} else args
        rest = dict(named)
        if self.language == "python" and alone and func.params and isinstance(func.params[0], Name):
            named = {**named, func.params[0].name: Ref(func.params[0].name)}
        self.scope.names["@_"] = list(values)
        if isinstance(func.bound, Obj):
            for own in ("this", "$this", "self", "@self"):
                self.scope.names[own] = func.bound
        at = 0
        if len(func.params) > 1 and len(values) == 1 and isinstance(values[0], list) and self.language == "ruby":
            values = values[0]
        for param in func.params:
            target = param.target if isinstance(param, Assign) else param
            if isinstance(target, Splat):
                given: object = rest if target.named else values[at:]
                if alone and self.language == "python" and isinstance(target.value, Name):
                    given = Ref(target.value.name)
                self.assign(target.value, given, here=True)
                at = len(values)
                continue
            name = target.name if isinstance(target, Name) else ""
            if name.lstrip("$") in named and name:
                value = named[name.lstrip("$")]
                rest.pop(name.lstrip("$"), None)
            elif at < len(values) and not (isinstance(param, Assign) and param.op == "named"):
                value = values[at]
                at += 1
            elif name in func.defaults:
                value = func.defaults[name]
            elif isinstance(param, Assign) and not isinstance(param.value, Const | None):
                value = self.walk(param.value)
            elif isinstance(param, Assign) and isinstance(param.value, Const) and param.value.value is not None:
                value = param.value.value
            else:
                value = Ref(name or "argument")
            self.assign(target, value, here=True)
        if self.language == "ruby" and not func.params and args:
            self.scope.names.update({"it": args[0], "_1": args[0]})

    def perl_call(self, func: Name, nodes: list[Node], args: list[object]) -> object:
        """Functions of Perl get the elements of lists, and ``open`` gives its first argument a value."""
        if func.name in {
            "push",
            "unshift",
            "shift",
            "pop",
            "splice",
            "join",
            "map",
            "scalar",
            "reverse",
            "keys",
            "values",
            "sprintf",
        }:
            return self.call(self.walk(func), args, {})
        flat = [leaf for arg in args for leaf in (arg if isinstance(arg, list) else [arg])]
        made = self.call(self.walk(func), flat, {})
        if func.name in {"open", "sysopen", "opendir"} and nodes:
            self.assign(nodes[0], made)
        return made

    def awk_call(self, name: str, nodes: list[Node], args: list[object]) -> object:
        """Functions of awk change what they are given, and have no names but their own."""
        if name == "split" and len(args) > 1:
            pieces = text(args[0]).split(text(args[2]) if len(args) > 2 and text(args[2]) != " " else None)
            self.assign(nodes[1], {str(at): piece for at, piece in enumerate(pieces, 1)})
            return len(pieces)
        if name in {"gsub", "sub"} and len(args) > 1:
            target = nodes[2] if len(nodes) > 2 else Name("$0")
            old = args[0] if isinstance(args[0], Pattern) else Pattern(text(args[0]))
            self.assign(target, replaced(text(self.walk(target)), old, text(args[1]), int(name == "sub")))
            return 1
        scope = self.scope
        while name not in scope.names and scope.outer is not None:
            scope = scope.outer
        return self.call(scope.names.get(name, Ref(name)), args, {})
