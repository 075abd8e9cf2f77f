"""Calls of what a language and its libraries bring along."""

from __future__ import annotations

import re
from abc import ABC
from typing import NamedTuple

from shellward.command.actions import Action
from shellward.command.follow.invoking import MAPPERS, WRITES
from shellward.command.follow.library import function
from shellward.command.follow.methods import MISSING
from shellward.command.follow.names import NAME, callable_thing, joined_path
from shellward.command.follow.reflecting import MODULES_OF_PROGRAMS, Reflecting
from shellward.command.follow.things import (
    CALLABLE,
    Bytes,
    Func,
    PathText,
    Ref,
    elements,
    plain,
    text,
)
from shellward.command.purecalls import is_net_call, squeeze
from shellward.command.remember import remembered
from shellward.command.values import known_part, labels, only_markers, unknown

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


class _Kinds(NamedTuple):
    """What the name of something says of it: the expressions above, each asked once."""

    last: str
    prints: bool
    ends_line: bool
    reads_input: bool
    is_program: bool
    walks: bool
    globs: bool
    lists_files: bool
    makes_path: bool
    joins: bool


@remembered
def _kinds(path: str) -> _Kinds:
    last = re.split(r"\.|::|->|\\", path)[-1]
    return _Kinds(
        last,
        prints=_PRINTS.match(path) is not None,
        ends_line=_NO_LINE_END.search(path) is None,
        reads_input=_READS_INPUT.search(path) is not None,
        is_program=MODULES_OF_PROGRAMS.match(path) is not None,
        walks=_WALKS.search(path) is not None,
        globs=_GLOBS.search(path) is not None,
        lists_files=_LISTS_FILES.search(path) is not None,
        makes_path=path in _PATHS or last in {"Path", "Pathname", "PosixPath"},
        joins=path in _JOINS or path.endswith("path.join"),
    )


class Natives(Reflecting, ABC):
    """What the language and its libraries bring along."""

    # -- what the language brings along ---------------------------------------------------------------------

    def native(self, ref: Ref, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911, PLR0912
        """Call something that the language or a library brings along."""
        path, about = ref.path, _kinds(ref.path)
        last = about.last
        self.left -= 8  # looking a name up costs as much
        if (ref.opened or ref.file) and last in WRITES:
            return self.written(ref, args)
        found = self.reflective(path, last, args, named)
        if found is not MISSING:
            return found
        if about.prints and "file" not in named:
            if args and isinstance(args[0], Ref) and (args[0].opened or args[0].file):
                return self.written(args[0], args[1:])
            if self.language == "python":
                args = [self.in_words(arg) for arg in args]
            self.prints(last, args, named, ends=about.ends_line)
            return True
        if path == "@field":
            return self.field(args)
        if path == "@pipe":
            return Ref("@pipe()", opened=(Action("shell", text(args[0])),))
        if path == "@into" and len(args) > 1:
            self.act(Action("argv", argv=(text(args[0]), text(args[1]))))
            return None
        if path == "env.get" or last in {"getenv", "get_env", "fetch_env!"}:
            return self.start.env(text(args[0])) if args else Ref("env", unknown("out", "env"))
        if about.reads_input and (self.start.stdin is not None or not args):
            return self._input(last, args)
        kind = None if about.is_program else self.kind(path)
        if kind == "eval":
            return self.evaluate_code(last, args, named)
        if kind is not None:
            made = self.perform(kind, ref, args, named)
            if args and isinstance(args[-1], Func) and kind != "sql":
                self.call(args[-1], [made], {})
            return made
        special = self.special(ref, last, args)
        if special is not MISSING:
            return special
        if about.walks and args and not isinstance(args[0], CALLABLE):
            base = text(args[0])
            if isinstance(args[-1], CALLABLE):
                return self.call(args[-1], [f"{base}/*"], {})
            return [[base, ["*"], ["*"]]] if "walk" in last else [f"{base}/*"]
        if last in {"find", "finddepth"} and args and isinstance(args[0], CALLABLE):
            for folder in args[1:]:
                self.bind("$_", f"{text(folder)}/*")
                self.bind("$File::Find::name", f"{text(folder)}/*")
                self.call(args[0], [], {})
            return None
        if about.globs and args:
            values: list[object] = [
                item
                for arg in args
                if not isinstance(arg, CALLABLE)
                for item in elements([text(leaf) for leaf in arg] if isinstance(arg, list) else [text(arg)])
            ]
            return self.callback(values, "each", [args[-1]]) if isinstance(args[-1], CALLABLE) else values
        if about.lists_files and (args or last not in {"entries", "foreach", "children", "dir"}):
            listed: list[object] = (
                [f"{text(args[0]).rstrip('/')}/*" if self.language in {"r", "perl"} else "*"] if args else ["*"]
            )
            return self.callback(listed, "each", [args[-1]]) if args and isinstance(args[-1], CALLABLE) else listed
        if about.makes_path:
            return PathText("/".join(text(arg).rstrip("/") or "/" for arg in args).replace("//", "/") or ".")
        if about.joins:
            return joined_path([text(leaf) for arg in args for leaf in (arg if isinstance(arg, list) else [arg])])
        if is_net_call(path) or (last in {"URI", "URL", "url"} and "://" in text(args[:1])):
            given = text(args[:1])
            if last not in {"open", "get", "readLines", "file_get_contents"} or "://" in given or labels(given):
                made = Ref(f"{path}()", unknown("net", last))
                return self.otherwise(made, args, named, result=made)
        result = function(last, args, named, self.language)
        if result is MISSING and not any(callable_thing(arg) for arg in args):
            value = (
                self.pure.call(path, [plain(arg) for arg in args])
                if args
                or last in {"homedir", "home", "mkdtemp", "tmpdir", "gettempdir", "getusersitepackages", "getuserbase"}
                else unknown("code")
            )
            if value == "~":
                return PathText(value)
            if last in {
                "b64decode",
                "fromhex",
                "unhexlify",
                "decompress",
                "b32decode",
                "b85decode",
                "urlsafe_b64decode",
            }:
                return Bytes(squeeze(value))
            if known_part(squeeze(value)) or labels(squeeze(value)) not in (["code"], []):
                return value
        if result is not MISSING:
            return result
        return self.otherwise(ref, args, named)

    def otherwise(self, ref: Ref, args: list[object], named: dict[str, object], result: object = MISSING) -> object:
        """Something unknown is called: it may call the functions that it is given."""
        given = [*args, *named.values()] if named else args
        functions = [one for one in given if callable_thing(one) and (not isinstance(one, Ref) or self.kind(one.path))]
        if functions:
            self._they_are_called(functions, ref, args, named, result)
        if result is not MISSING:
            return result
        carried = only_markers(
            "".join([ref.text, *(text(arg) for arg in args if isinstance(arg, str | list | Ref | dict))])
        )
        return Ref(f"{ref.path[-NAME:]}()", "" if carried == unknown("code") else carried, ref.opened, ref.pieces)

    def _they_are_called(
        self, functions: list[object], ref: Ref, args: list[object], named: dict[str, object], result: object
    ) -> None:
        """Call the functions that something unknown was given."""
        last = _kinds(ref.path).last.removesuffix("()")
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
            elif last in MAPPERS:
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
                    elements(named["args"]) if "args" in named else rest or [Ref("given", ref.text), *rest],
                    {},
                )

    def _input(self, last: str, args: list[object]) -> object:
        """What the program reads."""
        given = self.start.stdin if self.start.stdin is not None else unknown("in")
        if args and isinstance(args[-1], CALLABLE):
            return self.callback(list(given.splitlines()), "each", [args[-1]])
        if last in {"input", "raw_input", "gets", "readline", "fgets"}:
            return given.partition("\n")[0]
        return list(given.splitlines()) if last in {"readlines", "each_line", "lines"} else given
