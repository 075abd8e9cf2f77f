"""The connections to a sandbox's worker: each carries a limited number of streams, so there may be several."""

from dataclasses import dataclass
from typing import Any, Final

from shellward.environments.modal.sdk import sdk

_MOST: Final = 20
"""Processes on one connection. Each keeps two streams open, and HTTP/2 servers allow a hundred (RFC 9113, 6.5.2);
what is over that waits, also what would end something."""


@dataclass(slots=True)
class Connection:
    """One handle of the SDK's on the sandbox; each has a connection of its own.

    Attributes:
        sandbox: the SDK's.
        used: processes whose streams are on it.
    """

    sandbox: Any
    used: int = 0


class Connections:
    """See above. Everything in it happens on the SDK's event loop.

    Args:
        sandbox: the SDK's first handle, which is not closed here.
        client: the SDK's.
    """

    def __init__(self, sandbox: Any, client: Any) -> None:
        self._client = client
        self._all = [Connection(sandbox)]

    async def take(self) -> Connection:
        """Return a connection with room for a process; ``give_back`` it."""
        found = min(self._all, key=lambda each: each.used)
        if found.used >= _MOST:
            name = self._all[0].sandbox.object_id
            found = Connection(await sdk().Sandbox.from_id.aio(name, client=self._client))
            self._all.append(found)
        found.used += 1
        return found

    def give_back(self, connection: Connection) -> None:
        """A process has no streams on it any more."""
        connection.used -= 1

    async def close(self) -> None:
        """Close the further ones."""
        further, self._all[1:] = self._all[1:], []
        for each in further:
            await each.sandbox.detach.aio()
