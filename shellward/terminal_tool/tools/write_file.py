"""Registers ``write_file``."""

from typing import Any, Final

from shellward.tools.registry import registry

_SCHEMA: Final = {
    "description": (
        "Write a whole file; missing directories are made, what was in it is replaced. Use patch to change a part."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Absolute, relative to the session's directory, or with ~/"},
            "content": {"type": "string", "description": "All that is to be in it"},
            "reason": {"type": "string", "description": "Why, for the person who may have to approve it"},
        },
        "required": ["path", "content"],
    },
}


def _write_file(args: dict[str, Any], task_id: str | None = None) -> str:
    from shellward.terminal_tool.files import write_file

    return write_file(**args, task_id=task_id)


registry.register("write_file", "file", _SCHEMA, _write_file, emoji="✍️")
