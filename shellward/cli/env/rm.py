"""``shellward env rm``: remove environments by handle."""

import click

from shellward.cli.complete import handles
from shellward.cli.env.find import everything, find, forget, remove, short
from shellward.cli.say import FAILED, OK, describe, say
from shellward.core.errors import ShellwardError


@click.command(
    "rm",
    epilog="""\b
Examples:
  shellward env rm docker:3a2fcccd4479
  shellward env rm 3a2f 9c0
  shellward env rm --all
  shellward env rm --forget ssh:me@old-host
""",
)
@click.argument("names", metavar="[HANDLE]...", nargs=-1, shell_complete=handles)
@click.option("--all", "every", is_flag=True, help="Remove all of them, whoever owns them.")
@click.option("--forget", "forgotten", is_flag=True, help="Only forget them: their host is gone for good.")
def command(names: tuple[str, ...], every: bool, forgotten: bool) -> int:
    """Remove environments with everything in them, and print their handles.

    A HANDLE may be cut short, with or without its kind, as long as it means one environment. When one of them
    means none or several, nothing is removed. With --forget no host is asked: environments and the processes in them
    are forgotten, and what is left of them there ends with its lease.
    """
    if bool(names) == every:
        raise click.UsageError("name the environments to remove, or give --all")
    if forgotten and every:
        raise click.UsageError("--forget needs the environments by name")
    there = everything()
    wanted = there if every else list({(info := find(name, there)).handle: info for name in names}.values())
    code = OK
    for info in wanted:
        try:
            forget(info) if forgotten else remove(info)
            click.echo(short(info))
        except ShellwardError as error:
            say(describe(error)[0])
            code = FAILED
    return code
