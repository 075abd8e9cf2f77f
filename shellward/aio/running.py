"""One command over asyncio: the driver that stands where ``environments.running.drive`` does in a thread."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, ExitStack
from functools import partial
from typing import TYPE_CHECKING, Self

from shellward.aio.loop import in_thread, readable, whole
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, had_begun
from shellward.core.types import Chunk, Result, ShellEvent, StreamName
from shellward.environments.call import Call, OnOutput
from shellward.environments.control import Control, Pause, Plan, Round, Target, end_later, kill_plan, target_of
from shellward.environments.environment import Environment
from shellward.environments.execution import Execution, Outcome, Sink
from shellward.environments.running import PATIENCE, Run, WedgeWatch, feed
from shellward.environments.shell import START_LIMIT, Shell, Silent, within

if TYPE_CHECKING:
    from shellward.environments.feeder import Feeder

Prepare = Callable[[Shell, Call, OnOutput | None], Awaitable[Run]]

_AFTER_KILL = 5.0
_LARGE = 16 << 10
"""Characters and bytes of a command, about, from which on sending it may have to wait for the shell."""


async def follow(
    environment: Environment,
    borrowed: AbstractAsyncContextManager[Shell],
    opening: asyncio.Semaphore,
    call: Call,
    prepare: Prepare | None = None,
) -> AsyncGenerator[Chunk | Result, None]:
    """Run a command on a borrowed shell: yield its Chunks, then its Result.

    The command is ended inside the sandbox when this is closed or cancelled before its end. The shell is
    given back before the Result is yielded.

    Args:
        environment: where.
        borrowed: gives the shell, and takes it back.
        opening: limits how many shells are opened at once.
        call: what to run.
        prepare: makes the command ready where that may take time; None: ``Environment.make_run``, at once.

    Raises:
        ConnectionLost: the sandbox went away; the command may have run.
        EnvironmentUnavailable: the sandbox was gone before; it has not run.
    """
    async with borrowed as shell:
        printed: deque[Chunk] = deque()
        run = await _prepared(environment, shell, opening, call, on_output=printed.append, prepare=prepare)
        async with _Running(environment, shell, run) as running:
            while not running.over:
                await running.step()
                while printed:
                    yield printed.popleft()
        result = running.result()
    yield result


async def carry_out(
    environment: Environment,
    borrowed: AbstractAsyncContextManager[Shell],
    opening: asyncio.Semaphore,
    call: Call,
    prepare: Prepare | None = None,
) -> Result:
    """Run a command as ``follow`` does, without its output as it comes: a generator costs a tenth of a short call."""
    async with borrowed as shell:
        run = await _prepared(environment, shell, opening, call, on_output=None, prepare=prepare)
        async with _Running(environment, shell, run) as running:
            while not running.over:
                await running.step()
        return running.result()


async def _prepared(
    environment: Environment,
    shell: Shell,
    opening: asyncio.Semaphore,
    call: Call,
    *,
    on_output: OnOutput | None,
    prepare: Prepare | None,
) -> Run:
    """Make a command ready, and the borrowed shell for it."""
    patience = None if call.timeout is None else call.timeout + PATIENCE
    if not environment.is_ready(shell):
        async with opening:
            await in_thread(environment.ready, shell, patience)
    if prepare is None:
        run = environment.make_run(shell, call, on_output)
    else:
        run = await prepare(shell, call, on_output)
    if not shell.fits:
        async with opening:
            await in_thread(environment.ready, shell, patience)
    return run


class _Running:
    """A command that runs, as a context manager: it does not outlive its block."""

    def __init__(self, environment: Environment, shell: Shell, run: Run) -> None:
        self._environment = environment
        self._shell = shell
        self._run = run
        self._stack = ExitStack()
        self._feeder: Feeder | None = None
        self._execution: Execution | None = None
        self._ending = False
        self._silent = False
        self._watch = WedgeWatch()

    async def __aenter__(self) -> Self:
        try:
            if self._run.source is not None:
                self._feeder = await in_thread(feed, self._run, self._environment, self._stack)
            await self._begin()
        except BaseException as failure:
            error = failure
            await self._left(error)
            raise
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None and self._run.source is None and self._begun.settled:  # nothing that would wait
            self._shell.part(self._execution)
            return
        await self._left(error)

    async def _left(self, error: BaseException | None) -> None:
        try:
            await whole(lambda: self._leave(error))
        finally:  # not before: a leaving that was cut off is begun again
            self._shell.part(self._execution)

    async def _begin(self) -> None:
        request, shell = self._run.request, self._shell
        size = len(request.text) + len(request.stdin or b"") + sum(map(len, request.env.values()))
        if size < _LARGE:
            self._execution = shell.begin(request, self._run.patience or START_LIMIT)
            return
        try:
            self._execution = await in_thread(shell.begin, request, self._run.patience or START_LIMIT)
        except asyncio.CancelledError:
            self._execution = shell.execution  # it was sent all the same
            raise

    @property
    def _begun(self) -> Execution:
        assert self._execution is not None  # noqa: S101  # __aenter__ has set it, or raised
        return self._execution

    @property
    def over(self) -> bool:
        """Whether the command has ended."""
        return self._begun.outcome is not None

    async def step(self) -> None:
        """Wait for output, or for the end; end the command when its time is up."""
        limit = self._run.call.timeout
        left = None if limit is None else self._begun.started + limit - time.monotonic()
        if left is not None and left <= 0:
            await whole(lambda: self._end("timeout", self._run.sink))
        elif not await self._advance(self._watch.patience(left), self._run.sink):
            raise ConnectionLost("the connection to the sandbox ended")
        elif self._watch.due() and await in_thread(self._watch.wedged, self._run, self._begun, self._environment):
            await whole(lambda: self._end("wedge", self._run.sink))

    def result(self) -> Result:
        """Return the result of a command that is over, after the block was left."""
        try:
            if self._feeder is not None and self._feeder.error is not None:
                raise self._feeder.error
            outcome = self._begun.outcome
            assert outcome is not None  # noqa: S101  # _leave sees to it
            return self._run.result(self._begun, outcome)
        finally:
            self._run.collector.close()

    async def _advance(self, seconds: float | None, sink: Sink) -> bool:
        channel = self._shell.channel
        pieces = channel.read(0)
        if pieces:
            await asyncio.sleep(0)  # a command that never pauses leaves the others their turn
        elif pieces is not None:
            # Only now: a connection with TLS may hold bytes that its descriptor does not show.
            if not await readable(channel.fileno(), seconds):
                return True
            pieces = channel.read(0)
        if pieces is None:
            return False
        self._shell.take(self._begun, pieces, sink)
        return True

    async def _end(self, reason: str, sink: Sink) -> None:
        """End the command's whole process tree; then its outcome is set."""
        execution, shell = self._begun, self._shell
        self._ending = execution.end(reason) or self._ending
        if self._ending:
            await self._kill(execution, sink)
            self._ending = False
        await self._read_on(0.0 if self._silent else _AFTER_KILL, sink)
        if execution.outcome is None:
            await in_thread(shell.close)  # a fresh channel for the next command
            execution.outcome = Outcome(-1, shell.cwd, ShellEvent.STATE_LOST, ended_by=execution.ended_by)

    async def _kill(self, execution: Execution, sink: Sink) -> None:
        control = await in_thread(self._environment.control, self._shell.user)
        try:
            target = target_of(self._shell, execution)
            try:
                await self._carry_out(kill_plan(execution, "TERM"), control, target, sink)
            except Silent:
                self._silent = True
                end_later(control, target, "TERM")
        finally:
            execution.plan_over()

    async def _carry_out(self, plan: Plan, control: Control, target: Target, sink: Sink) -> None:
        answer = (0, 0)
        step = next(plan, None)
        while step is not None:
            match step:
                case Round(signal):
                    answer = await in_thread(within, PATIENCE, partial(control.round, target, signal))
                case Pause(seconds):
                    until = time.monotonic() + seconds
                    await self._read_on(seconds, sink)
                    await asyncio.sleep(max(0.0, until - time.monotonic()))
            try:
                step = plan.send(answer)
            except StopIteration:
                return

    async def _read_on(self, seconds: float, sink: Sink) -> None:
        """Read for so long: what is being ended may still print, and its shell says when it is done."""
        until = time.monotonic() + seconds
        while self._begun.outcome is None and (left := until - time.monotonic()) > 0:
            if not await self._advance(left, sink):
                return

    async def _leave(self, error: BaseException | None) -> None:
        """Leave nothing behind, whatever the reason.

        Raises:
            ConnectionLost: that was the reason; says what it means for the command.
        """
        try:
            # Also of the shell that looks after this one: what was sent here may have run.
            beside = self._execution is not None and isinstance(error, EnvironmentUnavailable)
            if beside or isinstance(error, ConnectionLost):
                if not isinstance(error, ConnectionLost):
                    await self._abort()
                await in_thread(self._shell.close)
                why = await in_thread(self._environment.why_lost, str(error))
                raise self._run.lost(self._execution, why) from error
            if error is not None and self._execution is not None:
                had_begun(error)
                await self._abort()
            elif self._execution is not None and not self._execution.settled:
                # Whoever else ends this command must be done with it before the next one begins.
                await in_thread(self._execution.wait_settled, _AFTER_KILL)
        finally:
            self._shell.execution = None
            if self._run.source is not None:
                await in_thread(self._stack.close)
            if error is not None:
                self._run.collector.close()

    async def _abort(self) -> None:
        """End a command that nobody waits for any more, and throw its output away."""
        try:
            await self._end("interrupt", _ignore)
        except EnvironmentUnavailable:
            await in_thread(self._shell.close)  # gone, and the command with it


def _ignore(stream: StreamName, data: bytes) -> None:
    del stream, data
