"""``shellward config``: the settings, and where each value comes from."""

import click
import msgspec

from shellward.cli.output import print_json
from shellward.config import load, paths
from shellward.config.loader import get, keys


@click.group(
    "config",
    epilog="""\b
Examples:
  shellward config show
  shellward config path
""",
)
def command() -> None:
    """Show the settings and where each comes from."""


@command.command(
    "show",
    epilog="""\b
Examples:
  shellward config show
  shellward config show --json
""",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: key to value and source.")
def show(as_json: bool) -> None:
    """Show every setting with its source."""
    loaded = load()
    values = {key: msgspec.to_builtins(get(loaded.config, key)) for key in keys()}
    if as_json:
        print_json({key: {"value": value, "source": loaded.sources[key]} for key, value in values.items()})
        return
    width = max(map(len, values))
    for key, value in values.items():
        source = loaded.sources[key]
        text = msgspec.json.encode(value).decode()
        click.secho(f"{key:{width}}  {text}", nl=False, bold=source != "default")
        click.secho(f"  ({source})", dim=True)


@command.command(
    "path",
    epilog="""\b
Examples:
  shellward config path
""",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def path(as_json: bool) -> None:
    """Show where settings and state live."""
    places = {
        "config": paths.config_file(),
        "state": paths.state_dir(),
        "audit": paths.audit_file(),
        "approvals": paths.approvals_dir(),
    }
    if as_json:
        print_json({name: str(place) for name, place in places.items()})
        return
    for name, place in places.items():
        click.echo(f"{name:10} {place}{'' if place.exists() else '  (not there yet)'}")
