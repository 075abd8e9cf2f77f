"""The registry: starts processes, remembers them, and finds them again from any program.

It opens no environment by itself: whoever makes it says how, so that the gate stands in front of what is started.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from shellward.config.paths import state_dir
from shellward.core.errors import EnvironmentUnavailable
from shellward.core.limits import PROCESS_TTL
from shellward.core.types import Log, ProcessInfo, ProcessState, StreamName
from shellward.environments.owner import owner
from shellward.process_registry.notify import Notifier
from shellward.process_registry.places import Places, gone, leave, place_of
from shellward.process_registry.records import LOCAL, Entry, Notice
from shellward.process_registry.store import Store

if TYPE_CHECKING:
    from shellward.environments.base import PtySize
    from shellward.environments.call import Command, Directory
    from shellward.environments.environment import Environment
    from shellward.environments.process import Process

MAX_RUNNING: Final = 2_000
MAX_FINISHED: Final = 2_000
MAX_KEPT: Final = 4 * 2**30


def default_path() -> Path:
    """Return the path of the user's database; it need not exist."""
    return state_dir() / "processes.db"


class ProcessRegistry:
    """Processes of all places, remembered in a database that several programs share. Thread-safe.

    Args:
        opener: opens the environment of a place (a handle, or ``local``) when it is needed.
        path: of the database; None: in the user's state directory.
        max_running: so many may run at one place; a further one is refused.
        max_finished: so many that have ended are kept at one place; the oldest go first.
        max_kept: bytes of output of ended ones that are kept at one place; likewise.
        on_notice: is called with each Notice, in a thread of the registry; None: ask for them with ``notice``.
    """

    def __init__(
        self,
        opener: "Callable[[str], Environment]",
        *,
        path: Path | None = None,
        max_running: int = MAX_RUNNING,
        max_finished: int = MAX_FINISHED,
        max_kept: int = MAX_KEPT,
        on_notice: Callable[[Notice], None] | None = None,
    ) -> None:
        self.store = Store(path or default_path())
        self.max_running, self.max_finished, self.max_kept = max_running, max_finished, max_kept
        self._places = Places(opener)
        self._notifier = Notifier(self, on_notice)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave everything as it is: processes go on, environments that were opened here are let go. Idempotent."""
        opened = self._places.close()
        self._notifier.close()
        for environment in opened:
            leave(environment)
        self.store.close()

    # -- places --------------------------------------------------------------------------------------------

    def use(self, environment: "Environment") -> str:
        """Have an environment of the caller's be used for its place; returns how that is called."""
        return self._places.use(environment)

    def release(self, environment: "Environment") -> None:
        """Use an environment of the caller's no longer, since he is about to close it."""
        self._notifier.forget(place_of(environment))
        self._places.release(environment)

    def environment(self, place: str) -> "Environment":
        """Return the environment of a place, opened where it has to be.

        Raises:
            EnvironmentUnavailable: it is gone.
        """
        return self._places.environment(place)

    # -- calls ---------------------------------------------------------------------------------------------

    def start(
        self,
        command: "Command",
        *,
        environment: "Environment | None" = None,
        pty: "PtySize | None" = None,
        stdin: bytes | str | None = None,
        cwd: "Directory | None" = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        task: str = "",
        ttl: float = PROCESS_TTL,
        notify: bool = False,
        watch: Iterable[str] = (),
        merge_stderr: bool = False,
    ) -> Entry:
        """Start a process and remember it; see ``Environment.start``.

        Args:
            command: a shell line, or a list of words.
            environment: where; None: this machine.
            pty: size of the terminal that it gets.
            stdin: all of its input; None: it stays open.
            cwd: directory.
            env: further variables.
            user: run as another user.
            task: id of the task that it belongs to.
            ttl: seconds for which it is kept without a client.
            notify: tell of its end, once, whatever program is there to hear it.
            watch: patterns in its output to tell of while this program is there; see ``watch.Patterns``.
            merge_stderr: standard error goes into standard output, in exact order.

        Raises:
            LimitReached: too many run there; nothing was started.
            ApprovalDenied: where the environment has a gate; nothing was started.
        """
        there = environment or self.environment(LOCAL)
        place = self.use(there)
        patterns = tuple(watch)
        name = there.new_process_id(user)
        shown = command if isinstance(command, str) else " ".join(map(str, command))
        info = ProcessInfo(
            id=name, command=shown, cwd="", pid=0, born="", state=ProcessState.RUNNING, started=datetime.now(UTC),
            owner=owner(), user=user, task=task, ttl=ttl, pty=pty is not None, closed_stdin=stdin is not None,
        )  # fmt: skip
        entry = Entry(place=place, info=info, notify=notify, client=owner())
        if notify:
            self._notifier.listen(place)
        self.store.begin(entry, self.max_running)
        try:
            process = there.start(
                command,
                pty=pty,
                stdin=stdin,
                cwd=cwd,
                env=env,
                user=user,
                task=task,
                ttl=ttl,
                name=name,
                merge_stderr=merge_stderr,
            )
        except BaseException as error:
            if not isinstance(error, EnvironmentUnavailable) or type(error) is EnvironmentUnavailable:
                self.store.forget([name])  # else it may have been started, and is looked for
            raise
        entry = replace(entry, info=replace(info, pid=process.pid))
        self.store.save(entry)
        if patterns:
            self._notifier.watch(process, entry, patterns)
        if notify:
            self._notifier.look(name)  # its bell may have rung before it was known
        return entry

    def list(self, *, place: str | None = None, task: str | None = None, refresh: bool = True) -> Sequence[Entry]:
        """List the processes that are known, in the order of their start.

        Args:
            place: only those there.
            task: only those of this task.
            refresh: look at the places first; one that is gone has lost its processes.
        """
        if refresh:
            for each in [place] if place is not None else self.store.places():
                self.refresh(each)
        return self.store.entries(place, task=task)

    def refresh(self, place: str) -> None:
        """Look at a place: what runs, what has ended, what other programs have started there."""
        alive = self.store.entries(place, alive=True)
        try:
            listed = self._places.processes(place)
        except EnvironmentUnavailable as error:
            if gone(error):
                for entry in alive:
                    self._learn(entry, replace(entry.info, state=ProcessState.LOST, reason="lost"))
            return
        found = {info.id for info in listed}
        for info in listed:
            known = self.store.get(info.id)
            if known is None:
                self.store.save(Entry(place=place, info=info, client=info.owner), new=True)
            elif known.info.running:
                self._learn(known, info)
        for entry in alive:
            if entry.id not in found and entry.info.pid:
                self._learn(entry, replace(entry.info, state=ProcessState.LOST, reason="lost"))

    def poll(self, name: str) -> Entry:
        """Return what is known of a process now.

        Raises:
            FileNotFoundError: there is none of this id.
            EnvironmentUnavailable: its environment cannot be reached.
        """
        entry = self._entry(name)
        return self._look(entry) if entry.info.running else entry

    def wait(self, name: str, timeout: float | None = None) -> Entry:
        """Wait for the end of a process; see ``Process.wait``."""
        entry = self._entry(name)
        if not entry.info.running:
            return entry
        return self._learn(entry, self.process(name).wait(timeout))

    def log(
        self,
        name: str,
        offset: int | None = None,
        limit: int | None = 65_536,
        stream: StreamName | str = StreamName.STDOUT,
    ) -> Log:
        """Return a piece of a process's output; see ``Process.log``."""
        return self.process(name).log(offset, limit, stream)

    def follow(
        self, name: str, offset: int = 0, stream: StreamName | str = StreamName.STDOUT, timeout: float | None = None
    ) -> Generator[bytes, None, None]:
        """Yield a process's output as it comes; see ``Process.follow``."""
        return self.process(name).follow(offset, stream, timeout)

    def write(self, name: str, data: bytes | str, timeout: float = 10.0) -> int:
        """Write to a process's standard input; see ``Process.write``."""
        return self.process(name).write(data, timeout)

    def submit(self, name: str, text: str, timeout: float = 10.0) -> int:
        """Write a line; see ``Process.submit``."""
        return self.process(name).submit(text, timeout)

    def close_stdin(self, name: str) -> None:
        """Let a process see the end of its input."""
        self.process(name).close_stdin()

    def signal(self, name: str, signal: str, *, tree: bool = False) -> bool:
        """Send a signal; see ``Process.signal``."""
        return self.process(name).signal(signal, tree=tree)

    def kill(self, name: str, signal: str = "TERM", *, tree: bool = True, reason: str = "killed") -> Entry:
        """End a process with its tree; see ``Process.kill``."""
        entry = self._entry(name)
        return self._learn(entry, self.process(name).kill(signal, tree=tree, reason=reason))

    def resize(self, name: str, size: "PtySize") -> None:
        """Change the size of a process's terminal."""
        self.process(name).resize(size)

    def remove(self, name: str) -> None:
        """Forget a process with its output; what still runs of it is killed."""
        entry = self._entry(name)
        try:
            self.process(name).remove()
        except FileNotFoundError:
            pass  # gone from the sandbox already
        except EnvironmentUnavailable:
            if entry.info.running:
                raise
        self.store.forget([name])

    def process(self, name: str) -> "Process":
        """Return the process itself.

        Raises:
            FileNotFoundError: there is none of this id.
            EnvironmentUnavailable: its environment cannot be reached.
        """
        return self.environment(self._entry(name).place).process(name)

    def find(self, text: str) -> Entry:
        """Return the one process whose id begins so.

        Raises:
            FileNotFoundError: there is none.
            ConfigError: there are several.
        """
        from shellward.core.errors import ConfigError

        found = self.store.entries(prefix=text) if text else []
        exact = [entry for entry in found if entry.id == text]
        if len(exact or found) > 1:
            raise ConfigError(f"process: {text!r} may be any of {', '.join(entry.id for entry in found[:5])}")
        return (exact or found)[0] if found else self._entry(text)

    # -- notices -------------------------------------------------------------------------------------------

    def notice(self, timeout: float | None = None) -> Notice | None:
        """Wait for the next notice; None: there is none by then.

        The end of a process is told once, to one program, also to one that was started later.
        """
        return self._notifier.next(timeout)

    def listen(self) -> None:
        """Hear of the ends of all processes that were started with ``notify``, also by other programs."""
        for place in self.store.places():
            self._notifier.listen(place)
        self._notifier.catch_up()

    def watch(self, name: str, patterns: Iterable[str]) -> None:
        """Tell of patterns in a process's output from now on, as long as this program is there.

        Raises:
            ConfigError: a pattern cannot be read.
        """
        entry = self._entry(name)
        self._notifier.watch(self.process(name), entry, tuple(patterns))

    # -- for the parts of this room ------------------------------------------------------------------------

    def _entry(self, name: str) -> Entry:
        entry = self.store.get(name)
        if entry is None:
            raise FileNotFoundError(2, "there is no such process", name)
        return entry

    def _look(self, entry: Entry) -> Entry:
        try:
            info = self.environment(entry.place).process_info(entry.id)
        except FileNotFoundError:
            if not entry.info.pid:  # it is about to be started
                return entry
            info = replace(entry.info, state=ProcessState.LOST, reason="lost")
        return self._learn(entry, info)

    def _learn(self, entry: Entry, info: ProcessInfo) -> Entry:
        """Write down what was found out; the end of a process has further consequences."""
        now = replace(entry, info=info)
        if not info.running:
            now = replace(now, info=self._sized(entry.place, info))
            self.store.save(now)
            self._notifier.ended(now)
            self._prune(entry.place)
        elif info != entry.info:
            self.store.save(now)
        return now

    def _sized(self, place: str, info: ProcessInfo) -> ProcessInfo:
        if info.state is ProcessState.LOST:
            return info
        try:
            return self.environment(place).process(info.id).info()
        except (EnvironmentUnavailable, FileNotFoundError):
            return info  # what it printed is gone with the sandbox

    def _prune(self, place: str) -> None:
        """Remove the oldest of those that have ended, beyond what is kept."""
        ended = [entry for entry in self.store.entries(place) if not entry.info.running]
        size = sum((entry.info.bytes_out or 0) + (entry.info.bytes_err or 0) for entry in ended)
        count = len(ended)
        for entry in sorted(ended, key=lambda entry: entry.info.ended or entry.info.started):
            if count <= self.max_finished and size <= self.max_kept:
                return
            self.remove(entry.id)
            count -= 1
            size -= (entry.info.bytes_out or 0) + (entry.info.bytes_err or 0)
