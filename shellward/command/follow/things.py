"""What a program handles while it is followed: constants, functions, objects, and what the language brings along."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shellward.command.values import CUT, LIMIT, OPEN, are_names, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.command.actions import Action
    from shellward.command.follow.nodes import Node
    from shellward.command.purecalls import Value


MOST = 2000
"""Elements of a list that are looked at."""


class Exhausted(Exception):  # noqa: N818  # control flow inside this package
    """The program costs more than it may."""


class PathText(str):
    """A path as an object of its own: it has methods that delete and write."""

    __slots__ = ()


class Bytes(str):
    """Bytes, one character each; their elements are numbers."""

    __slots__ = ()


class Pattern(str):
    """A regular expression."""

    __slots__ = ()


class Everywhere(Pattern):
    """A regular expression that is applied as often as it matches."""

    __slots__ = ()


@dataclass(slots=True)
class Ref:
    """Something that the language or a library brings along.

    Attributes:
        path: its name, as in ``os.system``; calls in it end with ``()``.
        text: what it is as text, markers; empty when nothing is known.
        opened: the commands that were started to make it, so that what is written to it is their input.
        pieces: what was written so far.
        file: where what is written to it goes.
    """

    path: str
    text: str = ""
    opened: tuple[Action, ...] = ()
    pieces: list[str] = field(default_factory=list)
    file: str = ""


@dataclass(slots=True, eq=False)
class Scope:
    """Names and what they stand for, within those around them."""

    names: dict[str, object] = field(default_factory=dict)
    outer: Scope | None = None
    elsewhere: dict[str, Scope] = field(default_factory=dict)
    """Names that were said to stand for those of another scope."""
    of_class: bool = False
    """What stands in a class; its functions do not see it."""


@dataclass(slots=True, eq=False)
class Func:
    """A function of the program."""

    params: list[Node]
    body: Node
    scope: Scope
    name: str = ""
    bound: object = None
    called: list[bool] = field(default_factory=list)
    """Has an element once it was called; shared by the methods made of it."""
    defaults: dict[str, object] = field(default_factory=dict)
    """What parameters are when nothing is given, worked out when the function was made."""
    yields: bool = False
    owner: Klass | None = None
    """The class that it stands in."""
    how: str = ""
    """``staticmethod``, ``classmethod`` or ``property``."""


@dataclass(slots=True, eq=False)
class Partial:
    """A function with some of its arguments; or one of the machine's own."""

    func: object
    args: list[object] = field(default_factory=list)
    named: dict[str, object] = field(default_factory=dict)
    native: Callable[[list[object]], object] | None = None


@dataclass(slots=True, eq=False)
class Klass:
    """A class of the program."""

    name: str
    attrs: dict[str, object]
    line: list[Klass] = field(default_factory=list)
    """Itself and the classes that it is made of, in the order in which a name is looked for."""
    said: list[str] = field(default_factory=list)
    """Attributes that it says something of, in order."""
    with_fields: bool = False
    """These are given when an object is made."""

    def get(self, name: str, missing: object, *, behind: Klass | None = None) -> object:
        """Look for a name; with ``behind``, only in what comes after a class."""
        line = self.line or [self]
        start = line.index(behind) + 1 if behind is not None and behind in line else 0
        return next((klass.attrs[name] for klass in line[start:] if name in klass.attrs), missing)


@dataclass(slots=True, eq=False)
class Default:
    """What a field of a class is when nothing is given; ``given`` tells whether it can be."""

    value: object = None
    factory: object = None
    given: bool = True


@dataclass(slots=True, eq=False)
class Above:
    """``super()``: an object, seen from one of its classes."""

    owner: Obj | Klass
    behind: Klass


@dataclass(slots=True, eq=False)
class Obj:
    """An object of a class of the program."""

    klass: Klass
    attrs: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Given:
    """What a program is started with.

    Attributes:
        args: its arguments.
        stdin: what it reads, as far as known; None when nothing is connected.
        env: what a variable of the environment holds, with markers.
        lines: it runs once for each line that it reads (``perl -n``).
        split: what the fields of a line are split at; empty for blanks.
        heard: what it prints matters.
    """

    args: tuple[str, ...] = ()
    stdin: str | None = None
    env: Callable[[str], str] = lambda name: "~" if name == "HOME" else unknown("var", name)
    lines: bool = False
    split: str = ""
    heard: bool = True


CALLABLE = (Func, Partial, Klass)


def text(thing: object) -> str:  # noqa: PLR0911
    """Write a value as text, with markers for what is not known."""
    if isinstance(thing, str):
        return str(thing)
    if isinstance(thing, bool) or thing is None:
        return "" if not thing else "1"
    if isinstance(thing, int):
        return str(thing) if abs(thing) < 10**18 else unknown("code")
    if isinstance(thing, float):
        return str(int(thing)) if thing.is_integer() and abs(thing) < 10**15 else str(thing)
    if isinstance(thing, list | dict):
        return held(" ".join(map(text, leaves(thing))))
    if isinstance(thing, Ref):
        return thing.text or unknown("code")
    return unknown("code")


def leaves(thing: list[object] | dict[object, object]) -> list[object]:
    """List what stands in a list, in the lists within it and so on; a marker says that there is more."""
    found: list[object] = []
    waiting: list[object] = [thing]
    for _ in range(MOST):
        if not waiting:
            return found
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [item for pair in list(one.items())[: -MOST - 1 : -1] for item in (pair[1], pair[0])]
        elif isinstance(one, list):
            waiting += one[: -MOST - 1 : -1]
        else:
            found.append(one)
    return [*found, CUT]


def held(value: str) -> str:
    """Return as much of a text as is held; a marker says that there is more."""
    return value if len(value) <= LIMIT else value[:LIMIT] + CUT


def known(thing: object) -> bool:
    """Tell whether a value is known in full."""
    if isinstance(thing, list):
        return all(map(known, leaves(thing)))
    if isinstance(thing, str):
        return OPEN not in thing and "*" not in thing
    return isinstance(thing, int | float | bool | dict)


def number(thing: object) -> int | None:
    """Read a whole number; None when it is none."""
    if isinstance(thing, int | float):
        return int(thing) if abs(thing) < 10**15 else None
    if isinstance(thing, str) and len(thing) < 20:
        digits = thing.strip()
        if digits.removeprefix("-").isdecimal() and len(digits) < 15:
            return int(digits)
    return None


def truth(thing: object) -> bool | None:
    """Tell whether a value counts as true; None when that is not known."""
    if isinstance(thing, CALLABLE):
        return True
    if thing is None or not known(thing):
        return None
    return bool(thing)


def elements(thing: object) -> list[object]:  # noqa: PLR0911
    """List what a loop over a value would see."""
    if isinstance(thing, list):
        return thing
    if isinstance(thing, dict):
        return list(thing)
    if isinstance(thing, Ref) and thing.path == "stdin" and are_names(thing.text):
        return list(thing.text.splitlines())
    if isinstance(thing, Bytes) and OPEN not in thing:
        return list(map(ord, thing))
    if isinstance(thing, str):
        return list(thing) if OPEN not in thing else [str(thing)]
    if isinstance(thing, int) and not isinstance(thing, bool):
        return list(range(min(thing, 300)))
    return [thing]


def plain(thing: object) -> Value:
    """Make a value of what knows only texts and lists of them."""
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, list):
        return [_inner(item) for item in thing[:MOST]]
    return text(thing)


def _inner(thing: object) -> Value:
    return [text(item) for item in thing[:100]] if isinstance(thing, list) else text(thing)
