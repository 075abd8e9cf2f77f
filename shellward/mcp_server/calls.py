"""Calls under way: each has a thread of its own, and is followed on the event loop.

A call may outlive the request that began it: where a client cannot be asked in the middle of a request, that request is
answered with the question, and the call waits for the one that brings the answer. So what runs is what was asked about,
and it runs once.
"""

import asyncio
import contextvars
import queue
import secrets
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from shellward.aio.loop import in_thread
from shellward.approval.callbacks import register_approval_callback
from shellward.approval.context import Answer, ApprovalRequest
from shellward.approval.withdrawal import CALLER, Withdrawal
from shellward.core.errors import EnvironmentUnavailable, LimitReached
from shellward.terminal_tool import ansi
from shellward.terminal_tool.hearing import ON_OUTPUT

if TYPE_CHECKING:
    from shellward.core.types import Chunk

MOST: Final = 200
"""Calls at the same time."""
_PATIENCE: Final = 15.0
"""Seconds for a call that is ended to find out."""
_PAUSE: Final = 0.1
"""Seconds at least between two pieces of progress."""
HEARTBEAT: Final = 10.0
"""Seconds after which progress is told of though nothing was printed: clients give up on a silent call."""
_TAIL: Final = 4_096
_LINES: Final = 5
_SAID: Final = 1_000
_GRACE: Final = 60.0
"""Seconds that the outcome of a question without answer is kept for."""


class Question:
    """What the gate asks in the middle of a call: waited for in a thread, answered on the loop.

    Attributes:
        request: what is asked.
        over: is set when the answer is no longer wanted.
    """

    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        self.over = asyncio.Event()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()

    def answer(self, answer: Answer) -> None:
        """Answer it; the first answer counts."""
        self._answers.put(answer)

    def wait(self) -> Answer:
        """Wait for its answer, in a thread."""
        return self._answers.get()


class Call:
    """One call. Made and used on the event loop.

    Args:
        work: does it; blocks.
        asks: whether its user can be asked through it.
        follows: whether somebody wants to know how it goes.

    Attributes:
        result: what ``work`` has returned; None while it runs.
    """

    def __init__(self, work: Callable[[], str], *, asks: bool, follows: bool) -> None:
        self.result: str | None = None
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._work = work
        self._caller = Withdrawal()
        self._questions: deque[Question] = deque()
        self._news = asyncio.Event()
        self._ended = asyncio.Event()
        self._lock = threading.Lock()
        self._tail = ""
        self._told = False
        self._due = False
        self._last = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        if follows:
            self._arm(HEARTBEAT)
        self._thread = threading.Thread(
            target=self._context(asks=asks, follows=follows).run, args=(self._run,), name="shellward-mcp", daemon=True
        )
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._ended.is_set()

    @property
    def seconds(self) -> float:
        """How long it takes already."""
        return self._loop.time() - self._began

    async def event(self) -> Question | None:
        """Wait until it asks something (returned), has ended, or there is progress to tell."""
        while True:
            if self.done:
                self._thread.join()  # it has nothing left to do but to end
                return None
            while self._questions:
                question = self._questions.popleft()
                if not question.over.is_set():
                    return question
            if self._due:
                self._due = False
                return None
            self._news.clear()
            await self._news.wait()

    def put_back(self, question: Question) -> None:
        """Have a question asked again."""
        self._questions.appendleft(question)

    def latest(self) -> str:
        """Return the last lines that it has printed, without escape sequences."""
        with self._lock:
            self._told, tail = False, self._tail
        lines = [line for line in ansi.strip(tail).splitlines() if line.strip()]
        return "\n".join(lines[-_LINES:])[-_SAID:]

    async def end(self) -> None:
        """End it, with what it runs in the sandbox; its questions are taken back."""
        await in_thread(self._withdraw)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _PATIENCE)
            self._thread.join()

    # -- in its thread -------------------------------------------------------------------------------------

    def _context(self, *, asks: bool, follows: bool) -> contextvars.Context:
        context = contextvars.copy_context()
        context.run(CALLER.set, self._caller)
        if asks:
            context.run(register_approval_callback, self._ask)
        if follows:
            context.run(ON_OUTPUT.set, self._hear)
        return context

    def _run(self) -> None:
        result = None
        try:
            result = self._work()
        finally:
            self._tell(self._finish, result)

    def _ask(self, request: ApprovalRequest) -> Answer:
        question = Question(request)

        def withdraw() -> None:
            question.answer(Answer("nobody", note="the question was withdrawn"))
            self._tell(question.over.set)

        request.withdrawal.listen(withdraw)
        self._tell(self._put, question)
        return question.wait()

    def _hear(self, chunk: "Chunk") -> None:
        with self._lock:
            self._tail = (self._tail + chunk.text)[-_TAIL:]
            told, self._told = self._told, True
        if not told:
            self._tell(self._printed)

    def _withdraw(self) -> None:
        with suppress(EnvironmentUnavailable):  # it is gone, and the call with it
            self._caller.withdraw()

    def _tell(self, function: Callable[..., object], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the server has ended; nobody wants to know
            self._loop.call_soon_threadsafe(function, *arguments)

    # -- on the loop ---------------------------------------------------------------------------------------

    def _finish(self, result: str | None) -> None:
        self.result = result
        if self._timer is not None:
            self._timer.cancel()
        for question in self._questions:
            question.over.set()
        self._ended.set()
        self._news.set()

    def _put(self, question: Question) -> None:
        if self.done:  # of what it has left behind, a command that is typed into
            question.answer(Answer("nobody", note="the call that began it is over"))
            return
        self._questions.append(question)
        self._news.set()

    def _printed(self) -> None:
        if not self.done:
            self._arm(max(0.0, self._last + _PAUSE - self._loop.time()))

    def _arm(self, delay: float) -> None:
        if self._timer is not None:
            if self._timer.when() <= self._loop.time() + delay:
                return
            self._timer.cancel()
        self._timer = self._loop.call_later(delay, self._is_due)

    def _is_due(self) -> None:
        self._timer, self._due, self._last = None, True, self._loop.time()
        self._arm(HEARTBEAT)
        self._news.set()


class Calls:
    """All calls of a server. Used on the event loop."""

    def __init__(self) -> None:
        self._under_way: set[Call] = set()
        self._parked: dict[str, tuple[Call, Question]] = {}

    def begin(self, work: Callable[[], str], *, asks: bool, follows: bool) -> Call:
        """Begin a call; see ``Call``.

        Raises:
            LimitReached: there are too many; nothing was begun.
        """
        self._under_way = {call for call in self._under_way if not call.done}
        if len(self._under_way) >= MOST:
            raise LimitReached(f"{MOST} calls are under way already; nothing was done")
        call = Call(work, asks=asks, follows=follows)
        self._under_way.add(call)
        return call

    def park(self, call: Call, question: Question) -> str:
        """Keep a call whose user is asked elsewhere; returns the name to ``resume`` it by, which cannot be guessed."""
        name = secrets.token_hex(16)
        self._parked[name] = (call, question)
        loop = asyncio.get_running_loop()
        loop.call_later(question.request.timeout + _GRACE, self._parked.pop, name, None)
        return name

    def resume(self, name: str) -> tuple[Call, Question] | None:
        """Return a call that was parked, once; None: it was resumed already, or given up."""
        return self._parked.pop(name, None)

    async def end_all(self) -> None:
        """End all calls, at the same time."""
        self._parked.clear()
        await asyncio.gather(*(call.end() for call in self._under_way if not call.done))
        self._under_way.clear()
