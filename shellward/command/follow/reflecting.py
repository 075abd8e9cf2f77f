"""Functions that find, make or call functions, evaluate code, or are like no others."""

from __future__ import annotations

import re
from abc import ABC
from typing import TYPE_CHECKING

from shellward.command.actions import Action
from shellward.command.follow.invoking import Calls
from shellward.command.follow.library import function
from shellward.command.follow.methods import MISSING, of_list, of_text
from shellward.command.follow.names import callable_thing, names_below
from shellward.command.follow.things import (
    CALLABLE,
    Func,
    Partial,
    Ref,
    elements,
    plain,
    text,
)
from shellward.command.values import OPEN, known_part, only_markers, unknown

if TYPE_CHECKING:
    from shellward.command.follow.nodes import Node

_MODULES_OF_PROGRAMS = re.compile(r"(?:sh|shelljs|plumbum\.cmd|plumbum\.local)\.\w+$")
"""Modules whose functions are the programs of the same name."""
_OBJECTS = re.compile(r"^Object\.(keys|values|entries|assign|getOwnPropertyNames)$|^Reflect\.(ownKeys)$")


class Reflecting(Calls, ABC):
    """Functions that find, make or call functions, evaluate code, or are like no others."""

    def reflective(self, path: str, last: str, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911, PLR0912
        """Functions that find, make or call functions; MISSING when it is none of them."""
        first = args[0] if args else None
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

    def special(self, ref: Ref, last: str, args: list[object]) -> object:  # noqa: C901, PLR0911, PLR0912
        """Calls that are like no others; MISSING when it is none of them."""
        path = ref.path
        first = args[0] if args else None
        if last == "$" and args and self.language == "javascript":
            self.act(Action("shell", text(first)))
            return Ref(f"{path}()", unknown("out", "shell"))
        if _MODULES_OF_PROGRAMS.match(path) and args:
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
        from shellward.command.follow.machine import Exhausted

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
            from shellward.command.follow.things import Scope

            return Func(params, self.parse(known_code), Scope({"process": Ref("process")}), called=[True])
        return self.walk(self.parse(known_code))
