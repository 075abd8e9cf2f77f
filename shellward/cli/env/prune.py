"""``shellward env prune``: remove the environments that nobody owns any more."""

from typing import TYPE_CHECKING

import click

from shellward.cli.complete import kinds
from shellward.cli.env.find import everything, remove, short, unowned
from shellward.cli.process import registry
from shellward.cli.say import FAILED, OK, describe, say
from shellward.core.errors import ShellwardError

if TYPE_CHECKING:
    from shellward.process_registry import ProcessRegistry


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

    That includes what ``run --keep`` left to its lease, but nothing in which a background process runs that has its
    time left, and nothing that cannot be looked into now, as one that is paused. Background processes of this machine
    that nobody owns are removed, too. What other machines own is left alone.
    """
    with registry() as known:
        return _prune(known, kind, dry_run=dry_run)


def _prune(known: "ProcessRegistry", kind: str | None, *, dry_run: bool) -> int:
    from shellward.process_registry import reaper

    code = OK
    if kind in (None, "local"):
        for orphan in reaper.orphans(known) if dry_run else reaper.reap(known):
            click.echo(f"{'would remove' if dry_run else 'removed'} process {orphan.info.id}: {orphan.why}")
    for info in everything(kind):
        why = unowned(info)
        if not why:
            continue
        try:
            if info.state != "exited" and reaper.holds(known, info.handle):
                continue
        except ShellwardError as error:
            say(f"{short(info)} left alone, since a process may run in it: {describe(error)[0]}")
            continue
        try:
            if dry_run or remove(info):
                click.echo(f"{'would remove' if dry_run else 'removed'} {short(info)}: {why}")
        except ShellwardError as error:
            say(describe(error)[0])
            code = FAILED
    return code
