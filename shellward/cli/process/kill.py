"""``shellward kill``: end a process with everything that it started, or send it a signal."""

import click

from shellward.cli.process import ids


@click.command(
    "kill",
    epilog="""\b
Examples:
  shellward kill p3f2
  shellward kill --signal HUP p3f2
  shellward kill --signal INT --tree p3f2
""",
)
@click.argument("names", metavar="ID...", nargs=-1, required=True, shell_complete=ids)
@click.option("-s", "--signal", metavar="NAME", help="Send this signal only, to the process alone.")
@click.option("--tree", is_flag=True, help="With --signal: to everything that it has started, too.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(names: tuple[str, ...], signal: str | None, tree: bool, as_json: bool) -> int:
    """End processes: asked first, then killed, with everything they have started, wherever that went."""
    from shellward.cli.process import record, registry
    from shellward.cli.say import NO, OK, print_json, say

    if tree and signal is None:
        raise click.UsageError("--tree goes with --signal; without that the whole tree is ended anyway")
    code, done = OK, []
    with registry() as known:
        for entry in [known.find(name) for name in names]:
            if signal is None:
                ended = known.kill(entry.id)
                done.append(record(ended))
                if ended.info.running:
                    say(f"{entry.id} could not be ended")
                    code = NO
            else:
                if not known.signal(entry.id, signal, tree=tree):
                    say(f"{entry.id} does not run")
                    code = NO
                done.append(record(known.poll(entry.id)))
    if as_json:
        print_json(done)
    return code
