"""A property that is worked out once, without a lock: what functools.cached_property is from Python 3.12 on.

Before that it takes a lock of all objects of a class, which costs more than most of what is worked out. Two threads
may both work it out; the last one's value is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

T = TypeVar("T")


class cached(Generic[T]):  # noqa: N801  # used as a decorator
    """Make a method a property whose value is kept in the object.

    Args:
        function: works the value out.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
        """Work the value out; from then on it is found in the object."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._function(instance)
        return value
