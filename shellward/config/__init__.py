"""Settings: what they are (schema), where they come from (loader), how they change (edit), where files live.

Nothing here decides anything. ``load()`` is the entrance; importing this package does nothing.
"""

from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "Config": "shellward.config.schema",
    "Loaded": "shellward.config.loader",
    "load": "shellward.config.loader",
}

__all__ = ["Config", "Loaded", "load"]

if TYPE_CHECKING:
    from shellward.config.loader import Loaded, load
    from shellward.config.schema import Config


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'shellward.config' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_EXPORTS[name]), name)
