"""Rules' expressions, compiled only for a text that has the words they cannot match without.

Compiling an expression takes a thousand times as long as looking for a few words, and most commands have none of
them. The words are worked out beforehand (patterns/words.py); an expression whose words are not known, such as one of
the user's own, is compiled at its first use. Of a long expression only the parts are compiled whose words are there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from zlib import crc32

from shellward.approval.patterns.words import PARTS, WORDS

_FEW = 64
"""So many texts at least are looked through for the words; for a program that runs on, compiling pays in the end."""


class Expression:
    """One regular expression. Thread-safe: at worst two threads compile it at the same time.

    Args:
        text: the expression.
    """

    __slots__ = ("_folded", "_left", "_only", "_parts", "_places", "_search", "_text", "_ways")

    def __init__(self, text: str) -> None:
        self._text = text
        key = sign(text)
        words = WORDS.get(key, "")
        self._folded = words.startswith("i")
        self._ways = [[column.split("\r") for column in line.split("\t")] for line in words[1:].split("\n")]
        self._only = self._ways[0][0] if not self._folded and len(self._ways) == len(self._ways[0]) == 1 else None
        self._search = None if words else re.compile(text).search
        self._places = PARTS.get(key, "")
        self._parts: list[Expression] = []
        self._left = _FEW + int(key[:8], 16) % _FEW  # not the same for all: one command is not to pay for many

    def occurs_in(self, text: str) -> bool:
        """Tell whether the expression matches somewhere in a text."""
        search = self._search
        if search is None:
            if not self._may_occur(text):
                if self._places:
                    return False
                self._left -= 1
                if self._left > 0:
                    return False
            if self._places:
                return any(part.occurs_in(text) for part in self._in_parts())
            search = self._search = re.compile(self._text).search
        return search(text) is not None

    def _in_parts(self) -> list[Expression]:
        if not self._parts:  # another thread sees all of them, or none
            self._parts = [expression(self._part(line)) for line in self._places.split("\n")]
        return self._parts

    def _part(self, line: str) -> str:
        places = [int(place) for place in line.split()]
        return "".join(self._text[start:end] for start, end in zip(places[::2], places[1::2], strict=True))

    def _may_occur(self, text: str) -> bool:
        if self._only is not None:  # as most have it
            for word in self._only:  # noqa: SIM110  # any() takes twice as long
                if word in text:
                    return True
            return False
        if self._folded:
            if not text.isascii():  # there are other letters that count as the same
                return True
            text = text.lower()
        for way in self._ways:
            for words in way:
                for word in words:
                    if word in text:
                        break
                else:
                    break
            else:
                return True
        return False


expression = lru_cache(maxsize=None)(Expression)
"""Return the expression of a text; always the same object."""


def sign(text: str) -> str:
    """Return what an expression's words are kept by: when it changes without them, they are not used."""
    data = text.encode()
    return f"{crc32(data):08x}{len(data):x}"
