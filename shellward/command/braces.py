"""Brace expansion, as bash does it before anything else; bounded."""

from __future__ import annotations

import re

from shellward.command.values import LIMIT, decimal

MAX_FIELDS = 256
"""Most words that one word may expand to (``{1..100000}`` is cut there)."""


_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?\Z")


_BRACE = re.compile(r"[{},]|[^{},]+")


LONGEST_BRACES = 4000
"""Longest word whose braces are expanded, in characters."""


MAX_NESTED_BRACES = 20
"""Deepest nesting of braces that is expanded."""


def expand_braces(text: str) -> list[str] | None:
    """Expand the braces of a text, at most to MAX_FIELDS; None when there are none to expand."""
    if len(text) > LONGEST_BRACES:
        return None
    pieces = _braces(text)
    if all(isinstance(piece, str) for piece in pieces):
        return None
    return _product(pieces, max(2, min(MAX_FIELDS, 4 * LIMIT // len(text))))


class _Choice(list["list[str | _Choice]"]):
    """What stands between two braces: alternatives, each a list of texts and further choices."""


def _braces(text: str) -> list[str | _Choice]:
    """Read the brace groups of a text in one pass.

    As in bash's braces.c, ``{}`` that begins a word is text, and an outermost group is closed only by a brace behind a
    comma or a range; a brace without its partner, and a pair without a choice, is text.
    """
    stack: list[_Choice] = [_Choice([[]])]
    begin = 2 if text.startswith("{}") else 0
    stack[0][0].append(text[:begin])
    for piece in _BRACE.findall(text, begin):
        if piece == "{" and len(stack) < MAX_NESTED_BRACES:
            stack.append(_Choice([[]]))
        elif piece == "," and len(stack) > 1:
            stack[-1].append([])
        elif piece == "}" and len(stack) > 1:
            inner = stack[-1][0]
            only = inner[0] if len(inner) == 1 and isinstance(inner[0], str) else ""
            ranged = _range(only)
            if len(stack[-1]) > 1:
                choice = stack.pop()
                stack[-1][-1].append(choice)
            elif ranged:
                stack.pop()
                stack[-1][-1].append(_Choice([[one] for one in ranged]))
            elif len(stack) > 2 or ".." in only:
                stack.pop()
                stack[-1][-1] += ["{", *inner, "}"]
            else:
                inner.append(piece)
        else:
            stack[-1][-1].append(piece)
    while len(stack) > 1:
        choice = stack.pop()
        stack[-1][-1].append("{")
        for at, inner in enumerate(choice):
            stack[-1][-1] += [",", *inner] if at else inner
    return stack[0][0]


def _product(pieces: list[str | _Choice], most: int) -> list[str]:
    """List the texts that a list of pieces stands for, the first ``most`` of them."""
    results = [""]
    for piece in pieces:
        if isinstance(piece, str):
            results = [one + piece for one in results]
            continue
        options: list[str] = []
        for alternative in piece:
            options += _product(alternative, most)
            if len(options) >= most:
                break
        if len(results) >= most:
            options = options[:1]
        results = [one + option for one in results for option in options][:most]
    return results


def _range(body: str) -> list[str]:
    """List what ``a..e`` or ``1..9..2`` stands for; nothing when it is no range."""
    ranged = _RANGE.match(body)
    if not ranged:
        return []
    first, last, step = ranged.groups()
    if first.lstrip("-").isdecimal() != last.lstrip("-").isdecimal():
        return []
    numeric = first.lstrip("-").isdecimal()
    if len(first) > 9 or len(last) > 9:
        return []
    low, high = (int(first), int(last)) if numeric else (ord(first), ord(last))
    stride = abs(decimal((step or "1").lstrip("-"))) or 1
    numbers = range(low, high + 1, stride) if low <= high else range(low, high - 1, -stride)
    return [str(n) if numeric else chr(n) for n in numbers[:MAX_FIELDS]]
