"""``shellward top``: a live view of what runs in the background."""

import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import click

if TYPE_CHECKING:
    from rich.table import Table

    from shellward.core.types import Usage
    from shellward.process_registry import Entry, ProcessRegistry

_AGAIN: Final = 1.0
_LAST: Final = 4096
_COMMAND: Final = 40
_COLUMNS: Final = ("ID", "CPU %", "MEMORY", "PROCS", "OUT", "OUT/s", "COMMAND", "LAST LINE")


class _Seen(NamedTuple):
    """What was seen of a process."""

    entry: "Entry"
    usage: "Usage | None"
    printed: int
    last: str


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

            Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(_table(before, _look(known)))
            return
        from rich.live import Live

        with Live(auto_refresh=False, screen=True) as live:
            live.update(_table(before, before), refresh=True)  # how fast it goes, the second look will show
            while True:
                time.sleep(_AGAIN)
                now = _look(known)
                live.update(_table(before, now), refresh=True)
                before = now


def _look(known: "ProcessRegistry") -> "dict[str, _Seen]":
    """What each running process uses now, and what it has printed."""
    from shellward.cli.process import entries

    seen = ((entry.id, _seen(known, entry)) for entry in entries(known) if entry.info.running)
    return {name: each for name, each in seen if each is not None}


def _seen(known: "ProcessRegistry", entry: "Entry") -> "_Seen | None":
    from shellward.core.errors import EnvironmentUnavailable

    try:
        process = known.process(entry.id)
        usage, log = process.usage(), process.log(limit=_LAST)
    except FileNotFoundError:
        return None  # it was removed meanwhile
    except EnvironmentUnavailable:
        return _Seen(entry, None, 0, "(its environment cannot be reached now)")
    text = next((line for line in reversed(log.text.split("\n")) if line.strip()), "")
    return _Seen(entry, usage, log.size, "".join(letter for letter in text if letter.isprintable()))


def _table(before: "dict[str, _Seen]", now: "dict[str, _Seen]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(*_COLUMNS, box=None, pad_edge=False, header_style="bold")
    for name, seen in now.items():
        command = " ".join(seen.entry.info.command.split())[:_COMMAND]
        cells = (name, *_figures(before.get(name, seen), seen), command, seen.last)
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in cells))
    return table


def _figures(before: "_Seen", now: "_Seen") -> tuple[str, ...]:
    from shellward.cli.process.ps import size

    if now.usage is None or before.usage is None:
        return ("",) * 5
    span = max(0.001, now.usage.when - before.usage.when)
    return (
        f"{100 * max(0.0, now.usage.cpu_seconds - before.usage.cpu_seconds) / span:.0f}",
        size(now.usage.memory_bytes),
        str(now.usage.processes),
        size(now.printed),
        size(int(max(0, now.printed - before.printed) / span)),
    )
