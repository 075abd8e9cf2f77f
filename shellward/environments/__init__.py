"""Places to run commands in, all behind one ``Environment``.

``create`` and ``attach`` are the engine room, for trusted code: nothing here asks the gate.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.environments.lease import Renewal, renewals
    from shellward.environments.registry import attach, create, doctor, list_environments, remove
    from shellward.environments.session import Session
    from shellward.environments.stream import Stream

_EXPORTS = {
    "Environment": "environment",
    "Renewal": "lease",
    "Session": "session",
    "Stream": "stream",
    "attach": "registry",
    "create": "registry",
    "doctor": "registry",
    "list_environments": "registry",
    "remove": "registry",
    "renewals": "lease",
}

__all__ = [
    "Environment",
    "Renewal",
    "Session",
    "Stream",
    "attach",
    "create",
    "doctor",
    "list_environments",
    "remove",
    "renewals",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    globals()[name] = value
    return value
