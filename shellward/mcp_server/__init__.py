"""The MCP server: the tools of ``shellward.tools`` for MCP clients, over stdin and stdout or over HTTP.

An adapter: what a tool does, what the gate asks and what a command may do is decided in the rooms below. The MCP SDK is
imported when a server is started, never before. docs/mcp.md shows how clients are set up.
"""

from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Address": "shellward.mcp_server.settings",
    "Served": "shellward.mcp_server.settings",
    "serve_http": "shellward.mcp_server.serving",
    "serve_stdio": "shellward.mcp_server.serving",
}

__all__ = sorted(_EXPORTS)  # noqa: PLE0605  # the names are strings, built from the table

if TYPE_CHECKING:
    from shellward.mcp_server.serving import serve_http as serve_http
    from shellward.mcp_server.serving import serve_stdio as serve_stdio
    from shellward.mcp_server.settings import Address as Address
    from shellward.mcp_server.settings import Served as Served


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'shellward.mcp_server' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_EXPORTS[name]), name)
