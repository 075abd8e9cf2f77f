"""Finds what nobody owns any more, and removes it. A process is owned by its client, and for its ttl by itself."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.owner import lives
from shellward.process_registry.places import gone
from shellward.process_registry.records import LOCAL

if TYPE_CHECKING:
    from shellward.core.types import ProcessInfo
    from shellward.process_registry.registry import ProcessRegistry


@dataclass(frozen=True, slots=True)
class Orphan:
    """A process that nobody owns.

    Attributes:
        info: which.
        why: in a phrase.
    """

    info: "ProcessInfo"
    why: str


def owned(info: "ProcessInfo", now: datetime | None = None) -> bool:
    """Whether somebody owns a process: its ttl has not run out, or its client lives, or that cannot be known.

    What has ended is kept for as long after its end.
    """
    since = info.ended or info.started
    age = ((now or datetime.now(UTC)) - since).total_seconds()
    return age < info.ttl or lives(info.owner) is not False


def orphans(registry: "ProcessRegistry", place: str = LOCAL) -> list[Orphan]:
    """Name the processes at a place that nobody owns.

    Raises:
        EnvironmentUnavailable: it cannot be reached.
    """
    return [
        Orphan(info, f"its client {info.owner} is gone, and its {info.ttl:g} seconds are over")
        for info in registry.environment(place).processes()
        if not owned(info)
    ]


def reap(registry: "ProcessRegistry", place: str = LOCAL) -> list[Orphan]:
    """Remove the processes at a place that nobody owns, with their output; return them.

    Raises:
        EnvironmentUnavailable: it cannot be reached.
    """
    found = orphans(registry, place)
    for orphan in found:
        registry.environment(place).process(orphan.info.id).remove()
    registry.store.forget(orphan.info.id for orphan in found)
    return found


def holds(registry: "ProcessRegistry", place: str) -> bool:
    """Whether a process runs at a place that somebody owns, so that the place must not be removed.

    Raises:
        EnvironmentUnavailable: nobody can look there now, so one may run.
    """
    try:
        return any(info.running and owned(info) for info in registry.environment(place).processes())
    except EnvironmentUnavailable as error:
        if gone(error):
            return False
        raise
