"""What a row of the table is, and how two things are timed against each other. No row is defined here."""

import operator
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

MB: Final = 2**20
_COMPARE: Final = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}
_PATIENCE: Final = 300.0


class Skipped(Exception):  # noqa: N818  # it is no error: what the row needs is not here
    """A row cannot be measured here; says why."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the rows are measured with.

    Attributes:
        image: for the Docker rows.
        quick: few samples and little data: shows that the rows work, gives no figures to quote.
    """

    image: str
    quick: bool = False

    def of(self, full: int, quick: int) -> int:
        """Choose a number of samples, or bytes."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Measured:
    """What a row's measurement gives, both in the row's unit.

    Attributes:
        figure: ours.
        baseline: the other's, taken in turns with ours.
        samples: how many of each.
        note: what a reader of the table should know besides.
    """

    figure: float
    baseline: float
    samples: int
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ours to the baseline."""
        return self.figure / self.baseline

    @property
    def difference(self) -> float:
        """What ours takes beyond the baseline."""
        return self.figure - self.baseline


@dataclass(frozen=True, slots=True)
class Bar:
    """What must hold.

    Attributes:
        sign: ``<``, ``<=`` or ``>=``.
        limit: of the ratio, or of our figure or its difference from the baseline in the row's unit.
        of: which of them.
    """

    sign: Literal["<", "<=", ">="]
    limit: float
    of: Literal["ratio", "figure", "difference"] = "ratio"

    def holds(self, measured: Measured) -> bool:
        """Say whether it does."""
        return bool(_COMPARE[self.sign](getattr(measured, self.of), self.limit))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, before it is measured.

    Attributes:
        name: for ``--only``.
        what: what is measured.
        against: what the baseline is.
        unit: of both figures.
        bar: what must hold.
        measure: does it; raises Skipped, or whatever went wrong.
    """

    name: str
    what: str
    against: str
    unit: str
    bar: Bar
    measure: Callable[[Settings], Measured]


Contestant = Callable[[], float]
"""Does a thing once and returns how much it took, in the row's unit."""


def timed(action: Callable[[], object], scale: float = 1000.0) -> Contestant:
    """Make a contestant that returns its own time.

    Args:
        action: what to time.
        scale: units per second; the default gives milliseconds.
    """

    def once() -> float:
        start = time.perf_counter()
        action()
        return (time.perf_counter() - start) * scale

    return once


def compare(ours: Contestant, baseline: Contestant, *, samples: int, block: int = 1, note: str = "") -> Measured:
    """Compare medians, taken in blocks that take turns, so that a machine that drifts does so for both.

    Every second pair of blocks goes in the other order (A B, B A), and one block of each is thrown away first.

    Args:
        ours: ours.
        baseline: the other.
        samples: at least so many of each.
        block: how many in a row.
        note: see Measured.
    """
    pair: list[tuple[Contestant, list[float]]] = [(ours, []), (baseline, [])]
    for contestant, _ in pair:
        for _ in range(block):
            contestant()
    turn = 0
    while len(pair[0][1]) < samples:
        for contestant, kept in pair if turn % 2 == 0 else reversed(pair):
            kept.extend(contestant() for _ in range(block))
        turn += 1
    return Measured(statistics.median(pair[0][1]), statistics.median(pair[1][1]), len(pair[0][1]), note)


def quietly(argv: Sequence[str]) -> str:
    """Run a program of this machine that must succeed; returns what it printed.

    Raises:
        RuntimeError: it did not; carries what it said.
    """
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{argv[0]} ended with exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout
