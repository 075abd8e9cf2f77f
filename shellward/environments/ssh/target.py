"""Where a host is and how to get in, as OpenSSH's configuration says it. No I/O but reading that file."""

import getpass
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shellward.core.errors import ConfigError
from shellward.environments.ssh.config import SshConfig
from shellward.environments.ssh.openssh import Configuration

_USUAL_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
_USUAL_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
_DEFAULT_PORT = 22
_MOST_JUMPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One host on the way, or the one at its end.

    Attributes:
        name: what the user calls it.
        address: what to connect to.
        port: TCP port.
        user: who to log in as.
        keys: files with private keys, in the order in which they are tried.
        certificates: files with certificates for those, on top of ``KEY-cert.pub``.
        only_keys: an agent's keys are tried only where they are among ``keys``.
        agent: where an agent listens; None: none is asked.
        known_hosts: files with host keys; the first is where new ones go.
        key_name: the name under which its key is known.
        accept_new: the key of an unknown host is remembered.
        jump: the host to go through.
        command: the program that connects, for a shell; takes precedence.
    """

    name: str
    address: str
    port: int
    user: str
    keys: tuple[str, ...]
    certificates: tuple[str, ...]
    only_keys: bool
    agent: str | None
    known_hosts: tuple[str, ...]
    key_name: str
    accept_new: bool
    jump: "Target | None" = None
    command: str | None = None


def resolve(settings: SshConfig) -> Target:
    """Work out where a host is.

    Raises:
        ConfigError: OpenSSH's configuration cannot be read, or goes round in circles.
    """
    configuration = _configuration(settings.config_file)
    target = _target(configuration, settings.host, settings.user, settings.port)
    changes: dict[str, Any] = {}
    if settings.identity_file is not None:
        changes.update(keys=(str(Path(settings.identity_file).expanduser()),), only_keys=True)
    if settings.known_hosts is not None:
        changes["known_hosts"] = (str(Path(settings.known_hosts).expanduser()),)
    if settings.host_keys == "accept-new":
        changes["accept_new"] = True
    return replace(target, **changes)


def _configuration(path: str) -> Configuration:
    file = Path(path).expanduser() if path else None
    if file is not None and not file.exists() and path == SshConfig(host="x").config_file:
        return Configuration(None)
    return Configuration(file)


def _target(configuration: Configuration, name: str, user: str | None, port: int | None, depth: int = 0) -> Target:
    if depth > _MOST_JUMPS:
        raise ConfigError(f"ssh: config_file: ProxyJump of {name!r} goes through more than {_MOST_JUMPS} hosts")
    found = configuration.lookup(name)
    address = found.get("hostname", name)
    port = port or _port(found.get("port"), name)
    return Target(
        name=name,
        address=address,
        port=port,
        user=user or found.get("user") or getpass.getuser(),
        keys=_files(found.get("identityfile")) or _usual_keys(),
        certificates=_files(found.get("certificatefile")),
        only_keys=str(found.get("identitiesonly", "no")).lower() == "yes",
        agent=_agent(str(found.get("identityagent", ""))),
        known_hosts=tuple(
            str(Path(each).expanduser())
            for key, usual in (("userknownhostsfile", _USUAL_HOSTS[:2]), ("globalknownhostsfile", _USUAL_HOSTS[2:]))
            for each in (_known_hosts(str(found[key])) if key in found else usual)
        ),
        key_name=found.get("hostkeyalias") or (address if port == _DEFAULT_PORT else f"[{address}]:{port}"),
        accept_new=str(found.get("stricthostkeychecking", "")).lower() == "accept-new",
        jump=_jump(configuration, found.get("proxyjump"), depth),
        command=_no_none(found.get("proxycommand")),
    )


def _jump(configuration: Configuration, text: str | None, depth: int) -> Target | None:
    """Read ``[user@]host[:port],...``: the last one is what the target is reached from."""
    if _no_none(text) is None:
        return None
    way: Target | None = None
    for each in str(text).split(","):
        user, _, host = each.strip().removeprefix("ssh://").rpartition("@")
        name, port = host, None
        if host.startswith("["):
            name, _, rest = host[1:].partition("]")
            port = _port(rest.removeprefix(":") or None, each)
        elif host.count(":") == 1:
            name, _, number = host.partition(":")
            port = _port(number, each)
        hop = _target(configuration, name, user or None, port, depth + 1)
        way = replace(hop, jump=way) if way is not None else hop
    return way


def _agent(text: str) -> str | None:
    """Read ``IdentityAgent``: a path, a variable that holds one, or none."""
    if text.lower() == "none":
        return None
    if text in ("", "SSH_AUTH_SOCK") or text.startswith("$"):
        return os.environ.get(text.strip("${}") or "SSH_AUTH_SOCK") or None
    return str(Path(text).expanduser())


def _known_hosts(text: str) -> list[str]:
    """Read a list of files; ``none`` has no keys, and takes none."""
    return ["/dev/null" if each.lower() == "none" else each for each in text.split()]


def _port(text: str | None, name: str) -> int:
    if text is None:
        return _DEFAULT_PORT
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"ssh: config_file: port of {name!r}: a number, not {text!r}") from None


def _no_none(text: str | None) -> str | None:
    return None if text is None or text.lower() == "none" else text


def _files(names: str | list[str] | None) -> tuple[str, ...]:
    each = [names] if isinstance(names, str) else names or []
    return tuple(str(Path(name).expanduser()) for name in each if name.lower() != "none")


def _usual_keys() -> tuple[str, ...]:
    directory = Path("~/.ssh").expanduser()
    return tuple(str(directory / name) for name in _USUAL_KEYS if os.access(directory / name, os.R_OK))
