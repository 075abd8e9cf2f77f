"""``shellward wait``: until a process has ended, with its exit code."""

import click

from shellward.cli.process import ids
from shellward.cli.run.options import duration


@click.command(
    "wait",
    epilog="""\b
Examples:
  shellward wait p3f2
  shellward wait --timeout 5m --json p3f2
""",
)
@click.argument("name", metavar="ID", shell_complete=ids)
@click.option("--timeout", type=duration, metavar="TIME", help="At most so long; then exit with 124.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(name: str, timeout: float | None, as_json: bool) -> int:
    """Wait for the end of a process, and exit with its exit code."""
    from shellward.cli.process import exit_status, record, registry
    from shellward.cli.say import TIMED_OUT, print_json, say

    with registry() as known:
        entry = known.wait(known.find(name).id, timeout)
    if as_json:
        print_json(record(entry))
    if entry.info.running:
        if not as_json:
            say(f"{entry.id} still runs")
        return TIMED_OUT
    if not as_json and entry.info.exit_code is None:
        say(f"{entry.id} was lost: how it ended, nobody knows")
    return exit_status(entry)
