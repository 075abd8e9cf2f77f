"""Which environment commands run in: one answer for the command line, the library, the tools and MCP.

Three ways to say it: nothing (what ``terminal.env`` says), a kind (``docker``), or a name in ``environments``. What the
settings say of a kind is taken with the kind, whoever names it; an environment with a name has what stands under that
name, and nothing else.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from shellward.config.schema import KINDS
from shellward.config.wording import hint
from shellward.core.errors import ConfigError

if TYPE_CHECKING:
    from shellward.config.loader import Loaded
    from shellward.config.schema import TerminalSection

_KEY: Final = "environments"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,30}")
_MEBIBYTE: Final = 1 << 20
_MEBIBYTES_IN_GIB: Final = 1024
_LIMITED: Final = frozenset({"docker", "singularity", "modal", "daytona"})
_PARTS: Final = {2: False, 3: True}
"""Of a volume: how many there are, and whether the last one says how it may be used."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An environment to make.

    Attributes:
        kind: ``local``, ``docker``, ...
        config: its settings, as ``Terminal`` takes them; None where the settings ask for no limit.
        name: its name in ``environments``; empty: it has none.
        said: where the settings say that it is this one (``$TERMINAL_ENV``, ``<file>:<line>``); empty: the caller does,
            or nobody.
        sources: key of ``config`` to where the settings say it.
    """

    kind: str
    config: Mapping[str, Any]
    name: str = ""
    said: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Where the settings say it, or else a part of it; empty: nowhere."""
        return self.said or next(iter(self.sources.values()), "")

    @property
    def is_obvious(self) -> bool:
        """Whether the settings have no part in it, so that nobody needs to be told."""
        return not self.source or (self.kind == "local" and not self.config and not self.name)

    def __str__(self) -> str:
        """Say it in a few words: ``docker (shellward/sandbox)``, ``build: ssh (deploy@host)``."""
        given = self.config
        if self.kind == "ssh":
            user = f"{given['user']}@" if given.get("user") else ""
            port = f":{given['port']}" if given.get("port") else ""
            detail = f"{user}{given.get('host', '')}{port}"
        else:
            key = "cwd" if self.kind == "local" else "image"
            detail = str(given.get(key) or given.get("snapshot") or "")
        what = f"{self.kind} ({detail})" if detail else self.kind
        return f"{self.name}: {what}" if self.name else what

    def over(self, given: Mapping[str, object]) -> "Choice":
        """Add what the caller says: it wins key by key, tables (``env``, ``labels``) are joined, mounts are added.

        Raises:
            ConfigError: there is no host to connect to.
        """
        made, sources = dict(self.config), dict(self.sources)
        for key, value in given.items():
            before = made.get(key)
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                made[key] = {**before, **value}
            elif key == "mounts" and isinstance(before, list) and isinstance(value, list):
                made[key] = [*before, *value]
            else:
                made[key] = value
                sources.pop(key, None)
        if self.kind == "ssh" and not made.get("host"):
            where = f"{_KEY}.{self.name}.host" if self.name else "terminal.ssh.host (TERMINAL_SSH_HOST)"
            raise ConfigError(f"{where}: needs a host for ssh environments")
        return replace(self, config=made, sources=sources)


def choose(loaded: "Loaded", named: str | None = None) -> Choice:
    """Say which environment is meant; finish it with ``Choice.over``, also where nothing is to be added.

    Args:
        loaded: the settings; in a program that goes on, read with ``held``.
        named: a kind, or a name in ``environments``; None: what ``terminal.env`` says.

    Raises:
        ConfigError: there is no such kind or name, or the settings of the kind are wrong; names the key.
    """
    config, sources = loaded.config, loaded.sources
    default = config.terminal.env
    wanted = default if named is None else named
    said = "" if named is not None else sources["terminal.env"].removeprefix("default")
    cwd = config.terminal.cwd if wanted == default else ""
    if wanted in config.environments:
        table = dict(config.environments[wanted])
        kind = str(table.pop("kind"))
        return Choice(kind, {"cwd": cwd, **table} if cwd else table, wanted, said or sources[_KEY])
    if wanted not in KINDS:
        known = (*KINDS, *config.environments)
        raise ConfigError(f"environment: unknown kind {wanted!r}; known are {', '.join(known)}{hint(wanted, known)}")
    made, keys = _of_kind(wanted, config.terminal)
    if cwd and not (cwd == "." and wanted != "local"):  # of Hermes Agent: the directory here, which is not there
        made["cwd"], keys["cwd"] = cwd, "terminal.cwd"
    return Choice(wanted, made, "", said, {name: sources[key] for name, key in keys.items()})


def _of_kind(kind: str, settings: "TerminalSection") -> tuple[dict[str, object], dict[str, str]]:
    """Return what the settings say of a kind, and the key of the settings for each of them."""
    ssh = settings.ssh
    said: dict[str, tuple[str, object]] = {}
    if kind == "ssh":
        said = {
            "host": ("terminal.ssh.host", ssh.host),
            "user": ("terminal.ssh.user", ssh.user),
            "port": ("terminal.ssh.port", ssh.port),
            "identity_file": ("terminal.ssh.key", ssh.key),
        }
    elif kind in _LIMITED:
        said = {"image": (f"terminal.{kind}_image", getattr(settings, f"{kind}_image"))}
    if kind == "docker":
        said["mounts"] = ("terminal.docker_volumes", [_mount(each) for each in settings.docker_volumes])
    made = {name: value for name, (_, value) in said.items() if value not in (None, "", [])}
    keys = {name: said[name][0] for name in made}
    if kind in _LIMITED:
        for name, limit in _limits(kind, settings).items():
            made[name], keys[name] = limit or None, f"terminal.{name}"
    return made, keys


def _limits(kind: str, settings: "TerminalSection") -> dict[str, float]:
    """Return the limits that are set, in the units of the kind; 0: none."""
    found: dict[str, float] = {}
    if (cpus := settings.cpus) is not None:
        found["cpus"] = math.ceil(cpus) if kind == "daytona" else cpus
    if (memory := settings.memory) is not None:
        found["memory"] = math.ceil(memory / _MEBIBYTES_IN_GIB) if kind == "daytona" else memory * _MEBIBYTE
    return found


def _mount(text: str) -> dict[str, object]:
    parts = text.split(":")
    if len(parts) not in _PARTS or not all(parts) or (_PARTS[len(parts)] and parts[2] not in {"ro", "rw"}):
        raise ConfigError(f"terminal.docker_volumes: /here:/there or /here:/there:ro, not {text!r}")
    return {"source": parts[0], "target": parts[1], "read_only": parts[2:] == ["ro"]}


def checked_environments(value: object, source: str) -> dict[str, dict[str, Any]]:
    """Convert the table of environments. The options of each are checked when it is made, and by ``doctor``.

    Args:
        value: what was read; None for an empty table.
        source: where it stands, as ``<file>:<line>``, ``$VARIABLE`` or ``argument``.

    Raises:
        ConfigError: one line that names the key.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{source}: {_KEY}: must be a mapping of names to environments")
    found = {}
    for name, entries in value.items():
        key = f"{_KEY}.{name}"
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigError(f"{source}: {key}: a name is 1 to 31 letters, digits, '-', '_' or '.'")
        if name in KINDS:
            raise ConfigError(f"{source}: {key}: this is a kind of environment; give yours another name")
        if not isinstance(entries, Mapping) or "kind" not in entries:
            raise ConfigError(f"{source}: {key}: must be a mapping with kind: one of {', '.join(KINDS)}")
        table = {str(each): _plain(entry, f"{source}: {key}.{each}") for each, entry in entries.items()}
        if table["kind"] not in KINDS:
            raise ConfigError(f"{source}: {key}.kind: must be one of {', '.join(KINDS)} (got {table['kind']!r:.60})")
        found[name] = table
    return found


def _plain(value: object, where: str) -> Any:
    """Take what a file's reader made of a value for what it is: text, a number, a list, a table."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(each, f"{where}.{name}") for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, where) for each in value]
    raise ConfigError(f"{where}: must be text, a number, a list or a mapping, not a {type(value).__name__}")
