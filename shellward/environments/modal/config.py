"""Settings of a Modal environment, and what is fixed."""

import math
import re
from typing import Final

import msgspec

from shellward.core.errors import ConfigError
from shellward.core.limits import LEASE
from shellward.environments.config import BaseConfig

KIND: Final = "modal"
APP: Final = "shellward"
TAG: Final = "shellward"
"""Sandboxes of ours have a tag of this name, and further ones that begin so, with a dash."""
LONGEST: Final = 86_400.0
"""Seconds that Modal lets a sandbox live."""
_SIZES: Final = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_LABEL: Final = re.compile(r"[A-Za-z0-9._-]{1,63}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ModalConfig(BaseConfig, kw_only=True, forbid_unknown_fields=True):
    """Settings of a Modal environment.

    Attributes:
        image: ``debian_slim`` (Modal's own, with Python), a name in a registry, or the id of an image or of a snapshot
            (``im-...``).
        python_version: of ``debian_slim``; None: this program's.
        apt_packages: Debian packages to install on top.
        pip_packages: Python packages to install on top.
        registry_secret: name of a Modal secret with the login of a private registry.
        app: name of the Modal app that the sandbox belongs to; it is made when it is not there.
        environment: name of the Modal environment; None: that of the profile.
        name: of the sandbox; unique in its app while it runs.
        cpus: processors that are reserved, and the most that it may use; None: Modal's choice.
        memory: bytes (or text, ``512m``), likewise.
        gpu: what kind, ``T4`` or ``H100:2``; None: no GPU.
        region: where it may run, one or several.
        cloud: whose machines.
        network: ``open`` or ``none``.
        allow_cidrs: the addresses that it may reach; None: all.
        allow_domains: the names that it may reach; None: all.
        ports: TCP ports that ``expose`` will be asked for; the whole internet can reach them.
        tls_ports: the same, behind TLS.
        secrets: names of Modal secrets whose values become variables.
        volumes: path in the sandbox to the name of a Modal volume.
        labels: further tags.
        timeout: seconds after which Modal ends it, whatever it does.
        idle_timeout: seconds without a client after which Modal ends it; None: the lease does.
        lease: seconds the sandbox lives on without a client.
        connect_timeout: seconds in which Modal has to answer first.
        create_timeout: seconds that building the image and starting may take.
    """

    image: str = "debian_slim"
    python_version: str | None = None
    apt_packages: list[str] = msgspec.field(default_factory=list)
    pip_packages: list[str] = msgspec.field(default_factory=list)
    registry_secret: str | None = None
    app: str = APP
    environment: str | None = None
    name: str | None = None
    cpus: float | None = None
    memory: str | int | None = None
    gpu: str | None = None
    region: str | list[str] | None = None
    cloud: str | None = None
    network: str = "open"
    allow_cidrs: list[str] | None = None
    allow_domains: list[str] | None = None
    ports: list[int] = msgspec.field(default_factory=list)
    tls_ports: list[int] = msgspec.field(default_factory=list)
    secrets: list[str] = msgspec.field(default_factory=list)
    volumes: dict[str, str] = msgspec.field(default_factory=dict)
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    timeout: float = 14_400.0
    idle_timeout: float | None = None
    lease: float = LEASE
    connect_timeout: float = 10.0
    create_timeout: float = 900.0


def is_ours(tag: str) -> bool:
    """Whether a tag of that name is set by Shellward itself."""
    return tag == TAG or tag.startswith(f"{TAG}-")


def mebibytes(memory: str | int) -> int:
    """Turn a size (``512m``, or bytes) into MiB; at least 1.

    Raises:
        ValueError: that is no size.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([bkmg]?)", str(memory).lower())
    if found is None:
        raise ValueError(f"bytes, or text like 512m or 4g, not {memory!r}")
    return max(1, round(float(found[1]) * _SIZES[found[2]] / 2**20))


def check(settings: ModalConfig) -> None:
    """Check what types cannot say.

    Raises:
        ConfigError: a value is out of its range; names the key.
    """
    wrong = _wrong(settings) or _wrong_network(settings)
    if wrong:
        raise ConfigError(f"{KIND}: {wrong}")


def _wrong(settings: ModalConfig) -> str:
    names = [each for each in settings.env if not _VARIABLE.fullmatch(each)]
    paths = [each for each in settings.volumes if not each.startswith("/")]
    tags = [each for each in settings.labels if is_ours(each)]
    labels = [each for pair in settings.labels.items() for each in pair if not _LABEL.fullmatch(each)]
    said = (
        (not settings.image, "image: needs a name or an id"),
        (not settings.app, "app: needs a name"),
        (settings.name == "", "name: cannot be empty"),
        (settings.cwd is not None and not settings.cwd.startswith("/"), f"cwd: not an absolute path: {settings.cwd!r}"),
        (bool(names), f"env: {names[:1]} is no name of a variable"),
        (bool(paths), f"volumes: {paths[:1]} is no absolute path"),
        (bool(tags), f"labels: names that begin with '{TAG}-' are ours: {tags[:1]}"),
        (bool(labels), f"labels: letters, digits and '-._', 63 at the most, not {labels[:1]}"),
        (_wrong_size(settings.memory) != "", f"memory: {_wrong_size(settings.memory)}"),
        (settings.cpus is not None and not settings.cpus > 0, f"cpus: more than 0, not {settings.cpus!r}"),
        (not 1 <= settings.lease < math.inf, f"lease: at least 1 second, not {settings.lease!r}"),
        (not 1 <= settings.timeout <= LONGEST, f"timeout: from 1 to {LONGEST:g} seconds, not {settings.timeout!r}"),
        (
            settings.idle_timeout is not None and not 1 <= settings.idle_timeout <= LONGEST,
            f"idle_timeout: from 1 to {LONGEST:g} seconds, not {settings.idle_timeout!r}",
        ),
        (
            not 0 < settings.connect_timeout < math.inf,
            f"connect_timeout: more than 0, not {settings.connect_timeout!r}",
        ),
        (not 0 < settings.create_timeout < math.inf, f"create_timeout: more than 0, not {settings.create_timeout!r}"),
    )
    return next((text for is_wrong, text in said if is_wrong), "")


def _wrong_network(settings: ModalConfig) -> str:
    limited = settings.allow_cidrs is not None or settings.allow_domains is not None
    ports = [*settings.ports, *settings.tls_ports]
    key = "tls_ports" if settings.tls_ports else "ports"
    said = (
        (settings.network not in ("open", "none"), f"network: open or none, not {settings.network!r}"),
        (settings.network == "none" and limited, "network: with none, allow_cidrs and allow_domains have no meaning"),
        (settings.network == "none" and bool(ports), f"{key}: with network=none, none can be reached"),
        (any(not 0 < port < 1 << 16 for port in ports), f"{key}: from 1 to {(1 << 16) - 1}, not {ports!r}"),
        (len(set(ports)) < len(ports), f"{key}: one is there twice: {ports!r}"),
    )
    return next((text for is_wrong, text in said if is_wrong), "")


def _wrong_size(memory: str | int | None) -> str:
    if memory is None:
        return ""
    try:
        mebibytes(memory)
    except ValueError as error:
        return str(error)
    return ""
