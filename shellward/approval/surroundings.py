"""From the configuration of an environment to its reach. Pure: it reads a mapping, and trusts nothing unknown.

A setting that is not listed here might open anything, so its presence means that everything is in reach. A new
setting of a backend therefore makes the gate stricter until somebody has thought about it.
"""

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any, Final

from shellward.approval.reach import EVERYTHING, Reach
from shellward.telemetry.masking import find_secrets

_HARMLESS: Final = frozenset(
    {
        *("cwd", "shell", "image", "build", "pull", "user", "memory", "cpus", "pids_limit", "tmpfs", "read_only"),
        *("labels", "lease", "context", "gpus"),
    }
)
"""Settings that open nothing by themselves."""
_WEIGHED: Final = frozenset({"env", "name", "network", "mounts", "cap_add", "ports"})
_RENTED: Final = frozenset({"modal", "daytona"})
"""Kinds whose sandboxes run on machines of others."""
_RENTED_HARMLESS: Final = frozenset(
    {"timeout", "idle_timeout", "cpu", "gpu", "disk", "region", "cloud", "language", "target", "app"}
)
_RENTED_WEIGHED: Final = frozenset({"env", "name", "network", "ports", "volumes", "secrets"})
_SAFE_CAPABILITIES: Final = frozenset(
    {
        *(
            "AUDIT_WRITE",
            "CHOWN",
            "DAC_OVERRIDE",
            "FOWNER",
            "FSETID",
            "KILL",
            "NET_BIND_SERVICE",
            "SETFCAP",
            "SETGID",
        ),
        *("SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
"""Docker's own defaults (moby, oci/caps/defaults.go) without NET_RAW and MKNOD; every other one is a way out."""
_ENGINES: Final = ("docker.sock", "podman.sock", "containerd.sock", "crio.sock", "docker", "podman", "containerd")
_KERNEL: Final = (
    "/",
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/var/run",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/boot",
)
_CREDENTIALS: Final = frozenset(
    {
        *(
            ".ssh",
            ".aws",
            ".azure",
            ".kube",
            ".docker",
            ".gnupg",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".git-credentials",
        ),
        *("gcloud", ".config", ".password-store", ".vault-token"),
    }
)
_HOMES: Final = frozenset({"", "home", "root", "Users", "etc"})


def reach_of(kind: str, config: Mapping[str, Any]) -> Reach:
    """Work out what an environment can touch.

    Args:
        kind: kind of environment.
        config: its configuration as given, defaults left out or not.

    Returns:
        Its reach; everything for kinds that are, or share, a real machine, and for what is not understood.
    """
    if kind in _RENTED:
        return _rented(config)
    if kind != "docker" or not set(config) <= _HARMLESS | _WEIGHED:
        return EVERYTHING
    powers = {"persistent"} if config.get("name") else set()
    network = config.get("network", "bridge")
    if network != "none" or config.get("ports"):
        powers.add("network")
    if str(network).startswith(("host", "container:")):
        powers |= {"privileges", "host-processes"}
    capabilities = {str(name).upper().removeprefix("CAP_") for name in config.get("cap_add") or ()}
    if not capabilities <= _SAFE_CAPABILITIES:
        powers.add("privileges")
    if _has_secret(config.get("env") or {}):
        powers.add("credentials")
    powers.update(_mounted(config.get("mounts") or ()))
    return Reach.of(powers)


def _rented(config: Mapping[str, Any]) -> Reach:
    """Work out the reach of a sandbox on machines of others: none of the user's own, but what it is given.

    A setting that is not known here and says something might give it anything.
    """
    said = {name for name, value in config.items() if value not in (None, "", False, (), [], {})}
    if not said <= _HARMLESS | _RENTED_HARMLESS | _RENTED_WEIGHED:
        return EVERYTHING
    powers = set()
    if config.get("network") != "none" or config.get("ports"):
        powers.add("network")
    if said & {"name", "volumes"}:
        powers.add("persistent")
    if "secrets" in said or _has_secret(config.get("env") or {}):
        powers.add("credentials")
    return Reach.of(powers)


def _has_secret(env: Mapping[str, Any]) -> bool:
    return any(find_secrets(f"{name}={value}") for name, value in env.items())


def _mounted(mounts: Iterable[Any]) -> Iterable[str]:
    for mount in mounts:
        source, read_only = _field(mount, "source"), _field(mount, "read_only") is True
        if not isinstance(source, str):
            yield from EVERYTHING.powers
            continue
        yield "host-files-read"
        if not read_only:
            yield "host-files-write"
        path = posixpath.normpath("/" + source.lstrip("/"))
        parts = path.split("/")
        if path in _KERNEL or any(path.startswith(f"{root}/") for root in _KERNEL[1:]):
            yield from ("privileges", "host-processes")
        if parts[-1] in _ENGINES:
            yield "privileges"
        near_top = len(parts) <= 3  # "", "home", "me": a home directory, or what is above one
        if set(parts) & _CREDENTIALS or (near_top and parts[1] in _HOMES):
            yield "credentials"


def _field(mount: Any, name: str) -> Any:
    return mount.get(name) if isinstance(mount, Mapping) else getattr(mount, name, None)
