"""``shellward env prune``: remove the environments that nobody owns any more."""

import click

from shellward.cli.complete import kinds
from shellward.cli.env.find import everything, remove, short, unowned
from shellward.cli.say import FAILED, OK, describe, say
from shellward.core.errors import ShellwardError


@click.command(
    "prune",
    epilog="""\b
Examples:
  shellward env prune --dry-run
  shellward env prune --env docker
""",
)
@click.option("--env", "kind", metavar="KIND", shell_complete=kinds, help="Only environments of this kind.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
def command(kind: str | None, dry_run: bool) -> int:
    """Remove environments that have exited, or whose owner was a process of this machine that is gone.

    That includes what ``run --keep`` left to its lease. What other machines own is left alone.
    """
    code = OK
    for info in everything(kind):
        why = unowned(info)
        if not why:
            continue
        try:
            if dry_run or remove(info):
                click.echo(f"{'would remove' if dry_run else 'removed'} {short(info)}: {why}")
        except ShellwardError as error:
            say(describe(error)[0])
            code = FAILED
    return code
