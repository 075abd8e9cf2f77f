"""Tools that others bring: packages by entry point, files in folders of the user and of the project."""

import functools
import logging
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final

from shellward.config import paths
from shellward.config.schema import ToolsSection
from shellward.tools.discovery import Failure, attempt, load_folder, load_package
from shellward.tools.registry import Registry
from shellward.tools.tool import Origin

GROUP: Final = "shellward.tools"
"""The entry points that offer tools."""
_OWN: Final = "shellward"
_SERVERS: Final = "mcp"
"""The entry point of our own that connects the MCP servers of the settings."""

_log = logging.getLogger(__name__)


def load(registry: Registry, settings: ToolsSection, cwd: Path | None = None, *, servers: bool = True) -> list[Failure]:
    """Load what the settings allow.

    Args:
        registry: handed to entry points that are functions; modules register in their own way.
        settings: the section ``tools``.
        cwd: where the project is looked for; the current directory when None.
        servers: also the tools of MCP servers, which may take as long as those like.

    Returns:
        What could not be loaded; it is logged, too.
    """
    failures: list[Failure] = []
    for point in sorted(entry_points(group=GROUP), key=lambda each: (not _is_own(each), each.name, each.value)):
        if not servers and point.name == _SERVERS and _is_own(point):
            continue
        if settings.plugins or _is_own(point):
            failures += _load_point(point, registry)
    if settings.user_folder:
        failures += load_folder(paths.config_dir() / "tools", "shellward_user_tools", registry, Origin.PLUGIN)
    if settings.project_folder:
        folder = project_folder(cwd or Path.cwd())
        if folder is not None:
            failures += load_folder(folder, "shellward_project_tools", registry, Origin.PLUGIN)
    return failures


def project_folder(start: Path) -> Path | None:
    """Find the nearest ``.shellward/tools`` in ``start`` or a directory above it."""
    start = start.absolute()
    return next((found for each in (start, *start.parents) if (found := each / ".shellward" / "tools").is_dir()), None)


def _is_own(point: EntryPoint) -> bool:
    """Whether an entry point is this package's own: its tools are no plugins, and there whatever the settings say."""
    return point.dist is not None and point.dist.name == _OWN


def _load_point(point: EntryPoint, registry: Registry) -> list[Failure]:
    """Load one entry point: ``package`` or ``package.module`` is imported, ``module:function`` called."""
    origin = Origin.CORE if _is_own(point) else Origin.PLUGIN
    if not point.attr:
        return load_package(point.module, registry, origin)
    failures = attempt(point.value, registry, origin, functools.partial(_call, point, registry))
    if not failures:
        _log.debug(
            "tools of %s are loaded from %s", point.name, getattr(sys.modules.get(point.module), "__file__", "?")
        )
    return failures


def _call(point: EntryPoint, registry: Registry) -> None:
    point.load()(registry)
