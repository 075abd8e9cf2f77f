"""Settings of a Daytona environment, and what is fixed."""

import math
from typing import Final

import msgspec

from shellward.core.errors import ConfigError
from shellward.core.limits import LEASE
from shellward.environments.config import BaseConfig

KIND: Final = "daytona"
LABEL: Final = "dev.shellward"
"""Prefix of our labels; ``LABEL.id`` is on everything we make."""
LANGUAGES: Final = ("python", "typescript", "javascript")
_MINUTE: Final = 60.0


class Volume(msgspec.Struct, forbid_unknown_fields=True):
    """A volume of the organization inside the sandbox.

    Attributes:
        name: of the volume; it is made when there is none.
        target: where it is mounted.
        subpath: the part of the volume that is seen there; None: all of it.
    """

    name: str
    target: str
    subpath: str | None = None


class DaytonaConfig(BaseConfig, kw_only=True, forbid_unknown_fields=True):
    """Settings of a Daytona environment.

    Attributes:
        snapshot: what to begin with; None: Daytona's default snapshot, where ``image`` is None, too.
        image: of a registry, to begin with in place of a snapshot.
        api_key: None: DAYTONA_API_KEY.
        api_url: None: DAYTONA_API_URL, else Daytona's own.
        target: region; None: DAYTONA_TARGET, else the organization's own.
        name: of the sandbox.
        user: who commands run as; None: the snapshot's choice.
        language: python, typescript or javascript: what Daytona's own calls of code take.
        cpus: processors; only with ``image``.
        memory: GiB; only with ``image``.
        disk: GiB; only with ``image``.
        gpus: number of GPUs; only with ``image``.
        labels: further labels.
        volumes: see Volume.
        network: ``bridge``: as the organization has it; ``none``: all is blocked.
        network_allow: address ranges (CIDR) that can be reached; empty: all.
        public: what ``expose`` gives needs no token.
        lease: seconds that what runs lives on without a client.
        auto_stop: minutes without use after which Daytona stops the sandbox; None: the lease, rounded up.
        auto_archive: minutes after which a stopped one is archived; None: Daytona's choice.
        auto_delete: minutes after which a stopped one is deleted; 0: at once; -1: never.
        ttl: minutes after which it is deleted in any case; 0: never.
        create_timeout: seconds within which it has to be there.
    """

    snapshot: str | None = None
    image: str | None = None
    api_key: str | None = None
    api_url: str | None = None
    target: str | None = None
    name: str | None = None
    user: str | None = None
    language: str = "python"
    cpus: int | None = None
    memory: int | None = None
    disk: int | None = None
    gpus: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    volumes: list[Volume] = msgspec.field(default_factory=list)
    network: str = "bridge"
    network_allow: list[str] = msgspec.field(default_factory=list)
    public: bool = False
    lease: float = LEASE
    auto_stop: int | None = None
    auto_archive: int | None = None
    auto_delete: int = 0
    ttl: int = 24 * 60
    create_timeout: float = 60.0


def check(settings: DaytonaConfig) -> None:
    """Check what types cannot say.

    Raises:
        ConfigError: a value is out of its range, or does not go with another; names the key.
    """
    if settings.snapshot is not None and settings.image is not None:
        raise ConfigError("daytona: image: not together with a snapshot")
    if settings.language not in LANGUAGES:
        raise ConfigError(f"daytona: language: {', '.join(LANGUAGES)}, not {settings.language!r}")
    if settings.network not in ("bridge", "none"):
        raise ConfigError(f"daytona: network: bridge or none, not {settings.network!r}")
    if not 1 <= settings.lease < math.inf:
        raise ConfigError(f"daytona: lease: at least 1 second, not {settings.lease!r}")
    if not 1 <= settings.create_timeout < math.inf:
        raise ConfigError(f"daytona: create_timeout: at least 1 second, not {settings.create_timeout!r}")
    _check_numbers(settings)


def _check_numbers(settings: DaytonaConfig) -> None:
    for key in ("cpus", "memory", "disk", "gpus"):
        value = getattr(settings, key)
        if value is not None and value < (0 if key == "gpus" else 1):
            raise ConfigError(f"daytona: {key}: at least 1, not {value!r}")
        if value and settings.image is None:
            raise ConfigError(f"daytona: {key}: only with an image; a snapshot has its own")
    for key in ("auto_stop", "auto_archive", "ttl"):
        if (value := getattr(settings, key)) is not None and value < 0:
            raise ConfigError(f"daytona: {key}: minutes, at least 0, not {value!r}")
    if settings.auto_delete < -1:
        raise ConfigError(f"daytona: auto_delete: minutes, or -1, not {settings.auto_delete!r}")


def stop_after(settings: DaytonaConfig) -> int:
    """Minutes without use after which the sandbox is stopped."""
    return math.ceil(settings.lease / _MINUTE) if settings.auto_stop is None else settings.auto_stop


class Kept(msgspec.Struct, frozen=True):
    """What of the settings is kept in the sandbox, for those who attach.

    Attributes:
        cwd: directory to begin in, as an absolute path.
        env: variables for every command.
        lease: seconds.
    """

    cwd: str
    env: dict[str, str]
    lease: float
