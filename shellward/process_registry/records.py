"""What the registry remembers of a process, and what it tells when something happened to one."""

from dataclasses import dataclass
from enum import StrEnum

from shellward.core.types import ProcessInfo

LOCAL = "local"
"""Place of all processes of this machine: they belong to no environment that could be attached to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One process that is known.

    Attributes:
        place: handle of its environment; ``local`` for this machine.
        info: what was known of it when this was read.
        notify: whether its end is to be told.
        client: who registered it, as ``user@host:pid``.
        engine: id of the engine that keeps its place, where the place's handle does not say which; empty: it does.
    """

    place: str
    info: ProcessInfo
    notify: bool = False
    client: str = ""
    engine: str = ""

    @property
    def id(self) -> str:
        """The process's id."""
        return self.info.id


class NoticeKind(StrEnum):
    """What happened."""

    ENDED = "ended"
    MATCHED = "matched"
    NOISY = "noisy"
    """Its output matched so often that it is watched no longer; its end will be told instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something happened to a process.

    Attributes:
        kind: what.
        id: of the process.
        entry: what is known of it.
        pattern: that matched.
        text: the line, or the part of it, that matched.
        offset: of the match in the output, in bytes.
        count: with ``noisy``: how many matches there were in the last seconds.
    """

    kind: NoticeKind
    id: str
    entry: Entry
    pattern: str = ""
    text: str = ""
    offset: int = 0
    count: int = 1
