"""From files and environment variables to typed settings, each value with its source.

Later layers win: defaults, the user's file, the project's file (opt-in, only stricter), ``.env`` beside the user's
file, environment variables, the caller's own values. Files are read here and written in ``edit``.
"""

import functools
import os
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from shellward.config import paths
from shellward.config.dotenv import read_variables
from shellward.config.schema import KINDS, AllowEntry, ApprovalSection, Config
from shellward.config.wording import hint, plain
from shellward.core.errors import ConfigError

PROJECT_MAY_SET: Final = frozenset({"approval.rules", "terminal.timeout"})
"""Keys a project's file may hold. Whoever can write into a checkout (an agent, a contributor) must not loosen
what its user decided, so a project adds ask and deny rules and nothing else of weight."""

ALIASES: Final[Mapping[str, str]] = {
    "TERMINAL_ENV": "terminal.env",
    "TERMINAL_CWD": "terminal.cwd",
    "TERMINAL_TIMEOUT": "terminal.timeout",
    "TERMINAL_LIFETIME_SECONDS": "terminal.idle",
    "TERMINAL_DOCKER_IMAGE": "terminal.docker_image",
    "TERMINAL_DOCKER_VOLUMES": "terminal.docker_volumes",
    "TERMINAL_SINGULARITY_IMAGE": "terminal.singularity_image",
    "TERMINAL_MODAL_IMAGE": "terminal.modal_image",
    "TERMINAL_DAYTONA_IMAGE": "terminal.daytona_image",
    "TERMINAL_CONTAINER_CPU": "terminal.cpus",
    "TERMINAL_CONTAINER_MEMORY": "terminal.memory",
    "TERMINAL_SSH_HOST": "terminal.ssh.host",
    "TERMINAL_SSH_USER": "terminal.ssh.user",
    "TERMINAL_SSH_PORT": "terminal.ssh.port",
    "TERMINAL_SSH_KEY": "terminal.ssh.key",
}
"""Variables that Hermes Agent's users have set; ``SHELLWARD_*`` wins over them."""

_OPTION: Final = "an option of an environment in `environments` of config.yaml"
_LEASE: Final = "an environment lives as long as its lease, and `snapshot` keeps what is in it"
_WARM: Final = "each environment has one warm shell that keeps its state"
UNUSED: Final[Mapping[str, str]] = {
    "TERMINAL_CONTAINER_DISK": f"`disk` of daytona is {_OPTION}",
    "TERMINAL_CONTAINER_PERSISTENT": _LEASE,
    "TERMINAL_DAEMON_TERM_GRACE_SECONDS": "a process is ended with its whole tree",
    "TERMINAL_DOCKER_ENV": f"`env` is {_OPTION}",
    "TERMINAL_DOCKER_EXTRA_ARGS": f"what docker environments take is {_OPTION}",
    "TERMINAL_DOCKER_FORWARD_ENV": f"nothing is forwarded by itself; `env` is {_OPTION}",
    "TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE": 'say TERMINAL_DOCKER_VOLUMES="$PWD:/workspace"',
    "TERMINAL_DOCKER_NETWORK": f"`network: none` is {_OPTION}",
    "TERMINAL_DOCKER_ORPHAN_REAPER": "what nobody owns any more is removed by its lease",
    "TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES": _LEASE,
    "TERMINAL_DOCKER_RUN_AS_HOST_USER": f"`user` is {_OPTION}",
    "TERMINAL_DOCKER_SHARED_CONTAINER_KEY": "`--attach` takes the handle of one that is there",
    "TERMINAL_DOCKER_SHM_SIZE": f"`tmpfs` is {_OPTION}",
    "TERMINAL_HOME_MODE": f"`env` is {_OPTION}",
    "TERMINAL_LOCAL_PERSISTENT": _WARM,
    "TERMINAL_MAX_FOREGROUND_TIMEOUT": "a command that takes longer than `terminal.timeout` goes on in the background",
    "TERMINAL_MODAL_MODE": "modal environments are made with your own account",
    "TERMINAL_PERSISTENT_SHELL": _WARM,
    "TERMINAL_SANDBOX_DIR": f"`workdir` of singularity is {_OPTION}",
    "TERMINAL_SCRATCH_DIR": f"`workdir` of singularity is {_OPTION}",
    "TERMINAL_SSH_PERSISTENT": _WARM,
    "TERMINAL_VERCEL_RUNTIME": "there are no environments of that kind here",
}
"""Variables of Hermes Agent that are not used, and what there is in place of each: whoever has set one is told."""

_PREFIX: Final = "SHELLWARD_"
_TOOL_SEARCH: Final = "tools.tool_search.enabled"
_SERVERS: Final = "mcp_servers"
_ENVIRONMENTS: Final = "environments"
_Texts = Mapping[str, tuple[str, str]]
"""Variables: name to text and source."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and where each came from.

    Attributes:
        config: the typed settings.
        sources: dotted key to source: ``default``, ``<file>:<line>``, ``$VARIABLE`` or ``argument``.
        file: the user's file, whether or not it exists.
        unused: variables that are set, known and not used: a line for each, with what there is in its place.
    """

    config: Config
    sources: Mapping[str, str]
    file: Path
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Value:
    value: object
    source: str


def load(
    *,
    file: Path | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    held: bool = False,
) -> Loaded:
    """Read the settings.

    Args:
        file: the user's file instead of the usual place; it must exist then.
        cwd: where to look for a project's file; the current directory when None.
        environ: variables instead of the process's own.
        overrides: dotted key to value, stronger than everything else.
        held: where commands run (``terminal``, ``environments``, ``.env``) is what the files said when this program
            first asked so: a command that changes them must not move the commands after it.

    Returns:
        The settings with the source of each value.

    Raises:
        ConfigError: a key is unknown, a value wrong, or a file unreadable; one line that names it.
    """
    environ = os.environ if environ is None else environ
    if file is not None and not file.is_file():
        raise ConfigError(f"{file}: no such settings file")
    path = paths.config_file() if file is None else file
    values = dict(_from_file(path))
    beside = read_variables(path.with_name(".env"))
    if held:
        values, beside = _held(path, values, beside)
    variables = {**beside, **{name: (text, f"${name}") for name, text in environ.items()}}
    from_environment = dict(_from_environment(variables))
    wanted = from_environment.get("project_files", values.get("project_files"))
    if wanted is not None and wanted.value is True:
        project = paths.project_file(cwd or Path.cwd())
        if project is not None and project.resolve() != path.resolve():
            _add_project(values, project)
    values.update(from_environment)
    for key, value in (overrides or {}).items():
        values[key] = _Value(_checked(key, value, "argument"), "argument")
    sources = {key: values[key].source if key in values else "default" for key in keys()}
    config = _build(values)
    if (env := config.terminal.env) not in (known := (*KINDS, *config.environments)):
        raise ConfigError(
            f"{sources['terminal.env']}: terminal.env: must be one of {', '.join(known)}"
            f" (got {env!r:.60}){hint(env, known)}"
        )
    return Loaded(config, sources, path, tuple(_unused(variables)))


_first: dict[Path, tuple[dict[str, _Value], _Texts]] = {}


def _held(path: Path, values: dict[str, _Value], beside: _Texts) -> tuple[dict[str, _Value], _Texts]:
    """Put what the files said of places first, in this program, in the place of what they say now."""

    def of_places(key: str) -> bool:
        return key == _ENVIRONMENTS or key.startswith("terminal.")

    now = {key: value for key, value in values.items() if of_places(key)}
    then, variables = _first.setdefault(path.absolute(), (now, beside))  # the first of several threads wins
    return {**{key: value for key, value in values.items() if not of_places(key)}, **then}, variables


def _unused(variables: _Texts) -> Iterator[str]:
    for name, (text, source) in variables.items():
        if not text or (name not in UNUSED and source.startswith("$")):
            continue
        where = source if source.startswith("$") else f"{source}: {name}"
        if name in UNUSED:
            yield f"{where} is not used: {UNUSED[name]}"
        elif name.startswith(_PREFIX):
            yield f"{where} is not used: only TERMINAL_* is read from this file"


def allowlist(file: Path) -> Sequence[str | AllowEntry]:
    """Read ``approval.command_allowlist`` alone from a settings file; empty when there is none.

    Raises:
        ConfigError: a key is unknown, a value wrong, or the file unreadable.
    """
    value = dict(_from_file(file)).get("approval.command_allowlist")
    return () if value is None else typing.cast("Sequence[str | AllowEntry]", value.value)


def approval_of(file: Path) -> ApprovalSection:
    """Read the approval section alone from a settings file, without variables; the defaults when there is none.

    Raises:
        ConfigError: a key is unknown, a value wrong, or the file unreadable.
    """
    return _build({key: value for key, value in _from_file(file) if key.startswith("approval.")}).approval


def _add_project(values: dict[str, _Value], project: Path) -> None:
    """Add what a project's file says to what the user's file said; refuse what would loosen it."""
    for key, value in _from_file(project):
        if key not in PROJECT_MAY_SET:
            raise ConfigError(f"{value.source}: {key} cannot be set by a project; put it in the user's config.yaml")
        if key != "approval.rules":
            values[key] = value
            continue
        rules = typing.cast("tuple[Any, ...]", value.value)
        if any(rule.action == "allow" for rule in rules):
            raise ConfigError(f"{value.source}: approval.rules of a project may ask or deny, not allow")
        mine = values.get(key)
        if mine is None:
            values[key] = value
        else:
            joined = (*typing.cast("tuple[Any, ...]", mine.value), *rules)
            values[key] = _Value(joined, f"{mine.source}, {value.source}")


def _from_file(path: Path) -> Iterator[tuple[str, _Value]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    tree = parse_yaml(text, path)
    if tree is not None:
        yield from _flatten(tree, "", Config, path)


def parse_yaml(text: str, path: Path) -> Any:
    """Parse ``text`` with line numbers kept.

    Args:
        text: the content.
        path: what it is called in the message.

    Returns:
        ruamel's mapping, or None for an empty document.

    Raises:
        ConfigError: it is not YAML, or not a mapping.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        tree = YAML().load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = " ".join((error.problem or "not valid YAML").split())
        raise ConfigError(f"{path}{line}: {problem}") from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())[:200]}") from None
    if tree is not None and not isinstance(tree, dict):
        raise ConfigError(f"{path}: must be a mapping of sections (approval:, audit:, ...)")
    return tree


def _flatten(tree: Any, prefix: str, struct: type, path: Path) -> Iterator[tuple[str, _Value]]:
    known = _fields(struct)
    for name, value in tree.items():
        where = f"{path}:{tree.lc.key(name)[0] + 1}" if hasattr(tree, "lc") and name in tree.lc.data else str(path)
        key = f"{prefix}{name}"
        if name not in known:
            raise ConfigError(f"{where}: {key}: unknown setting{hint(str(name), known)}")
        if _is_section(known[name]):
            if value is None:
                continue
            if isinstance(value, bool) and f"{key}.enabled" == _TOOL_SEARCH:
                yield _TOOL_SEARCH, _Value("auto" if value else "off", where)  # what Hermes Agent's users may have
                continue
            if not isinstance(value, dict):
                raise ConfigError(f"{where}: {key}: must be a mapping")
            yield from _flatten(value, f"{key}.", known[name], path)
        else:
            yield key, _Value(_checked(key, value, where), where)


def _from_environment(variables: _Texts) -> Iterator[tuple[str, _Value]]:
    for name, key in ALIASES.items():
        text, source = variables.get(name, ("", ""))
        if text:
            yield key, _Value(_from_text(key, text, source), source)
    for name, (text, source) in variables.items():
        if not (name.startswith(_PREFIX) and source.startswith("$")):
            continue
        key = name.removeprefix(_PREFIX).lower().replace("__", ".")
        # Only names with a section, or of a setting at the top, are ours: SHELLWARD_HOME and its kin are not.
        if "." not in key and key not in _types():
            continue
        if key not in _types():
            raise ConfigError(f"${name}: {key}: unknown setting{hint(key, _types())}")
        yield key, _Value(_from_text(key, text, source), source)


def _from_text(key: str, text: str, source: str) -> object:
    """Convert a variable's text: JSON for tables and lists of them, commas for lists of words, else the value."""
    wanted = _types()[key]
    value: object = text
    if typing.get_origin(wanted) in {tuple, dict}:
        if text.lstrip().startswith(("[", "{")):
            try:
                value = msgspec.json.decode(text)
            except msgspec.DecodeError as error:
                raise ConfigError(f"{source}: {key}: not valid JSON: {error}") from None
        else:
            value = [part.strip() for part in text.split(",") if part.strip()]
    return _checked(key, value, source, strict=False)


def _checked(key: str, value: object, source: str, *, strict: bool = True) -> object:
    """Convert ``value`` to the type of setting ``key``, or say in one line what is wrong with it."""
    wanted = _types().get(key)
    if wanted is None:
        raise ConfigError(f"{source}: {key}: unknown setting{hint(key, _types())}")
    if key == "approval.mode" and value is False:
        value = "off"  # YAML 1.1 writers turn `mode: off` into a boolean
    if key == _TOOL_SEARCH and isinstance(value, bool):
        value = "on" if value else "off"  # the form of older files, and of YAML 1.1 writers
    if key == _SERVERS:
        from shellward.config.servers import checked_servers

        return checked_servers(value, source, strict=strict)
    if key == _ENVIRONMENTS:
        from shellward.config.environments import checked_environments

        return checked_environments(value, source)
    try:
        converted = msgspec.convert(value, wanted, strict=strict)
    except (msgspec.ValidationError, RecursionError) as error:
        problem, _, place = str(error).partition(" - at `$")
        inner = place.rstrip("`").replace("[...]", "[]")
        raise ConfigError(f"{source}: {key}{inner}: {plain(problem, wanted, value)}") from None
    if key == "approval.rules":
        check_rules(typing.cast("tuple[Any, ...]", converted), f"{source}: {key}")
    return converted


def check_rules(rules: tuple[Any, ...], where: str) -> None:
    """Check what types cannot say: each rule matches on something, and its regex compiles.

    Raises:
        ConfigError: one line that names the rule by its position.
    """
    import re

    for index, rule in enumerate(rules):
        if all(getattr(rule, name) is None for name in ("glob", "regex", "argv", "rule")):
            raise ConfigError(f"{where}[{index}]: needs one of glob, regex, argv, rule")
        if rule.regex is not None:
            try:
                re.compile(rule.regex)
            except (re.error, OverflowError, RecursionError) as error:
                raise ConfigError(f"{where}[{index}].regex: {error}") from None


def _build(values: Mapping[str, _Value]) -> Config:
    """Put the flat values together; each was checked when it was read."""

    def section(struct: type, prefix: str) -> Any:
        given: dict[str, Any] = {}
        for name, kind in _fields(struct).items():
            key = f"{prefix}{name}"
            if _is_section(kind):
                given[name] = section(kind, f"{key}.")
            elif key in values:
                given[name] = values[key].value
        return struct(**given)

    return typing.cast("Config", section(Config, ""))


def keys() -> tuple[str, ...]:
    """Return the dotted names of all settings, in the order of the schema."""
    return tuple(_types())


@functools.cache
def _types() -> Mapping[str, Any]:
    def walk(struct: type, prefix: str) -> Iterator[tuple[str, Any]]:
        for name, kind in _fields(struct).items():
            if _is_section(kind):
                yield from walk(kind, f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}", kind

    return types.MappingProxyType(dict(walk(Config, "")))


@functools.cache
def _fields(struct: type) -> Mapping[str, Any]:
    return typing.get_type_hints(struct, include_extras=True)


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def get(config: Config, key: str) -> Any:
    """Return the value of a dotted key (``approval.mode``).

    Raises:
        ConfigError: there is no such setting.
    """
    if key not in _types():
        raise ConfigError(f"{key}: unknown setting{hint(key, _types())}")
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return value
