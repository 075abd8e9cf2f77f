"""What methods of Python's lists, sets and dictionaries do, and its functions on them."""

from __future__ import annotations

from shellward.command.follow.methods import MISSING
from shellward.command.follow.pythonic import in_order, is_plain
from shellward.command.follow.things import elements, known, number, text, truth
from shellward.command.values import unknown


def _place(owner: list[object], value: object) -> int | None:
    """Where a value stands in a list; None when that is not known."""
    if not known(value) or not all(map(known, owner)):
        return None
    return next((at for at, one in enumerate(owner) if type(one) is type(value) and text(one) == text(value)), -1)


def _emptied(owner: list[object]) -> None:
    """What a list holds is not known any more."""
    owner[:] = [unknown("code")]


def of_list(owner: list[object], name: str, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911, PLR0912
    """Call a method of a list, a set or a queue; MISSING when it is left to others."""
    if name in {"remove", "discard", "index", "count"} and args:
        at = _place(owner, args[0])
        if name == "index":
            return unknown("code") if at is None or at < 0 else at
        if name == "count":
            return unknown("code") if at is None else sum(text(one) == text(args[0]) for one in owner)
        if at is None:
            _emptied(owner)
        elif at >= 0:
            del owner[at]
        return None
    if name == "clear":
        owner.clear()
        return None
    if name == "sort":
        found = (
            in_order(owner) if not set(named) - {"reverse"} and truth(named.get("reverse", False)) is not None else None
        )
        if found is None:
            _emptied(owner)
        else:
            owner[:] = found[::-1] if truth(named.get("reverse", False)) else found
        return None
    if name == "add" and args:
        at = _place(owner, args[0])
        if at is None or at < 0:
            owner.append(args[0])
        return None
    if name in {"appendleft", "extendleft", "popleft", "rotate"}:
        if name == "appendleft" and args:
            owner.insert(0, args[0])
        elif name == "extendleft" and args:
            owner[:0] = elements(args[0])[::-1]
        elif name == "popleft":
            return owner.pop(0) if owner else unknown("code")
        else:
            by = number(args[0]) if args else 1
            if by is None:
                _emptied(owner)
            elif owner:
                by %= len(owner)
                owner[:] = owner[-by:] + owner[:-by] if by else owner
        return None
    return MISSING


def of_pairs(owner: dict[object, object], name: str, args: list[object], named: dict[str, object]) -> object:  # noqa: PLR0911
    """Call a method of a dictionary; MISSING when it is left to others."""
    if name == "update":
        for arg in args:
            pairs = (
                arg
                if isinstance(arg, dict)
                else {text(p[0]): p[1] for p in elements(arg) if isinstance(p, list) and len(p) == 2}
            )
            owner.update(pairs)
        owner.update(named)
        return None
    if name == "copy":
        return dict(owner)
    if name == "clear":
        owner.clear()
        return None
    if name == "pop" and args:
        return owner.pop(text(args[0]), args[1] if len(args) > 1 else unknown("code"))
    if name == "popitem" and owner:
        return list(owner.popitem())
    if name == "setdefault" and args:
        return owner.setdefault(text(args[0]), args[1] if len(args) > 1 else None)
    return MISSING


def function(name: str, args: list[object], named: dict[str, object]) -> object:  # noqa: C901, PLR0911
    """Call one of Python's functions on lists and numbers; MISSING when it is left to others."""
    first = args[0] if args else None
    if name in {"max", "min"} and args:
        found = in_order(elements(first) if len(args) == 1 else args) if not named else None
        return (found[-1] if name == "max" else found[0]) if found else unknown("code")
    if name == "sorted" and args:
        found = in_order(elements(first)) if not set(named) - {"reverse"} else None
        if found is None:
            return [unknown("code")] * min(len(elements(first)), 300)
        return found[::-1] if truth(named.get("reverse", False)) else found
    if name == "next" and isinstance(first, list):
        return first.pop(0) if first else args[1] if len(args) > 1 else unknown("code")
    if name in {"copy", "deepcopy"} and isinstance(first, list | dict):
        return first.copy() if not any(isinstance(one, list | dict) for one in first) else first
    if name == "int" and named:
        return unknown("code")
    if name in {"set", "frozenset", "@set"} and args:
        return list({(type(one), text(one)) if known(one) else id(one): one for one in elements(first)}.values())
    if name == "fromkeys" and args:
        return {text(one): args[1] if len(args) > 1 else None for one in elements(first)}
    if name == "enumerate" and args:
        start = number(args[1] if len(args) > 1 else named.get("start", 0))
        return MISSING if start is None else [[at, one] for at, one in enumerate(elements(first), start)]
    if name == "choice" and isinstance(first, list | str):
        return first[0] if len(first) == 1 else unknown("code")
    if (
        name in {"abs", "round", "hex", "oct", "bin", "sum", "any", "all", "divmod", "pow"}
        and all(map(_numeric, args))
        and args
        and not named
    ):
        return _counted(name, args)
    return MISSING


def _numeric(value: object) -> bool:
    small = isinstance(value, int | float) and abs(value) < 10**6
    return small or (
        isinstance(value, list) and is_plain(value) is False and all(map(_numeric, value[:500])) and len(value) < 500
    )


_COUNTING = {
    "abs": abs,
    "round": round,
    "hex": hex,
    "oct": oct,
    "bin": bin,
    "sum": sum,
    "any": any,
    "all": all,
    "divmod": divmod,
}


def _counted(name: str, args: list[object]) -> object:
    try:
        made = _COUNTING[name](*args)  # type: ignore[operator]
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return unknown("code")
    return list(made) if isinstance(made, tuple) else made
