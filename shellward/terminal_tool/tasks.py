"""Tasks: each has its environment, opened when it is first needed and closed when nobody uses it any more.

Which environment that is, the settings say, unless one was registered for the task.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from shellward.approval.withdrawal import CALLER, Withdrawal
from shellward.config import load
from shellward.config.environments import choose
from shellward.core.errors import EnvironmentUnavailable
from shellward.terminal_tool.guard import Terminal
from shellward.terminal_tool.outputs import Outputs
from shellward.terminal_tool.settings import environment_of, say_unused
from shellward.terminal_tool.turns import Interrupted, Turns
from shellward.tools.under_way import DEFAULT

if TYPE_CHECKING:
    from shellward.config.loader import Loaded
    from shellward.config.schema import TerminalSection
    from shellward.terminal_tool.moved import Moved

_PATIENCE: Final = 15.0
"""Seconds for calls that were interrupted to find out."""
_KEEPS_FILES: Final = frozenset({"local", "ssh"})


class Task:
    """One task. Made by ``Tasks``; what is in it is changed under its lock, or by the calls that use it.

    Attributes:
        id: its name.
        turns: which of its calls may run at the same time.
        calls: those that are under way.
        moved: commands that went from the foreground to the background, by id.
        outputs: files on this side that the model was told of.
        news: what the model should know with its next result; taken by whoever tells it.
    """

    def __init__(self, name: str, settings: "TerminalSection", place: tuple[str, Mapping[str, Any]]) -> None:
        self.id = name
        self.settings = settings
        self.turns = Turns()
        self.calls: set[Withdrawal] = set()
        self.moved: dict[str, Moved] = {}
        self.outputs = Outputs()
        self.news = ""
        self.users = 0
        self.last_used = time.monotonic()
        self.closing = False
        self._place = place
        self._lock = threading.Lock()
        self._terminal: Terminal | None = None

    @property
    def terminal(self) -> Terminal:
        """Its environment; opened where it has to be.

        Raises:
            ConfigError: it is described wrongly.
            MissingDependency: the SDK of its kind is not installed.
            EnvironmentUnavailable: there is no daemon, image or host.
        """
        if self._terminal is not None:
            return self._terminal
        with self._lock:
            if self._terminal is None:
                kind, config = self._place
                self._terminal = Terminal(kind, task=self.id, **config)
            return self._terminal

    @property
    def opened(self) -> Terminal | None:
        """Its environment, where it is open."""
        return self._terminal

    def continues(self, directory: str) -> None:
        """Begin in another directory, as far as it will be there."""
        kind, config = self._place
        if kind in _KEEPS_FILES and directory:
            self._place = (kind, {**config, "cwd": directory})

    def drop_if_gone(self) -> bool:
        """Let go of an environment whose sandbox is gone; the next call opens another one."""
        terminal = self._terminal
        if terminal is None:
            return False
        try:
            terminal.run("true", timeout=10)
        except EnvironmentUnavailable:
            with self._lock:
                if self._terminal is not terminal:
                    return True
                self._terminal = None
            self.close_terminal(terminal)
            self.news = "the sandbox was lost with everything in it; this is a new one"
            return True
        return False

    def close_terminal(self, terminal: Terminal) -> None:
        """Close an environment, and forget what was in it."""
        from shellward.terminal_tool import processes

        processes.release(terminal)
        with suppress(EnvironmentUnavailable):  # gone already
            terminal.close()
        moved, self.moved = self.moved, {}
        for each in moved.values():
            each.join()
        self.outputs.clear()

    def close(self) -> None:
        """Close its environment, if it is open."""
        with self._lock:
            terminal, self._terminal = self._terminal, None
        if terminal is not None:
            self.close_terminal(terminal)

    def busy(self) -> bool:
        """Whether a process of it runs."""
        if any(not each.ended.is_set() for each in list(self.moved.values())):
            return True
        terminal = self._terminal
        if terminal is None:
            return False
        try:
            running = [info for info in terminal.processes() if info.running]
        except EnvironmentUnavailable:
            return False
        return any(terminal.capabilities.isolated or info.task == self.id for info in running)


class Tasks:
    """All tasks of a program. Thread-safe.

    Args:
        settings: reads the settings, when a task begins.
    """

    def __init__(self, settings: "Callable[[], Loaded]" = lambda: load(held=True)) -> None:
        self._settings = settings
        self._changed = threading.Condition()
        self._tasks: dict[str, Task] = {}
        self._registered: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._left: dict[str, str] = {}
        self._keeper: threading.Thread | None = None

    def register(self, name: str, kind: str, config: Mapping[str, object]) -> None:
        """Say which environment a task gets; one that it has already is closed, with all that runs in it.

        Raises:
            ConfigError: there is no such kind or name.
        """
        found = environment_of(kind, dict(config))
        self.cleanup(name)
        with self._changed:
            self._registered[name] = found

    @contextmanager
    def call(self, name: str | None) -> Iterator[tuple[Task, Withdrawal]]:
        """Have a task's environment for one call, which ``interrupt`` ends.

        Raises:
            ConfigError: the settings cannot be read.
        """
        task = self._enter(name or DEFAULT)
        call = Withdrawal()
        if (outer := CALLER.get()) is not None:  # a script's, which ends with the script
            outer.listen(call.withdraw)
        task.calls.add(call)
        token = CALLER.set(call)
        try:
            yield task, call
        except EnvironmentUnavailable:
            task.drop_if_gone()
            raise
        finally:
            CALLER.reset(token)
            task.calls.discard(call)
            with self._changed:
                task.users -= 1
                task.last_used = time.monotonic()
                if task.closing:  # somebody waits for this; to wake the keeper each time costs as much as all else here
                    self._changed.notify_all()

    def interrupt(self, name: str | None = None, *, background: bool = False) -> int:
        """End the calls of a task that are under way, with what they run in the sandbox; take questions back.

        Args:
            name: the task.
            background: also what it runs in the background.

        Returns:
            How many calls and processes that were.
        """
        with self._changed:
            task = self._tasks.get(name or DEFAULT)
        if task is None:
            return 0
        count = _end(list(task.calls))
        return count + (_end_processes(task) if background else 0)

    def cleanup(self, name: str | None = None) -> bool:
        """End a task: its calls, its processes, its environment, and what was registered for it.

        Returns:
            Whether there was an environment, or something registered.
        """
        name = name or DEFAULT
        with self._changed:
            known = self._registered.pop(name, None) is not None
            self._left.pop(name, None)
            task = self._tasks.get(name)
            if task is None:
                return known
            task.closing = True
        _end(list(task.calls))
        with self._changed:
            self._changed.wait_for(lambda: not task.users, _PATIENCE)
        there = task.opened is not None
        with suppress(EnvironmentUnavailable):
            _end_processes(task)
        self._close(task)
        return there or known

    def cleanup_all(self) -> None:
        """End all tasks."""
        with self._changed:
            names = [*self._tasks]
        for name in names:
            self.cleanup(name)

    # -- inside --------------------------------------------------------------------------------------------

    def _enter(self, name: str) -> Task:
        with self._changed:
            while (task := self._tasks.get(name)) is not None and task.closing:
                self._changed.wait()
            if task is None:
                task = self._begin(name)
            task.users += 1
            return task

    def _begin(self, name: str) -> Task:
        loaded = self._settings()
        say_unused(loaded)
        choice = self._registered.get(name) or _chosen(loaded)
        task = Task(name, loaded.config.terminal, choice)
        if (directory := self._left.pop(name, None)) is not None:
            task.continues(directory)
            task.news = "the environment was closed because it was idle; this is a new one, with a fresh shell"
        self._tasks[name] = task
        self._changed.notify_all()
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep, name="shellward-tasks", daemon=True)
            self._keeper.start()
        return task

    def _keep(self) -> None:
        """Close what was idle for too long; ends when there is no task."""
        while True:
            with self._changed:
                if not self._tasks:
                    self._keeper = None
                    return
                now = time.monotonic()
                due = [task for task in self._tasks.values() if _due(task) <= now]
                if not due:
                    nearest = min(map(_due, self._tasks.values()))
                    self._changed.wait(None if nearest == float("inf") else nearest - now)
                    continue
            for task in due:
                self._close_idle(task)

    def _close_idle(self, task: Task) -> None:
        if task.busy():
            with self._changed:
                task.last_used = time.monotonic()
            return
        with self._changed:
            if task.users or task.closing:
                return
            task.closing = True
            if task.opened is not None:
                self._left[task.id] = task.opened.cwd
        self._close(task)

    def _close(self, task: Task) -> None:
        try:
            task.close()
        finally:
            with self._changed:
                if self._tasks.get(task.id) is task:
                    del self._tasks[task.id]
                keeper = None if self._tasks else self._keeper
                self._changed.notify_all()
        if keeper is not None and keeper is not threading.current_thread():
            keeper.join(_PATIENCE)


def _chosen(loaded: "Loaded") -> tuple[str, Mapping[str, Any]]:
    choice = choose(loaded).over({})
    return choice.kind, choice.config


def _due(task: Task) -> float:
    """Return the time at which a task may have been idle for too long."""
    idle = task.settings.idle
    if not idle:
        return float("inf")
    return (time.monotonic() if task.users or task.closing else task.last_used) + idle


def _end(calls: list[Withdrawal]) -> int:
    """End calls, at the same time: each takes a moment."""

    def end(call: Withdrawal) -> None:
        with suppress(EnvironmentUnavailable):  # it is gone, and the call with it
            call.withdraw()

    threads = [threading.Thread(target=end, args=(call,), name="shellward-interrupt") for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(threads)


def _end_processes(task: Task) -> int:
    from shellward.terminal_tool import processes

    return processes.end_all(task)


__all__ = ["DEFAULT", "Interrupted", "Task", "Tasks"]
