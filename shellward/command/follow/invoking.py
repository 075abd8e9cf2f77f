"""Calls: functions of the program, methods of constants, and functions that are given functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from shellward.command.actions import Action
from shellward.command.follow import pylists, pythonic
from shellward.command.follow.classes import Classes
from shellward.command.follow.library import function
from shellward.command.follow.methods import MISSING, of_list, of_pairs, of_text
from shellward.command.follow.names import callable_thing
from shellward.command.follow.things import (
    CALLABLE,
    Above,
    Func,
    Klass,
    Obj,
    Partial,
    PathText,
    Ref,
    elements,
    plain,
    text,
    truth,
)
from shellward.command.values import CUT, OPEN, only_markers, unknown

_ALL_OF_IT = frozenset(
    ("items", "values", "copy", "to_h", "to_a", "to_hash", "to_s", "to_json", "inspect", "entries", "each_pair")
)
"""Methods of the environment that give all of it."""
WRITES = frozenset(("write", "communicate", "puts", "print", "end", "printf", "say", "writelines", "sendline", "send"))
"""Methods that write to what they are called on."""
MAPPERS = frozenset(
    ("map", "each", "forEach", "flatMap", "flat_map", "collect", "select", "filter", "reject", "each_with_index", "some",
     "every", "any?", "all?", "find", "detect", "imap", "starmap", "map_async", "imap_unordered", "array_map", "array_walk",
     "array_filter", "lapply", "sapply", "vapply", "walk", "foreach", "times", "each_entry", "each_char", "each_line",
     "each_pair", "each_slice", "filter_map", "executeAll", "findIndex", "partition", "group_by", "sort_by", "upto",
     "each_byte", "each_child", "each_key", "each_value", "Map", "Enum.each", "Enum.map", "broadcast")
)  # fmt: skip
"""Methods that call what they are given with each element."""
_CHANGE = frozenset(
    ("append", "extend", "insert", "pop", "remove", "index", "count", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add",
     "discard", "appendleft", "popleft", "extendleft", "rotate")
)  # fmt: skip
"""Methods that change what they are called on, or look at all of it."""
_RUNS = frozenset(("process", "exec-list", "exec-mode", "spawn", "eval"))
"""Kinds of calls that run what they are given."""
_FOLDS = frozenset(("reduce", "inject", "reduceRight", "array_reduce", "Reduce", "fold"))


_TEXT_METHODS = frozenset(
    ("unpack1", "unpack", "b64decode", "decode64", "atob", "fromhex", "fromCharCode", "unpack_one", "pack")
)


class Calls(Classes, ABC):
    """Calls of functions, methods and what takes functions."""

    @abstractmethod
    def native(self, ref: Ref, args: list[object], named: dict[str, object]) -> object:
        """Call something that the language or a library brings along."""

    @abstractmethod
    def otherwise(self, ref: Ref, args: list[object], named: dict[str, object], result: object = MISSING) -> object:
        """Something unknown is called: it may call the functions that it is given."""

    # -- calls --------------------------------------------------------------------------------------------

    def call(self, func: object, args: list[object], named: dict[str, object]) -> object:  # noqa: PLR0911
        """Call something."""
        if isinstance(func, Func):
            return self.apply(func, args, named)
        if isinstance(func, Partial):
            if func.native is not None:
                return func.native([*func.args, *args])
            return self.call(func.func, [*func.args, *args], {**func.named, **named})
        if isinstance(func, Klass):
            return self.made(func, args, named)
        if isinstance(func, Obj) and self.language == "python":
            found = self.attribute(func, "__call__")
            return unknown("code") if isinstance(found, Ref) else self.call(found, args, named)
        if isinstance(func, Ref):
            return self.native(func, args, named)
        if isinstance(func, str) and self.language == "awk" and func:
            return self.native(Ref(func), args, named)
        if isinstance(func, str) and self.language in {"php", "perl", "awk", "r"} and func and OPEN not in func:
            return self.call(self.look_up(func.lstrip("&")), args, named)
        return unknown("code")

    def call_method(self, owner: object, name: str, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911
        """Call ``owner.name(args)``."""
        if (
            name in {"send", "public_send", "__send__"}
            and args
            and self.language == "ruby"
            and not (isinstance(owner, Ref) and owner.opened)
        ):
            return self._sent(owner, text(args[0]), args[1:], named)
        if name == "__class__":
            return self.call(Ref("str"), args, named)
        if isinstance(owner, Ref):
            return self._reference(owner, name, args, named)
        if isinstance(owner, Klass) and name == "new":
            return self.made(owner, args, named)
        if isinstance(owner, Func | Partial):
            return self._function_method(owner, name, args, named)
        if isinstance(owner, Obj) and self.language == "ruby" and owner.klass.get(name, MISSING) is MISSING:
            found = owner.attrs.get(name, owner.attrs.get(f"@{name}", MISSING))
            if found is not MISSING and not args:
                return found
            found = owner.klass.get("method_missing", None)
            if isinstance(found, Func):
                return self.apply(replace(found, bound=owner), [name, *args], named)
        if isinstance(owner, Obj | Klass | Above):
            return self.call(self.member(owner, name), args, named)
        if isinstance(owner, dict) and name in owner:
            return self.call(owner[name], args, named)
        found = self.method(owner, name, args, named)
        return self.otherwise(Ref(f'"".{name}', only_markers(text(owner))), args, named) if found is MISSING else found

    def _sent(self, owner: object, name: str, args: list[object], named: dict[str, object]) -> object:
        """``send`` of Ruby: an object without such a method has the functions of the language."""
        has = isinstance(owner, Obj | Klass) and not isinstance(self.member(owner, name), Ref)
        has = has or (isinstance(owner, Ref) and self.kind(f"{owner.path}.{name}") is not None)
        if not has and self.kind(name) in _RUNS:
            return self.call(self.look_up(name), args, named)
        return self.call_method(owner, name, args, named)

    def _function_method(self, owner: object, name: str, args: list[object], named: dict[str, object]) -> object:
        if name == "call" and self.language == "javascript":
            return self.call(owner, args[1:], named)
        if name == "apply":
            return self.call(owner, elements(args[1]) if len(args) > 1 else [], named)
        if name == "bind":
            return Partial(owner, args[1:])
        if name in {"to_proc", "curry"}:
            return owner
        return self.call(owner, args, named)

    def _reference(self, owner: Ref, name: str, args: list[object], named: dict[str, object]) -> object:  # noqa: PLR0911
        """A method of something that the language brings along."""
        if name in {"to_proc", "unbind", "curry"} and self.language == "ruby" and self.kind(owner.path):
            return owner
        if name in {"call", "apply", "bind", "()"} and (self.kind(owner.path) or owner.path in {"eval", "Function"}):
            return self._function_method(owner, name, args, named)
        if (owner.opened or owner.file) and name in WRITES:
            return self.written(owner, [self.printed.pop()] if owner.path == "@pipe()" and self.printed else args)
        if owner.path == "env" and name in _ALL_OF_IT:
            return owner
        if owner.path == "module" or (name == "require" and self.language == "javascript"):
            return self.native(Ref(name), args, named)
        if self.language == "ruby" and name == "new" and self.kind(f"{owner.path}.new") is None:
            return self.native(Ref(owner.path), args, named)
        target = self.reach(owner, name)
        if not isinstance(target, Ref):
            return self.call_method(target, "()", args, named) if not isinstance(target, str | list) else target
        return self.native(target, args, named)

    def method(self, owner: object, name: str, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911, PLR0912
        """Call a method of a constant; MISSING when none is known."""
        if args and isinstance(args[-1], CALLABLE) | (
            isinstance(args[-1], Ref) and (name in MAPPERS or name == "then")
        ):
            return self.callback(owner, name, args)
        if isinstance(owner, PathText):
            done = self._path_method(owner, name, args)
            if done is not MISSING:
                return done
        if self.language == "python":
            found = self.of_python(owner, name, args, named)
            if found is not MISSING:
                return found
        if isinstance(owner, str):
            found = of_text(name, owner, args, self.language)
            if name == "decode" and self.language == "python":
                found = pythonic.decoded(found)
            if found is MISSING and (name in _TEXT_METHODS or name in {"decode", "toString"}):
                return self.pure.method(name, str(owner), [plain(arg) for arg in args])
            if found is MISSING and name == "execute" and self.language == "java":
                self.act(Action("shell", str(owner)))
            return found
        if isinstance(owner, list):
            if name == "pack" and self.language == "ruby":
                return self._packed(text(args[0]) if args else "", owner)
            if name == "execute" and self.language == "java":
                self.act(Action("argv", argv=tuple(map(text, owner))))
            return of_list(name, owner, args, self.language)
        if isinstance(owner, dict):
            return of_pairs(name, owner, args)
        if isinstance(owner, int | float):
            return function(name, [owner, *args], named, self.language) if name != "to_s" else text(owner)
        return MISSING

    def of_python(self, owner: object, name: str, args: list[object], named: dict[str, object]) -> object:
        """Call a method of a constant as Python does; MISSING when that is not known."""
        if isinstance(owner, str) and name in {"format", "format_map"}:
            if name == "format_map":
                args, named = [], args[0] if args and isinstance(args[0], dict) else {}
            return self.interpolate(owner, args, named)
        if isinstance(owner, str):
            return pythonic.method(name, owner, args, named)
        if isinstance(owner, list | dict) and name in _CHANGE:
            self.left -= len(owner) >> 4
            self.changing(owner)
        if isinstance(owner, list):
            return pylists.of_list(owner, name, args, named)
        return pylists.of_pairs(owner, name, args, named) if isinstance(owner, dict) else MISSING

    def _packed(self, template: str, values: list[object]) -> object:
        if template[:1] in "cCUnW" and template:
            return function("chr", [values], {}, self.language)
        return self.pure.call("pack", [template, *map(plain, values)])

    def _path_method(self, owner: PathText, name: str, args: list[object]) -> object:
        if name in {"read_text", "read_bytes", "read", "readlines"}:
            return unknown("file", str(owner))
        joined = [owner.rstrip("/"), *(text(arg) for arg in args)]
        if name in {"joinpath", "join", "+", "resolve", "absolute", "expanduser", "expand_path", "with_name"}:
            return PathText("/".join(joined) if args else owner)
        if name in {"glob", "rglob", "iterdir", "children", "each_child", "walk", "find", "entries"}:
            return [PathText(f"{joined[0]}/{text(args[0]) if args else '*'}")]
        if self.kind(f"path.{name}") or name in {
            "delete",
            "rmtree",
            "rename",
            "replace",
            "chmod",
            "symlink_to",
            "deleteDir",
            "rm_rf",
            "rename_to",
        }:
            return self.path_action(str(owner), name, args)
        return MISSING

    def callback(self, owner: object, name: str, args: list[object]) -> object:  # noqa: C901
        """Call a method that is given a function, for each element."""
        func = args[-1]
        if name in _FOLDS:
            value: object = args[0] if len(args) > 1 else ""
            first = args[0] if len(args) > 1 else args[-1]
            if callable_thing(first):  # of javascript: the function comes first
                func, value = first, args[1] if len(args) > 1 else MISSING
            for item in elements(owner)[:300]:
                value = item if value is MISSING else self.call(func, [value, item], {})
            return value
        if callable_thing(args[0]):
            func = args[0]
        if name in {"replace", "gsub", "sub"}:
            return only_markers(text(owner)) or unknown("code")
        if name in {"then", "tap", "yield_self", "pipe"}:
            return self.call(func, [owner], {})
        values = list(owner.items()) if isinstance(owner, dict) else elements(owner)
        made = []
        self.gap = self.gap or len(values) > 300
        for at, item in enumerate(values[:300]):
            given = (
                [*item]
                if isinstance(item, tuple)
                else [item, at]
                if name in {"each_with_index", "forEach", "map"}
                else [item]
            )
            made.append(self.call(func, [*given] if isinstance(func, Func) else given[:1], {}))
        if len(values) > 300:
            made.append(CUT)
        if name in {"filter", "select", "reject", "find", "detect", "array_filter", "find_all"}:
            kept = [item for item, sure in zip(values, made, strict=False) if truth(sure) is not (name == "reject")]
            return (kept[0] if kept else unknown("code")) if name in {"find", "detect"} else kept
        if name in {"each", "forEach", "each_with_index", "times"}:
            return owner
        return [leaf for item in made for leaf in (item if isinstance(item, list) and "lat" in name else [item])]
