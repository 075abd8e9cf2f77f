"""Background processes of tasks: the registry behind the tools, and what went from the foreground to the background."""

import queue
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.core.types import Log, ProcessInfo
from shellward.environments.owner import lives, owner
from shellward.process_registry import Entry, Notice, ProcessRegistry
from shellward.process_registry.places import place_of
from shellward.process_registry.records import LOCAL, NoticeKind
from shellward.terminal_tool import outputs
from shellward.terminal_tool.hearing import heard
from shellward.terminal_tool.moved import Moved, is_moved

if TYPE_CHECKING:
    from shellward.approval.withdrawal import Withdrawal
    from shellward.environments.base import PtySize
    from shellward.environments.process import Process
    from shellward.environments.stream import Stream
    from shellward.terminal_tool.guard import Terminal
    from shellward.terminal_tool.tasks import Task

_LOOK_AGAIN: Final = 5.0
"""Seconds after which a process that is waited for is looked at anyway: its supervisor may have been killed."""


def _opened(place: str) -> "Terminal":
    """Open the environment of a process that an earlier program has started."""
    from shellward.terminal_tool.guard import Terminal

    return Terminal(LOCAL) if place == LOCAL else Terminal.attach(place)


class Background:
    """The registry, opened when it is first needed, and what it tells. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registry: ProcessRegistry | None = None
        self.notices: queue.SimpleQueue[Notice] = queue.SimpleQueue()
        self._taken: dict[int, Notice] = {}

    @property
    def opened(self) -> ProcessRegistry | None:
        """The registry, where it is open."""
        return self._registry

    def registry(self) -> ProcessRegistry:
        """Return the registry."""
        with self._lock:
            if self._registry is None:
                self._registry = ProcessRegistry(_opened, on_notice=self._hear)
            return self._registry

    def _hear(self, notice: Notice) -> bool:
        self.notices.put(notice)
        return False  # it is acknowledged when somebody has taken it and asks for the next one

    def take(self, timeout: float | None) -> Notice | None:
        """Return the next notice; the one that this thread took before was dealt with, then."""
        me = threading.get_ident()
        before = self._taken.pop(me, None)
        if before is not None:
            self._acknowledge(before)
        try:
            notice = self.notices.get(timeout=timeout)
        except queue.Empty:
            return None
        self._taken[me] = notice
        return notice

    def _acknowledge(self, notice: Notice) -> None:
        registry = self._registry
        if registry is not None:
            with suppress(OSError):  # it is written down later
                registry.acknowledge(notice)

    def close(self) -> None:
        """Close the registry; processes go on."""
        for notice in list(self._taken.values()):
            self._acknowledge(notice)
        self._taken.clear()
        with self._lock:
            registry, self._registry = self._registry, None
        if registry is not None:
            registry.close()


_background: Final = Background()


def next_notice(timeout: float | None = None) -> Notice | None:
    """Wait for the next notice of a process that was to be told of, of whatever task; None: there is none by then.

    It counts as dealt with when the same thread asks for the next one, or the program ends in order; else the next
    program is given it again.
    """
    return _background.take(timeout)


def close() -> None:
    """Let go of the registry; processes go on."""
    _background.close()


def release(terminal: "Terminal") -> None:
    """Use an environment no longer, since it is about to be closed."""
    registry = _background.opened
    if registry is not None:
        registry.release(terminal)


def start(
    task: "Task",
    command: str,
    *,
    pty: "PtySize | None" = None,
    cwd: str | None = None,
    notify: bool = False,
    watch: Iterable[str] = (),
) -> Entry:
    """Start a process for a task; see ``ProcessRegistry.start``."""
    registry = _background.registry()
    if task.terminal.kind == LOCAL:
        registry.environment(LOCAL)  # of its own: what is this machine's outlives the task's environment
    return registry.start(
        command,
        environment=task.terminal,
        pty=pty,
        cwd=cwd,
        task=task.id,
        notify=notify,
        watch=watch,
        merge_stderr=pty is None,
    )


def move(task: "Task", stream: "Stream", command: str, cwd: str, *, notify: bool) -> Moved:
    """Let a command of the foreground go on in the background; see ``Moved``."""

    def ended(moved: Moved) -> None:
        entry = Entry(place=place_of(task.terminal), info=moved.info, notify=True, client=owner())
        _background.notices.put(Notice(kind=NoticeKind.ENDED, id=moved.id, entry=entry))

    moved = Moved(stream, command=command, cwd=cwd, task=task.id, on_end=ended if notify else None)
    task.moved[moved.id] = moved
    if moved.file is not None:
        task.outputs.show(moved.file)
    _forget_old(task)
    return moved


def _forget_old(task: "Task") -> None:
    """Forget moved commands that have ended, the oldest first, when they or what they have printed are too many."""
    ended = [each for each in list(task.moved.values()) if each.ended.is_set()]
    sizes = [each.info.bytes_out or 0 for each in ended]
    for number, each in enumerate(ended[:-1]):
        if len(ended) - number <= outputs.MOST and sum(sizes[number:]) <= outputs.MOST_BYTES:
            break
        if task.moved.pop(each.id, None) is None:  # another call has done so
            continue
        each.join()
        if each.file is not None:
            task.outputs.hide(each.file)
            outputs.remove(each.file)


def listed(task: "Task") -> list[ProcessInfo]:
    """Return what is known of the processes of a task, also of those that an earlier program has left to it."""
    found = [moved.info for moved in list(task.moved.values())]
    registry = _background.registry()
    entries = registry.list(task=task.id, refresh=False)
    found += [_looked(registry, entry).info for entry in entries if _is_ours(entry)]
    return sorted(found, key=lambda info: info.started)


def _looked(registry: ProcessRegistry, entry: Entry) -> Entry:
    if not entry.info.running:
        return entry
    try:
        return registry.poll(entry.id)
    except EnvironmentUnavailable:
        registry.refresh(entry.place)  # which notes that it is lost, where its sandbox is gone
        return registry.store.get(entry.id) or entry


def _is_ours(entry: Entry) -> bool:
    """Whether an entry of a task's name is this program's, or that of one that is gone."""
    return entry.client == owner() or lives(entry.info.owner) is not True


def find(task: "Task", name: str) -> "Entry | Moved":
    """Return the process of a task whose id begins so.

    Raises:
        FileNotFoundError: there is none.
        ConfigError: there are several.
    """
    if is_moved(name):
        moved = [each for each in list(task.moved.values()) if each.id.startswith(name)]
        if len(moved) == 1:
            return moved[0]
        raise _missing(name)
    entry = _background.registry().find(name)
    if entry.info.task != task.id or not _is_ours(entry):
        raise _missing(name)
    return entry


def _missing(name: str) -> FileNotFoundError:
    return FileNotFoundError(2, "there is no such process of this task", name)


def process_of(task: "Task", entry: Entry) -> "Process":
    """Return a process in the task's own environment where it is there, so that its gate knows whose it is."""
    if place_of(task.terminal) == entry.place:
        return task.terminal.process(entry.id)
    return _background.registry().process(entry.id)


def poll(found: "Entry | Moved") -> ProcessInfo:
    """Return what is known of a process now."""
    if isinstance(found, Moved):
        return found.info
    return _looked(_background.registry(), found).info


def wait(task: "Task", found: "Entry | Moved", timeout: float, call: "Withdrawal") -> ProcessInfo:
    """Wait for the end of a process, ``timeout`` seconds at the most, or until the call is taken back."""
    if isinstance(found, Moved):
        return found.wait(timeout, call)
    until = time.monotonic() + timeout
    info = poll(found)
    if not info.running:
        return info
    exits = _background.registry().process(found.id).exits
    with heard(process_of(task, found)), exits.expect(found.id) as woken:
        call.listen(woken.set)
        while (info := poll(found)).running and not call.done and (left := until - time.monotonic()) > 0:
            woken.wait(min(left, _LOOK_AGAIN))
            woken.clear()
    return info


def log(task: "Task", found: "Entry | Moved", offset: int | None, limit: int) -> Log:
    """Return a piece of the output of a process."""
    if isinstance(found, Moved):
        return found.log(offset, limit)
    return process_of(task, found).log(offset, limit)


def kill(found: "Entry | Moved") -> ProcessInfo:
    """End a process with its tree."""
    if isinstance(found, Moved):
        return found.kill()
    return _background.registry().kill(found.id).info


def forget(found: Entry) -> None:
    """Forget a process, with its output."""
    _background.registry().remove(found.id)


def end_all(task: "Task") -> int:
    """End all that this program runs in the background for a task; returns how many there were."""
    count = 0
    for moved in list(task.moved.values()):
        if not moved.ended.is_set():
            count += 1
            with suppress(EnvironmentUnavailable):  # gone, and the command with it
                moved.kill()
    registry = _background.opened
    if registry is None:
        return count
    for entry in registry.list(task=task.id, refresh=False):
        if entry.client == owner() and _looked(registry, entry).info.running:
            count += 1
            with suppress(EnvironmentUnavailable, FileNotFoundError):
                registry.kill(entry.id)
    return count
