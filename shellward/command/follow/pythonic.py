"""Texts as Python itself makes them: its own functions are asked where all they are given is known."""

from __future__ import annotations

import re
import string
from itertools import islice
from typing import TYPE_CHECKING

from shellward.command.follow.methods import MISSING
from shellward.command.follow.things import Bytes, PathText, Pattern, held, text
from shellward.command.values import LIMIT, OPEN, only_markers, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_WIDE = re.compile(r"\d{4}")
"""A width that would make a text long."""
_METHODS = frozenset(
    ("upper", "lower", "casefold", "swapcase", "capitalize", "title", "strip", "lstrip", "rstrip", "split", "rsplit", "partition",
     "rpartition", "splitlines", "replace", "removeprefix", "removesuffix", "find", "rfind", "index", "rindex", "count",
     "startswith", "endswith", "isdigit", "isdecimal", "isalpha", "isspace", "isalnum", "isupper", "islower", "isnumeric",
     "isidentifier", "center", "ljust", "rjust", "zfill", "expandtabs", "join", "__contains__", "__len__", "__getitem__", "__add__")
)  # fmt: skip
"""Methods of texts that have no effect and do not grow beyond what they are given."""
_GROWS = frozenset(("center", "ljust", "rjust", "zfill", "expandtabs"))
METHODS = _METHODS | {"translate"}
_OF_LISTS = frozenset(
    ("append", "extend", "insert", "pop", "get", "items", "values", "keys", "update", "format", "format_map", "encode")
)


def is_method(name: str) -> bool:
    """Tell whether texts, lists or dictionaries have a method of that name."""
    return name in METHODS or name in _OF_LISTS


def is_plain(value: object) -> bool:
    """Tell whether a value is one that Python itself may be asked about."""
    if isinstance(value, str):
        return type(value) is str and OPEN not in value and "*" not in value and len(value) <= LIMIT
    if isinstance(value, list):
        return len(value) < 500 and all(type(item) is str and is_plain(item) for item in value)
    return isinstance(value, int | float) or value is None


def written(value: object) -> str:
    """Write a value as ``str`` does; how lists look is not known, since tuples and sets are lists here."""
    if isinstance(value, bool | float) or value is None:
        return str(value)
    return _unread(value) if isinstance(value, list | dict | Bytes) else text(value)


def _unread(value: object) -> str:
    """Stand for a text that is not known: what it is made of is, as far as one looks."""
    code = unknown("code")
    if isinstance(value, dict):
        value = [*islice(value, _LOOKED_AT), *islice(value.values(), _LOOKED_AT)]
    elif isinstance(value, list):
        value = value[:_LOOKED_AT]
    carried = only_markers(text(value)[: _LOOKED_AT * 20])
    return carried.replace(code, "") + code


_LOOKED_AT = 50
"""Elements of a list whose origin is kept when it becomes text."""


def represented(value: object) -> str:
    """Write a value as ``repr`` does."""
    if isinstance(value, Bytes | Pattern | PathText) or not isinstance(value, str):
        return written(value) if isinstance(value, int | float | bool) or value is None else _unread(value)
    return repr(value) if OPEN not in value else _unread(value)


def spelled(value: object, conversion: str, spec: str) -> str:
    """Write a value as a replacement field does."""
    if conversion in {"r", "a"}:
        value = represented(value)
    elif conversion == "s":
        value = written(value)
    if not spec or spec == "s":
        return written(value)
    if OPEN in spec or _WIDE.search(spec) or not (is_plain(value) or (type(value) is str and OPEN not in value)):
        return unknown("code")
    try:
        return format(value, spec)
    except (ValueError, TypeError):
        return unknown("code")


def filled(template: str, field: Callable[[str], object], *, inner: bool = False) -> str:
    """Apply ``str.format``; ``field`` says what stands behind a name, empty for the next one."""
    if OPEN in template or (inner and ":" in template):
        return unknown("code")  # Python reads one level, too
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError:
        return unknown("code")
    made = []
    for literal, name, spec, conversion in pieces[:500]:
        made.append(literal)
        if name is not None:
            value = field(name)
            made.append(
                spelled(
                    value, conversion or "", filled(spec, field, inner=True) if spec and "{" in spec else spec or ""
                )
            )
    return held("".join(made))


_FIELD = re.compile(r"%(?:\((\w+)\))?([-+ 0#]*)(\d{0,3})(\.\d{1,3})?([a-zA-Z%])")


def percent(template: str, values: list[object], named: dict[str, object] | None) -> object:
    """Apply ``%``; MISSING when a field is of a kind that is left to others."""
    left = list(values)
    if OPEN in template or not all(match.group() for match in _FIELD.finditer(template)):
        return MISSING
    if template.count("%") != sum(match.group().count("%") for match in _FIELD.finditer(template)):
        return MISSING
    if any(match.group(5) not in "sdrxXofFeEgGc%i" for match in _FIELD.finditer(template)):
        return MISSING

    def one(match: re.Match[str]) -> str:
        name, flags, width, cut, kind = match.groups()
        if kind == "%":
            return "%"
        value = (
            (named or {}).get(name, unknown("code")) if name is not None else left.pop(0) if left else unknown("code")
        )
        if kind in "sr":
            value = written(value) if kind == "s" else represented(value)
            kind = "s"
        if not is_plain(value) and not (kind == "s" and (width or cut) and OPEN not in text(value)):
            return text(value) if not width and not cut else unknown("code")
        try:
            return f"%{flags}{width}{cut or ''}{kind}" % (value,)
        except (ValueError, TypeError, OverflowError):
            return text(value)

    return held(_FIELD.sub(one, template))


def decoded(found: object) -> object:
    """Return what was decoded as a text."""
    return str(found) if type(found) is Bytes else found


def method(name: str, value: str, args: list[object], named: dict[str, object]) -> object:  # noqa: PLR0911
    """Call a method of a text; MISSING when not all is known that decides what it returns."""
    if name not in METHODS or OPEN in value or len(value) > LIMIT or type(value) is not str:
        return MISSING
    if name == "translate":
        return _translated(value, args)
    if name == "join" and len(args) == 1 and isinstance(args[0], dict):
        args = [list(args[0])]
    if not all(map(is_plain, args)) or not all(map(is_plain, named.values())):
        return MISSING
    if name in _GROWS and any(isinstance(arg, int) and abs(arg) > 999 for arg in args):
        return MISSING
    given = [tuple(arg) if isinstance(arg, list) and name in {"startswith", "endswith"} else arg for arg in args]
    try:
        made = getattr(value, name)(*given, **named)
    except (ValueError, TypeError, IndexError, OverflowError):
        return unknown("code")
    if isinstance(made, str):
        return held(made)
    return list(made) if isinstance(made, tuple) else made


def _translated(value: str, args: list[object]) -> object:
    table = args[0] if args else None
    if not isinstance(table, dict):
        return unknown("code")
    known_keys = {int(key) if isinstance(key, str) and len(key) > 1 and key.isdecimal() else key for key in table}
    if any(not isinstance(key, int) and not (isinstance(key, str) and len(key) == 1) for key in known_keys):
        return unknown("code")
    made = []
    for character in value:
        found = table.get(character, table.get(str(ord(character)), MISSING))
        if isinstance(found, int) and not isinstance(found, bool):
            found = chr(found) if 0 < found < 0xD800 else unknown("code")
        made.append(character if found is MISSING else "" if found is None else text(found))
    return held("".join(made))


def table(args: list[object]) -> object:
    """``str.maketrans``."""
    if len(args) == 1 and isinstance(args[0], dict):
        return dict(args[0])
    made: dict[object, object] = dict(zip(text(args[0]), text(args[1]), strict=False)) if len(args) > 1 else {}
    if len(args) > 2:
        made.update(dict.fromkeys(text(args[2])))
    return made


def in_order(values: Iterable[object]) -> list[object] | None:
    """Sort as Python does; None when what is compared is not known, or is of several kinds."""
    found = list(values)
    if all(type(value) is str and is_plain(value) for value in found) or all(
        isinstance(value, int | float) for value in found
    ):
        return sorted(found)  # type: ignore[type-var]
    return None
