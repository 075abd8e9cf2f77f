"""Asynchronous handlers, called by those who are not.

Where the caller's thread has no event loop running: the main thread has one loop that stays (so that clients a
handler keeps open stay usable), and every other thread has one of its own, closed when the thread ends. Where a loop
is running already, the handler gets a thread and a loop of its own. In each case a handler that takes longer than the
limit is cancelled, and context variables are those of the caller.
"""

import atexit
import contextlib
import contextvars
import logging
import threading
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio

LIMIT: Final = 300.0
"""Seconds that an asynchronous handler may take."""
_GRACE: Final = 5.0
"""Seconds that a cancelled handler has to clean up."""

_log = logging.getLogger(__name__)


class _Loop:
    """The loop of one thread; gone with it."""

    def __init__(self) -> None:
        import asyncio

        self.runner = asyncio.Runner()

    def close(self) -> None:
        self.runner.close()

    def __del__(self) -> None:
        # The thread's own storage is taken down in that thread when it ends; see threading.local.
        self.runner.close()


class _Threads(threading.local):
    loop: _Loop | None = None


_threads = _Threads()


def run(awaitable: Awaitable[Any], limit: float = LIMIT) -> Any:
    """Wait for an awaitable from synchronous code, whether or not this thread runs an event loop.

    Args:
        awaitable: what an asynchronous handler returned.
        limit: seconds; it is cancelled after that.

    Returns:
        Its result.

    Raises:
        TimeoutError: it took longer.
        BaseException: whatever it raised.
    """
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # Without a context of its own a runner uses that of its first call for all of them.
        return _loop().runner.run(_limited(awaitable, limit), context=contextvars.copy_context())
    return _apart(awaitable, limit)


def _loop() -> _Loop:
    loop = _threads.loop
    if loop is None:
        loop = _threads.loop = _Loop()
        if threading.current_thread() is threading.main_thread():
            atexit.register(_close, loop)
    return loop


def _close(loop: _Loop) -> None:
    _threads.loop = None
    loop.close()


async def _limited(awaitable: Awaitable[Any], limit: float) -> Any:
    """Await with a limit; afterwards the handler has ended, one way or another."""
    import asyncio

    task = asyncio.ensure_future(awaitable)
    try:
        done, _ = await asyncio.wait({task}, timeout=limit)
    except asyncio.CancelledError:  # Ctrl-C
        await _ended(task)
        raise
    if not done:
        await _ended(task)
        if task.cancelled() or task.exception() is not None:
            raise TimeoutError(f"took longer than {limit:g} s and was cancelled")
    return task.result()


async def _ended(task: "asyncio.Future[Any]") -> None:
    """Cancel a handler; close the coroutine of one that goes on all the same."""
    import asyncio

    task.cancel()
    await asyncio.wait({task}, timeout=_GRACE)
    if not task.done() and isinstance(task, asyncio.Task):
        _log.error("an asynchronous handler ignored its cancellation; its coroutine was closed")
        with contextlib.suppress(RuntimeError):  # it ignored that too; its next await fails
            task.get_coro().close()
        task.cancel()
        await asyncio.wait({task}, timeout=_GRACE)


def _apart(awaitable: Awaitable[Any], limit: float) -> Any:
    """Await in a thread and a loop of its own, which are gone afterwards."""
    import asyncio

    answer: dict[str, Any] = {}

    def work() -> None:
        try:
            with asyncio.Runner() as runner:
                answer["result"] = runner.run(_limited(awaitable, limit), context=context)
        except BaseException as problem:  # noqa: BLE001  # raised again below, in the caller's thread
            answer["problem"] = problem

    context = contextvars.copy_context()
    thread = threading.Thread(target=work, name="shellward-async-tool", daemon=True)
    thread.start()
    thread.join(limit + 3 * _GRACE)
    if thread.is_alive():
        # It blocks its loop without awaiting (time.sleep, a busy loop): nothing in Python ends that from outside.
        _log.error("an asynchronous handler blocks its event loop; its thread is left behind")
        raise TimeoutError(f"took longer than {limit:g} s and cannot be cancelled: it blocks its event loop")
    if "problem" in answer:
        raise answer["problem"]
    return answer["result"]
