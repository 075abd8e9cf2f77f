"""Remembering what was worked out of a short text: names and paths come again and again.

Only short ones, and not many: at most MOST * LONGEST characters for each function, whatever somebody sends.
"""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
MOST = 1024
"""Answers of a function that are remembered."""
LONGEST = 128
"""Characters of the longest text that is remembered."""


def remembered(function: Callable[[str], T]) -> Callable[[str], T]:
    """Remember what a function without effects says of a text."""
    kept = lru_cache(maxsize=MOST)(function)

    @wraps(function)
    def answer(text: str) -> T:
        return kept(text) if len(text) <= LONGEST else function(text)

    return answer


def remembered_of_two(function: Callable[[str, str], T]) -> Callable[[str, str], T]:
    """Remember what a function without effects says of two texts."""
    kept = lru_cache(maxsize=MOST)(function)

    @wraps(function)
    def answer(text: str, other: str) -> T:
        return kept(text, other) if len(text) + len(other) <= LONGEST else function(text, other)

    return answer
