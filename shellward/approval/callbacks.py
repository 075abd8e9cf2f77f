"""Asking through a program's own function: a chat window, a web page, MCP elicitation.

A callback belongs to the context that registered it (``contextvars``): tasks and threads started from there
with their context ask through it, others do not.
"""

import contextvars
import inspect
import queue
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, cast

from shellward.approval.context import Answer, ApprovalRequest, Scope

if TYPE_CHECKING:
    import asyncio  # loaded where it is used: half of what importing the gate would cost

Reply: TypeAlias = Answer | bool | str | None
"""What a callback may return: an Answer; True (once) or False; ``once``, ``session``, ``always`` or ``deny``;
None for "I cannot say", which counts as nobody."""
Callback: TypeAlias = Callable[[ApprovalRequest], Reply] | Callable[[ApprovalRequest], Awaitable[Reply]]

_SCOPES: Final = frozenset({"once", "session", "always"})


@dataclass(frozen=True, slots=True)
class _Registered:
    callback: Callback
    is_async: bool
    loop: "asyncio.AbstractEventLoop | None"


_CURRENT: Final[ContextVar[_Registered | None]] = ContextVar("shellward_approval_callback", default=None)


class Registration:
    """A registered callback; ends with ``unregister`` or at the end of a ``with`` block."""

    def __init__(self, token: contextvars.Token[_Registered | None]) -> None:
        self._token: contextvars.Token[_Registered | None] | None = token

    def unregister(self) -> None:
        """Bring back what was registered before. Call it in the context that registered."""
        if self._token is not None:
            _CURRENT.reset(self._token)
            self._token = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unregister()


def register_approval_callback(callback: Callback) -> Registration:
    """Ask through ``callback`` from now on, in this context.

    Args:
        callback: is given an ``ApprovalRequest`` and returns a ``Reply``, or is a coroutine function that
            does. An exception counts as no answer. It runs in a thread of its own, or as a task on the event
            loop that runs now, if there is one. When time is up or the question is withdrawn, a coroutine is
            cancelled; a plain function can look at ``request.withdrawal.done``.

    Returns:
        The registration, also a context manager.
    """
    target = callback if inspect.isroutine(callback) else type(callback).__call__
    is_async = inspect.iscoroutinefunction(target)
    return Registration(_CURRENT.set(_Registered(callback, is_async, _running_loop() if is_async else None)))


def registered() -> bool:
    """Whether this context has a callback."""
    return _CURRENT.get() is not None


def ask(request: ApprovalRequest) -> Answer:
    """Ask this context's callback and wait, in a thread that may block.

    Returns:
        The answer; ``nobody`` when time is up, the question was withdrawn, or the callback failed.
    """
    current = _CURRENT.get()
    if current is None:
        return Answer("nobody", note="no approval callback is registered")
    answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
    request.withdrawal.listen(lambda: answers.put(Answer("nobody", note="the question was withdrawn")))
    stop = _start(current, request, answers)
    try:
        return answers.get(timeout=request.timeout)
    except queue.Empty:
        return Answer("nobody", note=f"no answer within {request.timeout:g} seconds")
    finally:
        stop()
        request.withdrawal.withdraw()


async def aask(request: ApprovalRequest) -> Answer:
    """Ask this context's callback, which must be a coroutine function, on the running loop."""
    import asyncio

    current = _CURRENT.get()
    if current is None or not current.is_async:
        return Answer("nobody", note="no approval callback is registered")
    try:
        async with asyncio.timeout(request.timeout):
            reply = await cast("Callable[[ApprovalRequest], Awaitable[Reply]]", current.callback)(request)
    except TimeoutError:
        return Answer("nobody", note=f"no answer within {request.timeout:g} seconds")
    except Exception as error:  # noqa: BLE001  # a callback is foreign code; its failure is no approval
        return _failed(error)
    finally:
        request.withdrawal.withdraw()
    return answer_of(reply)


def is_async() -> bool:
    """Whether this context's callback is a coroutine function."""
    current = _CURRENT.get()
    return current is not None and current.is_async


def _start(
    current: _Registered, request: ApprovalRequest, answers: "queue.SimpleQueue[Answer]"
) -> Callable[[], object]:
    """Start the callback; return what ends it as far as it can be ended."""
    if not current.is_async:

        def call() -> None:
            try:
                answers.put(answer_of(cast("Reply", current.callback(request))))
            except Exception as error:  # noqa: BLE001  # see aask
                answers.put(_failed(error))

        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(call,), name="shellward-approval", daemon=True).start()
        return lambda: None

    async def await_it() -> None:
        try:
            coroutine = cast("Callable[[ApprovalRequest], Coroutine[Any, Any, Reply]]", current.callback)
            answers.put(answer_of(await coroutine(request)))
        except Exception as error:  # noqa: BLE001  # see aask
            answers.put(_failed(error))

    import asyncio

    if current.loop is not None and current.loop.is_running() and _running_loop() is not current.loop:
        return asyncio.run_coroutine_threadsafe(await_it(), current.loop).cancel
    # No loop to use, or this thread would block the very loop that has to answer: a loop of its own.
    own = _OwnLoop(await_it, contextvars.copy_context())
    return own.stop


class _OwnLoop:
    """A thread with an event loop for one coroutine, which can be cancelled from outside."""

    def __init__(self, coroutine: Callable[[], Coroutine[Any, Any, None]], context: contextvars.Context) -> None:
        self._coroutine = coroutine
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="shellward-approval", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        import asyncio

        async def main() -> None:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            self._ready.set()
            await self._coroutine()

        try:
            asyncio.run(main())
        except asyncio.CancelledError:
            return

    def stop(self) -> None:
        self._ready.wait()
        if self._loop is not None and self._task is not None:
            try:
                self._loop.call_soon_threadsafe(self._task.cancel)
            except RuntimeError:  # it has ended
                return


def _running_loop() -> "asyncio.AbstractEventLoop | None":
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def answer_of(reply: Reply) -> Answer:
    """Turn what a callback returned into an answer. What is not understood is no approval."""
    if isinstance(reply, Answer):
        return reply
    if reply is True:
        return Answer("allow", by="callback")
    if reply is False or reply == "deny":
        return Answer("deny", by="callback")
    if isinstance(reply, str) and reply in _SCOPES:
        return Answer("allow", cast("Scope", reply), by="callback")
    return Answer("nobody", note="the approval callback gave no answer")


def _failed(error: Exception) -> Answer:
    return Answer("nobody", note=f"the approval callback failed: {type(error).__name__}")
