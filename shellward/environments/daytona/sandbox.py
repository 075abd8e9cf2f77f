"""The sandbox of an environment, in the words of the SDK."""

from typing import Any

from shellward.environments.daytona.client import Client, mapped, sdk
from shellward.environments.daytona.config import DaytonaConfig, stop_after


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
    size = daytona.Resources(
        cpu=settings.cpus, memory=settings.memory, disk=settings.disk, gpu=settings.gpus or None
    )
    return daytona.CreateSandboxFromImageParams(image=settings.image, resources=size, **common)


def _volumes(client: Client, settings: DaytonaConfig) -> list[Any] | None:
    daytona = sdk()
    mounts = []
    for each in settings.volumes:
        with mapped(f"volume {each.name!r}"):
            volume = client.api.volume.get(each.name, create=True)
        mounts.append(daytona.VolumeMount(volume_id=volume.id, mount_path=each.target, subpath=each.subpath))
    return mounts or None
