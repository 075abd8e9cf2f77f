"""Registers ``search_files``."""

from typing import Any, Final

from shellward.tools.registry import registry

_SCHEMA: Final = {
    "description": (
        "Search in the contents of files (a regular expression), or for files by name (*.py). Directories of tools "
        "such as .git and node_modules are left out."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Regular expression; for target files, a pattern of names"},
            "target": {"type": "string", "enum": ["content", "files"], "description": "content if left out"},
            "path": {"type": "string", "description": "Directory or file to search in; the session's directory"},
            "file_glob": {"type": "string", "description": "content: only in files of such names (*.py)"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Most matches, 50 if left out"},
            "offset": {"type": "integer", "minimum": 0, "description": "So many matches are left out before them"},
            "output_mode": {
                "type": "string",
                "enum": ["content", "files_only", "count"],
                "description": "content: lines, files, or matches of each file",
            },
            "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "content: lines around each"},
        },
        "required": ["pattern"],
    },
}


def _search_files(args: dict[str, Any], task_id: str | None = None) -> str:
    from shellward.terminal_tool.searching import search_files

    return search_files(**args, task_id=task_id)


registry.register("search_files", "file", _SCHEMA, _search_files, emoji="🔎")
