"""The container of an environment: how it is made and started."""

import secrets
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from shellward.core.errors import beside
from shellward.environments.base import OnStep
from shellward.environments.docker.config import CAPABILITIES, LABEL, PROCESSES, SCRATCH, DockerConfig, Mount
from shellward.environments.docker.engine import mapped, pull, sdk
from shellward.environments.door import INSIDE, Door
from shellward.environments.encoding import script
from shellward.environments.owner import owner

_LATE = 2.0
"""Seconds in which an engine that was cut off may still make the container that it was asked for."""
_LOOK = 0.1


def is_here(client: Any) -> bool:
    """Whether an engine is on this machine: behind a socket, or a port of this machine's own."""
    where = urlsplit(str(client.api.base_url))
    if where.scheme == "http+docker":  # the SDK's own name for what is no TCP: a socket, a pipe of Windows, ssh
        return where.netloc != "ssh"
    return where.hostname in {"localhost", "127.0.0.1", "::1"}


def same_kernel(client: Any) -> bool:
    """Whether an engine's containers may be processes of this machine: its socket is here."""
    return is_here(client) and urlsplit(str(client.api.base_url)).scheme == "http+docker"


def start(client: Any, config: DockerConfig, progress: OnStep | None = None) -> tuple[Any, Door | None]:
    """Create and start the container of an environment; when that fails or is interrupted, nothing is left of it.

    Raises:
        EnvironmentUnavailable: the image is not there, or the engine refuses.
    """
    door = Door.make() if same_kernel(client) else None
    name = secrets.token_hex(6)
    try:
        with mapped(f"container from {config.image!r}"):
            container, door = _container(client, config, name, door, progress)
            if door is not None:
                door.hang(container.attrs["Config"].get("User") or "")
            container.start()
    except BaseException as error:
        try:
            with beside(error), mapped("what was begun of the container"):
                _remove(client, name, refused=isinstance(error.__cause__, sdk().errors.APIError))
        finally:
            if door is not None:
                door.remove()
        raise
    return container, door


def _remove(client: Any, name: str, *, refused: bool) -> None:
    """Remove a container of which nobody may have heard: one that never starts would never end by its lease.

    Args:
        client: of the engine.
        name: what its label says.
        refused: the engine has answered; else it may be making the container still.
    """
    until = time.monotonic() + (0 if refused else _LATE)
    while True:
        found = client.api.containers(all=True, filters={"label": f"{LABEL}.id={name}"})
        for each in found:
            client.api.remove_container(each["Id"], force=True, v=True)
        if found or time.monotonic() >= until:
            return
        time.sleep(_LOOK)


def _container(
    client: Any, config: DockerConfig, name: str, door: Door | None, progress: OnStep | None
) -> tuple[Any, Door | None]:
    """Create the container; without a door where the engine cannot see this machine's files."""
    docker = sdk()
    try:
        return client.containers.create(**container_arguments(client, config, name, door)), door
    except docker.errors.ImageNotFound:
        with mapped(f"image {config.image!r}"):
            if config.pull == "never":
                raise
            pull(client, config.image, progress)
        return _container(client, config, name, door, progress)
    except docker.errors.APIError as error:
        if door is None or str(door.shared) not in str(error):
            raise
    door.remove()
    return client.containers.create(**container_arguments(client, config, name, None)), None


def processes_root(config: DockerConfig) -> str:
    """Return the directory in the container for background processes."""
    return f"{SCRATCH}/processes" if config.read_only else PROCESSES


def container_arguments(client: Any, config: DockerConfig, name: str, door: Door | None) -> dict[str, Any]:
    """Say how the container is made, in the words of the SDK's ``containers.create``.

    Args:
        client: of the engine.
        config: of the environment.
        name: of the environment, for a label.
        door: to be hung in it.
    """
    docker = sdk()
    labels = {
        **config.labels,  # ours say what is whose, so they come last
        f"{LABEL}.id": name,
        f"{LABEL}.owner": owner(),
        f"{LABEL}.lease": str(config.lease),
        f"{LABEL}.config": msgspec.json.encode(config).decode(),
    }
    cpus = config.cpus if config.cpus is None else min(config.cpus, _processors(client))
    requests = [docker.types.DeviceRequest(count=config.gpus, capabilities=[["gpu"]])] if config.gpus else None
    return {
        "image": config.image,
        "entrypoint": ["sh", "-c", script("lease.sh"), "shellward"],
        "command": [
            f"{SCRATCH}/lease",
            str(max(1, round(config.lease))),
            *([INSIDE, script("door.sh")] if door is not None else ["", ""]),
            processes_root(config),
        ],
        "name": config.name,
        "user": config.user,
        "environment": config.env,
        "labels": labels,
        "init": True,
        "auto_remove": True,
        "cap_drop": ["ALL"],
        "cap_add": [*CAPABILITIES, *config.cap_add],
        "security_opt": ["no-new-privileges"],
        "pids_limit": config.pids_limit,
        "mem_limit": config.memory,
        "nano_cpus": None if cpus is None else round(cpus * 1e9),
        "network": None if config.network in ("bridge", "none") else config.network,
        "network_mode": config.network if config.network in ("bridge", "none") else None,
        "read_only": config.read_only,
        "tmpfs": {SCRATCH: "rw,nosuid,nodev,size=16m,mode=1777", **config.tmpfs},
        "mounts": [
            docker.types.Mount(each.target, _source(each.source), "bind", read_only=each.read_only)
            for each in [*config.mounts, *([Mount(str(door.shared), INSIDE, read_only=True)] if door else [])]
        ],
        "ports": {f"{port}/tcp": ("127.0.0.1", None) for port in config.ports},
        "device_requests": requests,
        "stop_signal": "SIGKILL",
        "detach": True,
    }


def _source(path: str) -> str:
    """A path of the engine's machine, or the name of a volume."""
    return str(Path(path).expanduser().absolute()) if path.startswith(("/", ".", "~")) else path


_engines: dict[str, int] = {}


def _processors(client: Any) -> float:
    """How many processors the engine has: it refuses a limit above that."""
    url = str(client.api.base_url)
    if url not in _engines:
        _engines[url] = int(client.info().get("NCPU", 1))
    return _engines[url]
