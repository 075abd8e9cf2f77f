"""A running command as an iterator: chunks of output as they come, then its Result."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, beside, had_begun
from shellward.core.interrupts import held
from shellward.core.types import Chunk, Result
from shellward.environments.control import end_execution
from shellward.environments.running import Run, WedgeWatch, abort, end, feed, lost_beside
from shellward.environments.shell import START_LIMIT

if TYPE_CHECKING:
    from pathlib import Path

    from shellward.environments.environment import Environment
    from shellward.environments.execution import Execution


class Stream(Iterator[Chunk | Result]):
    """See the module. One thread iterates; ``close`` before the end cancels the command inside the sandbox.

    Attributes:
        result: the Result once the command is over, else None.
    """

    def __init__(
        self,
        environment: "Environment",
        make_run: Callable[[Callable[[Chunk], None]], Run],
        release: Callable[[], None],
    ) -> None:
        self.result: Result | None = None
        self._environment = environment
        self._waiting: deque[Chunk] = deque()
        self._stack = ExitStack()
        self._stack.callback(release)
        self._ended = False
        self._given = False
        self._watch = WedgeWatch()
        self._execution: Execution | None = None
        try:
            self._run = make_run(self._waiting.append)
            self._shell = self._run.shell
            self._stack.callback(self._run.collector.close)
            environment.ready(self._shell, self._run.patience)
            self._feeder = feed(self._run, environment, self._stack)
            self._execution = self._shell.begin(self._run.request, self._run.patience or START_LIMIT)
        except BaseException as error:
            self._give_up(error)
            raise

    def _give_up(self, error: BaseException) -> None:
        """Leave nothing behind of a command that was cut off while it was sent."""
        shell = getattr(self, "_shell", None)
        try:
            if shell is not None and shell.execution is not None and not isinstance(error, ConnectionLost):
                abort(shell.execution, self._environment, shell, by_user=isinstance(error, KeyboardInterrupt))
                shell.execution = None
        finally:
            self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with beside(error):
            self.close()

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Chunk | Result:
        while not self._waiting and not self._ended:
            with held():
                self._step()
        if self._waiting:
            return self._waiting.popleft()
        if self.result is None or self._given:
            raise StopIteration
        self._given = True
        return self.result

    def wait(self, timeout: float | None = None, on_output: Callable[[Chunk], None] | None = None) -> Result | None:
        """Follow the command to its end, without keeping its chunks.

        Args:
            timeout: seconds; a command that still runs then goes on, and this may be called again, by any one thread.
            on_output: is called with each chunk, in this thread.

        Returns:
            The result; None when it still runs.

        Raises:
            ConnectionLost: the sandbox went away; the command may have run.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while not self._ended:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return None
            with held():
                self._step(left)
            while on_output is not None and self._waiting:
                on_output(self._waiting.popleft())
            self._waiting.clear()
        return self.result

    def end(self, reason: str = "interrupt", first: str = "INT") -> bool:
        """End the command with its whole tree, from any thread; who waits for it gets its result.

        Args:
            reason: ``interrupt`` (its status is 130, and it says so) or ``killed`` (143).
            first: signal to ask with, before KILL.

        Returns:
            Whether there was something to end.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        execution = self._execution
        if execution is None or not execution.end(reason):
            return False
        end_execution(self._environment.control(self._shell.user), self._shell, execution, first, time.sleep)
        return True

    def set_aside(self) -> None:
        """Let the command go on beside its session, which gets another shell with the state from before the command.

        Called by the thread that waits for it.

        Raises:
            EnvironmentUnavailable: no other shell could be opened; everything is as it was.
        """
        self._environment.set_aside(self._shell)

    def keep_all(self) -> "Path | None":
        """Keep everything that it prints in a file from here on. Called by the thread that waits for it.

        Returns:
            The file; None where the call has ruled it out.

        Raises:
            OSError: there is no room for it.
        """
        return self._run.collector.keep_all()

    def so_far(self) -> tuple[str, bool]:
        """Return what was printed until now, and whether something was left out. Called by the thread that waits."""
        return self._run.collector.so_far()

    def _step(self, most: float | None = None) -> None:
        execution = self._execution
        assert execution is not None  # noqa: S101  # set by __init__, which raises otherwise
        limit = self._run.call.timeout
        left = None if limit is None else execution.started + limit - time.monotonic()
        try:
            if left is not None and left <= 0:
                end(self._run, execution, self._environment, "timeout")
            elif not self._shell.advance(execution, self._patience(left, most), self._run.sink, interrupts=True):
                raise ConnectionLost("the connection to the sandbox ended")  # noqa: TRY301
            elif self._watch.wedged(self._run, execution, self._environment):
                end(self._run, execution, self._environment, "wedge")
            if execution.outcome is not None:
                self._finish(execution)
        except ConnectionLost as error:
            self._shell.close()
            lost = self._run.lost(execution, self._environment.why_lost(str(error)))
            self._release()
            raise lost from error
        except EnvironmentUnavailable as error:  # of the shell that looks after it: the command may have run
            try:
                lost = lost_beside(self._run, execution, self._environment, error)
            finally:
                self._release()
            raise lost from error
        except BaseException as error:
            had_begun(error)
            self.close()
            raise

    def _patience(self, left: float | None, most: float | None) -> float:
        patience = self._watch.patience(left)
        return patience if most is None else min(patience, most)

    def _finish(self, execution: "Execution") -> None:
        assert execution.outcome is not None  # noqa: S101  # the caller has looked
        execution.wait_settled(5.0)
        result = self._run.result(execution, execution.outcome)
        self._release()
        if self._feeder is not None and self._feeder.error is not None:
            raise self._feeder.error
        self.result = result

    def _release(self) -> None:
        self._ended = True
        self._shell.part(self._execution)
        self._stack.close()

    def __del__(self) -> None:
        # A stream that was dropped before its end must not leave its command running.
        if hasattr(self, "_stack") and not self._ended:
            self.close()

    def close(self) -> None:
        """End the command, if it still runs, with its whole process tree. Idempotent."""
        if self._ended or self._execution is None:
            return
        with held():
            try:
                abort(self._execution, self._environment, self._shell, by_user=False)
            finally:
                self._release()
