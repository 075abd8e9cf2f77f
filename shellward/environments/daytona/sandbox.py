"""The sandbox of an environment, in the words of the SDK: how it is made, found, and asked for something."""

import itertools
import shlex
from typing import Any

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.daytona.client import Client, again, mapped, sdk, short
from shellward.environments.daytona.config import DaytonaConfig, stop_after

_CALL = 30


def parameters(client: Client, settings: DaytonaConfig, labels: dict[str, str]) -> Any:
    """Say how the sandbox is made.

    Raises:
        EnvironmentUnavailable: a volume cannot be had.
    """
    daytona = sdk()
    common: dict[str, Any] = {
        "name": settings.name,
        "language": settings.language,
        "os_user": settings.user,
        "env_vars": settings.env,
        "labels": labels,
        "public": settings.public,
        "auto_stop_interval": stop_after(settings),
        "auto_archive_interval": settings.auto_archive,
        "auto_delete_interval": settings.auto_delete,
        "ttl_minutes": settings.ttl or None,
        "volumes": _volumes(client, settings),
        "network_block_all": settings.network == "none" or None,
        "network_allow_list": ",".join(settings.network_allow) or None,
    }
    if settings.image is None:
        return daytona.CreateSandboxFromSnapshotParams(snapshot=settings.snapshot, **common)
    size = daytona.Resources(cpu=settings.cpus, memory=settings.memory, disk=settings.disk, gpu=settings.gpus or None)
    return daytona.CreateSandboxFromImageParams(image=settings.image, resources=size, **common)


def _volumes(client: Client, settings: DaytonaConfig) -> list[Any] | None:
    daytona = sdk()
    mounts = []
    for each in settings.volumes:
        with mapped(f"volume {each.name!r}"):
            volume = client.api.volume.get(each.name, create=True)
        mounts.append(daytona.VolumeMount(volume_id=volume.id, mount_path=each.target, subpath=each.subpath))
    return mounts or None


def state(sandbox: Any) -> str:
    """Say in which state a sandbox was when it was last looked at."""
    return str(getattr(sandbox.state, "value", sandbox.state))


def run(sandbox: Any, text: bytes, what: str, *, before: bytes = b"") -> str:
    """Run a script in a sandbox and return what it printed.

    Args:
        sandbox: the SDK's.
        text: the script; one that may run twice, with ``before``.
        what: it is, for what is said.
        before: is run before it where it may have run already.

    Raises:
        EnvironmentUnavailable: it failed, or Daytona did.
    """
    texts = itertools.chain([text], itertools.repeat(before + text))
    with mapped(what):
        done = again(lambda: sandbox.process.exec(f"exec sh -c {shlex.quote(next(texts).decode())}", timeout=_CALL))
    if done.exit_code:
        said = short(str(done.result)) or f"exit status {done.exit_code}"
        raise EnvironmentUnavailable(f"{what}: {said}")
    return str(done.result)


def found(client: Client, handle: str) -> Any:
    """Find the sandbox of a handle: ``daytona:ID``, ``daytona:NAME`` or ``daytona:LABEL=VALUE``.

    Raises:
        EnvironmentUnavailable: there is none, or several have that label.
    """
    daytona = sdk()
    wanted = handle.partition(":")[2]
    label, is_label, value = wanted.partition("=")
    with mapped(handle):
        if not is_label:
            return again(lambda: client.api.get(wanted))
        all_of_them = again(lambda: list(client.api.list(daytona.ListSandboxesQuery(labels={label: value}))))
    if len(all_of_them) != 1:
        raise EnvironmentUnavailable(f"{handle}: {len(all_of_them) or 'no'} sandboxes have that label")
    with mapped(handle):
        return client.api.get(all_of_them[0].id)
