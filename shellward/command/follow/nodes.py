"""The tree of a program, the same for every language: what frompython.py and parser.py make and machine.py walks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias, get_args


@dataclass(slots=True)
class Const:
    """Text, a number, a truth value, or nothing."""

    value: str | int | float | bool | None


@dataclass(slots=True)
class Name:
    """A variable, or something that the language brings along."""

    name: str


@dataclass(slots=True)
class Member:
    """``a.b``, ``a->b``, ``a::b``."""

    owner: Node
    name: str


@dataclass(slots=True)
class Index:
    """``a[b]``; with ``slices``, ``a[b:c:d]``."""

    owner: Node
    keys: list[Node | None]
    slices: bool = False
    inclusive: bool = False


@dataclass(slots=True)
class Call:
    """A call; a block behind it is one more argument."""

    func: Node
    args: list[Node]
    named: list[tuple[str, Node]] = field(default_factory=list)


@dataclass(slots=True)
class Splat:
    """The elements of a list as arguments or elements; as a parameter, what takes the rest, ``named`` or not."""

    value: Node
    named: bool = False


@dataclass(slots=True)
class Seq:
    """A list, a tuple, a set."""

    items: list[Node]


@dataclass(slots=True)
class Pairs:
    """A dictionary, an object, a hash, an array with keys; a key that is None spreads the value."""

    items: list[tuple[Node | None, Node]]


@dataclass(slots=True)
class Join:
    """Operands joined by the same operator, from left to right."""

    op: str
    items: list[Node]


@dataclass(slots=True)
class Unary:
    """An operator in front of its operand."""

    op: str
    value: Node


@dataclass(slots=True)
class Choice:
    """``if`` and its like, as a statement or within an expression; loops without a list have ``repeats``."""

    test: Node
    then: Node
    other: Node | None = None
    repeats: bool = False


@dataclass(slots=True)
class Template:
    """A text with values in it."""

    parts: list[Node]


@dataclass(slots=True)
class Shell:
    """Text that a shell runs, in backticks or their like."""

    text: Node


@dataclass(slots=True)
class Assign:
    """An assignment; ``op`` is empty, or what is applied to the value before."""

    target: Node
    value: Node
    op: str = ""


@dataclass(slots=True)
class Function:
    """A function, a method, a block; ``name`` is empty for those without one. With ``yields`` it makes a list."""

    params: list[Node]
    body: Node
    name: str = ""
    yields: bool = False


@dataclass(slots=True)
class Class:
    """A class and what stands in it; an ``odd`` one is made by another class than usual."""

    name: str
    body: Node
    bases: list[Node] = field(default_factory=list)
    odd: bool = False
    said: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Tried:
    """What is done when something is raised or nothing is, and what is done at last, however the body ends."""

    body: Node
    caught: Node
    last: Node


@dataclass(slots=True)
class Block:
    """Statements, one after the other; its value is that of the last one."""

    items: list[Node]


@dataclass(slots=True)
class Loop:
    """``for target in values``; with ``collects`` it is an expression that makes a list of what the body gives.

    ``other`` is done when it ends by itself.
    """

    target: Node
    values: Node
    body: Node
    tests: list[Node] = field(default_factory=list)
    collects: bool = False
    other: Node | None = None


@dataclass(slots=True)
class Return:
    """``return``."""

    value: Node | None = None


@dataclass(slots=True)
class Yield:
    """``yield``; with ``each``, of the elements of a list."""

    value: Node
    each: bool = False


@dataclass(slots=True)
class Jump:
    """``break``; with ``again``, ``continue``."""

    again: bool = False


@dataclass(slots=True)
class Raise:
    """``raise``; its parts are evaluated first."""

    parts: list[Node]


@dataclass(slots=True)
class Outer:
    """``global``, or ``nonlocal`` with ``near``: names that stand for those of a scope further out."""

    names: list[str]
    near: bool = False


@dataclass(slots=True)
class Remove:
    """``del``."""

    targets: list[Node]


@dataclass(slots=True)
class Spelled:
    """A value within a text, with how it is written."""

    value: Node
    conversion: str = ""
    spec: Node | None = None


@dataclass(slots=True)
class Import:
    """A module, or a name of one, under a name; ``*`` for all of its names."""

    path: str
    name: str


Node: TypeAlias = (
    Const | Name | Member | Index | Call | Splat | Seq | Pairs | Join | Unary | Choice | Template | Shell | Assign
    | Function | Class | Tried | Block | Loop | Return | Yield | Jump | Raise | Outer | Remove | Spelled | Import
)  # fmt: skip


_PARTS: Final = {kind: tuple(kind.__slots__) for kind in get_args(Node)} | {
    Const: (),
    Name: (),
    Import: (),
    Jump: (),
    Outer: (),
}
"""Where other nodes may be in one of each kind."""


def calls(tree: Node) -> list[Call | Shell]:
    """List the calls that stand in a tree."""
    found: list[Call | Shell] = []
    waiting: list[object] = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list | tuple):
            waiting += one
            continue
        for name in _PARTS.get(type(one), ()):
            part = getattr(one, name)
            if part.__class__ in _HOLD:
                waiting.append(part)
        if one.__class__ is Call or one.__class__ is Shell:
            found.append(one)
    return found


_HOLD: Final = frozenset((list, tuple, *(kind for kind, parts in _PARTS.items() if parts)))
"""What calls can stand in."""
