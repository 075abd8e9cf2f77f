"""What the event loop is asked for: wait for a descriptor, and have what blocks done in a thread."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

_TRIES = 5
_DROP_PATIENCE = 3.0
"""Seconds in which an event loop that runs has to come round to what it is asked for."""


class Asked(Protocol):
    """Does in a thread what somebody may be asked about; see ``Environment.asked``."""

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Do it, and return what it returns."""
        ...


async def readable(descriptor: int, seconds: float | None) -> bool:
    """Wait until ``descriptor`` can be read, up to ``seconds`` (None: for ever); False when time is up."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bool] = loop.create_future()
    loop.add_reader(descriptor, _answer, answer, True)
    timer = None if seconds is None else loop.call_later(seconds, _answer, answer, False)
    try:
        return await answer
    finally:
        loop.remove_reader(descriptor)
        if timer is not None:
            timer.cancel()


class Readiness:
    """Waits for one descriptor, in several tasks at once; any thread may announce that it is about to be closed.

    Belongs to the event loop in which it was made.

    Args:
        descriptor: what to wait for.

    Attributes:
        wakes: how often those that wait were called.
    """

    def __init__(self, descriptor: int) -> None:
        self.wakes = 0
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._waiting: set[asyncio.Future[None]] = set()
        self._dropped = False

    async def wait(self, seconds: float | None, since: int) -> None:
        """Wait until it can be read, ``wake`` or ``drop`` is called, or ``seconds`` are over (None: for ever).

        Args:
            seconds: see above.
            since: ``wakes``, as it was before the caller looked; does not wait when there was one since.
        """
        if self._dropped or since != self.wakes:
            return
        answer: asyncio.Future[None] = self._loop.create_future()
        if not self._waiting:
            self._loop.add_reader(self._descriptor, self.wake)
        self._waiting.add(answer)
        timer = None if seconds is None else self._loop.call_later(seconds, _answer, answer, None)
        try:
            await answer
        finally:
            if timer is not None:
                timer.cancel()
            self._waiting.discard(answer)
            if not self._waiting and not self._dropped:
                self._loop.remove_reader(self._descriptor)

    def wake(self) -> None:
        """Have those that wait, or are about to, look for themselves."""
        self.wakes += 1
        for answer in self._waiting:
            _answer(answer, None)

    def drop(self) -> None:
        """Have nobody wait any more: when this returns, the descriptor may be closed, and its number given away."""
        if threading.get_ident() == self._thread:
            self._drop()
            return
        dropped = threading.Event()

        def drop() -> None:
            self._drop()
            dropped.set()

        try:
            self._loop.call_soon_threadsafe(drop)
        except RuntimeError:
            return  # the loop is closed, and waits for nothing
        if self._loop.is_running():
            dropped.wait(_DROP_PATIENCE)

    def _drop(self) -> None:
        if self._waiting and not self._dropped:
            self._loop.remove_reader(self._descriptor)
        self._dropped = True
        self.wake()


def _answer(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():
        future.set_result(value)


async def whole(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do work that must not stop half-way; a cancellation that comes meanwhile is raised after it.

    ``asyncio.run`` cancels every task at its end, so also the one that does the work: it is begun again then,
    and has to stand that.
    """
    cancelled: asyncio.CancelledError | None = None
    for _ in range(_TRIES):
        task = asyncio.ensure_future(work())
        cancelled = await _done(task) or cancelled
        if not task.cancelled():
            break
        cancelled = cancelled or asyncio.CancelledError()
    if cancelled is None:
        task.result()
        return
    if not task.cancelled():
        task.exception()  # seen; the cancellation is what the caller has to hear of
    raise cancelled


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call what blocks in a thread of its own; when this is cancelled, the call ends first.

    Not the loop's executor: its few threads may all be taken by the program or by long transfers, and the end
    of a command must not wait for them.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def call() -> None:
        try:
            value = context.run(function, *arguments)
        except BaseException as error:  # noqa: BLE001  # raised where it is awaited
            loop.call_soon_threadsafe(_fail, answer, error)
        else:
            loop.call_soon_threadsafe(answer.set_result, value)

    thread = threading.Thread(target=call, name="shellward-aio", daemon=True)
    thread.start()
    cancelled = await _done(answer)
    thread.join()  # it has nothing left to do but to end; who looks for threads of ours finds none
    if cancelled is None:
        return answer.result()
    answer.exception()
    raise cancelled


async def _done(future: "asyncio.Future[T]") -> asyncio.CancelledError | None:
    """Wait until a future is done; returns the cancellation of the waiting task that came meanwhile."""
    cancelled = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled


def _fail(future: "asyncio.Future[T]", error: BaseException) -> None:
    if isinstance(error, StopIteration):  # a future cannot hold it
        error = RuntimeError(f"{error!r} in a thread")
    future.set_exception(error)
