"""The options of ``run``: how their values are written, what goes with what, and what they mean to the engine."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import click

from shellward.cli.complete import environments
from shellward.cli.say import say

if TYPE_CHECKING:
    from shellward.config.environments import Choice

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_ALL: Final = "all"


def duration(value: str) -> float:
    """Read seconds, or a number with a unit, as timeout(1) takes it.

    Raises:
        click.BadParameter: it is neither.
    """
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)([smhd]?)", value)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"{value!r} is not a time above 0 such as 90, 90s, 5m or 1h")
    return seconds


def count(value: str) -> int | str:
    """Read a number of characters, or ``all``.

    Raises:
        click.BadParameter: it is neither.
    """
    if value == _ALL:
        return value
    if not (value.isascii() and value.isdecimal()):
        raise click.BadParameter(f"{value!r} is neither a number of characters nor 'all'")
    return int(value)


def variable(value: str) -> tuple[str, str]:
    """Read ``K=V``, or ``K`` for the value that this process has.

    Raises:
        click.BadParameter: that is no variable's name, or it is not set here.
    """
    key, given, text = value.partition("=")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
        raise click.BadParameter(f"{key!r} is not a name that a variable can have")
    if not given and key not in os.environ:
        raise click.BadParameter(f"{key} is not set here, so it cannot be passed on; write {key}=VALUE")
    return key, text if given else os.environ[key]


def mount(value: str) -> dict[str, str | bool]:
    """Read ``SRC:DST``, ``SRC:DST:ro`` or ``SRC:DST:rw``.

    Raises:
        click.BadParameter: it has another form.
    """
    match = re.fullmatch(r"(.+?):(/[^:]*)(?::(ro|rw))?", value, re.DOTALL)
    if match is None:
        raise click.BadParameter(f"{value!r} is not of the form SRC:DST or SRC:DST:ro, with an absolute DST")
    return {"source": match[1], "target": match[2], "read_only": match[3] == "ro"}


def setting(value: str) -> tuple[str, Any]:
    """Read ``KEY=VALUE``; the value is JSON when it reads as JSON, else text.

    Raises:
        click.BadParameter: it has another form.
    """
    import json

    key, given, text = value.partition("=")
    if not key or not given:
        raise click.BadParameter(f"{value!r} is not of the form KEY=VALUE")
    try:
        return key, json.loads(text)
    except ValueError:
        return key, text


_OF_CREATION: Final = ("image", "mounts", "network", "memory", "cpus", "settings")
_SAME_NAME: Final = ("shell", "image", "network", "memory", "cpus")


_OF_PLACE: Final = (
    click.option("--image", metavar="IMAGE", help="Image to make the environment from."),
    click.option(
        "--mount",
        "mounts",
        multiple=True,
        type=mount,
        metavar="SRC:DST[:ro]",
        help="Make a directory of the host visible inside (repeatable).",
    ),
    click.option("--network", metavar="NAME", help="none, bridge, or the name of a network."),
    click.option("--memory", metavar="SIZE", help="Most memory: 512m, 4g."),
    click.option("--cpus", type=click.FloatRange(0, min_open=True), metavar="N", help="Most processors."),
    click.option(
        "--set",
        "settings",
        multiple=True,
        type=setting,
        metavar="KEY=VALUE",
        help="Any other setting of the environment; VALUE is JSON, or else text (repeatable).",
    ),
)


def env_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option that says which environment to make."""
    return click.option(
        "--env",
        "kind",
        metavar="NAME",
        shell_complete=environments,
        help="Where to run: local, docker, ssh, singularity, modal, daytona, or a name in the settings. "
        "Without it, what the settings say; else local.",
    )(command)


def quiet_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option to say nothing of where it runs."""
    return click.option("-q", "--quiet", is_flag=True, help="Do not say where it runs when the settings say it.")(
        command
    )


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what an environment is made from and limited to."""
    for option in reversed(_OF_PLACE):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line said.

    Attributes:
        words: the command; one word is a shell line.
        kind: what was named: a kind of environment, or a name in the settings; when it is ``placed``, the kind.
        chosen: what is to be made, when it is ``placed``; None with ``attach``.
        attach: handle of one that is there already.
        variables: names and values for the command.
        mounts: as the engine's configuration has them.
        settings: other settings by their keys.
        max_output: characters of each stream in JSON; ``all``; None: the engine's own limit.
    """

    words: tuple[str, ...]
    kind: str | None = None
    chosen: "Choice | None" = None
    attach: str | None = None
    keep: bool = False
    session: str | None = None
    cwd: str | None = None
    timeout: float | None = None
    variables: tuple[tuple[str, str], ...] = ()
    user: str | None = None
    shell: str | None = None
    image: str | None = None
    mounts: tuple[dict[str, str | bool], ...] = ()
    network: str | None = None
    memory: str | None = None
    cpus: float | None = None
    settings: tuple[tuple[str, Any], ...] = field(default=())
    merge_stderr: bool = False
    as_json: bool = False
    quiet: bool = False
    max_output: int | str | None = None
    full_output: str | None = None
    record: str | None = None

    def checked(self) -> "Options":
        """Return self when the options go together.

        Raises:
            click.UsageError: they do not.
        """
        context = click.get_current_context(silent=True)
        if self.attach is not None:
            useless = [name for name in _OF_CREATION if getattr(self, name)]
            useless += ["env"] if self.kind is not None else []
            if useless:
                flag = {"mounts": "mount", "settings": "set"}.get(useless[0], useless[0])
                raise click.UsageError(f"--{flag} is for a new environment, --attach has one already", context)
        if self.max_output is not None and not self.as_json:
            raise click.UsageError("--max-output goes with --json; without it all output is passed on", context)
        if self.session is not None and self.user is not None:
            raise click.UsageError("--session and --user do not go together: a session has its user", context)
        return self

    def placed(self) -> "Options":
        """Return these options with the environment that they and the settings mean, and say it when it is not obvious.

        Raises:
            ConfigError: there is no such kind or name, or the settings are wrong.
        """
        if self.attach is not None:
            return self
        from shellward.config import load
        from shellward.config.environments import choose

        loaded = load(held=True)
        found = choose(loaded, self.kind)
        options = replace(self, kind=found.kind)
        chosen = found.over(options.config())
        if not (self.as_json or self.quiet):
            _tell(chosen, loaded.unused)
        return replace(options, chosen=chosen)

    @property
    def made_of(self) -> "Choice":
        """The environment to make; only when these are ``placed``, and nothing is attached to."""
        assert self.chosen is not None  # noqa: S101  # see above
        return self.chosen

    @property
    def leaves(self) -> bool:
        """Whether the environment is there afterwards."""
        return self.keep or self.attach is not None

    @property
    def command(self) -> str | list[str]:
        """The command as the engine takes it: a shell line, or a list that is run as it stands."""
        return self.words[0] if len(self.words) == 1 else list(self.words)

    def config(self) -> dict[str, Any]:
        """Return what these options say of the environment to make; they know its kind by then.

        Raises:
            click.UsageError: a setting contradicts itself.
        """
        made: dict[str, Any] = {name: value for name in _SAME_NAME if (value := getattr(self, name)) is not None}
        if self.mounts:
            made["mounts"] = list(self.mounts)
        if self.user is not None and not self._user_per_command:
            made["user"] = self.user
        for key, value in self.settings:
            _put(made, key, value)
        return made

    def call(self) -> dict[str, Any]:
        """Return the arguments of the engine's ``run``, but for standard input and where output goes."""
        made: dict[str, Any] = {
            "timeout": self.timeout,
            "cwd": self.cwd,
            "env": dict(self.variables),
            "merge_stderr": self.merge_stderr,
            "full_output": False if self.full_output is None else self.full_output,
        }
        if self.user is not None and self._user_per_command:
            made["user"] = self.user
        if not self.as_json:
            made["max_output"] = 0  # passed on as it comes; nothing is to be kept in memory
        elif self.max_output is not None:
            made["max_output"] = None if self.max_output == _ALL else self.max_output
        return made

    @property
    def _user_per_command(self) -> bool:
        """An environment of our own has its user from the start; in others he is asked for each time."""
        return self.attach is not None or self.kind == "local"


def _tell(chosen: "Choice", unused: tuple[str, ...]) -> None:
    """Say where it runs, where the settings have a part in that, and which variables have none in anything."""
    if chosen.is_obvious and not unused:
        return
    from shellward.approval.show import safe

    for each in unused:
        say(safe(each))
    if not chosen.is_obvious:
        say(safe(f"on {chosen}, from {chosen.source}"), dim=True)


def _put(config: dict[str, Any], key: str, value: Any) -> None:
    """Set a key; ``labels.team`` is the key ``team`` in the table ``labels``."""
    name, dot, inner = key.partition(".")
    if not dot:
        config[name] = value
        return
    table = config.setdefault(name, {})
    if not isinstance(table, dict):
        raise click.UsageError(f"--set {key}: {name} has a value already")
    table[inner] = value
