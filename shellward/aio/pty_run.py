"""One command at a terminal over asyncio: the driver that stands where ``PtyRun.carry_out`` does in a thread."""

import asyncio
import inspect
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from shellward.aio.loop import Asked, Readiness, in_thread, whole
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.types import Chunk, Result
from shellward.environments.pty_run import AFTER_KILL, PtyRun


async def carry_out(run: PtyRun, on_output: Callable[[Chunk], Awaitable[None] | None] | None, asked: Asked) -> Result:
    """Follow a command to its end, whatever that is; then nothing of it is left.

    Raises:
        ConnectionLost: the sandbox went away; it may have run. Carries the output so far.
        ApprovalDenied: what is typed may not be; it was ended.
    """
    follower = _Follower(run, on_output, asked)
    try:
        timed_out = await follower.follow()
        status = await in_thread(run.session.wait, AFTER_KILL if timed_out else None)
        result = run.result(status, timed_out=timed_out)
    except BaseException as error:
        await whole(follower.leave)
        if isinstance(error, EnvironmentUnavailable):
            raise await in_thread(run.lost, error) from error
        raise
    else:
        await whole(follower.leave)
        return result
    finally:
        run.collector.close()


class _Follower:
    def __init__(self, run: PtyRun, on_output: Callable[[Chunk], Awaitable[None] | None] | None, asked: Asked) -> None:
        self._run = run
        self._on_output = on_output
        self._printed: deque[Chunk] = deque()
        if on_output is not None:
            run.on_output = self._printed.append
        self._readiness = Readiness(run.session.fileno())
        run.session.before_close = self._readiness.drop
        self._typing = asyncio.ensure_future(asked(partial(run.session.feed, run.typed)))
        self._typing.add_done_callback(lambda _: self._readiness.wake())

    async def follow(self) -> bool:
        """Read to the end, or to the time limit; whether it was that."""
        session = self._run.session
        while not session.ended:
            if self._typing.done():
                with suppress(ConnectionLost):  # it does not read
                    self._typing.result()
            left = self._run.left()
            if left is not None and left <= 0:
                await in_thread(session.kill)
                until = time.monotonic() + AFTER_KILL
                while not session.ended and (left := until - time.monotonic()) > 0:
                    await self._advance(left)
                return True
            await self._advance(left)
        return False

    async def _advance(self, seconds: float | None) -> None:
        """Wait for output, and pass it on. Nobody draws a screen, so what the program asks is not answered here."""
        before = self._readiness.wakes
        if self._run.session.take(0):
            await asyncio.sleep(0)  # a program that never pauses leaves the others their turn
        elif not self._run.session.ended:
            await self._readiness.wait(seconds, before)
        while self._printed and self._on_output is not None:
            if inspect.isawaitable(answer := self._on_output(self._printed.popleft())):
                await answer

    async def leave(self) -> None:
        """End what is left of it, also what is still being typed. Idempotent."""
        if not self._typing.done():
            with suppress(EnvironmentUnavailable):  # gone already, and who would read
                await in_thread(self._run.session.kill, "HUP")
            self._typing.cancel()
            await asyncio.wait([self._typing])
        if not self._typing.cancelled():
            self._typing.exception()  # seen: why the command ended says another
        with suppress(EnvironmentUnavailable):
            await in_thread(self._run.session.close)
