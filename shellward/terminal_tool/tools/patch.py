"""Registers ``patch``."""

from typing import Any, Final

from shellward.tools.registry import registry

_SCHEMA: Final = {
    "description": (
        "Change files: all that is asked for, or nothing. Mode replace: old_string, which must be there once, becomes "
        "new_string; small differences in blanks are forgiven. Mode patch: several changes in several files, as a "
        "unified diff or as text from *** Begin Patch to *** End Patch. Answers with the diff."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "mode": {"type": "string", "enum": ["replace", "patch"], "description": "replace if left out"},
            "path": {"type": "string", "description": "replace: the file"},
            "old_string": {"type": "string", "description": "replace: what is there, with enough around it to be once"},
            "new_string": {"type": "string", "description": "replace: what is to be there"},
            "replace_all": {"type": "boolean", "description": "replace: all places"},
            "patch": {"type": "string", "description": "patch: the patch"},
            "reason": {"type": "string", "description": "Why, for the person who may have to approve it"},
        },
    },
}


def _patch(args: dict[str, Any], task_id: str | None = None) -> str:
    from shellward.terminal_tool.files import patch

    return patch(**args, task_id=task_id)


registry.register("patch", "file", _SCHEMA, _patch, emoji="🩹")
