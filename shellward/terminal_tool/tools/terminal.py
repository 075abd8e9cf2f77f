"""Registers ``terminal``."""

from typing import Any, Final

from shellward.tools.registry import registry

_SCHEMA: Final = {
    "description": (
        "Run a command in the shell of this task. Directory, variables and functions persist from one command to the "
        "next. A command that takes longer than its timeout goes on in the background; the answer says how to follow "
        "it. Use background for servers and other things that do not end. Do not use cat, sed or find to read, change "
        "or find files: read_file, patch and search_files do that."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "A shell line, or several"},
            "background": {"type": "boolean", "description": "Start it and return at once with a session_id"},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": 86400,
                "description": "Seconds to wait in the foreground",
            },
            "workdir": {"type": "string", "description": "Directory for this command alone"},
            "pty": {"type": "boolean", "description": "Give it a terminal, for programs that ask for one"},
            "notify_on_complete": {"type": "boolean", "description": "Tell the host when it has ended"},
            "watch_patterns": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Texts, or /regular expressions/, in its output that the host is told of",
            },
            "reason": {
                "type": "string",
                "description": "Why it is needed; shown to the person who has to approve a dangerous command",
            },
        },
        "required": ["command"],
    },
}


def _terminal(args: dict[str, Any], task_id: str | None = None, user_task: str | None = None) -> str:
    from shellward.terminal_tool.terminal import terminal_tool

    return terminal_tool(**args, task_id=task_id, goal=user_task)


registry.register("terminal", "terminal", _SCHEMA, _terminal, emoji="💻")
