"""Checks of variables by which programs load code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shellward.approval.rule import Call

_LOADERS = frozenset(("LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV", "DYLD_INSERT_LIBRARIES"))
_PATH_FOR_ALL = re.compile(r":(?:/var)?/(?:tmp|dev/shm)(?:/|:)|:\.?:(?!$)")
_TRUSTED_CODE = re.compile(r"(?:/usr|/lib\w*|/opt|/nix|/snap|/System)/")


def sets_loader(call: Call) -> tuple[str, ...]:
    """Variables that make every program, or every shell, load code from outside the system's directories."""
    return tuple(word for word in call.argv[1:] if _loads(word))


def _loads(word: str) -> bool:
    name, _, value = word.partition("=")
    if name == "PATH":
        return bool(_PATH_FOR_ALL.search(f":{value}:"))
    if name in {"PS0", "PS4"}:
        return "$(" in value or "`" in value
    parts = re.split(r"[:\s]+", value) if value and name in _LOADERS else []
    return not all(_TRUSTED_CODE.match(part) and ".." not in part for part in parts)
