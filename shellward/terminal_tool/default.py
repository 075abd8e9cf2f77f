"""The tasks behind the tools of this program, and what hosts of agents do with them."""

from typing import Any, Final

from shellward.terminal_tool import processes
from shellward.terminal_tool.tasks import Tasks
from shellward.tools.endings import endings
from shellward.tools.under_way import DEFAULT, under_way

tasks: Final = Tasks()
"""The tasks themselves."""
_PATIENCE: Final = 15.0
"""Seconds for calls of servers' tools that were ended to find out."""


def register_task_environment(task_id: str, kind: str, **config: Any) -> None:
    """Say which environment a task gets, in place of the one of the settings; it is opened with the first call.

    Args:
        task_id: the task; what it has already is closed, and what was approved for its session holds no more.
        kind: ``local``, ``docker``, ..., or a name in ``environments`` of the settings.
        config: the environment's settings, as ``Terminal`` takes them; checked when it is opened.

    Raises:
        ConfigError: there is no such kind or name.
    """
    tasks.register(task_id, kind, config)
    endings.tell(task_id)


def cleanup_task(task_id: str | None = None) -> bool:
    """End a task: its calls, its processes, its environment, and what was approved for its session.

    Calls of servers' tools are among them, and so is what was approved of these.

    Args:
        task_id: the task; None: the default one.

    Returns:
        Whether there were calls, or an environment, or something registered.
    """
    name = task_id or DEFAULT
    ended = under_way.end(name, patience=_PATIENCE)
    there = tasks.cleanup(name)
    endings.tell(name)
    return there or ended > 0


def interrupt(task_id: str | None = None, *, background: bool = False) -> int:
    """End the calls of a task that are under way, with what they run in the sandbox, and take questions back.

    Calls of servers' tools are among them: the server is told to stop.

    Args:
        task_id: the task; None: the default one.
        background: also what it runs in the background.

    Returns:
        How many calls and processes that were.
    """
    return tasks.interrupt(task_id, background=background) + under_way.end(task_id)


def close_tasks() -> None:
    """End all tasks, and let go of what they shared."""
    for name in under_way.tasks():
        under_way.end(name, patience=_PATIENCE)
    tasks.cleanup_all()
    endings.tell(None)
    processes.close()
