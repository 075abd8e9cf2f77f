"""What several checks need."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shellward.approval.rule import Call


def recursive(call: Call) -> bool:
    """Tell whether the command descends into directories."""
    return call.args.has("--recursive", "-r", "-R")


def targets(call: Call) -> list[str]:
    """List the operands that are not empty."""
    return [word for word in call.args.operands if word]
