"""Registers ``execute_code``. What a script may call is listed anew for each session."""

from collections.abc import Collection
from typing import Any, Final

from shellward.tools.registry import registry
from shellward.tools.tool import Session

_SCHEMA: Final = {
    "description": "Run a Python script in the environment of this task; it can call tools.",
    "parameters": {
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": "The script"},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": 3600,
                "description": "Seconds, 300 if left out; then it is ended",
            },
            "reason": {"type": "string", "description": "Why, for the person who may have to approve it"},
        },
        "required": ["code"],
    },
}


def _execute_code(
    args: dict[str, Any], task_id: str | None = None, user_task: str | None = None, session: Session | None = None
) -> str:
    from shellward.terminal_tool.scripts import execute_code

    return execute_code(**args, task_id=task_id, session=session, goal=user_task)


def _described(names: Collection[str]) -> dict[str, str]:
    from shellward.terminal_tool.scripts import description

    return {"description": description(names)}


registry.register(
    "execute_code", "code_execution", _SCHEMA, _execute_code, emoji="🐍", dynamic_schema_overrides=_described
)
