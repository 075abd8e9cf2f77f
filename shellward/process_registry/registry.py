"""The registry: starts processes, remembers them, and finds them again from any program.

It opens no environment by itself: whoever makes it says how, so that the gate stands in front of what is started.
"""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from shellward.config.paths import state_dir
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.interrupts import held
from shellward.core.limits import PROCESS_TTL
from shellward.core.types import Log, ProcessInfo, ProcessState, StreamName
from shellward.environments.owner import owner
from shellward.process_registry.notify import Notifier
from shellward.process_registry.places import Places, engine_of, gone, leave, place_of
from shellward.process_registry.records import LOCAL, Entry, Notice
from shellward.process_registry.store import Store, StoreError

if TYPE_CHECKING:
    from shellward.environments.base import PtySize
    from shellward.environments.call import Command, Directory
    from shellward.environments.environment import Environment
    from shellward.environments.process import Process

MAX_RUNNING: Final = 2_000
MAX_FINISHED: Final = 2_000
MAX_KEPT: Final = 4 * 2**30
_AT_ONCE: Final = 16
"""So many places are looked at together."""
_BEGINS: Final = 120.0
"""Seconds in which a process that was begun has to be there."""


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
        on_notice: is called with each Notice, in a thread of the registry; when it returns, that is acknowledged,
            unless it returns False: then ``acknowledge`` says so. None: ask for them with ``notice``.

    Raises:
        OSError: the database cannot be read or written; here and in each method that needs it.
    """

    def __init__(
        self,
        opener: "Callable[[str], Environment]",
        *,
        path: Path | None = None,
        max_running: int = MAX_RUNNING,
        max_finished: int = MAX_FINISHED,
        max_kept: int = MAX_KEPT,
        on_notice: Callable[[Notice], object] | None = None,
    ) -> None:
        self.store = Store(path or default_path())
        self.max_running, self.max_finished, self.max_kept = max_running, max_finished, max_kept
        self._places = Places(opener)
        self._notifier = Notifier(self, on_notice)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        self.close(dealt_with=kind is None)

    def close(self, *, dealt_with: bool = True) -> None:
        """Leave everything as it is: processes go on, environments that were opened here are let go. Idempotent.

        Args:
            dealt_with: notices that were taken count as acknowledged; False: other programs get them again.
        """
        with held():
            opened = self._places.close()
            self._notifier.close(dealt_with=dealt_with)
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
        with held():
            return self._start(
                there, command, pty=pty, stdin=stdin, cwd=cwd, env=env, user=user, task=task, ttl=ttl, notify=notify,
                watch=watch, merge_stderr=merge_stderr,
            )  # fmt: skip

    def _start(
        self,
        there: "Environment",
        command: "Command",
        *,
        pty: "PtySize | None",
        stdin: bytes | str | None,
        cwd: "Directory | None",
        env: Mapping[str, str] | None,
        user: str | None,
        task: str,
        ttl: float,
        notify: bool,
        watch: Iterable[str],
        merge_stderr: bool,
    ) -> Entry:
        place = self.use(there)
        patterns = tuple(watch)
        name = there.new_process_id(user)
        shown = command if isinstance(command, str) else " ".join(map(str, command))
        info = ProcessInfo(
            id=name, command=shown, cwd="", pid=0, born="", state=ProcessState.RUNNING, started=datetime.now(UTC),
            owner=owner(), user=user, task=task, ttl=ttl, pty=pty is not None, closed_stdin=stdin is not None,
        )  # fmt: skip
        entry = Entry(place=place, info=info, notify=notify, client=owner(), engine=engine_of(there))
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
            # After these it may have been started, and is looked for.
            if isinstance(error, Exception) and not isinstance(error, ConnectionLost):
                self.store.forget([name])
            raise
        entry = replace(entry, info=replace(info, pid=process.pid))
        with suppress(StoreError):  # it runs, and is remembered; its number is written down at the next look
            self.store.save(entry)
        if patterns:
            self._notifier.watch(process, entry, patterns)
        if notify:
            self._notifier.look(place, name)  # its bell may have rung before it was known
        return entry

    def list(self, *, place: str | None = None, task: str | None = None, refresh: bool = True) -> Sequence[Entry]:
        """List the processes that are known, in the order of their start.

        Args:
            place: only those there.
            task: only those of this task.
            refresh: look at the places first. What ran at one that is gone is lost; what ran at one that cannot be
                reached now is ``unknown``, for the reason that is given.
        """
        unknown = self._refresh_all([place] if place is not None else self.store.places()) if refresh else {}
        return [
            replace(entry, info=replace(entry.info, state=ProcessState.UNKNOWN, reason=unknown[entry.place]))
            if entry.place in unknown and entry.info.running
            else entry
            for entry in self.store.entries(place, task=task)
        ]

    def _refresh_all(self, places: Sequence[str]) -> dict[str, str]:
        """Look at places, one that hangs beside the others; those that cannot be reached, with the reason."""
        if len(places) == 1:
            whys = [self.refresh(places[0])]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(_AT_ONCE) as pool:
                whys = list(pool.map(self.refresh, places))
        return {place: why for place, why in zip(places, whys, strict=True) if why}

    def refresh(self, place: str) -> str:
        """Look at a place: what runs, what has ended, what other programs have started there.

        Returns:
            Why it cannot be reached; empty: it was looked at, or is gone, and with it what ran there.
        """
        try:
            self.look_at(place)
        except EnvironmentUnavailable as error:
            return str(error)
        return ""

    def look_at(self, place: str) -> bool:
        """As ``refresh``; False when the place is gone.

        Raises:
            EnvironmentUnavailable: it cannot be reached now.
        """
        try:
            self._look_at(place)
        except EnvironmentUnavailable as error:
            alive = self.store.entries(place, alive=True)
            if not self._is_gone(place, error, alive):
                raise
            for entry in alive:
                self._learn(entry, replace(entry.info, state=ProcessState.LOST, reason="lost"))
            return False
        return True

    def _look_at(self, place: str) -> None:
        alive = self.store.entries(place, alive=True)
        known = self.store.states(place)
        try:
            names = set(self.environment(place).process_ids())
        except EnvironmentUnavailable:
            if not self._places.again(place):
                raise
            names = set(self.environment(place).process_ids())
        # What has ended stays as it is. What is lost may turn out to run: it was looked for in the wrong place.
        wanted = [name for name in names if known.get(name) != ProcessState.ENDED]
        found = {info.id: info for info in self.environment(place).process_infos(wanted)}
        for info in sorted(found.values(), key=lambda info: info.started):
            entry = self.store.get(info.id)
            if entry is None:
                engine = engine_of(self.environment(place))
                self.store.save(Entry(place=place, info=info, client=info.owner, engine=engine), new=True)
            elif entry.info.state is not info.state or entry.info.running:
                self._learn(entry, info)
        for entry in alive:
            begun = time.time() - entry.info.started.timestamp() < _BEGINS
            if entry.id not in found and (entry.info.pid or not begun):
                self._learn(entry, replace(entry.info, state=ProcessState.LOST, reason="lost"))

    def _is_gone(self, place: str, error: EnvironmentUnavailable, entries: Iterable[Entry]) -> bool:
        """Whether a place is gone, as against out of reach.

        Raises:
            EnvironmentUnavailable: another engine has answered than the one that keeps it.
        """
        if not gone(error):
            return False
        engines = {entry.engine for entry in entries} - {""}
        if not engines:
            return True
        from shellward.environments.registry import engine_of as answering

        now = answering(place)
        if now not in engines:
            raise EnvironmentUnavailable(
                f"it is kept by another engine (id {engines.pop()[:24]}) than the one that answers now ({now[:24]})"
            ) from error
        return True

    def poll(self, name: str) -> Entry:
        """Return what is known of a process now; one that was taken for lost is looked for again.

        Raises:
            FileNotFoundError: there is none of this id.
            EnvironmentUnavailable: its environment cannot be reached.
        """
        entry = self._entry(name)
        if entry.info.state is ProcessState.ENDED:
            return entry
        try:
            return self._look(entry)
        except EnvironmentUnavailable:
            if entry.info.state is ProcessState.LOST:
                return entry
            raise

    def wait(self, name: str, timeout: float | None = None) -> Entry:
        """Wait for the end of a process; see ``Process.wait``."""
        entry = self._entry(name)
        if entry.info.over:
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

    def whole(
        self, name: str, offset: int = 0, stream: StreamName | str = StreamName.STDOUT
    ) -> Generator[bytes, None, None]:
        """Yield all of a process's output that there is now; see ``Process.whole``."""
        return self.process(name).whole(offset, stream)

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
        """Forget a process with its output; what still runs of it is killed.

        Raises:
            FileNotFoundError: there is none of this id.
            EnvironmentUnavailable: its environment cannot be reached, so it may run.
        """
        entry = self._entry(name)
        try:
            self.process(name).remove()
        except FileNotFoundError:
            pass  # gone from the sandbox already
        except EnvironmentUnavailable as error:
            if entry.info.state is not ProcessState.ENDED and not self._is_gone(entry.place, error, [entry]):
                raise
        self.store.forget([name])

    def forget_place(self, place: str) -> Sequence[str]:
        """Forget all processes of a place without reaching it, whether they run or not; returns their ids."""
        names = [entry.id for entry in self.store.entries(place)]
        self._notifier.forget(place)
        self.store.forget(names)
        return names

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

        The end of a process is told to one program, also to one that was started later. It counts as dealt with when
        ``acknowledge`` says so, when the same thread asks for the next notice, or when the registry is closed in order;
        a program that is killed before has it told again to the next.
        """
        return self._notifier.next(timeout)

    def acknowledge(self, notice: Notice) -> None:
        """Say that a notice was dealt with, so that nobody is given it again. Idempotent.

        Raises:
            OSError: that cannot be written down now; it is tried again later.
        """
        self._notifier.acknowledge(notice)

    def listen(self) -> None:
        """Hear of the ends of all processes that were started with ``notify``, also by other programs.

        Never waits for a place: one that cannot be reached is tried again and again, beside the others.
        """
        with held():
            self._notifier.catch_up()
            for place in self.store.places():
                self._notifier.listen(place)

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

    def overdue(self, place: str) -> Sequence[str]:
        """Name processes at a place whose ends are to be told, and that do not seem to run any more.

        Raises:
            EnvironmentUnavailable: it cannot be reached.
        """
        names = self.store.expected(place)
        return self.environment(place).not_running(names) if names else ()

    def reconnect(self, place: str) -> None:
        """Have an environment that was opened here opened anew at its next use."""
        self._places.again(place)

    def _look(self, entry: Entry) -> Entry:
        try:
            info = self.environment(entry.place).process_info(entry.id)
        except FileNotFoundError:
            if not entry.info.pid:  # it is about to be started
                return entry
            info = replace(entry.info, state=ProcessState.LOST, reason="lost")
        return self._learn(entry, info)

    def _learn(self, entry: Entry, info: ProcessInfo) -> Entry:
        """Write down what was found out; the end of a process has further consequences.

        What cannot be written down now is true all the same: it is found out again, and told then.
        """
        with held():
            return self._learned(entry, info)

    def _learned(self, entry: Entry, info: ProcessInfo) -> Entry:
        now = replace(entry, info=info)
        if info == entry.info:
            return now
        if info.over:
            now = replace(now, info=self._sized(entry.place, info))
        try:
            self.store.save(now)
            if info.over:
                self._notifier.ended(now)
                self._prune(entry.place)
        except StoreError:
            self._notifier.look(entry.place)
        return now

    def _sized(self, place: str, info: ProcessInfo) -> ProcessInfo:
        if info.state is ProcessState.LOST:
            return info
        try:
            return self.environment(place).process_of(info).info()
        except (EnvironmentUnavailable, FileNotFoundError):
            return info  # what it printed is gone with the sandbox

    def _prune(self, place: str) -> None:
        """Remove those that ended first, beyond what is kept."""
        for entry in self.store.excess(place, self.max_finished, self.max_kept):
            if entry.info.state is ProcessState.LOST and not self.poll(entry.id).info.over:
                continue  # it runs after all
            try:
                environment = self.environment(place)
                environment.remove_process(environment.process_of(entry.info))
            except EnvironmentUnavailable as error:
                if not gone(error):
                    return  # its output is there still; the next end tries again
            self.store.forget([entry.id])
