"""The servers of this program, and what its host does with them."""

from typing import Final

from shellward.mcp_client.servers import Servers, ServerStatus
from shellward.tools.registry import registry

servers: Final = Servers(registry)
"""The servers themselves."""


def connect_servers() -> None:
    """Do what discovery does: connect the servers of the settings that are not connected, let go of those that left.

    Raises:
        ConfigError: the settings cannot be read.
        MissingDependency: there are servers, and the SDK is not installed.
    """
    from shellward.config import load

    servers.configure(load().config.mcp_servers)


def server_status() -> list[ServerStatus]:
    """Return how each server is."""
    return servers.status()


def close_servers() -> None:
    """End all connections, and the servers that were started; their tools are gone. Also done at exit."""
    servers.close()
