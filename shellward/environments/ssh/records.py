"""Which environments were made on which hosts: a file for each, since no host can be asked for those of all hosts."""

import hashlib
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from shellward.config.paths import state_dir
from shellward.core.types import EnvironmentInfo
from shellward.environments.owner import owner

_AT_ONCE: Final = 16
"""So many hosts are asked together."""


class Record(msgspec.Struct, frozen=True):
    """What is noted of one environment.

    Attributes:
        handle: see EnvironmentInfo.
        owner: see EnvironmentInfo.
        lease: seconds.
        created: seconds since the epoch.
    """

    handle: str
    owner: str
    lease: float
    created: float


def _directory() -> Path:
    return state_dir() / "ssh"


def _file(handle: str) -> Path:
    return _directory() / f"{hashlib.sha256(handle.encode()).hexdigest()[:32]}.json"


def note(handle: str, lease: float) -> None:
    """Note an environment that was made."""
    file = _file(handle)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(Record(handle, owner(), lease, time.time())))
    part.replace(file)


def forget(handle: str) -> bool:
    """Drop the note of an environment that has ended; whether there was one."""
    try:
        _file(handle).unlink()
    except FileNotFoundError:
        return False
    return True


def listed(state: Callable[[str], str]) -> Sequence[EnvironmentInfo]:
    """List what was noted and is not ``gone``; ``state`` asks a host."""
    known = []
    for file in sorted(_directory().glob("*.json")):
        try:
            record = msgspec.json.decode(file.read_bytes(), type=Record)
        except FileNotFoundError:
            continue  # ended meanwhile
        except (msgspec.DecodeError, msgspec.ValidationError):
            file.unlink(missing_ok=True)
            continue
        known.append(record)
    if not known:
        return []
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(known), _AT_ONCE)) as pool:  # a host that does not answer holds up no other
        states = list(pool.map(state, [record.handle for record in known]))
    found = []
    for record, now in zip(known, states, strict=True):
        if now == "gone":
            forget(record.handle)
        else:
            found.append(_info(record, now))
    return found


def _info(record: Record, state: str) -> EnvironmentInfo:
    host, _, rest = record.handle.partition(":")[2].partition("/")
    return EnvironmentInfo(
        handle=record.handle,
        kind="ssh",
        name=f"{host} {rest.partition('?')[0].rpartition('-')[2]}",
        created=datetime.fromtimestamp(record.created, UTC),
        state=state,
        owner=record.owner,
        lease=record.lease,
    )
