"""What a program does with what its language brings along: looking things up, calling them, giving them functions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from shellward.command.actions import Action
from shellward.command.calls import CALLS
from shellward.command.follow.acting import Acting
from shellward.command.follow.library import MISSING, function, of_list, of_pairs, of_text
from shellward.command.follow.things import (
    CALLABLE,
    Bytes,
    Func,
    Given,
    Klass,
    Obj,
    Partial,
    PathText,
    Ref,
    elements,
    known,
    number,
    plain,
    text,
    truth,
)
from shellward.command.purecalls import NET_CALLS, PureCalls, squeeze
from shellward.command.values import OPEN, known_part, labels, only_markers, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.command.follow.nodes import Node

_ENVIRONMENTS = frozenset(
    ("os.environ", "environ", "process.env", "Deno.env", "Bun.env", "ENV", "%ENV", "$_ENV", "$_SERVER", "ENVIRON",
     "import.meta.env", "os.environb")
)  # fmt: skip
_ROOTS = re.compile(
    r"(?:global|globalThis|window|self|builtins|__builtins__|_G|_ENV|CORE|CORE::GLOBAL|main|process\.mainModule|module|Function\(\)\(\)"
    r"|\(\)|Module|module\.prototype|Module\.prototype|node)\.(?=\w)"
)
"""What everything can be reached through."""
_LISTS_FILES = re.compile(
    r"(?:^|\.)(?:listdir|scandir|readdir|readdirSync|list\.files|list_dir|children|each_child|entries|foreach|iterdir|opendir|list_files|dir)$"
)
_GLOBS = re.compile(r"(?:^|\.)(?:glob|iglob|globSync|rglob|bsd_glob|Sys\.glob)$|^Dir$")
_WALKS = re.compile(r"(?:^|\.)(?:walk|fwalk|find|finddepth|walkSync)$")
_PATHS = frozenset(("Path", "PosixPath", "PurePath", "Pathname", "Pathname.new", "File.new_path", "pathlib.Path"))
_JOINS = frozenset(("os.path.join", "path.join", "path.resolve", "File.join", "posixpath.join", "file.path", "Path.join",
                    "path.posix.join", "join_path", "catfile", "File::Spec.catfile", "normpath", "joinpath"))  # fmt: skip
_PRINTS = re.compile(
    r"^(?:print|puts|echo|say|p|printf|println|cat|console\.(?:log|info)|process\.stdout\.write|(?:sys\.)?stdout\.(?:write|puts|print)"
    r"|\$stdout\.(?:write|puts|print)|STDOUT\.(?:write|puts|print)|io\.write|print_r|writeLines|sys\.stdout\.writelines)$"
)
_NO_LINE_END = re.compile(r"^(?:printf|cat)$|write")
_READS_INPUT = re.compile(
    r"(?:^|\.)(?:stdin|STDIN|ARGF|\$stdin|\$<)(?:\.buffer)?\.(?:read|readline|readlines|gets|each_line|readpartial|each|lines)$"
    r"|^(?:input|raw_input|gets|readline|readlines|io\.read|io\.lines|fgets|stream_get_contents|io\.stdin\.read)$"
)
_WRITES = frozenset(("write", "communicate", "puts", "print", "end", "printf", "say", "writelines", "sendline", "send"))
_MAPPERS = frozenset(
    ("map", "each", "forEach", "flatMap", "flat_map", "collect", "select", "filter", "reject", "each_with_index", "some",
     "every", "any?", "all?", "find", "detect", "imap", "starmap", "map_async", "imap_unordered", "array_map", "array_walk",
     "array_filter", "lapply", "sapply", "vapply", "walk", "foreach", "times", "each_entry", "each_char", "each_line",
     "each_pair", "each_slice", "filter_map", "executeAll", "findIndex", "partition", "group_by", "sort_by", "upto",
     "each_byte", "each_child", "each_key", "each_value", "Map", "Enum.each", "Enum.map", "broadcast")
)  # fmt: skip
_FOLDS = frozenset(("reduce", "inject", "reduceRight", "array_reduce", "Reduce", "fold"))
_OBJECTS = re.compile(r"^Object\.(keys|values|entries|assign|getOwnPropertyNames)$|^Reflect\.(ownKeys)$")


class Natives(Acting, ABC):
    """Everything about names and calls that is not the program's own.

    Args:
        language: the program's language.
        code: its text.
        given: what it is started with.
        parse: reads more code of the same language.
    """

    def __init__(self, language: str, code: str, given: Given, parse: Callable[[str], Node]) -> None:
        super().__init__(language, code, given)
        self.parse = parse
        self.pure = _Pure(language, self.decoded)
        self.returned: list[object] = []
        self.current: str | None = None
        """The line at hand, of what is read line by line."""
        self.evaluated = 0

    # -- what the machine brings --------------------------------------------------------------------------

    @abstractmethod
    def walk(self, node: Node) -> object:
        """Evaluate a node."""

    @abstractmethod
    def look_up(self, name: str) -> object:
        """Return what a name stands for."""

    @abstractmethod
    def bind(self, name: str, value: object, *, here: bool = False) -> None:
        """Give a name a value."""

    @abstractmethod
    def apply(self, func: Func, args: list[object], named: dict[str, object], *, alone: bool = False) -> object:
        """Call a function of the program."""

    @abstractmethod
    def interpolate(self, template: str, args: list[object], named: dict[str, object]) -> str:
        """Apply ``format`` of Python."""

    # -- names --------------------------------------------------------------------------------------------

    def brought(self, name: str) -> object:  # noqa: PLR0911
        """Return what a name stands for that the program has not assigned."""
        args: list[object] = list(self.start.args)
        if name in {"ARGV", "@ARGV"}:
            return ["awk", *args] if self.language == "awk" else args
        if name in {"$argv", "arg", "@_"}:
            return args if name == "@_" else ["", *args] if self.language == "php" else args
        if name in _ENVIRONMENTS:
            return Ref("env", unknown("out", "env"))
        if name in {"STDIN", "$stdin", "ARGF", "$<"}:
            return Ref("stdin", self.start.stdin or unknown("in"))
        if name == "__name__":
            return "__main__"
        if name == "$_" and self.current is not None:
            return self.current
        if name in {"@F", "$F"} and self.current is not None:
            return list(self.current.split(self.start.split or None))
        if name == "$0" and self.language == "awk":
            return self.field([])
        if self.language == "awk" and not name.startswith("@"):
            return unknown("in", "awk") if name in {"NR", "NF", "FILENAME", "FNR", "RSTART", "RLENGTH"} else ""
        if name in {"__builtins__", "globalThis", "global", "window", "_G", "_ENV"}:
            return Ref("builtins")
        if name in {"null", "undefined", "nil", "None", "NULL", "undef"}:
            return None
        if name in {"true", "TRUE", "True"}:
            return True
        if name in {"false", "FALSE", "False"}:
            return False
        return Ref(name)

    def field(self, args: list[object]) -> object:
        """Return a field of the line at hand."""
        at = number(args[0]) if args else 0
        if self.current is None or at is None:
            return unknown("in", self.language)
        words = self.current.split(self.start.split or None)
        return self.current if not at else words[at - 1] if 0 < at <= len(words) else ""

    def member(self, owner: object, name: str) -> object:  # noqa: C901, PLR0911
        """Return ``owner.name``."""
        if isinstance(owner, Obj):
            return self._attribute(owner, name)
        if isinstance(owner, Klass):
            return owner.attrs.get(name, Ref(f"{owner.name}.{name}"))
        if isinstance(owner, dict):
            return owner[name] if name in owner else len(owner) if name in {"length", "size"} else Ref(f"{{}}.{name}")
        if isinstance(owner, PathText):
            parts = owner.rstrip("/").rpartition("/")
            return {"parent": PathText(parts[0] or "/"), "name": parts[2], "stem": parts[2].partition(".")[0]}.get(
                name, owner
            )
        if name == "__class__":
            return Ref("str")
        if isinstance(owner, str | list):
            if name in {"length", "size"} and known(owner):
                return len(owner)
            found = self.method(owner, name, [], {}) if self.language == "ruby" else MISSING
            return Ref(f'"".{name}', text(owner)) if found is MISSING else found
        if isinstance(owner, Ref):
            return self.reach(owner, name)
        if isinstance(owner, int | float) and self.language == "ruby":
            return self.call_method(owner, name, [], {})
        return Ref(f"x.{name}", text(owner) if isinstance(owner, str) else "")

    def _attribute(self, owner: Obj, name: str) -> object:
        found = owner.attrs.get(name, owner.klass.attrs.get(name, MISSING))
        if isinstance(found, Func):
            return Func(found.params, found.body, found.scope, found.name, owner, found.called)
        return Ref(f"{owner.klass.name}().{name}") if found is MISSING else found

    def reach(self, owner: Ref, name: str) -> object:  # noqa: PLR0911
        """Follow a name below something that the language brings along."""
        if owner.path == "env":
            if name in {"get", "fetch", "dig", "key", "toObject", "getenv"}:
                return Ref("env.get")
            return self.start.env(name)
        if owner.path == "modules":
            return Ref(name)
        if name in {"__dict__", "default", "promises"}:
            return owner
        path = (
            _ROOTS.sub("", f"{owner.path}.{name}", count=1)
            if _ROOTS.match(f"{owner.path}.{name}")
            else f"{owner.path}.{name}"
        )
        if path in _ENVIRONMENTS:
            return Ref("env", unknown("out", "env"))
        if path == "sys.argv":
            return ["-c", *self.start.args]
        if path == "process.argv":
            return ["node", *self.start.args]
        if path in {"sys.stdin", "process.stdin", "io.stdin"}:
            return Ref("stdin", self.start.stdin or unknown("in"))
        if path == "sys.modules":
            return Ref("modules")
        if path in {"Dir.home", "os.homedir"} and self.language == "ruby":
            return "~"
        if path == "process" and self.language == "javascript":
            return Ref("process")
        letters = {"string.ascii_lowercase": "abcdefghijklmnopqrstuvwxyz", "string.digits": "0123456789",
                   "string.ascii_letters": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "os.sep": "/", "path.sep": "/"}  # fmt: skip
        if path in letters:
            return letters[path]
        return Ref(path, owner.text, owner.opened, owner.pieces)

    def element(self, owner: object, key: object) -> object:  # noqa: C901, PLR0911
        """Return ``owner[key]``."""
        if isinstance(owner, dict):
            return owner.get(text(key), unknown("code"))
        at = number(key)
        if isinstance(owner, list | str):
            if at is None or isinstance(key, str) and self.language not in {"perl", "php", "awk"}:
                found = self._by_name(owner, key) if isinstance(key, str) and self.language == "javascript" else MISSING
                return found if found is not MISSING else unknown("code")
            at -= self.language in {"lua", "r", "julia"} and isinstance(owner, list)
            return owner[at] if -len(owner) <= at < len(owner) else unknown("code")
        if isinstance(owner, Ref):
            name = text(key)
            if owner.path == "Dir":
                return [name]
            if isinstance(key, str) and OPEN not in name:
                return self.reach(owner, name)
            return Ref(f"{owner.path}[]", owner.text, owner.opened)
        if isinstance(owner, Obj):
            return self._attribute(owner, text(key))
        if isinstance(owner, Func | Partial):  # of ruby
            return self.call(owner, [key], {})
        return unknown("code")

    def _by_name(self, owner: object, key: str) -> object:
        """``'ab'['toUpperCase']``: a method, to be called later."""
        return Partial(None, native=lambda args: self.call_method(owner, key, args, {}))

    def imported(self, path: str, name: str) -> None:
        """Note an import."""
        clean = path.removeprefix("node:")
        if name == "*":
            for known_name in _names_below(self.language, clean):
                self.bind(known_name, Ref(f"{clean}.{known_name}"), here=True)
            return
        found = self.reach(Ref(clean.rpartition(".")[0]), clean.rpartition(".")[2]) if "." in clean else Ref(clean)
        self.bind(name, found, here=True)

    # -- calls --------------------------------------------------------------------------------------------

    def call(self, func: object, args: list[object], named: dict[str, object]) -> object:
        """Call something."""
        if isinstance(func, Func):
            return self.apply(func, args, named)
        if isinstance(func, Partial):
            if func.native is not None:
                return func.native([*func.args, *args])
            return self.call(func.func, [*func.args, *args], {**func.named, **named})
        if isinstance(func, Klass):
            return self._made(func, args, named)
        if isinstance(func, Ref):
            return self.native(func, args, named)
        if isinstance(func, str) and self.language in {"php", "perl", "awk", "r"} and func and OPEN not in func:
            return self.call(self.look_up(func.lstrip("&")), args, named)
        return unknown("code")

    def _made(self, klass: Klass, args: list[object], named: dict[str, object]) -> object:
        made = Obj(klass)
        for name in ("__init__", "constructor", "initialize", "__construct"):
            found = klass.attrs.get(name)
            if isinstance(found, Func):
                self.apply(Func(found.params, found.body, found.scope, name, made, found.called), args, named)
        return made

    def call_method(self, owner: object, name: str, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911
        """Call ``owner.name(args)``."""
        if (
            name in {"send", "public_send", "__send__"}
            and args
            and self.language == "ruby"
            and not (isinstance(owner, Ref) and owner.opened)
        ):
            return self.call_method(owner, text(args[0]), args[1:], named)
        if isinstance(owner, Ref):
            return self._reference(owner, name, args, named)
        if isinstance(owner, Klass) and name == "new":
            return self._made(owner, args, named)
        if isinstance(owner, Func | Partial):
            return self._function_method(owner, name, args, named)
        if isinstance(owner, Obj | Klass):
            return self.call(self.member(owner, name), args, named)
        if isinstance(owner, dict) and name in owner:
            return self.call(owner[name], args, named)
        found = self.method(owner, name, args, named)
        return self._otherwise(Ref(f'"".{name}', only_markers(text(owner))), args, named) if found is MISSING else found

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

    def _reference(self, owner: Ref, name: str, args: list[object], named: dict[str, object]) -> object:
        """A method of something that the language brings along."""
        if name in {"call", "apply", "bind", "()"} and (self.kind(owner.path) or owner.path in {"eval", "Function"}):
            return self._function_method(owner, name, args, named)
        if owner.opened and name in _WRITES:
            return self.written(owner, [self.printed.pop()] if owner.path == "@pipe()" and self.printed else args)
        if owner.path == "module" or (name == "require" and self.language == "javascript"):
            return self.native(Ref(name), args, named)
        if self.language == "ruby" and name == "new" and self.kind(f"{owner.path}.new") is None:
            return self.native(Ref(owner.path), args, named)
        target = self.reach(owner, name)
        if not isinstance(target, Ref):
            return self.call_method(target, "()", args, named) if not isinstance(target, str | list) else target
        return self.native(target, args, named)

    def method(self, owner: object, name: str, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911
        """Call a method of a constant; MISSING when none is known."""
        if args and isinstance(args[-1], CALLABLE) | (isinstance(args[-1], Ref) and name in _MAPPERS):
            return self.callback(owner, name, args)
        if isinstance(owner, PathText):
            done = self._path_method(owner, name, args)
            if done is not MISSING:
                return done
        if isinstance(owner, str) and name == "format" and self.language == "python":
            return self.interpolate(owner, args, named)
        if isinstance(owner, str):
            found = of_text(name, owner, args, self.language)
            if found is MISSING and (name in _TEXT_METHODS or name in {"decode", "toString"}):
                return self.pure.method(name, str(owner), [plain(arg) for arg in args])
            if found is MISSING and name in {"execute"} and self.language == "java":
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

    def _packed(self, template: str, values: list[object]) -> object:
        if template[:1] in "cCUnW" and template:
            return function("chr", [values], {}, self.language)
        return self.pure.call("pack", [template, *map(plain, values)])

    def _path_method(self, owner: PathText, name: str, args: list[object]) -> object:
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

    def callback(self, owner: object, name: str, args: list[object]) -> object:
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
        for at, item in enumerate(values[:300]):
            given = (
                [*item]
                if isinstance(item, tuple)
                else [item, at]
                if name in {"each_with_index", "forEach", "map"}
                else [item]
            )
            made.append(self.call(func, [*given] if isinstance(func, Func) else given[:1], {}))
        if name in {"filter", "select", "reject", "find", "detect", "array_filter", "find_all"}:
            kept = [item for item, sure in zip(values, made, strict=False) if truth(sure) is not (name == "reject")]
            return (kept[0] if kept else unknown("code")) if name in {"find", "detect"} else kept
        if name in {"each", "forEach", "each_with_index", "times"}:
            return owner
        return [leaf for item in made for leaf in (item if isinstance(item, list) and "lat" in name else [item])]

    # -- what the language brings along ---------------------------------------------------------------------

    def native(self, ref: Ref, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911, PLR0912
        """Call something that the language or a library brings along."""
        path = ref.path
        last = re.split(r"\.|::|->|\\", path)[-1]
        if ref.opened and last in _WRITES:
            return self.written(ref, args)
        found = self._reflective(path, last, args, named)
        if found is not MISSING:
            return found
        if _PRINTS.match(path) and "file" not in named:
            if args and isinstance(args[0], Ref) and args[0].opened:
                return self.written(args[0], args[1:])
            self.prints(last, args, named, ends=not _NO_LINE_END.search(path))
            return True
        if path == "@field":
            return self.field(args)
        if path == "@pipe":
            return Ref("@pipe()", opened=(Action("shell", text(args[0])),))
        if path == "@into" and len(args) > 1:
            self.act(Action("argv", argv=(text(args[0]), text(args[1]))))
            return None
        if path == "env.get" or last in {"getenv", "get_env", "fetch_env!"}:
            return self.start.env(text(args[0])) if args else Ref("env")
        if _READS_INPUT.search(path) and (self.start.stdin is not None or not args):
            return self._input(last, args)
        kind = self.kind(path)
        if kind == "eval":
            return self._evaluated(last, args, named)
        if kind is not None:
            return self.perform(kind, ref, args, named)
        if _WALKS.search(path) and args and not isinstance(args[0], CALLABLE):
            base = text(args[0])
            if isinstance(args[-1], CALLABLE):
                return self.call(args[-1], [f"{base}/*"], {})
            return [[base, ["*"], ["*"]]] if "walk" in last else [f"{base}/*"]
        if last in {"find", "finddepth"} and args and isinstance(args[0], CALLABLE):
            for base in args[1:]:
                self.bind("$_", f"{text(base)}/*")
                self.bind("$File::Find::name", f"{text(base)}/*")
                self.call(args[0], [], {})
            return None
        if _GLOBS.search(path) and args:
            values: list[object] = [
                item
                for arg in args
                if not isinstance(arg, CALLABLE)
                for item in elements([text(leaf) for leaf in arg] if isinstance(arg, list) else [text(arg)])
            ]
            return self.callback(values, "each", [args[-1]]) if isinstance(args[-1], CALLABLE) else values
        if _LISTS_FILES.search(path) and (args or last not in {"entries", "foreach", "children", "dir"}):
            listed: list[object] = (
                [f"{text(args[0]).rstrip('/')}/*" if self.language in {"r", "perl"} else "*"] if args else ["*"]
            )
            return self.callback(listed, "each", [args[-1]]) if args and isinstance(args[-1], CALLABLE) else listed
        if path in _PATHS or last in {"Path", "Pathname", "PosixPath"}:
            return PathText("/".join(text(arg).rstrip("/") or "/" for arg in args).replace("//", "/") or ".")
        if path in _JOINS or path.endswith("path.join"):
            return _joined_path([text(leaf) for arg in args for leaf in (arg if isinstance(arg, list) else [arg])])
        if NET_CALLS.search(path) or (last in {"URI", "URL", "url"} and "://" in text(args[:1])):
            given = text(args[:1])
            if last not in {"open", "get", "readLines", "file_get_contents"} or "://" in given or labels(given):
                made = Ref(f"{path}()", unknown("net", last))
                return self._otherwise(made, args, named, result=made)
        result = function(last, args, named, self.language)
        if result is MISSING and not any(callable_thing(arg) for arg in args):
            value = (
                self.pure.call(path, [plain(arg) for arg in args])
                if args or last in {"homedir", "home", "mkdtemp", "tmpdir", "gettempdir"}
                else unknown("code")
            )
            if value == "~":
                return PathText(value)
            if last in {"b64decode", "fromhex", "unhexlify", "decompress", "b32decode", "b85decode", "urlsafe_b64decode"}:
                return Bytes(squeeze(value))
            if known_part(squeeze(value)) or labels(squeeze(value)) not in (["code"], []):
                return value
        if result is not MISSING:
            return result
        return self._otherwise(ref, args, named)

    def _otherwise(self, ref: Ref, args: list[object], named: dict[str, object], result: object = MISSING) -> object:
        """Something unknown is called: it may call the functions that it is given."""
        last = re.split(r"\.|::|->", ref.path)[-1]
        functions = [
            *(arg for arg in args if callable_thing(arg)),
            *(value for value in named.values() if callable_thing(value)),
        ]
        functions = [func for func in functions if not isinstance(func, Ref) or self.kind(func.path)]
        rest = [arg for arg in args if not callable_thing(arg)]
        for func in functions[:4]:
            if isinstance(func, Func) and last in {
                "then",
                "on",
                "once",
                "get",
                "request",
                "pipe",
                "addListener",
                "tap",
                "each",
                "map",
            }:
                self.call(func, [Ref("given", ref.text if result is MISSING else text(result))], {})
            elif last in _MAPPERS:
                for item in [leaf for arg in rest[:2] for leaf in elements(arg)][:100]:
                    self.call(func, [item], {})
            elif isinstance(func, Ref) and "args" in named:
                self.call(func, elements(named["args"]), {})
            elif isinstance(func, Ref):
                self.call(
                    func,
                    [
                        leaf
                        for arg in rest
                        for leaf in (
                            arg
                            if isinstance(arg, list)
                            and last in {"apply", "call_user_func_array", "start_new_thread", "do.call"}
                            else [arg]
                        )
                    ],
                    {},
                )
            else:
                self.call(
                    func,
                    elements(named["args"])
                    if "args" in named
                    else [Ref("given", ref.text), *rest]
                    if not rest
                    else rest,
                    {},
                )
        if result is not MISSING:
            return result
        carried = only_markers(
            "".join([ref.text, *(text(arg) for arg in args if isinstance(arg, str | list | Ref | dict))])
        )
        return Ref(f"{ref.path}()", "" if carried == unknown("code") else carried, ref.opened, ref.pieces)

    def _input(self, last: str, args: list[object]) -> object:
        """What the program reads."""
        given = self.start.stdin if self.start.stdin is not None else unknown("in")
        if args and isinstance(args[-1], CALLABLE):
            return self.callback(list(given.splitlines()), "each", [args[-1]])
        if last in {"input", "raw_input", "gets", "readline", "fgets"}:
            return given.partition("\n")[0]
        return list(given.splitlines()) if last in {"readlines", "each_line", "lines"} else given

    def _reflective(self, path: str, last: str, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911, PLR0912
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
        if path == "dir" and isinstance(first, Ref) or (_OBJECTS.match(path) and isinstance(first, Ref)):
            return list(_names_below(self.language, first.path)) if isinstance(first, Ref) else MISSING
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
        if last in {"reduce", "Reduce"} and args and callable_thing(first) and path not in {"x.reduce"}:
            start = [args[2]] if len(args) > 2 else []
            return self.callback(
                elements(args[1]) if len(args) > 1 else [], "reduce", [*start, first] if start else [first]
            )
        if (
            path in {"call_user_func", "call_user_func_array", "forward_static_call", "do.call", "func_call", "apply"}
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
        if path in {"method", "instance_method", "Kernel.method", "Object.method"} and args:
            return self.look_up(text(first))
        if path.endswith(".method") and self.language == "ruby" and args:
            return self.reach(Ref(path.rpartition(".")[0]), text(first))
        if path in {"lambda", "proc", "Proc", "Proc.new"} and isinstance(first, Func):
            return first
        if path in {"type", "super", "Promise.resolve", "Promise", "Object.freeze", "structuredClone", "cast"} and args:
            return first if path not in {"Promise"} else self._otherwise(Ref("Promise"), args, named)
        return MISSING

    def _evaluated(self, last: str, args: list[object], named: dict[str, object]) -> object:
        """Code that is evaluated: it is read and followed; what was decoded or fetched is a finding."""
        from shellward.command.follow.machine import Exhausted

        if args and isinstance(args[0], CALLABLE):
            return self.call(args[0], args[1:], {})
        code = text(args[-1] if last == "Function" and args else args[0]) if args else text(named.get("text", ""))
        self.judged(code)
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
        if last == "Function":
            from shellward.command.follow.nodes import Name

            params: list[Node] = [Name(part.strip()) for arg in args[:-1] for part in text(arg).split(",")]
            from shellward.command.follow.things import Scope

            made = Func(params, self.parse(known_code), Scope({"process": Ref("process")}), called=[True])
            return made
        return self.walk(self.parse(known_code))


_TEXT_METHODS = frozenset(
    ("unpack1", "unpack", "b64decode", "decode64", "atob", "fromhex", "fromCharCode", "unpack_one", "pack")
)


class _Pure(PureCalls):
    """Decoders and their like, as all languages have them."""

    def __init__(self, language: str, decoded: list[str]) -> None:
        self.language = language
        self.decoded = decoded


def callable_thing(thing: object) -> bool:
    """Tell whether a value is something that can be called."""
    return isinstance(thing, (*CALLABLE, Ref)) and not (isinstance(thing, Ref) and (thing.text or thing.opened))


def _names_below(language: str, module: str) -> list[str]:
    """List the names of a module that matter."""
    found = []
    for entry in " ".join(CALLS.get(language, {}).values()).split():
        owner, _, name = entry.rpartition(".")
        if owner in {"", module}:
            found.append(name)
    return found


def _joined_path(pieces: list[str]) -> PathText:
    """Join pieces of a path; one that begins at the root begins anew."""
    path = ""
    for piece in pieces:
        path = piece if piece.startswith(("/", "~")) or not path else f"{path.rstrip('/')}/{piece}"
    return PathText(path)
