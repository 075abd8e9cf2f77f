"""Tool search for the model: three tools that stand in for the many that are not listed.

They know the tools of one selection, so of one session's toolsets, as they are now. ``tool_call`` is not carried out
here: the runtime takes the real name and arguments out of it, so that hooks, limits and gate see the real tool.
"""

import difflib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from shellward.config.schema import ToolSearchSection
from shellward.tools.answers import encode, error
from shellward.tools.arguments import Validator
from shellward.tools.frozen import FrozenDict, freeze, thaw

if TYPE_CHECKING:
    from shellward.tools.selection import Selection

_QUERY: Final = "What the tool should do, in words, with the service's name if there is one: 'create a github issue'"


def stand_ins(count: int, settings: ToolSearchSection) -> tuple[FrozenDict, ...]:
    """Return the definitions of the three.

    Args:
        count: how many tools they stand in for.
        settings: the limits of a search.
    """
    parameters = _parameters(settings.max_search_limit)
    texts = {
        "tool_search": f"Find tools by what they do: {count} more are there than are listed. Returns names and"
        f" descriptions, {settings.search_default_limit} unless limit says otherwise. Then tool_describe, then"
        " tool_call.",
        "tool_describe": "Return the full schema of a tool that tool_search found.",
        "tool_call": "Call a tool that tool_search found, with arguments that fit its schema.",
    }
    return tuple(
        freeze({"type": "function", "function": {"name": name, "description": text, "parameters": parameters[name]}})
        for name, text in texts.items()
    )


def _parameters(most: int) -> dict[str, dict[str, Any]]:
    name = {"type": "string", "description": "The exact name, as tool_search gave it"}
    return {
        "tool_search": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": _QUERY},
                "limit": {"type": "integer", "minimum": 1, "description": f"How many at most, up to {most}"},
            },
            "required": ["query"],
        },
        "tool_describe": {"type": "object", "properties": {"name": name}, "required": ["name"]},
        "tool_call": {
            "type": "object",
            "properties": {"name": name, "arguments": {"type": "object", "description": "The tool's own arguments"}},
            "required": ["name"],
        },
    }


@cache
def validator(name: str) -> Validator:
    """Return what checks the arguments of one of the three."""
    return Validator(_parameters(1)[name])


def search(selection: "Selection", args: Mapping[str, Any]) -> str:
    """Answer ``tool_search``."""
    if not selection.deferred:
        return error("tool_search is not in use: every tool of this session is listed")
    limit = min(int(args.get("limit") or selection.settings.search_default_limit), selection.settings.max_search_limit)
    hits = selection.index.search(args["query"], limit)
    found = [{"name": hit.name, "description": hit.description} for hit in hits]
    answer: dict[str, Any] = {"tools": found, "of": len(selection.deferred)}
    if not found:
        answer["hint"] = "nothing fits; try other words, or the name of the service"
    return encode(answer)


def describe(selection: "Selection", args: Mapping[str, Any]) -> str:
    """Answer ``tool_describe``."""
    listed = selection.listed.get(args["name"])
    if listed is None:
        return absent(selection, args["name"])
    return encode(thaw(listed.schema))


def absent(selection: "Selection", name: str) -> str:
    """Say that a session has no such tool, and what may have been meant."""
    if name in selection.unavailable:
        return error(f"{name} is not available now: {selection.unavailable[name]}")
    close = difflib.get_close_matches(name, selection.listed, n=3)
    meant = f"; did you mean {', '.join(close)}?" if close else ""
    return error(f"{name[:100]}: this session has no such tool{meant}")
