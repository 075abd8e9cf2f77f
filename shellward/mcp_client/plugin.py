"""What discovery calls: connects the servers of the settings. Without any, nothing else of this room is imported."""

import logging
import os
import sys
from typing import TYPE_CHECKING, Final

from shellward.config import load

if TYPE_CHECKING:
    from shellward.tools.registry import Registry

_log = logging.getLogger(__name__)

MARK: Final = "SHELLWARD_MCP_SERVER"
"""A variable with a random value, by which what a server has started is found."""
_DEFAULT: Final = "shellward.mcp_client.default"


def load_tools(registry: "Registry") -> None:
    """Connect the servers of ``config.yaml``, and wait until each has answered or failed.

    A program that was itself started as a server connects none: with the same settings it would start itself again,
    and so on.

    Args:
        registry: the one that all tool modules register in.

    Raises:
        ConfigError: the settings cannot be read.
        MissingDependency: there are servers, and the SDK is not installed.
    """
    configured = load().config.mcp_servers
    if configured and os.environ.get(MARK):
        _log.warning("this program is an MCP server of Shellward's: the servers of the settings are not connected")
        return
    if configured or _DEFAULT in sys.modules:
        from shellward.mcp_client.default import servers

        if servers.registry is registry:
            servers.configure(configured)
