"""The sandbox of an environment: how it is asked for."""

import math
import secrets
from typing import Any, Final

from shellward.environments.encoding import script
from shellward.environments.modal.config import ModalConfig, mebibytes
from shellward.environments.modal.images import image_of
from shellward.environments.modal.sdk import sdk
from shellward.environments.modal.tags import tags_of

CWD: Final = "SHELLWARD_CWD"
"""Variable of the sandbox with the directory in which commands begin: whoever attaches need not know it."""
_HERE: Final = "/tmp/.shellward-"  # noqa: S108  # of the sandbox's own
PROCESSES: Final = "/var/tmp/.shellward"  # noqa: S108  # likewise
"""Directory in a sandbox for background processes."""


def scratch_of(name: str) -> str:
    """Return the directory in a sandbox that is ours alone, by the name in its tag."""
    return f"{_HERE}{name}"


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
    return [*entrypoint, PROCESSES], {
        "app": app,
        "client": client,
        "name": settings.name,
        "tags": tags_of(settings, name),
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
