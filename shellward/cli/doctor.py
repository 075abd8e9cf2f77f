"""``shellward doctor``: which kinds of environment work here, and what the others need."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from shellward.cli.complete import kinds
from shellward.cli.say import print_json

if TYPE_CHECKING:
    from shellward.environments.base import Diagnosis


@click.command(
    "doctor",
    epilog="""\b
Examples:
  shellward doctor
  shellward doctor --require docker && shellward run --env docker -- make test
""",
)
@click.option(
    "--require",
    multiple=True,
    metavar="KIND",
    shell_complete=kinds,
    help="Fail unless this kind works, too (repeatable).",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(require: tuple[str, ...], as_json: bool) -> int:
    """Say of every kind of environment whether it works here, and what to do if not.

    The exit code is 0 when local works and so does all that --require names, else 1.
    """
    from shellward.environments import registry

    for kind in require:
        registry.backend(kind)
    found = [_look(kind) for kind in registry.BACKENDS]
    if as_json:
        print_json([asdict(each) for each in found])
    else:
        _show(found)
    needed = {"local", *require}
    return 0 if all(each.works for each in found if each.kind in needed) else 1


def _look(kind: str) -> "Diagnosis":
    """Ask one backend; one that breaks does not hide the others."""
    from shellward.environments import registry
    from shellward.environments.base import Diagnosis

    try:
        return registry.backend(kind).doctor()
    except Exception as error:  # noqa: BLE001  # a diagnosis that fails is a finding, too
        return Diagnosis(kind, works=False, summary=f"{type(error).__name__}: {error}")


def _show(found: "list[Diagnosis]") -> None:
    width = max(len(each.kind) for each in found)
    for each in found:
        click.echo(f"{each.kind:<{width}}  {'works' if each.works else 'no   '}  {each.summary}")
        for line in filter(None, (each.advice, *each.notes)):
            click.echo(f"{'':<{width}}         {line}")
