"""Tools for models: which there are, which a session may use, and how a call is carried out.

``registry.register`` puts a tool in, ``get_tool_definitions`` lists what a session has, ``handle_function_call`` calls
one; docs/tools.md shows each. This room knows neither sandboxes nor the gate: tools that run commands live above it.
"""

from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Block": "shellward.tools.hooks",
    "Outcome": "shellward.tools.hooks",
    "Registry": "shellward.tools.registry",
    "Rewrite": "shellward.tools.hooks",
    "ToolCall": "shellward.tools.hooks",
    "ToolRuntime": "shellward.tools.runtime",
    "ToolSpec": "shellward.tools.tool",
    "Toolset": "shellward.tools.toolsets",
    "add_hook": "shellward.tools.default",
    "configure": "shellward.tools.default",
    "discover": "shellward.tools.default",
    "get_tool_definitions": "shellward.tools.default",
    "handle_function_call": "shellward.tools.default",
    "is_toolset_available": "shellward.tools.default",
    "to_anthropic": "shellward.tools.formats",
    "to_openai": "shellward.tools.formats",
    "to_openai_responses": "shellward.tools.formats",
}

__all__ = sorted(_EXPORTS)  # noqa: PLE0605  # the names are strings, built from the table

if TYPE_CHECKING:
    from shellward.tools.default import add_hook as add_hook
    from shellward.tools.default import configure as configure
    from shellward.tools.default import discover as discover
    from shellward.tools.default import get_tool_definitions as get_tool_definitions
    from shellward.tools.default import handle_function_call as handle_function_call
    from shellward.tools.default import is_toolset_available as is_toolset_available
    from shellward.tools.formats import to_anthropic as to_anthropic
    from shellward.tools.formats import to_openai as to_openai
    from shellward.tools.formats import to_openai_responses as to_openai_responses
    from shellward.tools.hooks import Block as Block
    from shellward.tools.hooks import Outcome as Outcome
    from shellward.tools.hooks import Rewrite as Rewrite
    from shellward.tools.hooks import ToolCall as ToolCall
    from shellward.tools.registry import Registry as Registry
    from shellward.tools.runtime import ToolRuntime as ToolRuntime
    from shellward.tools.tool import ToolSpec as ToolSpec
    from shellward.tools.toolsets import Toolset as Toolset


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'shellward.tools' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_EXPORTS[name]), name)
