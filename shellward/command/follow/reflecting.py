"""Functions that find, make or call functions, evaluate code, or are like no others."""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from shellward.command.actions import Action
from shellward.command.follow import pylists
from shellward.command.follow.invoking import Calls
from shellward.command.follow.library import function
from shellward.command.follow.methods import MISSING, of_list, of_text
from shellward.command.follow.names import callable_thing, names_below
from shellward.command.follow.pythonic import METHODS, represented, spelled, table, written
from shellward.command.follow.things import (
    CALLABLE,
    Bytes,
    Default,
    Exhausted,
    Func,
    Klass,
    Obj,
    Partial,
    PathText,
    Ref,
    Scope,
    elements,
    known,
    plain,
    text,
    truth,
)
from shellward.command.values import OPEN, known_part, only_markers, unknown

if TYPE_CHECKING:
    from shellward.command.follow.nodes import Node

MODULES_OF_PROGRAMS = re.compile(r"(?:sh|shelljs|plumbum\.cmd|plumbum\.local)\.\w+$")
"""Modules whose functions are the programs of the same name."""
_PLACES = frozenset(("", "dict", "copy", "random", "math", "collections", "itertools", "builtins"))
"""Where functions of pylists.py stand."""
_OPERATORS = {"add": "+", "concat": "+", "iadd": "+", "iconcat": "+", "mul": "*", "mod": "%", "sub": "-", "truediv": "/",
              "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "or_": "|", "and_": "&", "xor": "^"}  # fmt: skip
_KINDS = (("bool", bool), ("str", str), ("list", list), ("dict", dict), ("int", int), ("float", float))
_OBJECTS = re.compile(r"^Object\.(keys|values|entries|assign|getOwnPropertyNames)$|^Reflect\.(ownKeys)$")


class Reflecting(Calls, ABC):
    """Functions that find, make or call functions, evaluate code, or are like no others."""

    @abstractmethod
    def combined(self, op: str, left: object, right: object) -> object:
        """Apply an operator."""

    def reflective(self, path: str, last: str, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911, PLR0912
        """Functions that find, make or call functions; MISSING when it is none of them."""
        first = args[0] if args else None
        if self.language == "python":
            found = self._of_python(path, last, args, named)
            if found is not MISSING:
                return found
        if (
            last in {"__import__", "import_module", "require", "import", "createRequire", "binding", "require_relative"}
            and args
        ):
            name = text(first).removeprefix("node:")
            return Ref(name) if OPEN not in name else Ref("module", name)
        if path == "getattr" and len(args) > 1:
            return self.member(first, text(args[1]))
        if path in {"vars", "globals", "locals"}:
            return first if args else Ref("builtins")
        if (path == "dir" and isinstance(first, Ref)) or (_OBJECTS.match(path) and isinstance(first, Ref)):
            return list(names_below(self.language, first.path)) if isinstance(first, Ref) else MISSING
        if _OBJECTS.match(path):
            return self.method(first, last, [], {}) if isinstance(first, dict | list) else [unknown("code")]
        if path == "Reflect.get" and len(args) > 1:
            return self.member(first, text(args[1]))
        if path == "Reflect.apply" and args:
            return self.call(first, elements(args[2]) if len(args) > 2 else [], {})
        if last in {"partial", "promisify"} and args:
            return Partial(first, args[1:], named)
        if last == "attrgetter" and args:
            return Partial(None, native=lambda given: self.member(given[0], text(first)) if given else None)
        if last == "itemgetter" and args:
            return Partial(None, native=lambda given: self.element(given[0], first) if given else None)
        if last == "methodcaller" and args:
            return Partial(
                None, native=lambda given: self.call_method(given[0], text(first), args[1:], named) if given else None
            )
        if path in {"map", "filter", "lapply", "sapply"} and len(args) > 1:
            at = 1 if path.endswith("apply") else 0
            return self.callback(elements(args[1 - at]) if len(args) < 3 else args[1:], path, [args[at]])
        if path in {"array_map", "array_walk", "array_filter"} and len(args) > 1:
            at = int(path != "array_map")
            func = self.look_up(text(args[at])) if isinstance(args[at], str) else args[at]
            return self.callback(elements(args[1 - at]), path, [func])
        if last in {"reduce", "Reduce"} and args and callable_thing(first) and path != "x.reduce":
            start = [args[2]] if len(args) > 2 else []
            return self.callback(
                elements(args[1]) if len(args) > 1 else [], "reduce", [*start, first] if start else [first]
            )
        if (
            path
            in {
                "call_user_func",
                "call_user_func_array",
                "forward_static_call",
                "register_shutdown_function",
                "do.call",
                "func_call",
                "apply",
            }
            and args
        ):
            func = self.look_up(text(first)) if isinstance(first, str) else first
            rest = (
                elements(args[1])
                if (path.endswith("array") or path in {"do.call", "apply"}) and len(args) > 1
                else args[1:]
            )
            return self.call(func, rest, {})
        if self.language == "ruby" and args:
            found = self._named_here(path, last, args)
            if found is not MISSING:
                return found
        if path in {"get", "match.fun", "getFunction"} and self.language == "r" and args:
            return self.look_up(text(first))
        if path in {"send", "public_send", "__send__"} and args and self.language == "ruby":
            return self.call(self.look_up(text(first)), args[1:], named)
        if path in {"method", "instance_method", "Kernel.method", "Object.method"} and args:
            return self.look_up(text(first))
        if path.endswith(".method") and self.language == "ruby" and args:
            return self.reach(Ref(path.rpartition(".")[0]), text(first))
        if path in {"lambda", "proc", "Proc", "Proc.new"} and isinstance(first, Func):
            return first
        if path in {"type", "super", "Promise.resolve", "Promise", "Object.freeze", "structuredClone", "cast"} and args:
            return first if path != "Promise" else self.otherwise(Ref("Promise"), args, named)
        return MISSING

    def _of_python(  # noqa: C901, PLR0911, PLR0912
        self, path: str, last: str, args: list[object], named: dict[str, object]
    ) -> object:
        """What only Python has; MISSING when it is none of that."""
        first = args[0] if args else None
        if path == "super":
            return self.super_of(args)
        if path == "@decorated" and len(args) > 1:
            return self.decorated(first, args[1])
        if path == "@entered":
            found = self.own(first, "__enter__", [])
            if isinstance(first, list):  # what a function makes one by one
                return first[0] if first else unknown("code")
            return first if found is MISSING else found
        if path in {"nullcontext", "contextlib.nullcontext", "contextlib.closing"} and args:
            return first
        if last == "field" and {"default", "default_factory", "init"} & set(named):
            return Default(
                named.get("default", unknown("code")),
                named.get("default_factory"),
                truth(named.get("init", True)) is not False,
            )
        if path == "getattr" and len(args) > 2 and isinstance(first, Obj | Klass):
            found = self.member(first, text(args[1]))
            return args[2] if isinstance(found, Ref) and known(args[1]) else found
        if path == "setattr" and len(args) > 2 and isinstance(first, Obj | Klass):
            attrs: dict[Any, object] = first.attrs
            self.changing(attrs, text(args[1]))
            attrs[text(args[1])] = args[2]
            return None
        if path in {"hasattr", "issubclass"} or (path == "isinstance" and len(args) > 1):
            return self._is_a(first, args[1]) if path == "isinstance" else unknown("code")
        if path in {"str", "format", "repr", "ascii"} and args:
            if path in {"repr", "ascii"}:
                return represented(first)
            if len(args) == 1:
                return first if isinstance(first, PathText) else written(self.in_words(first))
            return spelled(first, "", text(args[1])) if path == "format" else MISSING
        if path.startswith("str.") and isinstance(first, str) and last in METHODS:
            return self.method(first, last, args[1:], named)
        if path == "str.maketrans":
            return table(args)
        if path.startswith("operator.") and last in _OPERATORS and len(args) > 1:
            return self.combined(_OPERATORS[last], first, args[1])
        if last == "itemgetter" and len(args) > 1:
            return Partial(None, native=lambda given: [self.element(given[0], key) for key in args] if given else None)
        if last == "attrgetter" and args:
            return Partial(None, native=lambda given: self._attributes(given[0], args) if given else None)
        if path == "map" and len(args) > 2:
            rows = zip(*(elements(arg)[:300] for arg in args[1:]), strict=False)
            return [self.call(first, list(row), {}) for row in rows]
        if path == "filter" and len(args) > 1 and first is None:
            return [one for one in elements(args[1]) if truth(one) is not False]
        if path in {"type", "types.new_class"} and len(args) > 2 and isinstance(args[2], dict):
            return self.make_class(text(first), dict(args[2]), elements(args[1]), [])
        if path in {"dataclasses.replace", "dataclasses.asdict", "replace", "asdict"} and isinstance(first, Obj):
            if last == "asdict":
                return dict(first.attrs)
            return Obj(first.klass, {**first.attrs, **named})
        if path in {"shlex.quote", "shlex.join", "shlex.split"} and args:
            return self._quoted(last, first)
        if last == "namedtuple" and len(args) > 1:
            said = (
                [text(one) for one in elements(args[1])]
                if isinstance(args[1], list)
                else text(args[1]).replace(",", " ").split()
            )
            made = self.make_class(text(first), {}, [], said)
            made.with_fields = True
            return made
        if path in {"chain.from_iterable", "itertools.chain.from_iterable"} and args:
            return [one for each in elements(first)[:300] for one in elements(each)]
        return pylists.function(last, args, named) if path.rpartition(".")[0] in _PLACES else MISSING

    def _named_here(self, path: str, last: str, args: list[object]) -> object:
        """``alias_method``, ``define_method``, ``Struct.new`` of Ruby; MISSING when it is none of them."""
        if path == "Struct":
            made = self.make_class("Struct", {}, [], [text(arg) for arg in args if isinstance(arg, str)])
            made.with_fields = True
            return made
        if last not in {"alias_method", "define_method", "define_singleton_method"} or len(args) < 2:
            return MISSING
        meant = self.look_up(text(args[1])) if last == "alias_method" else args[1]
        scope = self.scope
        while scope.outer is not None and not scope.of_class:
            scope = scope.outer
        scope.names[text(args[0])] = meant
        if isinstance(meant, Ref):  # in a class that everything is made of, it is known everywhere
            while scope.outer is not None:
                scope = scope.outer
            scope.names.setdefault(text(args[0]), meant)
        return meant

    def _attributes(self, owner: object, names: list[object]) -> object:
        """``attrgetter('a.b', 'c')``."""
        found = []
        for name in names:
            value = owner
            for piece in text(name).split(".")[:20]:
                value = self.member(value, piece)
            found.append(value)
        return found[0] if len(found) == 1 else found

    @staticmethod
    def _is_a(value: object, kind: object) -> object:
        """``isinstance``, where the kinds are Python's own."""
        paths = [one.path if isinstance(one, Ref) else "" for one in (kind if isinstance(kind, list) else [kind])]
        mine = next(
            (name for name, of in _KINDS if isinstance(value, of) and not isinstance(value, PathText | Bytes)), ""
        )
        if not mine or not all(path in {"str", "list", "dict", "int", "bytes", "float", "bool"} for path in paths):
            return unknown("code")
        return mine in paths or (mine == "bool" and "int" in paths)

    @staticmethod
    def _quoted(last: str, first: object) -> object:
        if not known(first):
            return unknown("code") if last != "split" else MISSING
        try:
            if last == "split":
                return list(shlex.split(text(first)))
            return shlex.join(map(text, elements(first))) if last == "join" else shlex.quote(text(first))
        except ValueError:
            return unknown("code")

    def special(self, ref: Ref, last: str, args: list[object]) -> object:  # noqa: C901, PLR0911, PLR0912
        """Calls that are like no others; MISSING when it is none of them."""
        path = ref.path
        first = args[0] if args else None
        if last == "$" and args and self.language == "javascript":
            self.act(Action("shell", text(first)))
            return Ref(f"{path}()", unknown("out", "shell"))
        if MODULES_OF_PROGRAMS.match(path) and args:
            self.act(Action("argv", argv=(last, *(text(arg) for arg in args if not isinstance(arg, dict)))))
            return Ref(f"{path}()", unknown("out", last))
        if self.language == "ruby" and last in {"open", "read", "readlines"} and text(first).startswith("|"):
            self.act(Action("shell", text(first)[1:]))
            return Ref("open()", unknown("out", "shell"))
        if last in {"urlretrieve", "getstore", "download.file", "download_file", "mirror"} and len(args) > 1:
            self.act(Action("argv", argv=("curl", "-o", text(args[1]), "--", text(first))))
            return Ref(f"{path}()", unknown("file", text(args[1])))
        if last in {"fwrite", "fputs", "fprintf"} and isinstance(first, Ref):
            return self.written(first, args[1:])
        if last in {"pipe", "pipeTo"} and isinstance(first, Ref) and first.opened:
            return self.written(first, [ref])
        if last in {"readFile", "readfile"} and len(args) > 1 and isinstance(args[-1], Func):
            return self.call(args[-1], [None, Ref("data", unknown("file", text(first)))], {})
        if path == "Buffer.from" and len(args) == 1:
            return function("chr", [first], {}, self.language) if isinstance(first, list) else text(first)
        if last in {"get", "request", "fetch", "download", "retrieve"} and "://" in text(args[:1]):
            return self.otherwise(ref, args, {}, Ref(f"{path}()", unknown("net", last)))
        if last in {"recv", "recvfrom", "recv_into"}:
            return Ref(f"{path}()", unknown("net", "socket"))
        if path in {"Buffer.from", "Buffer.alloc"} and len(args) > 1:
            return self.pure.call(path, [plain(arg) for arg in args])
        if self.language == "lua" and path.startswith("string.") and last not in {"char", "format"} and args:
            return of_text(last, text(first), args[1:], "lua")
        if self.language == "perl" and last in {"shift", "pop"}:
            values = first if isinstance(first, list) else self.look_up("@_") or self.look_up("@ARGV")
            return of_list(last, values, [], "perl") if isinstance(values, list) else unknown("code")
        if self.language == "perl" and last in {"push", "unshift"} and isinstance(first, list):
            return of_list(
                last, first, [leaf for arg in args[1:] for leaf in (arg if isinstance(arg, list) else [arg])], "perl"
            )
        if self.language == "php" and last in {"array_push", "array_unshift"} and isinstance(first, list):
            return of_list("push" if last == "array_push" else "unshift", first, args[1:], "php")
        return MISSING

    def evaluate_code(self, last: str, args: list[object], named: dict[str, object]) -> object:
        """Code that is evaluated: it is read and followed; what was decoded or fetched is a finding."""
        if args and isinstance(args[0], CALLABLE):
            return self.call(args[0], args[1:], {})
        if last in {"timeit", "repeat", "runctx"}:
            args = ["\n".join(text(arg) for arg in [*args[1:2], args[0]] if isinstance(arg, str))] if args else []
        code = (
            text(args[-1] if last in {"Function", "create_function"} and args else args[0])
            if args
            else text(named.get("text", ""))
        )
        self.judged(code if not re.match(r"\s*(?:https?|ftp)://", code) else unknown("net", "fetch"))
        if last == "compile":
            return code
        known_code = known_part(code)
        self.evaluated += 1
        if self.evaluated > 20:
            raise Exhausted
        if not known_code.strip() or len(known_code) >= len(self.code) + 4000:
            return Ref("evaluated", only_markers(code))
        for context in args[1:2]:
            for key, value in context.items() if isinstance(context, dict) else ():
                self.bind(text(key), value)
        if last in {"Function", "create_function"}:
            from shellward.command.follow.nodes import Name

            params: list[Node] = [Name(part.strip()) for arg in args[:-1] for part in text(arg).split(",")]
            return Func(params, self.parse(known_code), Scope({"process": Ref("process")}), called=[True])
        return self.walk(self.parse(known_code))
