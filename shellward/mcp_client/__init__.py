"""Tools of MCP servers: the servers of the settings are started or called, and what they list is in the registry.

Discovery of tools connects them (docs/mcp-client.md); ``status`` says how they are, ``close_servers`` ends them. The
SDK is imported when the first server is configured.
"""

from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "ServerStatus": "shellward.mcp_client.servers",
    "Servers": "shellward.mcp_client.servers",
    "close_servers": "shellward.mcp_client.default",
    "connect_servers": "shellward.mcp_client.default",
    "server_status": "shellward.mcp_client.default",
}

__all__ = sorted(_EXPORTS)  # noqa: PLE0605  # the names are strings, built from the table

if TYPE_CHECKING:
    from shellward.mcp_client.default import close_servers as close_servers
    from shellward.mcp_client.default import connect_servers as connect_servers
    from shellward.mcp_client.default import server_status as server_status
    from shellward.mcp_client.servers import Servers as Servers
    from shellward.mcp_client.servers import ServerStatus as ServerStatus


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'shellward.mcp_client' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_EXPORTS[name]), name)
