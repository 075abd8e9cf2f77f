"""The sandbox of an environment: how it is asked for, and what its tags say."""

import math
import secrets
import time
from typing import Any, Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.encoding import script
from shellward.environments.modal.config import TAG, ModalConfig, mebibytes
from shellward.environments.modal.images import image_of
from shellward.environments.modal.sdk import sdk
from shellward.environments.owner import owner

CWD: Final = "SHELLWARD_CWD"
"""Variable of the sandbox with the directory in which commands begin: whoever attaches need not know it."""
_HERE: Final = "/tmp/.shellward-"  # noqa: S108  # of the sandbox's own
_KEPT: Final = "/var/tmp/.shellward"  # noqa: S108  # likewise


def scratch_of(name: str) -> str:
    """Return the directory in a sandbox that is ours alone, by the name in its tag."""
    return f"{_HERE}{name}"


def processes_of(name: str) -> str:
    """Return the directory in a sandbox for background processes."""
    del name
    return _KEPT


def new_name() -> str:
    """Make a name for an environment."""
    return secrets.token_hex(6)


def arguments(settings: ModalConfig, name: str, client: Any, app: Any) -> tuple[list[str], dict[str, Any]]:
    """Say what to call the SDK's ``Sandbox.create`` with."""
    modal = sdk()
    lease = str(max(1, round(settings.lease)))
    entrypoint = ["sh", "-c", script("lease.sh"), "shellward", f"{scratch_of(name)}/lease", lease, "", ""]
    env = {**settings.env, **({CWD: settings.cwd} if settings.cwd else {})}
    size = mebibytes(settings.memory) if settings.memory is not None else None
    return [*entrypoint, processes_of(name)], {
        "app": app,
        "client": client,
        "name": settings.name,
        "tags": tags(settings, name),
        "image": image_of(settings, client),
        "env": env or None,
        "secrets": [modal.Secret.from_name(each) for each in settings.secrets],
        "timeout": math.ceil(settings.timeout),
        "idle_timeout": None if settings.idle_timeout is None else math.ceil(settings.idle_timeout),
        "gpu": settings.gpu,
        "cloud": settings.cloud,
        "region": settings.region,
        "cpu": None if settings.cpus is None else (settings.cpus, settings.cpus),
        "memory": None if size is None else (size, size),
        "block_network": settings.network == "none",
        "outbound_cidr_allowlist": settings.allow_cidrs,
        "outbound_domain_allowlist": settings.allow_domains,
        "unencrypted_ports": settings.ports,
        "encrypted_ports": settings.tls_ports,
        "volumes": {path: modal.Volume.from_name(volume) for path, volume in settings.volumes.items()},
    }


def tags(settings: ModalConfig, name: str) -> dict[str, str]:
    """What says later whose it is: ours come last, so that no label is taken for them."""
    return {
        **settings.labels,
        TAG: name,
        f"{TAG}-owner": owner(),
        f"{TAG}-lease": f"{settings.lease:g}",
        f"{TAG}-image": settings.image,
        f"{TAG}-created": str(int(time.time())),
        f"{TAG}-timeout": f"{settings.timeout:g}",
    }


def name_in(found: dict[str, str], handle: str) -> str:
    """Return the name of an environment by its sandbox's tags.

    Raises:
        EnvironmentUnavailable: it is not ours.
    """
    name = found.get(TAG, "")
    if not name.isalnum():
        raise EnvironmentUnavailable(f"{handle} was not made by Shellward")
    return name
