"""What discovery calls: connects the servers of the settings. Without any, nothing else of this room is imported."""

import sys
from typing import TYPE_CHECKING

from shellward.config import load

if TYPE_CHECKING:
    from shellward.tools.registry import Registry

_DEFAULT = "shellward.mcp_client.default"


def load_tools(registry: "Registry") -> None:
    """Connect the servers of ``config.yaml``, and wait until each has answered or failed.

    Args:
        registry: the one that all tool modules register in.

    Raises:
        ConfigError: the settings cannot be read.
        MissingDependency: there are servers, and the SDK is not installed.
    """
    configured = load().config.mcp_servers
    if configured or _DEFAULT in sys.modules:
        from shellward.mcp_client.default import servers

        if servers.registry is registry:
            servers.configure(configured)
