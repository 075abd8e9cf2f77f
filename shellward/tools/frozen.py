"""JSON values that nobody can change: a schema is listed to many callers at once, and copied for none of them.

They are dicts and lists still, so that every encoder and every client library takes them. ``copy.deepcopy``,
``copy.copy`` and pickling give plain ones, which may be changed.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

_WHY = "this schema is shared and read-only; change a copy.deepcopy() of it"


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    """Answer every method that would change the value."""
    del self, args, kwargs
    raise TypeError(_WHY)


class FrozenDict(dict[str, Any]):
    """A dict that refuses every change with TypeError."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    copy = __copy__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return thaw, (dict(self),)


class FrozenList(list[Any]):
    """A list that refuses every change with TypeError."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    copy = __copy__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return thaw, (list(self),)


def freeze(value: Any) -> Any:
    """Return a read-only copy of a JSON value, all the way down (tuples become lists)."""
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return FrozenList([freeze(item) for item in value])
    return value


def thaw(value: Any) -> Any:
    """Return a plain copy of a JSON value, all the way down."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value
