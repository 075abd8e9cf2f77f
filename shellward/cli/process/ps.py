"""``shellward ps``: background processes, of every place and every client."""

import sys
import time
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.table import Table

    from shellward.process_registry import Entry

_COLUMNS: Final = ("ID", "STATE", "EXIT", "PID", "AGE", "OUT", "ENVIRONMENT", "COMMAND")
_WIDE: Final = 10_000
_COMMAND: Final = 60
_AGAIN: Final = 1.0
_UNITS: Final = ((2**30, "G"), (2**20, "M"), (2**10, "K"))


@click.command(
    "ps",
    epilog="""\b
Examples:
  shellward ps
  shellward ps --all --json
  shellward ps --watch
""",
)
@click.option("--all", "every", is_flag=True, help="Those that have ended, too.")
@click.option("--task", metavar="ID", help="Only those of this task.")
@click.option("--watch", is_flag=True, help="Show it again each second, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(every: bool, task: str | None, watch: bool, as_json: bool) -> None:
    """List background processes: of every environment, whoever started them."""
    from shellward.cli.process import entries, record, registry
    from shellward.cli.say import print_json

    if watch and (as_json or not sys.stdout.isatty()):
        raise click.UsageError("--watch draws on a terminal: it goes neither with --json nor into a pipe")
    with registry() as known:

        def wanted() -> "Sequence[Entry]":
            return [entry for entry in entries(known, task) if every or entry.info.running]

        if as_json:
            print_json([record(entry) for entry in wanted()])
        elif watch:
            _live(wanted)
        else:
            _print(table(wanted()))


def _live(wanted: "Callable[[], Sequence[Entry]]") -> None:
    from rich.live import Live

    with Live(table(wanted()), auto_refresh=False, screen=True) as live:
        while True:
            time.sleep(_AGAIN)
            live.update(table(wanted()), refresh=True)


def _print(shown: "Table") -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)
    with console.capture() as captured:
        console.print(shown)
    for line in captured.get().splitlines():
        click.echo(line.rstrip(), color=True)  # rich has decided on colours already


def table(entries: "Sequence[Entry]") -> "Table":
    """Make the table of processes."""
    from rich.table import Table
    from rich.text import Text

    made = Table(*_COLUMNS, box=None, pad_edge=False, header_style="bold")
    for entry in entries:
        made.add_row(*(Text(cell) for cell in _cells(entry)))
    return made


def _cells(entry: "Entry") -> tuple[str, ...]:
    from shellward.cli.env.ls import length

    info = entry.info
    code = "" if info.exit_code is None else (info.signal or str(info.exit_code))
    place = entry.place if entry.place == "local" else entry.place.rpartition("/")[2][: len("docker:") + 12]
    line = " ".join(info.command.split())
    shown = line if len(line) <= _COMMAND else f"{line[: _COMMAND - 1]}…"
    safe = "".join(letter if letter.isprintable() else "?" for letter in shown)
    age = length(time.time() - info.started.timestamp())
    return entry.id, str(info.state), code, str(info.pid or ""), age, size(info.bytes_out), place, safe


def size(count: int | None) -> str:
    """Write a number of bytes in its largest unit."""
    if count is None:
        return ""
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:.1f}{name}"
    return str(count)
