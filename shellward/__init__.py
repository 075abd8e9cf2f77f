"""Shellward: run shell commands anywhere, safely.

Only names live here; each is imported from its room on first use, so that ``import shellward`` stays cheap.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_EXPORTS = {
    "ApprovalDenied": "shellward.core.errors",
    "ApprovalRequired": "shellward.core.errors",
    "CommandTimeout": "shellward.core.errors",
    "ConfigError": "shellward.core.errors",
    "ConnectionLost": "shellward.core.errors",
    "DamagedRecording": "shellward.core.errors",
    "EnvironmentUnavailable": "shellward.core.errors",
    "LimitReached": "shellward.core.errors",
    "MissingDependency": "shellward.core.errors",
    "ShellwardError": "shellward.core.errors",
    "Unsupported": "shellward.core.errors",
    "Chunk": "shellward.core.types",
    "FileInfo": "shellward.core.types",
    "Result": "shellward.core.types",
    "Stats": "shellward.core.types",
    "Terminal": "shellward.terminal_tool.guard",
}

__all__ = ["__version__", *sorted(_EXPORTS)]  # noqa: PLE0604  # the names are strings, built from the table

if TYPE_CHECKING:
    from shellward.core.errors import (
        ApprovalDenied as ApprovalDenied,
    )
    from shellward.core.errors import (
        ApprovalRequired as ApprovalRequired,
    )
    from shellward.core.errors import (
        CommandTimeout as CommandTimeout,
    )
    from shellward.core.errors import (
        ConfigError as ConfigError,
    )
    from shellward.core.errors import (
        ConnectionLost as ConnectionLost,
    )
    from shellward.core.errors import (
        DamagedRecording as DamagedRecording,
    )
    from shellward.core.errors import (
        EnvironmentUnavailable as EnvironmentUnavailable,
    )
    from shellward.core.errors import (
        LimitReached as LimitReached,
    )
    from shellward.core.errors import (
        MissingDependency as MissingDependency,
    )
    from shellward.core.errors import (
        ShellwardError as ShellwardError,
    )
    from shellward.core.errors import (
        Unsupported as Unsupported,
    )
    from shellward.core.types import Chunk as Chunk
    from shellward.core.types import FileInfo as FileInfo
    from shellward.core.types import Result as Result
    from shellward.core.types import Stats as Stats
    from shellward.terminal_tool.guard import Terminal as Terminal


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'shellward' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
