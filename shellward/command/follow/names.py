"""Names: what the language brings along under them, and what is reached below that."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shellward.command.calls import CALLS
from shellward.command.follow.acting import Acting
from shellward.command.follow.methods import MISSING
from shellward.command.follow.pythonic import is_method
from shellward.command.follow.things import (
    CALLABLE,
    Above,
    Bytes,
    Func,
    Given,
    Klass,
    Obj,
    Partial,
    PathText,
    Ref,
    Scope,
    known,
    number,
    text,
)
from shellward.command.purecalls import PureCalls
from shellward.command.values import OPEN, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.command.follow.nodes import Node

NAME = 160
"""Characters of the name of something that was reached through many calls."""
_ENVIRONMENTS = frozenset(
    ("os.environ", "environ", "process.env", "Deno.env", "Bun.env", "ENV", "%ENV", "$_ENV", "$_SERVER", "ENVIRON",
     "import.meta.env", "os.environb")
)  # fmt: skip
_ROOTS = re.compile(
    r"(?:global|globalThis|window|self|builtins|__builtins__|_G|_ENV|CORE|CORE::GLOBAL|main|process\.mainModule|module|Function\(\)\(\)"
    r"|\(\)|Module|module\.prototype|Module\.prototype|node)\.(?=\w)"
)
"""What everything can be reached through."""


def callable_thing(thing: object) -> bool:
    """Tell whether a value is something that can be called."""
    return isinstance(thing, (*CALLABLE, Ref)) and not (isinstance(thing, Ref) and (thing.text or thing.opened))


def names_below(language: str, module: str) -> list[str]:
    """List the names of a module that matter."""
    found = []
    for entry in " ".join(CALLS.get(language, {}).values()).split():
        owner, _, name = entry.rpartition(".")
        if owner in {"", module}:
            found.append(name)
    return found


@lru_cache(maxsize=32)
def modules(language: str) -> frozenset[str]:
    """List the modules and classes whose names matter."""
    entries = " ".join(CALLS.get(language, {}).values()).split()
    return frozenset(entry.rpartition(".")[0] for entry in entries) - {""}


def joined_path(pieces: list[str]) -> PathText:
    """Join pieces of a path; one that begins at the root begins anew."""
    path = ""
    for piece in pieces:
        path = piece if piece.startswith(("/", "~")) or not path else f"{path.rstrip('/')}/{piece}"
    return PathText(path)


class _Pure(PureCalls):
    """Decoders and their like, as all languages have them."""

    def __init__(self, language: str, decoded: list[str]) -> None:
        self.language = language
        self.decoded = decoded


class Names(Acting, ABC):
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
        self.left = 0
        self.scope = Scope()
        self.returned: list[object] = []
        self.current: str | None = None
        """The line at hand, of what is read line by line."""
        self.evaluated = 0
        self.maybe = 0
        """Branches around what is walked that may not be taken."""
        self.journal: list[tuple[Any, object, object]] | None = None
        """While what is walked is known not to be done: what was changed (a dictionary, a key, its value before; or a
        list and what stood in it), so that it is as it was afterwards."""
        self.gap = False
        """Something was left out, or may be other than it is taken for."""

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
    def call(self, func: object, args: list[object], named: dict[str, object]) -> object:
        """Call something."""

    @abstractmethod
    def call_method(self, owner: object, name: str, args: list[object], named: dict[str, object]) -> object:
        """Call ``owner.name(args)``."""

    @abstractmethod
    def method(self, owner: object, name: str, args: list[object], named: dict[str, object]) -> object:
        """Call a method of a constant."""

    @abstractmethod
    def changing(self, owner: dict[object, object] | list[object], key: object = None) -> None:
        """Note that an element is about to change."""

    @abstractmethod
    def takes(self, owner: Obj, name: str, value: object) -> bool:
        """Give an attribute to a class that handles that itself; tell whether it does."""

    @abstractmethod
    def attribute(self, owner: Obj, name: str) -> object:
        """Return an attribute of an object."""

    @abstractmethod
    def seen(self, found: object, owner: Obj | Klass) -> object:
        """Return what is found in a class as it is seen from an object, or from the class."""

    @abstractmethod
    def above(self, owner: Above, name: str) -> object:
        """Return ``super().name``."""

    @abstractmethod
    def interpolate(self, template: str, args: list[object], named: dict[str, object]) -> str:
        """Apply ``format`` of Python."""

    # -- names --------------------------------------------------------------------------------------------

    def brought(self, name: str) -> object:  # noqa: C901, PLR0911, PLR0912
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
            return self.attribute(owner, name)
        if isinstance(owner, Klass):
            found = owner.get(name, MISSING)
            return Ref(f"{owner.name}.{name}") if found is MISSING else self.seen(found, owner)
        if isinstance(owner, Above):
            return self.above(owner, name)
        if self.language == "python" and isinstance(owner, str | list | dict) and is_method(name):
            return Partial(None, native=lambda given: self.call_method(owner, name, given, {}))
        if isinstance(owner, dict):
            return owner[name] if name in owner else len(owner) if name in {"length", "size"} else Ref(f"{{}}.{name}")
        if (
            self.language == "python"
            and name[:2] == "__"
            and name != "__class__"
            and isinstance(owner, str | list | int)
        ):
            return Ref(f"x.{name}")
        if isinstance(owner, PathText):
            parts = owner.rstrip("/").rpartition("/")
            stem, dot, suffix = parts[2].rpartition(".")
            named = {"parent": PathText(parts[0] or "/"), "name": parts[2], "stem": stem or parts[2]}
            return {**named, "suffix": dot + suffix if stem else ""}.get(name, owner)
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

    def reach(self, owner: Ref, name: str) -> object:  # noqa: C901, PLR0911
        """Follow a name below something that the language brings along."""
        if owner.path == "env":
            if name in {"get", "fetch", "dig", "key", "toObject", "getenv"}:
                return Ref("env.get")
            return self.start.env(name)
        if owner.path == "modules":
            return Ref(name)
        if name in {"__dict__", "default", "promises"}:
            return owner
        owner = (
            Ref(owner.path[-NAME:], owner.text, owner.opened, owner.pieces, owner.file)
            if len(owner.path) > NAME
            else owner
        )
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
        return Ref(path, owner.text, owner.opened, owner.pieces, owner.file)

    def element(self, owner: object, key: object) -> object:  # noqa: C901, PLR0911
        """Return ``owner[key]``."""
        if isinstance(owner, dict):
            return owner.get(text(key), unknown("code"))
        at = number(key)
        if isinstance(owner, list | str):
            if at is None or (isinstance(key, str) and self.language not in {"perl", "php", "awk"}):
                found = self._by_name(owner, key) if isinstance(key, str) and self.language == "javascript" else MISSING
                return found if found is not MISSING else unknown("code")
            at -= self.language in {"lua", "r", "julia"} and isinstance(owner, list)
            found = owner[at] if -len(owner) <= at < len(owner) else unknown("code")
            return ord(found) if isinstance(owner, Bytes) and isinstance(found, str) and len(found) == 1 else found
        if isinstance(owner, Ref):
            name = text(key)
            if self.language == "ruby" and self.kind(owner.path):
                return self.call(owner, [key], {})
            if owner.path == "Dir":
                return [name]
            if isinstance(key, str) and OPEN not in name:
                return self.reach(owner, name)
            return Ref(f"{owner.path}[]", owner.text, owner.opened)
        if isinstance(owner, Obj) and self.language == "python":
            return self.call(self.attribute(owner, "__getitem__"), [key], {})
        if isinstance(owner, Obj):
            return self.attribute(owner, text(key))
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
            for known_name in names_below(self.language, clean):
                self.bind(known_name, Ref(f"{clean}.{known_name}"), here=True)
            return
        found = self.reach(Ref(clean.rpartition(".")[0]), clean.rpartition(".")[2]) if "." in clean else Ref(clean)
        self.bind(name, found, here=True)
