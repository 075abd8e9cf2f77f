"""Screens of terminals as resources: what a person would see of a program in the background."""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec
from mcp_types import Resource, ResourceTemplate, TextResourceContents

_SCHEME: Final = "shellward://screen/"
_URI: Final = re.compile(re.escape(_SCHEME) + r"(p[0-9a-f]{12})\Z")
_TYPE: Final = "text/plain"
TEMPLATE: Final = ResourceTemplate(
    name="screen",
    title="Screen of a terminal",
    uri_template=f"{_SCHEME}{{session_id}}",
    description="What a program that was started with background and pty shows now; session_id is that of its answer",
    mime_type=_TYPE,
)
Process = Callable[[dict[str, Any]], str]
"""Calls the process tool."""


def listed(process: Process) -> list[Resource]:
    """Return the screens that are there. Blocks."""
    told = msgspec.json.decode(process({"action": "list"}))
    found = told.get("processes", ()) if isinstance(told, dict) else ()
    return [
        Resource(
            name=f"screen {each['session_id']}",
            title=f"{each['command'][:60]} ({each['status']})",
            uri=_SCHEME + each["session_id"],
            mime_type=_TYPE,
        )
        for each in found
        if each.get("pty")
    ]


def read(uri: str, process: Process) -> TextResourceContents | None:
    """Return what a screen shows; None: there is no such screen. Blocks."""
    match = _URI.match(uri)
    if match is None:
        return None
    told = msgspec.json.decode(process({"action": "poll", "session_id": match[1]}))
    screen = told.get("screen") if isinstance(told, dict) else None
    return TextResourceContents(uri=uri, mime_type=_TYPE, text=screen) if isinstance(screen, str) else None
