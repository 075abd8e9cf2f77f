"""``shellward rm``: forget processes with their output."""

import click

from shellward.cli.process import ids


@click.command(
    "rm",
    epilog="""\b
Examples:
  shellward rm p3f2
  shellward rm --ended
""",
)
@click.argument("names", metavar="[ID]...", nargs=-1, shell_complete=ids)
@click.option("--ended", is_flag=True, help="All that have ended.")
@click.option("--force", is_flag=True, help="Also what runs: it is killed.")
def command(names: tuple[str, ...], ended: bool, force: bool) -> int:
    """Remove processes with their output, and print their ids. What runs is refused without --force."""
    from shellward.cli.process import registry
    from shellward.cli.say import FAILED, NO, OK, describe, say
    from shellward.core.errors import EnvironmentUnavailable

    if bool(names) == ended:
        raise click.UsageError("name the processes to remove, or give --ended")
    code = OK
    with registry() as known:
        chosen = [entry for entry in known.list() if entry.info.over] if ended else None
        for entry in chosen if chosen is not None else [known.find(name) for name in names]:
            try:
                # What was taken for lost is looked for once more: it may have been out of reach.
                if (ended or not force) and not known.poll(entry.id).info.over:
                    say(f"{entry.id} runs; end it first, or give --force")
                    code = NO
                    continue
                known.remove(entry.id)
            except EnvironmentUnavailable as error:
                say(f"{entry.id} kept, since it may run: {describe(error)[0]}")
                code = FAILED
                continue
            except FileNotFoundError:
                if chosen is None:
                    raise
                continue  # forgotten meanwhile
            click.echo(entry.id)
    return code
