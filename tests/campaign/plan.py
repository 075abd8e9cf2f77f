"""The plan of a round: where, which fault, when, and which calls. All of it follows from the seed and the number."""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

CALLS = {
    "short": 8,
    "output": 3,
    "input": 4,
    "limit": 3,
    "stream": 2,
    "pty": 2,
    "asynchronous": 2,
    "session": 3,
    "process": 4,
    "kill": 2,
    "send": 2,
    "file": 4,
    "copy": 2,
    "terminal": 2,
    "attach": 1,
    "another": 1,
}
"""Kinds of calls, and how often each is taken; client.py has a method for each."""

_SHELLS = ("main", "control", "exits", "files", "any")
_EVERYWHERE = (
    "none",
    *(f"kill-{which}" for which in (*_SHELLS, "holder")),
    *(f"stop-{which}" for which in _SHELLS),
    "kill-client",
    "stop-client",
    "descriptors",
    "state-full",
    "state-read-only",
    "limits",
    "interrupt",
)
FAULTS = {
    "local": (*_EVERYWHERE, "scratch-full", "scratch-read-only"),
    "docker": (
        *_EVERYWHERE,
        "scratch-full",
        "scratch-read-only",
        "pause",
        "container-kill",
        "container-restart",
        "container-remove",
        "engine-delayed",
        "engine-cut",
        "engine-stalled",
        "engine-refusing",
    ),
    "ssh": (*_EVERYWHERE, "link-delayed", "link-cut", "link-stalled", "link-refusing", "server-kill"),
}
"""Faults by place; faults.py does them."""

ENDS_PLACE = frozenset(("container-kill", "container-restart", "container-remove"))
"""After these the sandbox, or what ran in it, is gone for good."""
OF_CLIENT = frozenset(("stop-client", "kill-client", "descriptors", "state-full", "state-read-only"))
"""These concern the whole client, and so its other environments, too."""
_LOCAL_SCRATCH = frozenset(("scratch-full", "scratch-read-only"))
PLACES = tuple(FAULTS)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A round.

    Attributes:
        seed: of the campaign.
        number: of the round.
        place: kind of the environment.
        shell: ``bash``, or ``sh`` for the smaller one of this place.
        fault: its name.
        at: number of the call at whose beginning it comes.
        delay: seconds after that.
        length: seconds that it lasts, where it ends by itself.
        some: a number for the fault itself.
        way: how the engine is reached: ``unix`` or ``tcp``; the latter has no short cut into the container.
        threads: that call.
        calls: kinds of them.
        beside: kind of the healthy environment that the same client has.
    """

    seed: int
    number: int
    place: str
    shell: str
    fault: str
    at: int
    delay: float
    length: float
    some: int
    way: str
    threads: int
    calls: tuple[str, ...]
    beside: str

    @property
    def name(self) -> str:
        """What is at the beginning of each line about it."""
        return f"{self.seed}:{self.number}"

    @property
    def heals(self) -> bool:
        """Whether the environment has to work when the fault is over."""
        return self.fault not in ENDS_PLACE and self.fault != "kill-client"

    @property
    def neighbours_feel(self) -> bool:
        """Whether the client's other environments cannot be expected to go on meanwhile."""
        return self.fault in OF_CLIENT or (self.place == "local" and self.fault in _LOCAL_SCRATCH)

    def write(self, path: Path, **more: Any) -> None:
        """Write it for the client."""
        path.write_text(json.dumps({"plan": asdict(self), **more}))

    @classmethod
    def read(cls, kept: dict[str, Any]) -> "Plan":
        """Read what ``write`` has written."""
        return cls(**{**kept, "calls": tuple(kept["calls"])})


def make(seed: int, number: int, places: Sequence[str], fault: str | None = None) -> Plan:
    """Make the plan of a round.

    Args:
        seed: of the campaign.
        number: of the round; one after the other goes to the next place, and there to the next fault.
        places: at which it runs.
        fault: only this one, where it is there.
    """
    rng = random.Random(f"{seed}:{number}")
    place = places[number % len(places)]
    faults = [each for each in FAULTS[place] if fault is None or each.startswith(fault)] or ["none"]
    order = random.Random(f"{seed}:{place}:{number // len(places) // len(faults)}").sample(faults, len(faults))
    chosen = order[number // len(places) % len(faults)]
    threads = rng.choice((1, 1, 8))
    if chosen == "interrupt":
        threads = 1  # it is raised in the main thread
    count = rng.randint(14, 22) * (2 if threads > 1 else 1)
    kinds = [kind for kind in CALLS if kind != "attach" or place != "local"]
    calls = rng.choices(kinds, [CALLS[kind] for kind in kinds], k=count)
    return Plan(
        seed=seed,
        number=number,
        place=place,
        shell=rng.choice(("bash", "bash", "bash", "sh")),
        fault=chosen,
        at=rng.randrange(count // 4, count // 2),
        delay=rng.choice((0.0, rng.uniform(0, 0.02), rng.uniform(0, 0.2))),
        length=rng.uniform(0.2, 3.0),
        some=rng.randrange(1 << 30),
        way=rng.choice(("unix", "tcp")),
        threads=threads,
        calls=tuple(calls),
        beside=place if rng.random() < (1.0 if place == "local" else 0.3) and place != "ssh" else "local",
    )
