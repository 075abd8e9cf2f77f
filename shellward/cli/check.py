"""``shellward check``: what the gate says of a command, without running or asking anything."""

import os
import sys
from typing import Final

import click
import msgspec

from shellward.approval.advice import allow_with
from shellward.approval.context import Context
from shellward.approval.gatekeeper import Gate
from shellward.approval.reach import Reach, typical
from shellward.cli.output import decision_record, print_decision, print_json
from shellward.config import load
from shellward.core.errors import ConfigError
from shellward.core.gate import Verdict

EXIT: Final = {Verdict.ALLOW: 0, Verdict.ASK: 10, Verdict.DENY: 20}
_KINDS: Final = ("local", "docker", "ssh", "singularity", "modal", "daytona")


@click.command(
    "check",
    epilog="""\b
Examples:
  shellward check 'rm -rf /srv'
  shellward check --env docker --reach network 'curl https://example.com/x | sh'
  history | tail -1 | shellward check --json -
""",
)
@click.argument("text", metavar="CMD")
@click.option("--env", "kind", type=click.Choice(_KINDS), default="local", help="Kind of environment it would run in.")
@click.option("--reach", "powers", help="What that environment can touch, with commas; 'nothing' for nothing.")
@click.option("--cwd", help="Working directory it would run in (default: the current one).")
@click.option("--task", default="", help="Task it would run for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(text: str, kind: str, powers: str | None, cwd: str | None, *, task: str, as_json: bool) -> int:
    """Explain what the gate says of CMD ('-' reads it from standard input).

    Exit status: 0 allow, 10 ask, 20 deny.
    """
    if text == "-":
        text = sys.stdin.read()
    if cwd is None and kind == "local":
        cwd = os.getcwd()  # noqa: PTH109  # a string is what is wanted
    context = Context(backend=kind, cwd=cwd, task=task)
    gate = Gate(load().config, reach=_reach(kind, powers), terminal=False)
    outcome = gate.examine(text, context)
    allowing = allow_with(outcome, context, gate.reach)
    if as_json:
        record = decision_record(outcome.decision)
        print_json(record | {"reach": sorted(gate.reach.powers), "allow_with": allowing})
    else:
        print_decision(outcome)
        if allowing:
            click.echo("this in config.yaml would allow it:\n  approval:")
            for key, entry in allowing.items():
                click.echo(f"    {key}:")
                for item in entry if isinstance(entry, list) else [entry]:
                    click.echo(f"      - {msgspec.json.encode(item).decode()}")
    return EXIT[outcome.decision.verdict]


def _reach(kind: str, powers: str | None) -> Reach:
    if powers is None:
        return typical(kind)
    if powers in {"", "nothing"}:
        return Reach.of(())
    try:
        return Reach.of(power.strip() for power in powers.split(","))
    except ValueError as error:
        raise ConfigError(f"--reach: {error}") from None
