"""``shellward doctor``: which kinds of environment work here, what the others need, and whether its own files do."""

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
    """Say of every kind of environment whether it works here, and what to do if not; likewise of settings and state.

    The exit code is 0 when local, settings and state are right and so is all that --require names, else 1.
    """
    from shellward.environments import registry

    for kind in require:
        registry.backend(kind)
    found = [*(_look(kind) for kind in registry.BACKENDS), _settings(), _state()]
    if as_json:
        print_json([asdict(each) for each in found])
    else:
        _show(found)
    needed = {"local", "settings", "state", *require}
    return 0 if all(each.works for each in found if each.kind in needed) else 1


def _look(kind: str) -> "Diagnosis":
    """Ask one backend; one that breaks does not hide the others."""
    from shellward.environments import registry
    from shellward.environments.base import Diagnosis

    try:
        return registry.backend(kind).doctor()
    except Exception as error:  # noqa: BLE001  # a diagnosis that fails is a finding, too
        return Diagnosis(kind, works=False, summary=f"{type(error).__name__}: {error}")


def _settings() -> "Diagnosis":
    """Read the settings as every command does, and what only the environments that they describe can tell."""
    from shellward.config import load, paths
    from shellward.config.environments import choose
    from shellward.core.errors import ConfigError
    from shellward.environments import registry
    from shellward.environments.base import Diagnosis

    file = paths.config_file()
    try:
        loaded = load()
        choice = choose(loaded).over({})
    except ConfigError as error:
        advice = f"put that right; what may stand in {file} is in docs/configuration.md"
        return Diagnosis("settings", works=False, summary=str(error), advice=advice)
    wrong = []
    for each in (choice, *(choose(loaded, name) for name in loaded.config.environments)):
        try:
            registry.check(each.kind, each.over({}).config)
        except ConfigError as error:
            where = f"environments.{each.name}" if each.name else "terminal"
            wrong.append(f"{where}: {error}")
    there = "" if file.is_file() else " (not there yet)"
    return Diagnosis(
        "settings",
        works=not wrong,
        summary=wrong[0] if wrong else f"{file}{there}; commands run on {choice}",
        advice=f"put that right in {loaded.sources['environments'] if choice.name else file}" if wrong else "",
        notes=(*wrong[1:], *loaded.unused),
    )


def _state() -> "Diagnosis":
    """Write into the directory of the state, as every command does that is recorded."""
    import tempfile

    from shellward.config import paths
    from shellward.environments.base import Diagnosis

    directory = paths.state_dir()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"x")
    except OSError as error:
        return Diagnosis(
            "state",
            works=False,
            summary=f"{directory} cannot be written to: {error.strerror or error}",
            advice="make it writable, or set SHELLWARD_HOME to a directory for settings and state that is",
        )
    return Diagnosis("state", works=True, summary=str(directory))


def _show(found: "list[Diagnosis]") -> None:
    width = max(len(each.kind) for each in found)
    for each in found:
        click.echo(f"{each.kind:<{width}}  {'works' if each.works else 'no   '}  {each.summary}")
        for line in filter(None, (each.advice, *each.notes)):
            click.echo(f"{'':<{width}}         {line}")
