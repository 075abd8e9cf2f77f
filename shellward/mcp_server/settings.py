"""What a server is started with. Importing this needs no MCP SDK."""

import ipaddress
from dataclasses import dataclass

from shellward.core.errors import ConfigError

TASK = "mcp"
"""The task that calls belong to: its environment, directory and processes."""
SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a server offers.

    Attributes:
        toolsets: whose tools; see docs/tools.md.
        task: whose environment; every client of one server shares it.
    """

    toolsets: tuple[str, ...] = ("coding",)
    task: str = TASK


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server listens, and whom it answers.

    Attributes:
        host: name or address.
        port: 0 takes a free one.
        token: clients have to send it; empty: anybody on this machine is answered.
        origins: web pages that may use it, such as ``https://app.example.com``, besides those of this machine.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    origins: tuple[str, ...] = ()

    @property
    def loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)

    def checked(self) -> "Address":
        """Return self when it is safe to listen there.

        Raises:
            ConfigError: others could use it without a token, or guess that.
        """
        if not self.token and not self.loopback:
            raise ConfigError(
                f"host: {self.host} is reached from other machines, so a token is needed: set SHELLWARD_MCP_TOKEN, or "
                "use --token-file"
            )
        if self.token and (len(self.token) < SHORTEST_TOKEN or not self.token.isascii() or " " in self.token):
            raise ConfigError(f"token: at least {SHORTEST_TOKEN} ASCII characters without spaces")
        return self


def is_loopback(host: str) -> bool:
    """Say whether a name or an address is this machine's own, and is so everywhere."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
