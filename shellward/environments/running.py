"""One command from its checked arguments to its result: what run, stream and asyncio share, and the driver of run."""

import errno
import itertools
import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from shellward.core.errors import NOTHING_RAN, ConnectionLost, EnvironmentUnavailable, had_begun
from shellward.core.interrupts import interruptible
from shellward.core.limits import INLINE_BYTES
from shellward.core.types import Chunk, Result, ShellEvent, StreamName, signal_name
from shellward.environments.call import Call, OnOutput
from shellward.environments.control import end_execution
from shellward.environments.encoding import UNKEPT, UNREAD_STATUS, Request, unread
from shellward.environments.execution import Execution, Outcome, Sink
from shellward.environments.feeder import Feeder
from shellward.environments.output import Collector, Decoder, OutputFiles
from shellward.environments.shell import START_LIMIT, Shell, Silent, within

if TYPE_CHECKING:
    from shellward.environments.environment import Environment


TIMED_OUT = 124
INTERRUPTED = 130
KILLED = 143
_STATUS = {"timeout": TIMED_OUT, "interrupt": INTERRUPTED, "killed": KILLED}
_AFTER_KILL = 5.0
PATIENCE = 0.8
"""Seconds beyond a command's time limit in which a sandbox has to answer; then the caller hears of it."""
_MOST_FIRST = 400
_LOOK_LIMIT = 2.0
_FIRST_LOOK = 2.0
_SECOND_LOOK = 0.2
_SELDOM = 60.0
_NOTICE = re.compile(rb"^(?:[^\n]*: line \d+: +\d+ )?(?:Terminated|Killed|Interrupt)\b[^\n]*\n", re.MULTILINE)
"""What a shell remarks of the process that we ended; the command did not print it."""


def new_collector(call: Call, files: OutputFiles) -> Collector:
    """Make what keeps a call's output as it asks for it.

    Args:
        call: the call.
        files: where the full output goes when the call names no file of its own.
    """
    wanted = call.full_output
    if wanted is False:
        return Collector(call.max_output)
    if isinstance(wanted, str | Path):
        return Collector(call.max_output, keep_file=Path(wanted).absolute, everything=True)
    return Collector(call.max_output, keep_file=files.new, everything=wanted is True, on_kept=files.keep)


class Run:
    """One command on one shell, from the request to the result: what sync and asyncio share. No I/O.

    Args:
        call: what to run.
        shell: on which shell; its lock is held.
        saved: state to begin with, when the shell is one of the pool.
        base_cwd: what a relative directory is relative to.
        files: where the full output goes when the call names no file of its own.
        on_output: is called with each piece of output.
        state_number: of the one state that is meant by ``saved``; None: the newest.
        bash: the shell is bash; matters for a background process only.

    Attributes:
        on_end: is called with the result, also with a partial one of a lost connection.
    """

    def __init__(
        self,
        call: Call,
        shell: Shell,
        *,
        pooled: bool,
        saved: str | None,
        base_cwd: str,
        files: OutputFiles,
        on_output: OnOutput | None,
        state_number: int | None = None,
        bash: bool = True,
    ) -> None:
        self.call = call
        self.on_end: Callable[[Result], None] | None = None
        self.shell = shell
        self._pooled = pooled
        self._on_output = on_output
        self._decoders = {name: Decoder() for name in StreamName} if on_output else {}
        self._files = files
        self._first: bytes | None = None if saved is None else b""
        self._collector: Collector | None = None
        self.stdin_file: str | None = None
        stdin = call.stdin.encode() if isinstance(call.stdin, str) else call.stdin
        self.source: BinaryIO | Iterable[bytes] | None = None
        inline: bytes | None = None
        launch = call.launch
        if stdin is not None and launch is None:
            self.stdin_file = f"{shell.directory}/in.{next(_numbers)}"
            if isinstance(stdin, bytes | bytearray | memoryview) and len(stdin) <= INLINE_BYTES:
                inline = bytes(stdin)
            elif isinstance(stdin, bytes | bytearray | memoryview):
                view = memoryview(stdin)
                self.source = (bytes(view[at : at + INLINE_BYTES]) for at in range(0, len(view), INLINE_BYTES))
            else:
                self.source = stdin
        cwd = call.cwd
        if cwd is not None and not cwd.startswith("/"):
            cwd = f"{base_cwd.rstrip('/')}/{cwd}"
        self.request = Request(
            text=call.text if launch is None else launch.text(call.text, words=call.words is not None, bash=bash),
            cwd=cwd,
            env=call.env or {},
            stdin=inline,
            stdin_file=self.stdin_file,
            merge_stderr=call.merge_stderr,
            subshell=pooled or launch is not None,
            traceless=launch is not None,
            state=saved,
            state_number=state_number,
        )

    @property
    def patience(self) -> float | None:
        """Seconds in which the sandbox has to take the command; None: it has no time limit."""
        limit = self.call.timeout
        return None if limit is None else limit + PATIENCE

    @property
    def collector(self) -> Collector:
        """What is kept of the output."""
        return self._collector or self.prepare()

    def prepare(self) -> Collector:
        """Make what the output needs; best when the command is on its way, since nobody waits then."""
        self._collector = new_collector(self.call, self._files)
        return self._collector

    def sink(self, stream: StreamName, data: bytes) -> None:
        """Take a piece of output."""
        execution = self.shell.execution
        if execution is not None and execution.ended_by:
            data = _NOTICE.sub(b"", data)
            if not data:
                return
        self.collector.add(stream, data)
        if self._first is not None:
            self._first = self._first + data if len(self._first) < _MOST_FIRST else None
        if self._on_output is not None:
            with interruptible():
                self._on_output(Chunk(stream, data, self._decoders[stream].text(data)))

    def result(self, execution: Execution, outcome: Outcome) -> Result:
        """Make the result.

        Raises:
            FileNotFoundError, NotADirectoryError, PermissionError: the directory asked for cannot be entered.
            OSError: standard input cannot be kept in the sandbox, or the state of the session cannot be read; the
                command has not run.
        """
        duration = time.monotonic() - execution.started
        if outcome.wrong_cwd:
            self.collector.close()
            raise self._refused(outcome.wrong_cwd)
        if outcome.status == UNREAD_STATUS and self._first == unread(f"{self.shell.mark}.{execution.number};"):
            self.collector.close()
            raise state_unread(self.shell.directory)
        status = _STATUS.get(outcome.ended_by or "", outcome.status)
        result = Result(
            command=self.call.shown,
            exit_code=status,
            duration=duration,
            cwd=outcome.cwd or self.shell.cwd,
            timed_out=outcome.ended_by == "timeout",
            interrupted=outcome.ended_by == "interrupt",
            signal=None if outcome.ended_by else signal_name(status),
            shell=None if self._pooled else self._shell_event(outcome),
            **self.collector.finish(),  # type: ignore[arg-type]
        )
        if self.on_end is not None:
            self.on_end(result)
        return result

    def _refused(self, number: int) -> OSError:
        """Return the error for a command that the shell has not run."""
        if number < UNKEPT:
            error = OSError(number, os.strerror(number), self.request.cwd)
        else:
            number -= UNKEPT
            what = "standard input cannot be kept in the sandbox's scratch directory; nothing has run"
            error = OSError(number, f"{os.strerror(number)}: {what}", self.shell.directory)
        error.add_note(NOTHING_RAN)
        return error

    def _shell_event(self, outcome: Outcome) -> ShellEvent | None:
        """What happened to the shell in this command, or between it and the one before."""
        before, self.shell.event = self.shell.event, None
        worst = (outcome.event, before)
        return ShellEvent.STATE_LOST if ShellEvent.STATE_LOST in worst else outcome.event or before

    def lost(self, execution: Execution | None, why: str) -> ConnectionLost:
        """Make the error for a connection that broke while the command was on its way."""
        started = execution.started if execution else time.monotonic()
        partial = Result(
            command=self.call.shown,
            exit_code=-1,
            duration=time.monotonic() - started,
            cwd=self.shell.cwd,
            **self.collector.remains(),  # type: ignore[arg-type]
        )
        if self.on_end is not None:
            self.on_end(partial)
        return ConnectionLost(f"{why} while a command ran; it may have run: {self.call.shown[:200]!r}", partial)


def state_unread(place: str) -> OSError:
    """Return the error for a command that has not run, since the state that it was to begin with cannot be read."""
    error = OSError(errno.EIO, "the state of the session could not be read; nothing has run", place)
    error.add_note(NOTHING_RAN)
    return error


_numbers = itertools.count()


def drive(run: Run, environment: "Environment") -> Result:
    """Carry out a run in this thread. The shell's lock is held by the caller.

    Raises:
        ConnectionLost: the sandbox went away; the command may have run.
        EnvironmentUnavailable: the sandbox was gone before; it has not run.
    """
    environment.ready(run.shell, run.patience)
    if run.source is None:
        return _carry_out(run, environment, None)
    with ExitStack() as stack:
        return _carry_out(run, environment, feed(run, environment, stack))


def _carry_out(run: Run, environment: "Environment", feeder: Feeder | None) -> Result:
    try:
        execution = _execute(run, environment)
        # Whoever else ends this command must be done with it before the next one begins.
        execution.wait_settled(_AFTER_KILL)
        run.shell.part(execution)
        if feeder is not None and feeder.error is not None:
            raise feeder.error
        outcome = execution.outcome
        if outcome is None:
            raise run.lost(execution, "the sandbox did not answer")
        return run.result(execution, outcome)
    finally:
        run.collector.close()


def _execute(run: Run, environment: "Environment") -> Execution:
    shell = run.shell
    execution = None
    try:
        execution = shell.begin(run.request, run.patience or START_LIMIT)
        _follow(run, execution, environment)
    except ConnectionLost as error:
        shell.close()
        raise run.lost(execution, environment.why_lost(str(error))) from error
    except EnvironmentUnavailable as error:
        # Of the shell that looks after this one: what was sent here may have run.
        if execution is None:
            raise
        raise lost_beside(run, execution, environment, error) from error
    except BaseException as error:
        # Ctrl-C, a full disk, or an error in the caller's on_output: the command ends first, inside the sandbox. Also
        # when it was cut off while it was sent: how much of it the shell has read, nobody knows.
        if execution is not None:
            had_begun(error)
        execution = execution or shell.execution
        if execution is not None:
            abort(execution, environment, shell, by_user=isinstance(error, KeyboardInterrupt))
        raise
    finally:
        if execution is None or execution.outcome is None:
            shell.part(execution)
        else:
            shell.execution = None
    return execution


def lost_beside(
    run: Run, execution: Execution, environment: "Environment", error: EnvironmentUnavailable
) -> ConnectionLost:
    """End a command as far as possible when something else than its own connection failed; returns what to raise."""
    abort(execution, environment, run.shell, by_user=False)
    return run.lost(execution, environment.why_lost(str(error)))


def feed(run: Run, environment: "Environment", stack: ExitStack) -> Feeder | None:
    """Begin to pump standard input, where it does not travel with the command; the stack ends it."""
    if run.source is None or run.stdin_file is None:
        return None
    mark = f"{run.shell.mark}.0;"
    feeder = Feeder(
        environment.backend,
        run.stdin_file,
        run.source,
        user=run.shell.user,
        mark=mark,
        on_error=lambda: environment.end_from_outside(run.shell, "broken input"),
        screen=run.call.screen,
    )
    return stack.enter_context(feeder)


def _follow(run: Run, execution: Execution, environment: "Environment") -> None:
    """Read until the command is over; end it when its time is up."""
    shell = run.shell
    limit = run.call.timeout
    deadline = None if limit is None else execution.started + limit
    watch = WedgeWatch()
    run.prepare()
    while execution.outcome is None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            end(run, execution, environment, "timeout")
            return
        if not shell.advance(execution, watch.patience(left), run.sink, interrupts=True):
            raise ConnectionLost("the connection to the sandbox ended")
        if watch.wedged(run, execution, environment):
            end(run, execution, environment, "wedge")
            return


class WedgeWatch:
    """Notices a shell that has stopped to execute (``set -n``), which no end marker will ever tell.

    While a command is silent the control shell looks now and then, more and more seldom, whether its shell
    waits for the next command already.
    """

    def __init__(self) -> None:
        self._interval = _FIRST_LOOK
        self._next = time.monotonic() + self._interval
        self._suspect = False
        self._deadline: float | None = None

    def patience(self, left: float | None) -> float:
        """Seconds to wait for output, when ``left`` are left of the command's limit."""
        self._deadline = None if left is None else time.monotonic() + left
        until = max(0.0, self._next - time.monotonic())
        return until if left is None else min(left, until)

    def due(self) -> bool:
        """Whether it is time to look."""
        return time.monotonic() >= self._next

    def wedged(self, run: Run, execution: Execution, environment: "Environment") -> bool:
        """Look, if it is time to; True when the shell was found idle twice in a row."""
        if not self.due() or execution.outcome is not None or execution.died:
            return False
        # Not beyond the command's own limit. A sandbox that is silent has not lost the command: it may be paused.
        limit = _LOOK_LIMIT
        if self._deadline is not None:
            limit = min(limit, self._deadline - time.monotonic())
            if limit <= 0:
                return False
        try:
            idle = within(limit, partial(environment.control(run.shell.user).idle, execution))
        except Silent:
            idle = False
        if idle and self._suspect:
            return True
        self._suspect = idle
        self._interval = _SECOND_LOOK if idle else min(self._interval * 2, _SELDOM)
        self._next = time.monotonic() + self._interval
        return False


def end(run: Run, execution: Execution, environment: "Environment", reason: str) -> None:
    """End the command's whole process tree from the thread that reads its channel."""
    shell = run.shell
    pause = _reading(shell, execution, run.sink)
    patience = _AFTER_KILL
    if execution.end(reason):
        control = environment.control(shell.user)
        try:
            end_execution(control, shell, execution, "TERM" if reason == "timeout" else "INT", pause, limit=PATIENCE)
        except Silent:
            patience = 0.0
    _read_on(shell, execution, run.sink, patience)
    if execution.outcome is None:
        shell.close()  # a fresh channel for the next command; this one's output is complete as far as it came
        execution.outcome = Outcome(-1, shell.cwd, event=ShellEvent.STATE_LOST, ended_by=execution.ended_by)


def abort(execution: Execution, environment: "Environment", shell: Shell, *, by_user: bool) -> None:
    """End a command that nobody waits for any more, and throw its output away."""

    def ignore(stream: StreamName, data: bytes) -> None:
        del stream, data

    pause = _reading(shell, execution, ignore)
    try:
        if execution.end("interrupt"):
            control = environment.control(shell.user)
            end_execution(control, shell, execution, "INT" if by_user else "TERM", pause)
        _read_on(shell, execution, ignore, _AFTER_KILL)
    except EnvironmentUnavailable:
        shell.close()  # gone, and the command with it; the caller's own error is the one to raise
    if execution.outcome is None:
        shell.close()


def _reading(shell: Shell, execution: Execution, sink: Sink) -> Callable[[float], None]:
    """Make a pause that reads on: what is being ended may still print, and its shell says when it is done."""

    def pause(seconds: float) -> None:
        until = time.monotonic() + seconds
        _read_on(shell, execution, sink, seconds)
        # Also when the shell is done: what it left behind has to have the time to show.
        time.sleep(max(0.0, until - time.monotonic()))

    return pause


def _read_on(shell: Shell, execution: Execution, sink: Sink, seconds: float) -> None:
    """Read until the command is over, for so long at the most."""
    until = time.monotonic() + seconds
    while execution.outcome is None and (left := until - time.monotonic()) > 0:
        if not shell.advance(execution, left, sink):
            return
