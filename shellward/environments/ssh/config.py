"""Settings of an SSH environment, and the handle by which another process finds it."""

import math
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

import msgspec

from shellward.core.errors import ConfigError
from shellward.core.limits import LEASE
from shellward.environments.config import BaseConfig, parse_config

_PORTS: Final = 1 << 16
_WAY: Final = ("identity_file", "known_hosts", "config_file", "connect_timeout", "keepalive")
"""Settings that say how to get there; they travel in the handle where they are not the usual ones."""
_SCRATCH: Final = re.compile(r"/[\w./-]*/shellward-[0-9a-f]{20}")

Passphrase = Callable[[str], str | None]


class SshConfig(BaseConfig, kw_only=True, forbid_unknown_fields=True):
    """Settings of an SSH environment. What is None is taken from ``config_file``, else as OpenSSH has it.

    Attributes:
        host: a name or an address, or an alias of ``config_file``.
        user: who to log in as.
        port: TCP port.
        identity_file: private key to log in with; others are not tried then.
        passphrase: is called with the path of a key that is locked; returns its passphrase, or None to leave it.
        known_hosts: file with the keys of known hosts, in place of the usual ones.
        host_keys: ``strict``: an unknown host is refused; ``accept-new``: its key is remembered. One that has
            changed is refused in any case.
        config_file: OpenSSH's configuration; empty: none.
        connect_timeout: seconds within which a connection has to be there and let us in.
        keepalive: seconds of silence after which the host is asked for a sign of life. After two more of these
            without one, the connection is taken for lost.
        lease: seconds that what runs lives on without a client.
    """

    host: str
    user: str | None = None
    port: int | None = None
    identity_file: str | None = None
    passphrase: Any = None
    known_hosts: str | None = None
    host_keys: str = "strict"
    config_file: str = "~/.ssh/config"
    connect_timeout: float = 8.0
    keepalive: float = 15.0
    lease: float = LEASE


def check(settings: SshConfig) -> None:
    """Check what types cannot say.

    Raises:
        ConfigError: a value is out of its range; names the key.
    """
    if not settings.host or settings.host.startswith("-") or re.search(r"[\s/@?]", settings.host):
        raise ConfigError(f"ssh: host: a name, an address or an alias, not {settings.host!r}")
    if settings.port is not None and not 0 < settings.port < _PORTS:
        raise ConfigError(f"ssh: port: from 1 to {_PORTS - 1}, not {settings.port!r}")
    if settings.host_keys not in ("strict", "accept-new"):
        raise ConfigError(f"ssh: host_keys: strict or accept-new, not {settings.host_keys!r}")
    if settings.passphrase is not None and not callable(settings.passphrase):
        raise ConfigError("ssh: passphrase: a function that is given a key's path, or None")
    for key in ("connect_timeout", "keepalive", "lease"):
        value = getattr(settings, key)
        least = 1 if key == "lease" else 0.1
        if not least <= value < math.inf:
            raise ConfigError(f"ssh: {key}: at least {least} seconds, not {value!r}")


class Handle(NamedTuple):
    """What a handle says.

    Attributes:
        settings: how to get there; what the environment itself was made with is kept on the host.
        scratch: the environment's directory there.
    """

    settings: SshConfig
    scratch: str


def handle_of(settings: SshConfig, scratch: str) -> str:
    """Write ``ssh:[user@]host[:port]/path?settings``."""
    user = f"{quote(settings.user, safe='')}@" if settings.user else ""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    port = f":{settings.port}" if settings.port else ""
    usual = SshConfig(host=settings.host)
    more = {key: value for key in _WAY if (value := getattr(settings, key)) != getattr(usual, key)}
    query = f"?{urlencode(more)}" if more else ""
    return f"ssh:{user}{host}{port}{quote(scratch)}{query}"


_HANDLE: Final = re.compile(
    r"ssh:(?:(?P<user>[^@/?]+)@)?(?P<host>\[[^\]/?]+\]|[^:/?@\[\]]+)(?::(?P<port>\d+))?(?P<scratch>/[^?]+)(?:\?(?P<more>.*))?"
)


def read_handle(handle: str) -> Handle:
    """Read a handle.

    Raises:
        ConfigError: that is none of ours.
    """
    match = _HANDLE.fullmatch(handle)
    scratch = unquote(match["scratch"]) if match else ""
    # What it names is removed in the end, so it has to look like ours.
    if match is None or ".." in scratch or not _SCRATCH.fullmatch(scratch):
        raise ConfigError(f"handle: {handle!r} is not of the form ssh:[user@]host[:port]/path/shellward-...")
    values: dict[str, object] = {"host": match["host"].strip("[]")}
    if match["user"]:
        values["user"] = unquote(match["user"])
    if match["port"]:
        values["port"] = int(match["port"])
    for key, value in parse_qsl(match["more"] or "", keep_blank_values=True):
        if key not in _WAY:
            raise ConfigError(f"handle: {handle!r} has an unknown setting {key!r}")
        values[key] = _number(value, key) if key in ("connect_timeout", "keepalive") else value
    settings = parse_config(SshConfig, values, "ssh")
    check(settings)
    return Handle(settings, scratch)


def _number(text: str, key: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"handle: {key}: a number of seconds, not {text!r}") from None


class Kept(msgspec.Struct, frozen=True):
    """What of the settings is kept on the host, for those who attach.

    Attributes:
        cwd: directory to begin in, as an absolute path.
        env: variables for every command.
        lease: seconds.
        shell: see BaseConfig.
    """

    cwd: str
    env: dict[str, str]
    lease: float
    shell: str = "auto"
