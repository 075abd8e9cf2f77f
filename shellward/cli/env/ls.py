"""``shellward env ls``: a table of the environments that are there."""

import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from shellward.cli.complete import kinds
from shellward.cli.env.find import everything, short
from shellward.cli.say import print_json
from shellward.environments import lease_notes

if TYPE_CHECKING:
    from shellward.core.types import EnvironmentInfo

_COLUMNS: Final = ("HANDLE", "KIND", "IMAGE", "STATE", "AGE", "LEASE", "RENEWED", "OWNER")
_WIDE: Final = 10_000
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


@click.command(
    "ls",
    epilog="""\b
Examples:
  shellward env ls
  shellward env ls --env docker --json
""",
)
@click.option("--env", "kind", metavar="KIND", shell_complete=kinds, help="Only environments of this kind.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, with whole handles.")
def command(kind: str | None, as_json: bool) -> None:
    """List environments: of every client, with the owner as user@host:pid.

    A lease is how long an environment lives on without any client; RENEWED, how long ago a client of this user on this
    machine has renewed it.
    """
    found = everything(kind)
    if as_json:
        print_json([_plain(info) for info in found])
    else:
        _table(found)


def _plain(info: "EnvironmentInfo") -> dict[str, Any]:
    created = info.created.isoformat() if info.created else None
    when = lease_notes.renewed(info.handle)
    renewed = None if when is None else datetime.fromtimestamp(when, UTC).isoformat()
    return {**asdict(info), "labels": dict(info.labels), "created": created, "renewed": renewed}


def _table(found: "list[EnvironmentInfo]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*_COLUMNS, box=None, pad_edge=False, header_style="bold")
    for info in found:
        table.add_row(*(Text(cell) for cell in _cells(info)))
    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip(), color=True)  # rich has decided on colours already


def _cells(info: "EnvironmentInfo") -> tuple[str, ...]:
    age = "" if info.created is None else length((datetime.now(UTC) - info.created).total_seconds())
    lease = "" if info.lease is None else length(info.lease)
    when = lease_notes.renewed(info.handle)
    renewed = "" if when is None else f"{length(time.time() - when)} ago"
    return short(info), info.kind, info.image, info.state, age, lease, renewed, info.owner


def length(seconds: float) -> str:
    """Write a length of time in its largest unit: ``5s``, ``2m``, ``3h``."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return "0s"
