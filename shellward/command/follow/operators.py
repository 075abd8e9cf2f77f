"""Operators, on what is known of their operands."""

from __future__ import annotations

from abc import ABC

from shellward.command.follow.methods import MISSING, formatted
from shellward.command.follow.natives import Natives
from shellward.command.follow.pythonic import percent
from shellward.command.follow.things import (
    MOST,
    Obj,
    PathText,
    Ref,
    elements,
    held,
    known,
    number,
    text,
    truth,
)
from shellward.command.values import unknown


class Operators(Natives, ABC):
    """Applies operators."""

    def combined(self, op: str, left: object, right: object) -> object:  # noqa: C901, PLR0911, PLR0912
        """Apply an operator."""
        if isinstance(left, Obj) or isinstance(right, Obj):
            done = self.operated(op, left, right)
            if done is not MISSING:
                return done
        if op == "|" and isinstance(left, dict) and isinstance(right, dict):
            return {**left, **right}
        if op in {"-", "&", "|"} and isinstance(left, list) and isinstance(right, list) and self.language == "python":
            return self._sets(op, left, right)
        if op in {".", "..", "text"}:
            return held(text(left) + text(right))
        if op == "/" and isinstance(left, PathText | str) and (isinstance(left, PathText) or self.language == "ruby"):
            return PathText(f"{left.rstrip('/')}/{text(right)}" if not text(right).startswith("/") else text(right))
        if op in {"+", "<<"} and isinstance(left, list):
            if op == "<<":
                left.extend([right] if len(left) < MOST else [])
                return left
            return [*left, *right][:MOST] if isinstance(right, list) else [*left, right]
        if op == "<<" and isinstance(left, Ref) and left.opened:
            return self.written(left, [right])
        if op == "%" and isinstance(left, str):
            named = {str(key): value for key, value in right.items()} if isinstance(right, dict) else None
            if self.language == "python":
                right = self.in_words(right)
                done = percent(left, right if isinstance(right, list) else [right], named)
                if done is not MISSING:
                    return done
            return formatted(left, right if isinstance(right, list) else [right], named)
        if op in {"*", "x"} and isinstance(left, str | list) and number(right) is not None:
            count = max(0, min(number(right) or 0, 500))
            if isinstance(left, str) and number(left) is None:
                return held(left * count)
            if isinstance(left, list):
                return left * count if len(left) * count < 4000 else left
            if op == "x":
                return held(left * count)
        joins = self.language not in {"php", "perl", "awk"} and (isinstance(left, str) or isinstance(right, str))
        if op in {"+", "<<"} and joins:
            return held(text(left) + text(right))
        if op in {"==", "!=", "<", ">", "<=", ">=", "in", "not in", "===", "!==", "eq", "ne"}:
            return self._compared(op, left, right)
        if self.language == "python" and (isinstance(left, float) or isinstance(right, float) or op == "/"):
            return _with_point(op, left, right)
        a, b = number(left or 0) if self.language in {"awk", "perl", "php"} else number(left), number(right)
        if a is None or b is None:
            return unknown("code") if not isinstance(left, Ref) else Ref(left.path, left.text or text(right))
        return self._computed(op, a, b)

    @staticmethod
    def _sets(op: str, left: list[object], right: list[object]) -> object:
        """What is in one set, in both, or in either."""
        if not known(left) or not known(right) or len(left) + len(right) > MOST:
            return [unknown("code")]
        here, there = set(map(text, left)), set(map(text, right))
        if op == "|":
            return [*left, *(one for one in right if text(one) not in here)]
        return [one for one in left if (text(one) in there) == (op == "&")]

    @staticmethod
    def _compared(op: str, left: object, right: object) -> object:  # noqa: PLR0911
        if not known(left) or not known(right):
            return unknown("code")
        if op in {"in", "not in"}:
            found = text(left) in (
                right
                if isinstance(right, dict)
                else list(map(text, elements(right)))
                if isinstance(right, list)
                else text(right)
            )
            return found == (op == "in")
        if op in {"==", "===", "eq"}:
            return text(left) == text(right)
        if op in {"!=", "!==", "ne"}:
            return text(left) != text(right)
        if type(left) is str and type(right) is str and not (left.isdecimal() or right.isdecimal()):
            return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[op]
        a, b = number(left), number(right)
        if a is None or b is None:
            return unknown("code")
        if isinstance(left, float) or isinstance(right, float):
            return unknown("code")
        return {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[op]

    @staticmethod
    def _computed(op: str, a: int, b: int) -> object:
        if op in {"+", "-", "*", "^", "|", "&"} and max(abs(a), abs(b)) < 10**7:
            return {"+": a + b, "-": a - b, "*": a * b, "^": a ^ b, "|": a | b, "&": a & b}[op]
        if op in {"/", "//"} and b:
            return a // b
        if op == "%" and b:
            return a % b
        if op == "**" and abs(a) < 1000 and 0 <= b < 10:
            return a**b
        if op in {"<<", ">>"} and 0 <= b < 64:
            return a << b if op == "<<" else a >> b
        return unknown("code")

    @staticmethod
    def logic(op: str, left: object, right: object) -> object:
        """Apply ``and`` or ``or``."""
        sure = truth(left)
        if sure is None:
            return left if op == "or" and isinstance(left, Ref) and isinstance(right, str) and not right else right
        return left if sure == (op == "or") else right


def _with_point(op: str, left: object, right: object) -> object:
    """Numbers that are not whole, as Python works them out."""
    if not isinstance(left, int | float) or not isinstance(right, int | float) or max(abs(left), abs(right)) > 10**9:
        return unknown("code")
    if op not in {"+", "-", "*", "/"} or (op == "/" and not right):
        return unknown("code")
    return {"+": left + right, "-": left - right, "*": left * right, "/": left / right if right else 0}[op]
