"""What agents hold in their hands: the door that every command passes, and the tools behind it.

``register_task_environment``, ``cleanup_task`` and ``interrupt`` are for hosts; docs/terminal-tool.md shows all of it.
"""

from typing import TYPE_CHECKING, Any

_EXPORTS = {
    "cleanup_task": "shellward.terminal_tool.default",
    "close_tasks": "shellward.terminal_tool.default",
    "execute_code": "shellward.terminal_tool.scripts",
    "interrupt": "shellward.terminal_tool.default",
    "next_notice": "shellward.terminal_tool.processes",
    "patch": "shellward.terminal_tool.files",
    "process_tool": "shellward.terminal_tool.process",
    "read_file": "shellward.terminal_tool.files",
    "register_task_environment": "shellward.terminal_tool.default",
    "search_files": "shellward.terminal_tool.searching",
    "terminal_tool": "shellward.terminal_tool.terminal",
    "write_file": "shellward.terminal_tool.files",
}

__all__ = sorted(_EXPORTS)  # noqa: PLE0605  # the names are strings, built from the table

if TYPE_CHECKING:
    from shellward.terminal_tool.default import cleanup_task as cleanup_task
    from shellward.terminal_tool.default import close_tasks as close_tasks
    from shellward.terminal_tool.default import interrupt as interrupt
    from shellward.terminal_tool.default import register_task_environment as register_task_environment
    from shellward.terminal_tool.files import patch as patch
    from shellward.terminal_tool.files import read_file as read_file
    from shellward.terminal_tool.files import write_file as write_file
    from shellward.terminal_tool.process import process_tool as process_tool
    from shellward.terminal_tool.processes import next_notice as next_notice
    from shellward.terminal_tool.scripts import execute_code as execute_code
    from shellward.terminal_tool.searching import search_files as search_files
    from shellward.terminal_tool.terminal import terminal_tool as terminal_tool


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'shellward.terminal_tool' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_EXPORTS[name]), name)
