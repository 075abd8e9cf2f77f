"""Settings of a Singularity environment, and what is fixed."""

import math
import re
from typing import Final

import msgspec

from shellward.core.errors import ConfigError
from shellward.core.limits import LEASE
from shellward.environments.config import BaseConfig

KIND: Final = "singularity"
SCRATCH: Final = "/run/shellward"
PROCESSES: Final = "/var/tmp/.shellward"  # noqa: S108  # of the instance's own
"""Where background processes keep their files."""
CAPABILITIES: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID")
"""What a package manager and a change of user need; root has no other kernel capabilities."""
OTHERS: Final = (
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "BPF",
    "CHECKPOINT_RESTORE",
    "DAC_READ_SEARCH",
    "IPC_LOCK",
    "IPC_OWNER",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "PERFMON",
    "SETFCAP",
    "SETPCAP",
    "SYSLOG",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
)
"""All the others, see capabilities(7): with ``fakeroot`` everything is there unless it is dropped by name."""
_SIZE: Final = r"\d+(\.\d+)?[bkmgBKMG]?"


class Mount(msgspec.Struct, forbid_unknown_fields=True):
    """A directory or file of this machine inside the instance."""

    source: str
    target: str
    read_only: bool = False


class SingularityConfig(BaseConfig, kw_only=True, forbid_unknown_fields=True):
    """Settings of a Singularity environment.

    Attributes:
        image: a SIF or other image file, a sandbox directory, a definition file (``.def``), or what ``build`` takes:
            ``docker://``, ``docker-daemon://NAME:TAG``, ``oras://``, ``library://``.
        pull: ``missing``, ``always`` or ``never``: when an image that is no file is fetched, or a definition is built.
        name: what the instance's name begins with.
        binary: name or path of the program; None: ``apptainer``, else ``singularity``.
        fakeroot: be root inside, as an ordinary user; needs user namespaces.
        writable: ``overlay`` (on disk, can be saved), ``tmpfs`` (in memory; small, see ``sessiondir max size`` of
            apptainer.conf), or ``no``.
        workdir: a local directory of this machine for overlays and temporary files; None: the usual place for
            temporary files.
        mounts: what of this machine is visible inside.
        network: ``host`` (the machine's own), or ``none``.
        nv: NVIDIA GPUs and their libraries.
        memory: most bytes (or text, ``512m``), where the host can limit; None: no limit.
        cpus: most processors, likewise.
        pids_limit: most processes, likewise.
        cap_add: kernel capabilities of root on top of ``CAPABILITIES``.
        labels: are kept with the environment, for ``list_environments``.
        lease: seconds the instance lives on without a client.
        build_timeout: seconds that fetching or building an image may take.
    """

    image: str = "docker://debian:bookworm-slim"
    pull: str = "missing"
    name: str = "shellward"
    binary: str | None = None
    fakeroot: bool = False
    writable: str = "overlay"
    workdir: str | None = None
    mounts: list[Mount] = msgspec.field(default_factory=list)
    network: str = "host"
    nv: bool = False
    memory: str | int | None = None
    cpus: float | None = None
    pids_limit: int | None = None
    cap_add: list[str] = msgspec.field(default_factory=list)
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    lease: float = LEASE
    build_timeout: float = 1800.0


def check(settings: SingularityConfig) -> None:
    """Check what types cannot say.

    Raises:
        ConfigError: a value is out of its range; names the key.
    """
    for key, allowed in {
        "pull": ("missing", "always", "never"),
        "writable": ("overlay", "tmpfs", "no"),
        "network": ("host", "none"),
    }.items():
        if getattr(settings, key) not in allowed:
            raise ConfigError(f"singularity: {key}: {', '.join(allowed)}, not {getattr(settings, key)!r}")
    wrong = _wrong(settings)
    if wrong:
        raise ConfigError(f"singularity: {wrong}")


def _wrong(settings: SingularityConfig) -> str:
    """Say what the first wrong value is; empty: none."""
    unknown = sorted(set(settings.cap_add) - {*CAPABILITIES, *OTHERS})
    return next(
        (
            said
            for is_wrong, said in (
                (not settings.image, "image: needs a file, a directory or a URI"),
                (
                    not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}", settings.name),
                    f"name: letters, digits, '_', '.', '-', 41 at the most, not {settings.name!r}",
                ),
                (not 1 <= settings.lease < math.inf, f"lease: at least 1 second, not {settings.lease!r}"),
                (
                    isinstance(settings.memory, str) and not re.fullmatch(_SIZE, settings.memory),
                    f"memory: bytes, or text like 512m or 4g, not {settings.memory!r}",
                ),
                (settings.cpus is not None and not settings.cpus > 0, f"cpus: more than 0, not {settings.cpus!r}"),
                (
                    settings.pids_limit is not None and settings.pids_limit < 1,
                    f"pids_limit: at least 1, not {settings.pids_limit!r}",
                ),
                (not settings.build_timeout > 0, f"build_timeout: more than 0 s, not {settings.build_timeout!r}"),
                (bool(unknown), f"cap_add: {unknown[:1]} is no capability; they are written like NET_RAW"),
                *((True, f"mounts: {each}") for each in map(_wrong_mount, settings.mounts) if each),
            )
            if is_wrong
        ),
        "",
    )


def _wrong_mount(mount: Mount) -> str:
    for path in (mount.source, mount.target):
        if re.search(r"[:,\n]", path):  # they part the fields of --bind, and nothing quotes them there
            return f"a path cannot hold ':', ',' or a newline: {path!r}"
    return "" if mount.target.startswith("/") else f"target {mount.target!r} is not an absolute path"
