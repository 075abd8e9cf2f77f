"""Tools that an agent's own loop answers: their schemas are known here, their work is done elsewhere.

A loop that has them lists the toolset ``agent`` and takes these calls before they come here.
"""

from collections.abc import Mapping
from typing import Any, Final

from shellward.tools.answers import error

_TASK: Final = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "content": {"type": "string"},
        "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled"]},
    },
    "required": ["id", "content", "status"],
}


def _schema(description: str, properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"description": description, "parameters": parameters}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


AGENT_LOOP: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "todo": (
        "todo",
        _schema(
            "Keep the list of what is to be done in this session. Without todos: returns the list.",
            {
                "todos": {"type": "array", "items": _TASK, "description": "Items to write"},
                "merge": {"type": "boolean", "description": "Change items by id instead of replacing the list"},
            },
        ),
    ),
    "memory": (
        "memory",
        _schema(
            "Keep what should be known in later sessions.",
            {
                "action": {"type": "string", "enum": ["add", "replace", "remove"]},
                "target": {"type": "string", "enum": ["memory", "user"], "description": "Notes, or the user's profile"},
                "content": _text("The entry (add, replace)"),
                "old_text": _text("Part of the entry that is meant (replace, remove)"),
            },
            "action",
            "target",
        ),
    ),
    "session_search": (
        "session_search",
        _schema(
            "Search in earlier sessions.",
            {"query": _text("What to look for"), "limit": {"type": "integer", "minimum": 1, "maximum": 20}},
            "query",
        ),
    ),
    "delegate_task": (
        "delegation",
        _schema(
            "Give a task to another agent with a context of its own; returns what it reports.",
            {
                "goal": _text("What is to be done; the other agent knows nothing else"),
                "context": _text("What it needs to know"),
                "toolsets": {"type": "array", "items": {"type": "string"}, "description": "What it may use"},
            },
            "goal",
        ),
    ),
}
"""Name to toolset and schema."""


def stub(name: str) -> str:
    """Return the answer to a call that should not have come here."""
    return error(f"{name} is answered by the agent's own loop; this host has none, or did not take the call")
