"""Deciding whether a command may run: findings, and what follows from them. Never executes anything.

Names are imported from their modules on first use, so that importing this room stays cheap.
"""

from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Answer": "shellward.approval.context",
    "ApprovalRequest": "shellward.approval.context",
    "Context": "shellward.approval.context",
    "DANGEROUS_PATTERNS": "shellward.approval.detect",
    "Detection": "shellward.approval.detect",
    "Gate": "shellward.approval.gatekeeper",
    "Reach": "shellward.approval.reach",
    "detect_dangerous_command": "shellward.approval.detect",
    "open_gate": "shellward.approval.gatekeeper",
    "register_approval_callback": "shellward.approval.callbacks",
}

__all__ = [
    "DANGEROUS_PATTERNS",
    "Answer",
    "ApprovalRequest",
    "Context",
    "Detection",
    "Gate",
    "Reach",
    "detect_dangerous_command",
    "open_gate",
    "register_approval_callback",
]

if TYPE_CHECKING:
    from shellward.approval.callbacks import register_approval_callback
    from shellward.approval.context import Answer, ApprovalRequest, Context
    from shellward.approval.detect import DANGEROUS_PATTERNS, Detection, detect_dangerous_command
    from shellward.approval.gatekeeper import Gate, open_gate
    from shellward.approval.reach import Reach


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'shellward.approval' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value
