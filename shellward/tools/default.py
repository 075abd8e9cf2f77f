"""The runtime behind the functions of ``shellward.tools``: it reads the settings and finds the tools on first use."""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from shellward.config.schema import ToolsSection
from shellward.tools import answers, plugins
from shellward.tools.discovery import Failure, load_package
from shellward.tools.registry import registry
from shellward.tools.runtime import ToolRuntime
from shellward.tools.tool import Origin

_BUILTIN: Final = "shellward.tools.builtin"

runtime: Final = ToolRuntime(registry)
"""The runtime itself."""
add_hook: Final = runtime.hooks.add
"""Hang a function before or after every call; see ``Hooks.add``."""


class _Once:
    """Whether discovery was done; the thread that does it may come by again, others wait."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.begun = False
        self.done = False


_once: Final = _Once()


def discover(settings: ToolsSection | None = None, cwd: Path | None = None, *, servers: bool = True) -> list[Failure]:
    """Find and load tools: those of Shellward, and the plugins that the settings allow.

    It happens by itself before the first listing or call; another time it loads what has come since.

    Args:
        settings: the section ``tools``; read from ``config.yaml`` when None.
        cwd: where the project is looked for; the current directory when None.
        servers: also connect the MCP servers of the settings, and wait for them.

    Returns:
        What could not be loaded; it is logged, too.

    Raises:
        ConfigError: the settings cannot be read.
    """
    with _once.lock:
        if settings is None:
            from shellward.config import load

            settings = load(cwd=cwd).config.tools
        runtime.settings = settings
        _once.begun = True
        failures = load_package(_BUILTIN, registry, Origin.CORE) + plugins.load(
            registry, settings, cwd, servers=servers
        )
        _once.done = True
    return failures


def configure(*, context_window: int) -> None:
    """Say how large the model's context is, in tokens; tool search depends on it.

    Raises:
        ValueError: it is not positive.
    """
    _ready()
    if context_window < 1:
        raise ValueError("context_window must be positive")
    search = msgspec.structs.replace(runtime.settings.tool_search, context_window=context_window)
    runtime.settings = msgspec.structs.replace(runtime.settings, tool_search=search)


def _ready() -> None:
    if _once.done:
        return
    with _once.lock:
        if not _once.begun:
            discover()


def get_tool_definitions(
    enabled_toolsets: Iterable[str] | None = None,
    disabled_toolsets: Iterable[str] | None = None,
    quiet_mode: bool = False,
) -> list[dict[str, Any]]:
    """See ``ToolRuntime.get_tool_definitions``.

    Raises:
        ConfigError: the settings cannot be read.
    """
    _ready()
    return runtime.get_tool_definitions(enabled_toolsets, disabled_toolsets, quiet_mode)


def handle_function_call(
    name: str,
    args: object = None,
    *,
    task_id: str | None = None,
    user_task: str | None = None,
    enabled_toolsets: Iterable[str] | None = None,
    disabled_toolsets: Iterable[str] | None = None,
) -> str:
    """See ``ToolRuntime.handle_function_call``; settings that cannot be read are an error in its answer, too."""
    try:
        _ready()
    except Exception as problem:  # noqa: BLE001  # a model is always answered with JSON
        return answers.failed(problem)
    return runtime.handle_function_call(
        name,
        args,
        task_id=task_id,
        user_task=user_task,
        enabled_toolsets=enabled_toolsets,
        disabled_toolsets=disabled_toolsets,
    )


def is_toolset_available(toolset: str) -> bool:
    """Say whether a tool of this toolset, or of one that it includes, can be used now."""
    _ready()
    return runtime.is_toolset_available(toolset)
