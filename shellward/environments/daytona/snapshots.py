"""Snapshots of a sandbox's file system, in the words of the SDK."""

import re
import secrets
import time
from typing import Any, Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.daytona.client import Client, again, mapped, short
from shellward.environments.daytona.sandbox import state

LIMIT: Final = 300.0
"""Seconds within which one has to be ready."""
_PAUSE: Final = 0.5
_FAILED: Final = ("error", "build_failed", "removing", "inactive")
_OURS: Final = re.compile(r"shellward-([0-9a-f]{20})-[0-9a-f]{8}")


def save(client: Client, sandbox: Any, name: str) -> str:
    """Save the file system of a sandbox, and wait until a sandbox can be made from that; returns the snapshot's name.

    Args:
        client: the SDK's.
        sandbox: likewise.
        name: of the environment; the snapshot tells it.

    Raises:
        EnvironmentUnavailable: Daytona refuses, or is not done in time.
    """
    snapshot = f"shellward-{name}-{secrets.token_hex(4)}"
    with mapped("snapshot"):
        sandbox.create_snapshot(snapshot, timeout=LIMIT)
    deadline = time.monotonic() + LIMIT
    while not ready(client, snapshot):
        if time.monotonic() > deadline:
            raise EnvironmentUnavailable(f"snapshot {snapshot} is not ready after {LIMIT:g} s; see Daytona's dashboard")
        time.sleep(_PAUSE)
    return snapshot


def ready(client: Client, snapshot: str) -> bool:
    """Whether sandboxes can be made from a snapshot now.

    Raises:
        EnvironmentUnavailable: there is none, or none can ever be made from it.
    """
    with mapped(f"snapshot {snapshot}"):
        found = again(lambda: client.api.snapshot.get(snapshot))
    now = state(found)
    if now in _FAILED:
        reason = f" ({short(found.error_reason)})" if found.error_reason else ""
        raise EnvironmentUnavailable(f"snapshot {snapshot} is {now}{reason}")
    return now == "active"


def left_in(snapshot: str) -> bytes:
    """Return the line of shell that removes what the environment that was saved has left in its files."""
    name = _OURS.fullmatch(snapshot)
    if name is None:
        return b""
    places = " ".join(f'"$b"/shellward-{each}' for each in name.groups())
    return f'for b in "${{TMPDIR:-/tmp}}" /tmp /var/tmp;do rm -rf -- {places};done\n'.encode()
