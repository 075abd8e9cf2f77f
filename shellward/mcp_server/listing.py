"""The tools of the runtime as MCP lists them, with what a client may want to know before it calls one."""

from collections.abc import Mapping
from typing import Any, Final

from mcp_types import Tool, ToolAnnotations

from shellward.tools import get_tool_definitions
from shellward.tools.frozen import thaw

_LOOKS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_RUNS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)
_HINTS: Final[Mapping[str, ToolAnnotations]] = {
    "terminal": _RUNS,
    "execute_code": _RUNS,
    "process": ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
    ),
    "read_file": _LOOKS,
    "search_files": _LOOKS,
    "read_result": _LOOKS,
    "tool_search": _LOOKS,
    "tool_describe": _LOOKS,
    "write_file": ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
    ),
    "patch": ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False),
}
"""Of the tools that are ours; of others nothing is known, and clients take the worst."""


def tools(toolsets: tuple[str, ...]) -> list[Tool]:
    """Return the tools of these toolsets that can be used now. Blocks: checks are asked.

    Raises:
        ConfigError: the settings cannot be read.
    """
    return [_tool(each["function"]) for each in get_tool_definitions(toolsets, quiet_mode=True)]


def schema_of(name: str, toolsets: tuple[str, ...]) -> dict[str, Any] | None:
    """Return what a tool takes; None: there is no such tool."""
    for each in get_tool_definitions(toolsets, quiet_mode=True):
        if each["function"]["name"] == name:
            return dict(thaw(each["function"]["parameters"]))
    return None


def _tool(function: Mapping[str, Any]) -> Tool:
    name = str(function["name"])
    return Tool(
        name=name,
        title=name.replace("_", " ").replace("-", " ").capitalize(),
        description=str(function["description"]),
        input_schema=thaw(function["parameters"]),
        annotations=_HINTS.get(name),
    )
