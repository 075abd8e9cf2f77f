"""``shellward config``: the settings, and where each value comes from."""

import re
from typing import Any, Final

import click
import msgspec

from shellward.cli.output import print_json
from shellward.cli.say import NO, OK, say
from shellward.config import load, paths
from shellward.config.loader import get, keys

_NAMES_A_VARIABLE: Final = re.compile(r"(?:[A-Za-z]+ )?\$\{[A-Za-z0-9_]+\}")
"""Also after one word, such as ``Bearer``."""
_MAY_BE_SECRET: Final = {"mcp_servers": {"env", "headers"}, "environments": {"env", "api_key"}}
"""Settings in which somebody may have put a secret: keys of their entries."""


@click.group(
    "config",
    epilog="""\b
Examples:
  shellward config show
  shellward config path
  shellward config accept
""",
)
def command() -> None:
    """Show the settings and where each comes from; accept what was changed."""


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
    from shellward.approval.show import safe

    loaded = load()
    values = {key: _shown(key, msgspec.to_builtins(get(loaded.config, key))) for key in keys()}
    if as_json:
        print_json({key: {"value": value, "source": loaded.sources[key]} for key, value in values.items()})
        return
    width = max(map(len, values))
    for key, value in values.items():
        source = loaded.sources[key]
        text = msgspec.json.encode(value).decode()
        click.secho(f"{key:{width}}  {text}", nl=False, bold=source != "default")
        click.secho(f"  ({source})", dim=True)
    for each in loaded.unused:
        say(safe(each))


def _shown(key: str, value: Any) -> Any:
    """Keep to itself what servers and environments are given, which may be secret; what names a variable is shown."""
    if key not in _MAY_BE_SECRET:
        return value
    for entry in value.values():
        for name in _MAY_BE_SECRET[key] & entry.keys():
            entry[name] = _hidden(entry[name])
    return value


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _hidden(text) for name, text in value.items()}
    return value if _NAMES_A_VARIABLE.fullmatch(str(value)) else "***"


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


@command.command(
    "accept",
    epilog="""\b
Examples:
  shellward config accept
""",
)
def accept() -> int:
    """Accept approval settings that let more pass than before, after showing the difference.

    Only a person at a terminal can: it asks there. Exit status: 0 accepted, or nothing waits; 1 not accepted.
    """
    from shellward.approval.accepted import Accepted
    from shellward.approval.show import safe
    from shellward.cli.accepting import confirmed, refusal
    from shellward.config.strictness import looser

    if why := refusal():
        say(why)
        return NO
    accepted = Accepted(paths.config_file())
    held, wanted = accepted.waiting()
    waiting = looser(held, wanted)
    if not waiting:
        click.echo("nothing waits: the approval settings hold as they are in the file")
        return OK
    click.echo(f"{safe(str(accepted.file))} lets more pass than what holds:")
    for each in waiting:
        click.echo(f"  {safe(str(each))}")
    if not confirmed("Shall this hold from now on?"):
        click.echo("not accepted; what held before holds on")
        return NO
    accepted.accept(wanted)
    click.echo("accepted; programs that run take it over with their next command")
    return OK
