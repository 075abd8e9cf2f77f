"""One background process: what a client can see of it and do to it. It lives in the sandbox (scripts/supervise.sh)."""

import errno
import time
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from shellward.core.errors import ConfigError
from shellward.core.limits import KILL_GRACE
from shellward.core.types import Log, ProcessInfo, ProcessState, StreamName, Usage, signal_name
from shellward.environments import process_io
from shellward.environments.encoding import quote
from shellward.environments.process_terminal import ProcessTerminal

if TYPE_CHECKING:
    from shellward.environments.base import Channel
    from shellward.environments.environment import Environment
    from shellward.environments.watching import Exits

LINES: Final = 8
"""Of what scripts/process.sh tells of one process."""
_TICK: Final = 100
_PAGE: Final = 4096
"""Bytes in which proc(5) counts memory; more on some ARM machines, where it is told too small."""
_LOOK_AGAIN: Final = 5.0
"""Seconds after which a process that is waited for is looked at anyway: its supervisor may have been killed."""
_ROUNDS: Final = 60
_BEGINS: Final = 90.0
"""Seconds in which a process that was begun has to have its supervisor; see ``process_calls``."""
_SIGNALS: Final = frozenset(
    ("HUP", "INT", "QUIT", "TERM", "KILL", "USR1", "USR2", "STOP", "CONT", "TSTP", "WINCH", "ALRM", "PIPE", "ABRT")
)


class Record(msgspec.Struct):
    """What the client that started a process wrote down about it: the file ``owner``."""

    owner: str = ""
    born: str = ""
    command: str = ""
    started: float = 0.0
    ttl: float = 0.0
    user: str | None = None
    task: str = ""
    pty: bool = False
    closed_stdin: bool = False


def signal_text(signal: str) -> str:
    """Return a signal's name without ``SIG``.

    Raises:
        ConfigError: that is none that can be sent.
    """
    name = signal.upper().removeprefix("SIG") if isinstance(signal, str) else ""
    if name not in _SIGNALS:
        raise ConfigError(f"signal: needs a name such as TERM, INT or KILL, not {signal!r}")
    return name


def read_info(lines: list[str]) -> ProcessInfo:
    """Make sense of what scripts/process.sh tells of one process."""
    name, where, status, doom, state, cwd, owner, now = lines
    try:
        record = msgspec.json.decode(owner.encode(), type=Record)
    except msgspec.DecodeError:  # cut off, or somebody else's: the process is there all the same
        record = Record()
    if state == "begun":
        state = "running" if abs(time.time() - record.started) < _BEGINS else "lost"
    pid, _, born = where.partition(" ")
    code, _, uptime = status.strip().partition(" ")
    exit_code = int(code) if state == "ended" and code.isdecimal() else None
    started = datetime.fromtimestamp(record.started, UTC)
    ended = None
    with suppress(ValueError):  # no uptime in this sandbox
        if exit_code is not None:
            ended = started + timedelta(seconds=max(0.0, float(uptime) - int(born) / _TICK))
    del now
    return ProcessInfo(
        id=name,
        command=record.command,
        cwd=cwd,
        pid=int(pid or 0),
        born=born,
        state=ProcessState(state),
        exit_code=exit_code,
        signal=None if exit_code is None else signal_name(exit_code),
        reason=_reason(state, exit_code, doom),
        started=started,
        ended=ended,
        owner=record.owner,
        user=record.user,
        task=record.task,
        ttl=record.ttl,
        pty=record.pty,
        closed_stdin=record.closed_stdin,
    )


def _reason(state: str, exit_code: int | None, doom: str) -> str:
    if state == "running":
        return ""
    if state == "lost":
        return doom or "lost"
    # What ends in order after it was asked to has been killed, too, though its status does not say so.
    return doom or ("killed" if exit_code is not None and signal_name(exit_code) else "exited")


class Process(ProcessTerminal):
    """A background process in an environment; made by ``Environment.start``, ``process`` and ``processes``.

    It goes on when this object, the environment's client or the whole program is gone. Thread-safe.

    Attributes:
        id: its name; ``Environment.process`` takes it.
        pid: process id in the sandbox.
        directory: of its files in the sandbox.
        user: who it runs as, when that is not the sandbox's own user.
        pty: whether it has a terminal.
        environment: where it runs.
    """

    def __init__(
        self,
        environment: "Environment",
        directory: str,
        *,
        pid: int,
        user: str | None,
        pty: bool,
        last: ProcessInfo | None = None,
    ) -> None:
        self.environment = environment
        self.id = directory.rpartition("/")[2]
        self.pid = pid
        self.directory = directory
        self.user = user
        self.pty = pty
        self._last = last

    def __repr__(self) -> str:
        return f"<Process {self.id} pid {self.pid} in {self.environment.handle}>"

    # -- looking -------------------------------------------------------------------------------------------

    def poll(self) -> ProcessInfo:
        """Return what is known of it now, without its sizes (see ``info``).

        Raises:
            FileNotFoundError: it was removed.
            EnvironmentUnavailable: the sandbox is gone.
        """
        if self._last is not None and self._last.state is ProcessState.ENDED:
            return self._last  # nothing more can happen to it
        answer = self.ask("sw_tell").splitlines()
        if len(answer) != LINES:
            raise FileNotFoundError(errno.ENOENT, "there is no such process; it was removed", self.id)
        info = read_info(answer)
        if not info.running:
            self._last = info
        return info

    def info(self) -> ProcessInfo:
        """Return what is known of it now, with the sizes of its output."""
        info = self.poll()
        sizes = [int(line) for line in self.ask("sw_sizes").split()]
        out, err = (*sizes, 0, 0)[:2]
        return replace(info, bytes_out=out, bytes_err=err)

    def usage(self) -> Usage:
        """Return what its tree uses now.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        when, ticks, pages, count = self.ask("sw_usage").split()
        return Usage(float(when), int(ticks) / _TICK, int(pages) * _PAGE, int(count))

    def wait(self, timeout: float | None = None) -> ProcessInfo:
        """Wait for its end; event-driven.

        Args:
            timeout: seconds; then what is known by then is returned, whose ``running`` says so.

        Raises:
            FileNotFoundError: it was removed.
            EnvironmentUnavailable: the sandbox is gone.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        info = self.poll()
        if not info.running:
            return info
        with self.environment.exits.expect(self.id) as ended:
            while (info := self.poll()).running:
                left = _LOOK_AGAIN if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    return info
                ended.wait(min(left, _LOOK_AGAIN))
                ended.clear()
        return info

    def log(
        self, offset: int | None = None, limit: int | None = 65_536, stream: StreamName | str = StreamName.STDOUT
    ) -> Log:
        """Return a piece of its output, by bytes. With a terminal everything is on standard output.

        Args:
            offset: of the first byte; negative: so many before the end; None: the last ``limit`` bytes.
            limit: most bytes; None: all there are.
            stream: ``stdout`` or ``stderr``.

        Raises:
            FileNotFoundError: it was removed.
            EnvironmentUnavailable: the sandbox is gone.
        """
        return process_io.read(self.environment, self._output(stream), offset, limit)

    def lines(
        self, start: int | None = None, count: int | None = 100, stream: StreamName | str = StreamName.STDOUT
    ) -> list[str]:
        """Return lines of its output, without their ends.

        Args:
            start: number of the first, from 0; None: the last ``count`` lines.
            count: most lines; None: all there are.
            stream: ``stdout`` or ``stderr``.

        Raises:
            FileNotFoundError: it was removed.
            EnvironmentUnavailable: the sandbox is gone.
        """
        return process_io.lines(self.environment, self._output(stream), start, count)

    def follow(
        self, offset: int = 0, stream: StreamName | str = StreamName.STDOUT, timeout: float | None = None
    ) -> Generator[bytes, None, None]:
        """Yield its output from ``offset`` on as it comes, until it has ended and everything was yielded.

        Args:
            offset: of the first byte; negative: so many before the end.
            stream: ``stdout`` or ``stderr``.
            timeout: seconds after which it stops anyway.

        Raises:
            ConnectionLost: the sandbox went away.
            EnvironmentUnavailable: it was gone before.
        """
        return process_io.follow(self.environment, self, self._output(stream), offset, timeout)

    def whole(self, offset: int = 0, stream: StreamName | str = StreamName.STDOUT) -> Generator[bytes, None, None]:
        """Yield all of its output that there is now, from ``offset`` on, as fast as the sandbox gives it.

        Args:
            offset: of the first byte; negative: so many before the end.
            stream: ``stdout`` or ``stderr``.

        Raises:
            FileNotFoundError: it was removed.
            ConnectionLost: the sandbox went away.
            EnvironmentUnavailable: it was gone before.
        """
        return process_io.whole(self.environment, self, self._output(stream), offset)

    # -- acting --------------------------------------------------------------------------------------------

    def write(self, data: bytes | str, timeout: float = 10.0) -> int:
        """Write to its standard input; never waits longer than ``timeout``.

        Args:
            data: text is sent as UTF-8.
            timeout: seconds; a process that does not read lets its pipe (64 KiB) fill up.

        Returns:
            How many bytes were taken: all of them.

        Raises:
            BlockingIOError: it did not read in time; ``characters_written`` says how much was taken.
            BrokenPipeError: its input was closed, or it has ended.
            EnvironmentUnavailable: the sandbox is gone.
        """
        return self.environment.type_into(self, data.encode() if isinstance(data, str) else bytes(data), timeout)

    def submit(self, text: str, timeout: float = 10.0) -> int:
        """Write a line: ``text`` and Enter. See ``write``."""
        return self.write(text + ("\r" if self.pty else "\n"), timeout)

    def close_stdin(self) -> None:
        """Let it see the end of its input, behind what was written. Idempotent."""
        self.ask("sw_shut")

    def signal(self, signal: str, *, tree: bool = False) -> bool:
        """Send a signal to it, never to another process that has its number by now.

        Args:
            signal: ``INT``, ``HUP``, ...
            tree: to everything that it has started, too.

        Returns:
            Whether it was there to get it.
        """
        name = signal_text(signal)
        if tree:
            return int(self.ask("sw_tree", name, once=True) or 0) > 0
        return self.ask("sw_send", name, once=True).strip() == "sent"

    def kill(self, signal: str = "TERM", *, tree: bool = True, reason: str = "killed") -> ProcessInfo:
        """End it: ask (``signal``), wait a moment, then KILL until nothing of its tree is left in the sandbox.

        Args:
            signal: to ask with; KILL asks nobody.
            tree: with everything that it has started, also what left its session or was re-parented.
            reason: what ``ProcessInfo.reason`` says then.

        Returns:
            What is known of it afterwards; ``running`` when it could not be ended (a process in the kernel's hands).

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        name = signal_text(signal)
        self.ask("sw_doom", process_io.word(reason))
        if tree:
            self._end_tree(name)
        else:
            self.ask("sw_send", name)
            if self.wait(KILL_GRACE).running:
                self.ask("sw_send", "KILL")
        return self.wait(3.0)

    def _end_tree(self, first: str) -> None:
        left = int(self.ask("sw_tree", first) or 0)
        patience = time.monotonic() + KILL_GRACE
        while left and first != "KILL" and time.monotonic() < patience:
            time.sleep(0.02)
            left = int(self.ask("sw_tree", "0") or 0)
        empty = 0
        for attempt in range(_ROUNDS):
            if not left:
                empty += 1  # more than once: what hops from process to process may have been between two
                if empty > 1:
                    return
                time.sleep(0.02)
                left = int(self.ask("sw_tree", "0") or 0)
                continue
            empty = 0
            if attempt % 2:  # what forks faster than it is killed is stopped first
                self.ask("sw_tree", "STOP")
            left = int(self.ask("sw_tree", "KILL") or 0)
            time.sleep(0.01)

    def remove(self) -> None:
        """Forget it with all its output; what still runs of it is killed first. Idempotent."""
        with suppress(FileNotFoundError):
            if self.poll().running:
                self.kill("KILL")
        self.environment.remove_process(self)

    # -- for those who watch many --------------------------------------------------------------------------

    @property
    def exits(self) -> "Exits":
        """Who tells that it has ended."""
        return self.environment.exits

    def follower(self, stream: StreamName | str = StreamName.STDOUT, *, offset: int = 0) -> "Channel":
        """Open a channel that prints its output from the beginning, or an offset, and what is added to it."""
        return self.environment.follower(self._output(stream), offset, self.user)

    # -- for the parts of this room ------------------------------------------------------------------------

    def ask(self, function: str, *words: str, once: bool = False) -> str:
        """Call a function of scripts/process.sh for it; ``once``: see ``Control.call``."""
        place = quote(self.directory.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
        return self.environment.ask_processes(self.user, " ".join((function, place, *words)), once=once)

    def _output(self, stream: StreamName | str) -> str:
        try:
            name = StreamName(stream)
        except ValueError:
            raise ConfigError(f"stream: stdout or stderr, not {stream!r}") from None
        return f"{self.directory}/{'out' if name is StreamName.STDOUT or self.pty else 'err'}"
