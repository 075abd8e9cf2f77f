"""``shellward top``: a live view of what runs in the background."""

import sys
import time
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from rich.table import Table

    from shellward.core.types import Usage
    from shellward.process_registry import Entry, ProcessRegistry

_AGAIN: Final = 1.0
_LAST: Final = 4096
_COMMAND: Final = 40
_COLUMNS: Final = ("ID", "CPU %", "MEMORY", "PROCS", "OUT", "OUT/s", "COMMAND", "LAST LINE")


@click.command(
    "top",
    epilog="""\b
Examples:
  shellward top
  shellward top --once
""",
)
@click.option("--once", is_flag=True, help="Print it once, after one second of looking.")
def command(once: bool) -> None:
    """Show what runs in the background: processor time, memory, how fast it prints, and its last line."""
    from shellward.cli.process import registry

    with registry() as known:
        before = _look(known)
        if once or not sys.stdout.isatty():
            time.sleep(_AGAIN)
            from rich.console import Console

            Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(
                _table(known, before, _look(known))
            )
            return
        from rich.live import Live

        with Live(auto_refresh=False, screen=True) as live:
            while True:
                time.sleep(_AGAIN)
                now = _look(known)
                live.update(_table(known, before, now), refresh=True)
                before = now


def _look(known: "ProcessRegistry") -> "dict[str, tuple[Entry, Usage, int]]":
    """What each running process uses now, and how much it has printed."""
    found = {}
    for entry in known.list():
        if entry.info.running:
            process = known.process(entry.id)
            found[entry.id] = entry, process.usage(), process.info().bytes_out or 0
    return found


def _table(
    known: "ProcessRegistry",
    before: "dict[str, tuple[Entry, Usage, int]]",
    now: "dict[str, tuple[Entry, Usage, int]]",
) -> "Table":
    from rich.table import Table
    from rich.text import Text

    from shellward.cli.process.ps import size

    table = Table(*_COLUMNS, box=None, pad_edge=False, header_style="bold")
    for name, (entry, usage, printed) in now.items():
        last, past = before.get(name, (entry, usage, printed))[1:]
        span = max(0.001, usage.when - last.when)
        cells = (
            name,
            f"{100 * max(0.0, usage.cpu_seconds - last.cpu_seconds) / span:.0f}",
            size(usage.memory_bytes),
            str(usage.processes),
            size(printed),
            size(int(max(0, printed - past) / span)),
            " ".join(entry.info.command.split())[:_COMMAND],
            _last_line(known, name),
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _last_line(known: "ProcessRegistry", name: str) -> str:
    lines = known.log(name, limit=_LAST).text.split("\n")
    text = next((line for line in reversed(lines) if line.strip()), "")
    return "".join(letter for letter in text if letter.isprintable())
