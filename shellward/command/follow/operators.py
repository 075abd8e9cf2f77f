"""Operators, on what is known of their operands."""

from __future__ import annotations

from abc import ABC

from shellward.command.follow.methods import formatted
from shellward.command.follow.natives import Natives
from shellward.command.follow.things import (
    MOST,
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
        a, b = number(left or 0) if self.language in {"awk", "perl", "php"} else number(left), number(right)
        if a is None or b is None:
            return unknown("code") if not isinstance(left, Ref) else Ref(left.path, left.text or text(right))
        return self._computed(op, a, b)

    @staticmethod
    def _compared(op: str, left: object, right: object) -> object:
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
        a, b = number(left), number(right)
        if a is None or b is None:
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
