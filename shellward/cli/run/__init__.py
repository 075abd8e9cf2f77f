"""``shellward run``: one command, from its options to the exit code of this process."""

from typing import Any

import click

from shellward.cli.complete import handles
from shellward.cli.run.options import Options, count, duration, env_option, place_options, quiet_option, variable

_EPILOG = """\b
Examples:
  shellward run 'make test && echo ok'
  shellward run --timeout 5m -- make -j2 test
  shellward run --env docker --image shellward/sandbox --mount .:/src --cwd /src -- make test
  shellward run --env build -- make  # with environments: {build: {kind: ssh, host: ..}} in the settings
  tail -f app.log | shellward run -- grep --line-buffered ERROR
  shellward run --env docker --keep --set lease=3600 -- 'cd /srv && git init'
  shellward run --attach docker:3a2fcccd4479 -- git status

Exit codes: the command's own; 128 + n when signal n ended it; 124 timed out; 130 Ctrl-C; 20 the gate refused it,
and nothing has run; 125 Shellward itself failed; 2 wrong usage."""


@click.command(
    "run",
    context_settings={"allow_interspersed_args": False},
    epilog=_EPILOG,
)
@click.argument("words", metavar="CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@env_option
@click.option("--attach", metavar="HANDLE", shell_complete=handles, help="Run in this environment, and leave it.")
@click.option("--keep", is_flag=True, help="Leave the environment to its lease, and print its handle on stderr.")
@click.option("--session", metavar="NAME", help="Run in the session of this name, which has a state of its own.")
@click.option("--cwd", metavar="DIR", help="Directory to run in.")
@click.option("--timeout", type=duration, metavar="TIME", help="End it after so long: 90, 90s, 5m, 1h.")
@click.option(
    "--env-var",
    "variables",
    multiple=True,
    type=variable,
    metavar="K=V",
    help="Variable for the command; K alone passes ours on (repeatable).",
)
@click.option("--user", metavar="NAME", help="Run as this user.")
@click.option("--shell", metavar="SHELL", help="Shell to run it with; by default bash, else sh.")
@place_options
@click.option("--merge-stderr", is_flag=True, help="Standard error goes to standard output, in exact order.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end, and nothing else.")
@quiet_option
@click.option(
    "--max-output",
    type=count,
    metavar="N",
    help="With --json: most characters of each stream, or 'all' (default 50000).",
)
@click.option("--full-output", metavar="FILE", help="Write all output to this file, too.")
@click.option("--record", metavar="FILE", help="Record what is printed with its times, for shellward replay.")
def command(**given: Any) -> int:
    """Run a command, here or in a sandbox. Its streams and its exit code are those of this program.

    One word is a shell line: 'make test && echo ok'. Several words are a program and its arguments, and run as
    they stand. Standard input is passed on unless it is a terminal. Ctrl-C ends the command with all it started.
    What the gate finds dangerous is asked about on this terminal; where there is none, it is refused.
    """
    from shellward.cli.run.job import carry_out

    return carry_out(Options(**given).checked())
