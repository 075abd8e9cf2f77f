"""From what a server lists to tools of the registry: names that cannot collide, text that speaks for nobody else.

A server's descriptions stand beside the model's instructions, so they are cleaned as errors are (``answers``). A tool
that cannot be made clean without changing what it takes is left out.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from shellward.tools.answers import sanitised
from shellward.tools.tool import NAME, ToolSpec

if TYPE_CHECKING:
    from mcp_types import Tool

_log = logging.getLogger(__name__)

MOST_TOOLS: Final = 512
"""Tools of one server; what it lists after them is left out."""
_MOST_SCHEMA: Final = 64 << 10
"""Bytes of one tool's schema as JSON."""
_LONGEST_NAME: Final = 64
_MARK: Final = 8
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")
_SAID: Final = frozenset({"description", "title", "$comment"})
"""Keys of a schema whose texts are for readers; all else says what the tool takes."""


class Effect(Enum):
    """What a server says that a tool does. Servers may lie; whoever configures one says how far it is believed."""

    HARMLESS = "harmless"
    UNKNOWN = "unknown"
    DESTRUCTIVE = "destructive"


Caller = Callable[[str, Effect, Mapping[str, Any], str | None, str | None], str]
"""Calls a tool of a server: its name there, its effect, arguments, the task, what the user asked for. Returns JSON."""


def specs(server: str, tools: "Iterable[Tool]", call: Caller) -> list[ToolSpec]:
    """Return what is to be registered for a server.

    Args:
        server: its name in the settings.
        tools: what it lists.
        call: carries out a call.
    """
    found: dict[str, ToolSpec] = {}
    for count, tool in enumerate(tools):
        if count == MOST_TOOLS:
            _log.warning("%s lists more than %d tools; the others are left out", server, MOST_TOOLS)
            break
        try:
            spec = _spec(server, tool, call)
        except ValueError as problem:
            _log.warning("tool %r of server %s is left out: %s", tool.name[:100], server, problem)
            continue
        if found.setdefault(spec.name, spec) is not spec:
            _log.warning("server %s lists two tools %r; the first counts", server, tool.name[:100])
    return list(found.values())


def _spec(server: str, tool: "Tool", call: Caller) -> ToolSpec:
    schema = {"description": _description(server, tool), "parameters": _parameters(tool.input_schema)}
    handler = _handler(tool.name, _effect(tool), call)
    return ToolSpec(name=tool_name(server, tool.name), schema=schema, handler=handler, emoji="🔌")


def tool_name(server: str, tool: str) -> str:
    """Return what a tool is called here: ``mcp__<server>__<tool>``.

    Where that is no name that models' providers take, letters are replaced or cut off, and a hash of the server's own
    name says which it is, in whatever order tools come.
    """
    name = f"mcp__{server}__{_ODD.sub('_', tool)}"
    if name == f"mcp__{server}__{tool}" and NAME.fullmatch(name):
        return name
    mark = sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{name[: _LONGEST_NAME - _MARK - 1]}_{mark}"


def _description(server: str, tool: "Tool") -> str:
    said = sanitised(tool.description or tool.title or "")
    return said or f"A tool of the server {server}; it does not say what it does"


def _parameters(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with clean texts.

    Raises:
        ValueError: it is too large, or what it takes holds text that speaks to the model.
    """
    cleaned: Mapping[str, Any] = _cleaned(schema)
    size = len(msgspec.json.encode(cleaned))
    if size > _MOST_SCHEMA:
        raise ValueError(f"its schema is larger than {_MOST_SCHEMA >> 10} KB")
    for text in _texts(cleaned):
        if sanitised(text) != text.strip():
            raise ValueError(f"its schema holds what looks like a turn of the conversation: {sanitised(text)[:80]!r}")
    return cleaned


def _cleaned(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {
            key: sanitised(value) if key in _SAID and isinstance(value, str) else _cleaned(value)
            for key, value in node.items()
        }
    return [_cleaned(each) for each in node] if isinstance(node, list) else node


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping):
        for key, value in node.items():
            yield key
            if not (key in _SAID and isinstance(value, str)):
                yield from _texts(value)
    elif isinstance(node, list):
        for each in node:
            yield from _texts(each)


def _effect(tool: "Tool") -> Effect:
    """Return what the server says; by the protocol, a tool of which nothing is said may destroy."""
    hints = tool.annotations
    if hints is not None and (hints.read_only_hint or hints.destructive_hint is False):
        return Effect.HARMLESS
    return Effect.DESTRUCTIVE if hints is not None and hints.destructive_hint else Effect.UNKNOWN


def _handler(tool: str, effect: Effect, call: Caller) -> Callable[..., str]:
    def handle(args: dict[str, Any], task_id: str | None = None, user_task: str | None = None) -> str:
        return call(tool, effect, args, task_id, user_task)

    return handle
