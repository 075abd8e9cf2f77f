"""Settings of a Docker environment, and what is fixed."""

import math
import re
from typing import Final

import msgspec

from shellward.core.errors import ConfigError
from shellward.core.limits import LEASE
from shellward.environments.config import BaseConfig

LABEL: Final = "dev.shellward"
"""Prefix of our labels; ``LABEL.id`` is on everything we make."""
SCRATCH: Final = "/run/shellward"
PROCESSES: Final = "/var/tmp/.shellward"  # noqa: S108  # of the container's own
"""Where background processes keep their files; in ``SCRATCH`` where the image is read-only."""
CAPABILITIES: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID")
"""What a package manager and a change of user need; all other kernel capabilities are dropped."""


class Mount(msgspec.Struct, forbid_unknown_fields=True):
    """A directory or file of the engine's machine inside the container."""

    source: str
    target: str
    read_only: bool = False


class DockerConfig(BaseConfig, kw_only=True, forbid_unknown_fields=True):
    """Settings of a Docker environment.

    Attributes:
        image: name, tag or id.
        build: directory with a Dockerfile, on this machine, to build ``image`` from first.
        pull: ``missing``, ``always`` or ``never``.
        name: of the container.
        user: who commands run as; None: the image's choice.
        network: ``bridge``, ``none``, or the name of a network.
        memory: most bytes (or text, ``512m``); None: no limit.
        cpus: most processors; None: no limit.
        pids_limit: most processes.
        mounts: what of the engine's machine is visible inside.
        tmpfs: memory-backed directories: path to options (``size=64m``).
        read_only: the image's own files cannot be written to.
        cap_add: kernel capabilities on top of ``CAPABILITIES``.
        ports: TCP ports that ``expose`` will be asked for.
        labels: further labels.
        lease: seconds the container lives on without a client.
        context: a ``docker context`` to use; None: DOCKER_HOST, DOCKER_CONTEXT, or the current one.
        gpus: number of GPUs, -1 for all.
    """

    image: str = "debian:bookworm-slim"
    build: str | None = None
    pull: str = "missing"
    name: str | None = None
    user: str | None = None
    network: str = "bridge"
    memory: str | int | None = "4g"
    cpus: float | None = 2.0
    pids_limit: int = 4096
    mounts: list[Mount] = msgspec.field(default_factory=list)
    tmpfs: dict[str, str] = msgspec.field(default_factory=dict)
    read_only: bool = False
    cap_add: list[str] = msgspec.field(default_factory=list)
    ports: list[int] = msgspec.field(default_factory=list)
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    lease: float = LEASE
    context: str | None = None
    gpus: int = 0


def check(settings: DockerConfig) -> None:
    """Check what types cannot say.

    Raises:
        ConfigError: a value is out of its range; names the key.
    """
    if settings.pull not in ("missing", "always", "never"):
        raise ConfigError(f"docker: pull: missing, always or never, not {settings.pull!r}")
    if not settings.image:
        raise ConfigError("docker: image: needs a name, a tag or an id")
    if not 1 <= settings.lease < math.inf:
        raise ConfigError(f"docker: lease: at least 1 second, not {settings.lease!r}")
    if isinstance(settings.memory, str) and not re.fullmatch(r"\d+(\.\d+)?[bkmgBKMG]?", settings.memory):
        raise ConfigError(f"docker: memory: bytes, or text like 512m or 4g, not {settings.memory!r}")
    if settings.cpus is not None and not settings.cpus > 0:
        raise ConfigError(f"docker: cpus: more than 0, not {settings.cpus!r}")
    if settings.pids_limit < 1:
        raise ConfigError(f"docker: pids_limit: at least 1, not {settings.pids_limit!r}")
