"""Docker: a hardened container per environment, through the docker SDK. Podman's socket works the same way.

The container's main process is a watchdog (scripts/lease.sh): when no client renews its lease it ends, and the
engine removes the container. Commands run in shells opened through a door of ours where the engine is on this
machine (door.py), else by ``exec``.
"""

import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from shellward.core.errors import ConfigError, EnvironmentUnavailable, MissingDependency, Unsupported
from shellward.core.limits import LEASE
from shellward.core.types import EnvironmentInfo, Stats
from shellward.environments.base import Capabilities, Channel, Diagnosis, OnStep, PtySize
from shellward.environments.config import parse_config
from shellward.environments.docker.channel import DockerChannel
from shellward.environments.docker.config import LABEL, SCRATCH, DockerConfig, check
from shellward.environments.docker.container import is_here, processes_root, same_kernel, start
from shellward.environments.docker.engine import build, connect, mapped, pull, sdk, short
from shellward.environments.door import INSIDE, Door, sweep

_OVER: Final = frozenset(("exited", "dead", "removing"))


class DockerBackend:
    """See Backend."""

    kind = "docker"
    scratch = SCRATCH

    def __init__(self, client: Any, container: Any, config: DockerConfig, door: Door | None) -> None:
        self.client = client
        self.container = container
        self.config = config
        self.door = door
        self.lease: float | None = config.lease
        self.processes = processes_root(config)
        self._destroyed = False
        self._lock = threading.Lock()
        self._engine = ""

    @property
    def handle(self) -> str:
        """See Backend."""
        where = f"{self.config.context}/" if self.config.context else ""
        return f"docker:{where}{self.container.id}"

    @property
    def shell(self) -> str:
        """See Remembering."""
        return self.config.shell

    @property
    def engine(self) -> str:
        """See Located."""
        if not self._engine:
            self._engine = _engine(self.client)
        return self._engine

    @property
    def capabilities(self) -> Capabilities:
        """See Backend."""
        return Capabilities(
            snapshot=True,
            expose=is_here(self.client),
            stats=True,
            user=True,
            attach=True,
            pty=True,
            isolated=True,
        )

    def open(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        pty: PtySize | None = None,
    ) -> Channel:
        """See Backend."""
        if self.door is not None and user is None and pty is None:
            channel = self.door.open(argv, env or {}, cwd or self.config.cwd)
            if channel is not None:
                return channel
        api = self.client.api
        with mapped(f"container {self.container.short_id}"):
            made = api.exec_create(
                self.container.id,
                list(argv) if pty is None else [*_sized(pty), *argv],
                stdin=True,
                tty=pty is not None,
                environment=dict(env or {}),
                workdir=cwd or self.config.cwd,
                user=user or "",
            )
            wrapped = api.exec_start(made["Id"], socket=True, tty=pty is not None)
        return DockerChannel(wrapped, api, made["Id"], tty=pty is not None)

    def explain_loss(self) -> str:
        """See Backend."""
        try:
            with mapped("docker"):
                self.container.reload()
        except EnvironmentUnavailable as error:
            return str(error)
        state = self.container.attrs["State"]
        if state.get("OOMKilled"):
            return "the container ran out of memory"
        if not state.get("Running"):
            return f"the container has ended with exit status {state.get('ExitCode')}"
        return ""

    def destroy(self) -> None:
        """See Backend."""
        with self._lock:
            if self._destroyed:
                return
            self._destroyed = True
        docker = sdk()
        try:
            self.container.remove(force=True, v=True)
        except docker.errors.NotFound:
            pass
        except docker.errors.APIError as error:
            if "already in progress" not in str(error):
                raise EnvironmentUnavailable(f"cannot remove container {self.container.short_id}: {error}") from error
        except (docker.errors.DockerException, OSError) as error:
            raise EnvironmentUnavailable(
                f"cannot remove container {self.container.short_id}, its lease will ({short(str(error))})",
            ) from error
        finally:
            if self.door is not None:
                self.door.remove()
                _sweep(self.client)
            self.client.close()

    def detach(self) -> None:
        """See Backend."""
        if self.door is not None:
            self.door.close()
        self.client.close()

    def snapshot(self) -> str:
        """See Backend."""
        with mapped("snapshot"):
            image = self.container.commit(
                repository=f"shellward/snapshot-{secrets.token_hex(6)}",
                tag="latest",
                changes=[f"LABEL {LABEL}.snapshot=1"],
            )
        return str(image.tags[0])

    def restore(self, snapshot: str) -> None:
        """See Backend."""
        with mapped(f"snapshot {snapshot}"):
            self.client.images.get(snapshot)
        with mapped("restore"):
            self.container.remove(force=True, v=True)
        self.config = msgspec.structs.replace(self.config, image=snapshot, build=None, pull="never")
        if self.door is not None:
            self.door.remove()
        self.container, self.door = start(self.client, self.config)

    def expose(self, port: int) -> str:
        """See Backend. A port named in ``ports`` is published; others are reachable on a local engine's bridge.

        Both are so on the engine's own machine alone.
        """
        if not is_here(self.client):
            advice = "its ports are reachable on the engine's machine alone; make a tunnel to that"
            raise Unsupported(f"expose port {port} of an engine on another machine", self.kind, advice)
        with mapped("expose"):
            self.container.reload()
        settings = self.container.attrs["NetworkSettings"]
        published = (settings.get("Ports") or {}).get(f"{port}/tcp")
        if published:
            return f"127.0.0.1:{published[0]['HostPort']}"
        addresses = [net["IPAddress"] for net in settings.get("Networks", {}).values() if net.get("IPAddress")]
        if addresses and str(self.client.api.base_url).startswith("http+docker"):  # of a socket
            return f"{addresses[0]}:{port}"
        raise Unsupported(f"expose port {port}", self.kind, f"create it with ports=[{port}] and a network")

    def stats(self) -> Stats:
        """See Backend."""
        with mapped("stats"):
            seen = self.client.api.stats(self.container.id, stream=False, one_shot=True)
        memory = seen.get("memory_stats", {})
        details = memory.get("stats", {})
        cache = details.get("inactive_file", details.get("total_inactive_file", 0))
        return Stats(
            cpu_seconds=seen.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage", 0) / 1e9,
            memory_bytes=max(0, memory["usage"] - cache) if "usage" in memory else None,
            memory_limit_bytes=memory.get("limit"),
            pids=seen.get("pids_stats", {}).get("current"),
        )


def _sized(size: PtySize) -> list[str]:
    """What gives a new terminal its size before the command runs: the engine could be asked only after its start."""
    return ["sh", "-c", f'stty rows {size.rows} cols {size.columns} 2>/dev/null; exec "$@"', "shellward"]


def create(config: Mapping[str, object], progress: OnStep | None = None) -> DockerBackend:
    """See BackendFactory."""
    sdk()
    settings = parse_config(DockerConfig, config, "docker")
    check(settings)
    client = connect(settings.context)
    try:
        if settings.build is not None:
            build(client, settings.build, settings.image, progress)
        elif settings.pull == "always":
            pull(client, settings.image, progress)
        container, door = start(client, settings, progress)
    except BaseException:
        client.close()
        raise
    _sweep(client)
    return DockerBackend(client, container, settings, door)


def _sweep(client: Any) -> None:
    """Remove what killed clients have left on this machine; whoever comes next tidies up, whatever he comes for."""

    def used() -> set[str]:
        return _mounted(client.api.containers(all=True, filters={"label": f"{LABEL}.id"}))

    with suppress(EnvironmentUnavailable), mapped("docker"):  # the next one does
        sweep(used)


def _mounted(containers: Iterable[Mapping[str, Any]]) -> set[str]:
    return {mount.get("Source", "") for each in containers for mount in each.get("Mounts") or ()}


def _door(client: Any, container: Any) -> Door | None:
    for mount in container.attrs.get("Mounts") or ():
        if mount.get("Destination") == INSIDE and same_kernel(client):
            return Door.find(mount.get("Source", ""))
    return None


def attach(handle: str) -> DockerBackend:
    """See BackendFactory."""
    sdk()
    context, _, container_id = handle.partition(":")[2].rpartition("/")
    client = connect(context or None)
    try:
        with mapped(handle):
            container = client.containers.get(container_id)
        config = _saved_config(container, handle)
        door = _door(client, container)
    except BaseException:
        client.close()
        raise
    _sweep(client)
    return DockerBackend(client, container, config, door)


def engine(handle: str) -> str:
    """See Locating."""
    context = handle.partition(":")[2].rpartition("/")[0]
    client = connect(context or None)
    try:
        return _engine(client)
    finally:
        client.close()


def _engine(client: Any) -> str:
    with mapped("docker"):
        info, version = client.info(), client.version()
    # Podman makes up another ID for each answer.
    if any("Podman" in str(part.get("Name")) for part in version.get("Components") or ()):
        return f"podman of {info.get('Name')}"
    return str(info.get("ID") or "")


def _saved_config(container: Any, handle: str) -> DockerConfig:
    saved = _label(container, "config", handle)
    if container.status != "running":
        over = container.status in _OVER
        advice = "create a new environment" if over else "nothing can be run in it until it goes on"
        raise EnvironmentUnavailable(f"{handle} is {container.status}; {advice}", gone=over)
    try:
        return msgspec.json.decode(saved, type=DockerConfig)
    except msgspec.DecodeError as error:
        raise EnvironmentUnavailable(f"{handle} was made by another Shellward, or its label is damaged") from error


def _label(container: Any, name: str, handle: str) -> str:
    value = container.labels.get(f"{LABEL}.{name}")
    if value is None:
        raise EnvironmentUnavailable(f"{handle} was not made by Shellward")
    return str(value)


def remove(handle: str) -> bool:
    """See BackendFactory.

    Raises:
        EnvironmentUnavailable: the engine does not answer, or that container is not ours.
    """
    docker = sdk()
    context, _, container_id = handle.partition(":")[2].rpartition("/")
    client = connect(context or None)
    try:
        with mapped(handle):
            container = client.containers.get(container_id)
            _label(container, "id", handle)
            container.remove(force=True, v=True)
    except EnvironmentUnavailable as error:
        if isinstance(error.__cause__, docker.errors.NotFound) or "already in progress" in str(error):
            return False
        raise
    finally:
        _sweep(client)
        client.close()
    return True


def list_environments() -> Sequence[EnvironmentInfo]:
    """See BackendFactory."""
    client = connect()
    try:
        with mapped("docker"):
            # The SDK's own list asks for each container by itself, and waits a minute for one that does not answer.
            found = client.api.containers(all=True, filters={"label": f"{LABEL}.id"})
        sweep(lambda: _mounted(found))
        return [_info(container) for container in found]
    finally:
        client.close()


def _info(container: Mapping[str, Any]) -> EnvironmentInfo:
    labels = container.get("Labels") or {}
    return EnvironmentInfo(
        handle=f"docker:{container['Id']}",
        kind="docker",
        name=next((name.lstrip("/") for name in container.get("Names") or ()), ""),
        image=container["Image"],
        created=datetime.fromtimestamp(container["Created"], UTC),
        state=container["State"],
        owner=labels.get(f"{LABEL}.owner", ""),
        lease=float(labels.get(f"{LABEL}.lease", LEASE)),
        labels={key: value for key, value in labels.items() if not key.startswith(LABEL)},
    )


def doctor() -> Diagnosis:
    """See BackendFactory."""
    try:
        client = connect()
    except MissingDependency as error:
        return Diagnosis("docker", works=False, summary="the docker SDK is not installed", advice=str(error))
    except (EnvironmentUnavailable, ConfigError) as error:
        return Diagnosis("docker", works=False, summary="no engine", advice=str(error))
    try:
        with mapped("docker"):
            version = client.version()
    except EnvironmentUnavailable as error:
        return Diagnosis("docker", works=False, summary="no engine", advice=str(error))
    finally:
        client.close()
    return Diagnosis("docker", works=True, summary=f"engine {version['Version']} (API {version['ApiVersion']})")
