"""A running command as an iterator: chunks of output as they come, then its Result."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from shellward.core.errors import ConnectionLost
from shellward.core.types import Chunk, Result
from shellward.environments.running import Run, WedgeWatch, abort, end, feed

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.environments.shell import Execution


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
            environment.ready(self._shell)
            self._feeder = feed(self._run, environment, self._stack)
            self._execution = self._shell.begin(self._run.request)
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

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Chunk | Result:
        while not self._waiting and not self._ended:
            self._step()
        if self._waiting:
            return self._waiting.popleft()
        if self.result is None or self._given:
            raise StopIteration
        self._given = True
        return self.result

    def _step(self) -> None:
        execution = self._execution
        assert execution is not None  # noqa: S101  # set by __init__, which raises otherwise
        limit = self._run.call.timeout
        left = None if limit is None else execution.started + limit - time.monotonic()
        try:
            if left is not None and left <= 0:
                end(self._run, execution, self._environment, "timeout")
            elif not self._shell.advance(execution, self._watch.patience(left), self._run.sink):
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
        except BaseException:
            self.close()
            raise

    def _finish(self, execution: "Execution") -> None:
        assert execution.outcome is not None  # noqa: S101  # the caller has looked
        execution.settled.wait(5.0)
        result = self._run.result(execution, execution.outcome)
        self._release()
        if self._feeder is not None and self._feeder.error is not None:
            raise self._feeder.error
        self.result = result

    def _release(self) -> None:
        self._ended = True
        self._shell.execution = None
        self._stack.close()

    def __del__(self) -> None:
        # A stream that was dropped before its end must not leave its command running.
        if hasattr(self, "_stack") and not self._ended:
            self.close()

    def close(self) -> None:
        """End the command, if it still runs, with its whole process tree. Idempotent."""
        if self._ended or self._execution is None:
            return
        try:
            abort(self._execution, self._environment, self._shell, by_user=False)
        finally:
            self._release()
