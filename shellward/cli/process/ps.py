"""``shellward ps``: background processes, of every place and every client."""

import sys
import time
from typing import TYPE_CHECKING, Final

import click

from shellward.cli.say import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.table import Table

    from shellward.process_registry import Entry

_COLUMNS: Final = ("ID", "STATE", "EXIT", "PID", "AGE", "OUT", "ENVIRONMENT", "COMMAND")
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
    """List background processes: of every environment, whoever started them.

    What ran at a place that cannot be reached now is shown as unknown; a note on stderr says why it cannot.
    """
    from shellward.cli.process import entries, record, registry
    from shellward.cli.say import print_json

    if watch and (as_json or not sys.stdout.isatty()):
        raise click.UsageError("--watch draws on a terminal: it goes neither with --json nor into a pipe")
    with registry() as known:

        def wanted() -> "Sequence[Entry]":
            return [entry for entry in entries(known, task) if every or not entry.info.over]

        if as_json:
            print_json([record(entry) for entry in wanted()])
        elif watch:
            _live(wanted)
        else:
            _print(wanted())


def _live(wanted: "Callable[[], Sequence[Entry]]") -> None:
    from rich.live import Live

    with Live(table(wanted()), auto_refresh=False, screen=True) as live:
        while True:
            time.sleep(_AGAIN)
            live.update(table(wanted()), refresh=True)


def _print(entries: "Sequence[Entry]") -> None:
    """Print a table without rich, which takes milliseconds for each row."""
    rows = [_COLUMNS, *map(_cells, entries)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        click.echo(click.style(line, bold=True) if number == 0 else line)
    for place, why in {
        entry.place: entry.info.reason for entry in entries if str(entry.info.state) == "unknown"
    }.items():
        say(f"{place} cannot be reached: {why}")


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
