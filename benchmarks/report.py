"""The table, for people, for programs and for docs/performance.md."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from figures import Measured, Row, Settings, quietly

START: Final = "<!-- benchmarks: start -->"
END: Final = "<!-- benchmarks: end -->"
_HEADS: Final = ("what", "Shellward", "baseline", "taken from", "ratio", "bar", "holds")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table, measured.

    Attributes:
        row: what it was to be.
        measured: None when there is nothing.
        missing: why there is nothing.
        failed: the row should have worked and did not.
    """

    row: Row
    measured: Measured | None
    missing: str = ""
    failed: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the bar is kept; None when that is not known."""
        if self.measured is None:
            return False if self.failed else None
        return self.row.bar.holds(self.measured)

    @property
    def bar(self) -> str:
        """The bar as people read it."""
        bar = self.row.bar
        more = "+" if bar.of == "difference" else ""
        return f"{bar.sign} {more}{_number(bar.limit)}" + ("" if bar.of == "ratio" else f" {self.row.unit}")

    def cells(self) -> tuple[str, ...]:
        """Return the texts of its columns."""
        row, got = self.row, self.measured
        holds = {True: "yes", False: "NO", None: "-"}[self.holds]
        if got is None:
            return (row.what, "-", "-", row.against, "-", self.bar, holds)
        figure, baseline = (f"{_number(value)} {row.unit}" for value in (got.figure, got.baseline))
        return (row.what, figure, baseline, row.against, _number(got.ratio), self.bar, holds)

    @property
    def note(self) -> str:
        """What does not fit into the columns."""
        if self.measured is None:
            return self.missing
        samples = f"{self.measured.samples} samples" if self.measured.samples > 1 else "1 sample"
        return "; ".join(filter(None, (samples, self.measured.note)))


def _number(value: float) -> str:
    """Three digits that count."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def machine(settings: Settings) -> dict[str, object]:
    """Say what a reader must know to read the figures; nothing that tells one machine from its like."""
    try:
        engine = quietly(["docker", "version", "--format", "{{.Server.Version}}"]).strip()
    except (OSError, RuntimeError):
        engine = ""
    return {
        "processors": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "kernel": ".".join(platform.release().split(".")[:2]),
        "python": platform.python_version(),
        "docker": engine,
        "image": settings.image,
        "quick": settings.quick,
    }


def described(facts: dict[str, object]) -> str:
    """Put ``machine`` into a sentence."""
    engine = f"Docker Engine {facts['docker']}, image {facts['image']}" if facts["docker"] else "no Docker Engine"
    text = (
        f"{facts['processors']} processors, load {facts['load']} at the start, Linux {facts['kernel']}, "
        f"Python {facts['python']}, {engine}."
    )
    return text + (" QUICK: shows that the rows work; not to be quoted." if facts["quick"] else "")


def as_text(lines: Sequence[Line], facts: dict[str, object]) -> str:
    """Return the table for a terminal."""
    table = [("name", *_HEADS, "note"), *((line.row.name, *line.cells(), line.note) for line in lines)]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(table[0]))]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) for cells in table]
    return "\n".join([*(line.rstrip() for line in shown), "", described(facts)])


def as_json(lines: Sequence[Line], facts: dict[str, object]) -> str:
    """Return the table for a program."""
    rows = [
        {
            "name": line.row.name,
            "what": line.row.what,
            "against": line.row.against,
            "unit": line.row.unit,
            "figure": line.measured and line.measured.figure,
            "baseline": line.measured and line.measured.baseline,
            "ratio": line.measured and line.measured.ratio,
            "samples": line.measured and line.measured.samples,
            "bar": {"of": line.row.bar.of, "sign": line.row.bar.sign, "limit": line.row.bar.limit},
            "holds": line.holds,
            "failed": line.failed,
            "note": line.note,
        }
        for line in lines
    ]
    return json.dumps({"machine": facts, "rows": rows}, indent=2)


def as_markdown(lines: Sequence[Line], facts: dict[str, object]) -> str:
    """Return the table for a page."""
    table = [(*_HEADS, "note"), ("---",) * (len(_HEADS) + 1), *((*line.cells(), line.note) for line in lines)]
    return "\n".join([*(f"| {' | '.join(cells)} |" for cells in table), "", described(facts)])


def fill(text: str, table: str) -> str:
    """Return a page with ``table`` in place of what stands between START and END.

    Raises:
        ValueError: it does not have each of the two once, in this order.
    """
    if text.count(START) != 1 or text.count(END) != 1 or text.index(START) > text.index(END):
        raise ValueError(f"the page needs one line {START} and after it one line {END}")
    before, rest = text.split(START)
    return f"{before}{START}\n{table}\n{END}{rest.split(END)[1]}"


def renew(text: str, lines: Sequence[Line]) -> str:
    """Return a page on which ``lines``, measured again by themselves, stand in the places of their rows.

    Raises:
        ValueError: a row is not on the page.
    """
    rows = text.splitlines(keepends=True)
    for line in lines:
        cells = line.cells()
        places = [
            number for number, row in enumerate(rows) if row.startswith(f"| {cells[0]} |") and f"| {cells[3]} |" in row
        ]
        if len(places) != 1:
            raise ValueError(f"the page has no row of {line.row.name}: measure the whole table")
        rows[places[0]] = f"| {' | '.join(cells)} | {line.note}; measured again |\n"
    return "".join(rows)
