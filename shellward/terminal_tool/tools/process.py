"""Registers ``process``."""

from typing import Any, Final

from shellward.tools.registry import registry

_ACTIONS: Final = ["list", "poll", "log", "wait", "kill", "write", "submit", "close", "resize"]
_SCHEMA: Final = {
    "description": (
        "Look after what runs in the background of this task: list, poll (status and latest output), log (output in "
        "parts), wait (for its end), kill (with all that it has started), write (data as it is), submit (data and "
        "Enter), close (end of its input), resize (its terminal)."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": _ACTIONS},
            "session_id": {"type": "string", "description": "The process; all actions but list need it"},
            "data": {"type": "string", "description": "What to write; for resize COLUMNSxROWS"},
            "offset": {
                "type": "integer",
                "description": "log: bytes from the beginning (next_offset of the part before); negative: from the end",
            },
            "limit": {"type": "integer", "minimum": 1, "description": "log: most bytes; list: the newest so many"},
            "timeout": {"type": "number", "minimum": 0, "maximum": 86400, "description": "wait: seconds"},
        },
        "required": ["action"],
    },
}


def _process(args: dict[str, Any], task_id: str | None = None) -> str:
    from shellward.terminal_tool.process import process_tool

    return process_tool(**args, task_id=task_id)


registry.register("process", "terminal", _SCHEMA, _process, emoji="⚙️")
