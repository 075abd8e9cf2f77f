"""Small integer expressions, worked out as the shell would."""

from __future__ import annotations

import ast
import operator
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


_NUMERIC = re.compile(r"(?:0[xX][0-9a-fA-F]+|0o[0-7]+|\d+(?!\s*\()|[-+*/%&|^ \t\n(]|\)(?!\s*\())++")


_OPS: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitXor: operator.xor, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip


def integer(text: str) -> int | None:
    """Work out a small integer expression as the shell would; None when it is not one."""
    text = text.strip()
    if not text or len(text) > 60 or "**" in text:
        return None
    text = re.sub(r"\b0([0-7]+)\b", r"0o\1", text)
    try:
        text = re.sub(r"\b(\d+)#(\w+)\b", lambda m: str(_base(m.group(2), int(m.group(1)))), text)
        if not _NUMERIC.fullmatch(text):  # Python warns of what looks almost like a number or a call
            return None
        tree = ast.parse(text.replace("/", "//"), mode="eval")
        return _evaluate(tree.body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError, OverflowError):
        return None


def _base(digits: str, base: int) -> int:
    return int(digits, base) if 2 <= base <= 36 else 0


def _evaluate(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPS:
        return _OPS[type(node.op)](_evaluate(node.left), _evaluate(node.right))
    raise ValueError(ast.dump(node))
