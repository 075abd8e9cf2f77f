"""Registers ``read_file``."""

import math
from typing import Any, Final

from shellward.tools.registry import registry

_SCHEMA: Final = {
    "description": "Read lines of a text file, each with its number before it (12|text). Also reads full_output.",
    "parameters": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Absolute, relative to the session's directory, or with ~/"},
            "offset": {"type": "integer", "minimum": 1, "description": "Number of the first line, from 1"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "Most lines, 500 if left out"},
        },
        "required": ["path"],
    },
}


def _read_file(args: dict[str, Any], task_id: str | None = None) -> str:
    from shellward.terminal_tool.files import read_file

    return read_file(**args, task_id=task_id)


# It is read in parts as it is; what it says must not go to a file that is to be read with it.
registry.register("read_file", "file", _SCHEMA, _read_file, emoji="📖", max_result_size_chars=math.inf)
