"""Classes of the program and their objects: where a name is found, how an object is made, what decorates."""

from __future__ import annotations

import re
from abc import ABC
from dataclasses import replace

from shellward.command.follow.methods import MISSING, braced
from shellward.command.follow.names import Names
from shellward.command.follow.pythonic import filled
from shellward.command.follow.things import Above, Default, Func, Klass, Obj, Partial, Ref
from shellward.command.values import unknown

_MAKERS = ("__init__", "constructor", "initialize", "__construct")
_WITH_FIELDS = frozenset(("dataclass", "define", "frozen", "mutable", "attrs"))
"""Decorators that make ``__init__`` of what a class says of its attributes."""
_HOW = frozenset(("staticmethod", "classmethod", "property", "cached_property", "setter"))
_CALM = frozenset(
    ("wraps", "lru_cache", "cache", "contextmanager", "override", "final", "total_ordering", "abstractmethod")
)
"""Decorators that do not call what they are given."""
_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "%": "mod", "|": "or", "&": "and", "<<": "lshift",
              ">>": "rshift", "@": "matmul", "//": "floordiv", "^": "xor", "**": "pow"}  # fmt: skip


class Classes(Names, ABC):
    """What the program's own classes and objects do."""

    def make_class(self, name: str, names: dict[str, object], bases: list[object], said: list[str]) -> Klass:
        """Make a class of what stands in it."""
        made = Klass(name, names, said=said)
        lines = [(base.line or [base])[:20] for base in bases if isinstance(base, Klass)][:12]
        self.left -= len(lines) * sum(map(len, lines))
        made.line = [made, *_merged(lines)]
        if any(
            isinstance(base, Ref) and base.path.rpartition(".")[2] in {"NamedTuple", "BaseModel", "Struct"}
            for base in bases
        ):
            made.with_fields = True
        self.gap = self.gap or made.get("__init_subclass__", None) is not None
        for value in names.values():
            if isinstance(value, Func) and value.owner is None:
                value.owner = made
        return made

    def attribute(self, owner: Obj, name: str) -> object:
        """Return an attribute of an object; a method knows the object."""
        found = owner.attrs.get(name, MISSING)
        if self.language == "python" and found is not MISSING:
            return found
        if found is MISSING:
            found = owner.klass.get(name, MISSING)
        if found is MISSING and name[:2] != "__" and isinstance(other := owner.klass.get("__getattr__", None), Func):
            return self.apply(replace(other, bound=owner), [name], {})
        return Ref(f"{owner.klass.name}().{name}") if found is MISSING else self.seen(found, owner)

    def seen(self, found: object, owner: Obj | Klass) -> object:
        """Return what is found in a class as it is seen from an object, or from the class."""
        if not isinstance(found, Func) or found.how == "staticmethod":
            return found
        if found.how == "classmethod":
            return replace(found, bound=owner.klass if isinstance(owner, Obj) else owner)
        if isinstance(owner, Klass):
            return found
        bound = replace(found, bound=owner)
        if found.how == "setter":
            return Ref(f"{owner.klass.name}().{found.name}")
        return self.apply(bound, [], {}) if found.how in {"property", "cached_property"} else bound

    def takes(self, owner: Obj, name: str, value: object) -> bool:
        """Give an attribute to a class that handles that itself; tell whether it does."""
        found = owner.klass.get(name, None)
        if isinstance(found, Func) and found.how == "setter":
            self.apply(replace(found, bound=owner), [value], {})
            return True
        found = owner.klass.get("__setattr__", None)
        if isinstance(found, Func):
            self.apply(replace(found, bound=owner), [name, value], {})
            owner.attrs[name] = unknown("code")
        return isinstance(found, Func)

    def above(self, owner: Above, name: str) -> object:
        """Return ``super().name``."""
        klass = owner.owner.klass if isinstance(owner.owner, Obj) else owner.owner
        found = klass.get(name, MISSING, behind=owner.behind)
        if found is MISSING and name[:2] == "__":
            return Partial(None, native=lambda _: None)
        return Ref(f"super.{name}") if found is MISSING else self.seen(found, owner.owner)

    def super_of(self, args: list[object]) -> object:
        """Return ``super()`` where it stands, or of what it is given."""
        if len(args) > 1 and isinstance(args[0], Klass) and isinstance(args[1], Obj | Klass):
            return Above(args[1], args[0])
        here = self.look_up("@func")
        if isinstance(here, Func) and here.owner is not None and isinstance(here.bound, Obj | Klass):
            return Above(here.bound, here.owner)
        return Ref("super()")

    def made(self, klass: Klass, args: list[object], named: dict[str, object]) -> object:
        """Make an object."""
        made = Obj(klass)
        makers = [found for name in _MAKERS if isinstance(found := klass.get(name, None), Func)]
        for found in makers:
            self.apply(replace(found, bound=made), args, named)
        if not makers and any(one.with_fields for one in klass.line):
            self._fill(made, args, named)
        return made

    def _fill(self, made: Obj, args: list[object], named: dict[str, object]) -> None:
        """Give the fields of an object their values."""
        lines = [one for one in reversed(made.klass.line) if one.with_fields]
        left = list(args)
        for name in dict.fromkeys(name for one in lines for name in one.said):
            default = made.klass.get(name, MISSING)
            given = not isinstance(default, Default) or default.given
            if given and left:
                value = left.pop(0)
            elif given and name in named:
                value = named[name]
            elif isinstance(default, Default):
                value = self.call(default.factory, [], {}) if default.factory is not None else default.value
            else:
                value = unknown("code") if default is MISSING else default
            made.attrs[name] = value
        after = made.klass.get("__post_init__", None)
        if isinstance(after, Func):
            self.apply(replace(after, bound=made), [], {})

    def decorated(self, thing: object, decorator: object) -> object:
        """Return what a decorator makes of a function or a class."""
        if not isinstance(decorator, Ref):
            made = self.call(decorator, [thing], {})
            if isinstance(made, Func | Klass | Partial | Obj):
                return made
            self.gap = True
            return thing
        last = decorator.path.removesuffix("()").rpartition(".")[2]
        if isinstance(thing, Klass) and last in _WITH_FIELDS:
            thing.with_fields = True
        elif isinstance(thing, Func) and last in _HOW:
            thing.how = last
        elif last not in _CALM:
            self.call(decorator, [thing], {})
        return thing

    def own(self, thing: object, name: str, args: list[object]) -> object:
        """Call a method that Python calls by itself, such as ``__str__``; MISSING when an object has none."""
        found = thing.klass.get(name, None) if isinstance(thing, Obj) else None
        return self.apply(replace(found, bound=thing), args, {}) if isinstance(found, Func) else MISSING

    def operated(self, op: str, left: object, right: object) -> object:
        """Apply an operator to objects that say what it does; MISSING when they do not."""
        name = _OPERATORS.get(op)
        if name is None:
            return MISSING
        found = self.own(left, f"__{name}__", [right])
        return self.own(right, f"__r{name}__", [left]) if found is MISSING else found

    def in_words(self, value: object) -> object:
        """Return what ``str`` makes of an object that says so itself; anything else as it is."""
        if isinstance(value, Obj):
            for name in ("__str__", "__repr__"):
                found = self.own(value, name, [])
                if found is not MISSING:
                    return found
        return value

    def interpolate(self, template: str, args: list[object], named: dict[str, object]) -> str:
        """Apply ``format`` of Python."""
        if self.language != "python":
            return braced(template, args, named)
        left = list(args)

        def field(name: str) -> object:
            first, *more = _FIELD.findall(name) or [""]
            if first.isdecimal():
                value: object = args[int(first)] if len(first) < 4 and int(first) < len(args) else unknown("code")
            elif first and first[0] not in ".[":
                value = named.get(first, unknown("code"))
            else:
                more = [first, *more] if first else more
                value = left.pop(0) if left else unknown("code")
            for step in more:
                value = self.element(value, _key(step[1:-1])) if step[0] == "[" else self.member(value, step[1:])
            return self.in_words(value)

        return filled(template, field)


def _key(name: str) -> object:
    return int(name) if name.isdecimal() and len(name) < 9 else name


_FIELD = re.compile(r"\[[^\]]*\]|\.\w+|\w+")
"""The pieces of a field's name: ``0.name[key]``."""


def _merged(lines: list[list[Klass]]) -> list[Klass]:
    """Put the classes of several bases in one order, each before what it is made of."""
    made: list[Klass] = []
    waiting = [*map(list, lines), [line[0] for line in lines]]
    while any(waiting) and len(made) < 40:
        waiting = [line for line in waiting if line]
        heads = [line[0] for line in waiting]
        first = next((one for one in heads if not any(one in line[1:] for line in waiting)), heads[0])
        made.append(first)
        waiting = [[one for one in line if one is not first] for line in waiting]
    return made
