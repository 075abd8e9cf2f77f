"""``shellward send``: type into a process."""

import click

from shellward.cli.process import ids


@click.command(
    "send",
    epilog="""\b
Examples:
  shellward send p3f2 'a line'
  shellward send --no-newline p3f2 y
  shellward send --key Escape --key Up --key C-c p3f2
  shellward send --eof p3f2
""",
)
@click.argument("name", metavar="ID", shell_complete=ids)
@click.argument("text", required=False)
@click.option("-n", "--no-newline", is_flag=True, help="The text alone, without Enter.")
@click.option("--key", "keys", multiple=True, metavar="NAME", help="Then press this key: Enter, C-c, Up (repeatable).")
@click.option("--eof", is_flag=True, help="Then close its input.")
@click.option("--timeout", type=float, default=10.0, metavar="SECONDS", help="Wait so long for it to read (10).")
def command(*, name: str, text: str | None, no_newline: bool, keys: tuple[str, ...], eof: bool, timeout: float) -> int:
    """Type TEXT and Enter into a process. What a shell would run of it passes the gate first."""
    from shellward.cli.process import registry
    from shellward.cli.say import FAILED, OK, say

    if text is None and not eof and not keys:
        raise click.UsageError("give a text, --key or --eof")
    with registry() as known:
        entry = known.find(name)
        try:
            if text is not None and no_newline:
                known.write(entry.id, text, timeout)
            elif text is not None:
                known.submit(entry.id, text, timeout)
            if keys:
                known.process(entry.id).send_keys(*keys, timeout=timeout)
        except BrokenPipeError as error:  # its input, not our output
            say(str(error.strerror))
            return FAILED
        if eof:
            known.close_stdin(entry.id)
    return OK
