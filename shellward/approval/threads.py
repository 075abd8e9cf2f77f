"""Waiting for what blocks, a person above all, without blocking the event loop."""

import threading
from collections.abc import Callable
from typing import TypeVar

from shellward.approval.withdrawal import Withdrawal

T = TypeVar("T")


async def in_thread(work: Callable[[], T], withdrawal: Withdrawal) -> T:
    """Run ``work`` in a thread of its own, with this context; on cancellation withdraw, and wait for its end.

    The loop's shared executor has few threads; twenty questions to people would fill it for minutes.
    """
    import asyncio
    import contextvars

    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # the result of work, when there is no error

    def run() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # handed over to who awaits
            failure = error
        try:
            loop.call_soon_threadsafe(settle, result, failure)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="shellward-gate", daemon=True)
    thread.start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        withdrawal.withdraw()
        await asyncio.wait((future,), timeout=1.0)
        future.cancel()
        raise
    finally:
        if not future.cancelled():
            thread.join()  # it has nothing left to do but to end; who looks for threads of ours finds none
