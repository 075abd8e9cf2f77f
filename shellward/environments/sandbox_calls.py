"""The calls of an environment that concern its sandbox as a whole."""

from typing import TYPE_CHECKING, Final

from shellward.core.errors import ConfigError
from shellward.core.types import Stats
from shellward.environments.foreign import foreign

if TYPE_CHECKING:
    from shellward.environments.environment import Environment

_PORTS: Final = 1 << 16


class SandboxCalls:
    """Part of ``Environment``: what its backend can do with a sandbox; see ``capabilities``."""

    def snapshot(self: "Environment") -> str:  # type: ignore[misc]  # a part of Environment
        """Save the file system; returns what ``restore`` takes.

        Raises:
            Unsupported: see ``capabilities.snapshot``.
        """
        self.alive()
        with foreign(self.kind, "no snapshot could be taken"):
            return self.backend.snapshot()

    def restore(self: "Environment", snapshot: str) -> None:  # type: ignore[misc]
        """Go back to a snapshot. All processes end; the sessions begin afresh, and the handle may change.

        Raises:
            EnvironmentUnavailable: there is no such snapshot.
            Unsupported: see ``capabilities.snapshot``.
        """
        self.alive()
        with foreign(self.kind, "the snapshot could not be restored"):
            self.backend.restore(snapshot)
        self.begin_afresh()

    def expose(self: "Environment", port: int) -> str:  # type: ignore[misc]
        """Return ``host:port`` under which a TCP port of the environment is reachable from here.

        Raises:
            Unsupported: see ``capabilities.expose``.
        """
        self.alive()
        if not 0 < port < _PORTS:
            raise ConfigError(f"port: from 1 to {_PORTS - 1}, not {port!r}")
        with foreign(self.kind, "the port could not be reached"):
            return self.backend.expose(port)

    def stats(self: "Environment") -> Stats:  # type: ignore[misc]
        """Return what the environment uses now.

        Raises:
            Unsupported: see ``capabilities.stats``.
        """
        self.alive()
        with foreign(self.kind, "nobody knows what it uses"):
            return self.backend.stats()
