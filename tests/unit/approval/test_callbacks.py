"""Callbacks, plain and asynchronous: late, failing, withdrawn, twenty at once."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar

import pytest

from shellward.approval import callbacks
from shellward.approval.callbacks import register_approval_callback
from shellward.approval.context import Answer, ApprovalRequest
from shellward.approval.withdrawal import Withdrawal

COLOUR: ContextVar[str] = ContextVar("colour", default="none")


def request(timeout: float = 10.0, **fields: object) -> ApprovalRequest:
    return ApprovalRequest(id="a", command="rm", normalized="rm", findings=(), timeout=timeout, **fields)  # type: ignore[arg-type]


REPLIES = [
    (True, Answer("allow", by="callback")),
    (False, Answer("deny", by="callback")),
    ("once", Answer("allow", "once", by="callback")),
    ("session", Answer("allow", "session", by="callback")),
    ("always", Answer("allow", "always", by="callback")),
    ("deny", Answer("deny", by="callback")),
    (Answer("allow", "always", part=True, by="x"), Answer("allow", "always", part=True, by="x")),
]


@pytest.mark.parametrize(("reply", "answer"), REPLIES)
def test_what_a_callback_may_say(reply: object, answer: Answer) -> None:
    with register_approval_callback(lambda _: reply):  # type: ignore[arg-type,return-value]
        assert callbacks.ask(request()) == answer


@pytest.mark.parametrize("reply", [None, "yes", "approve", "ALLOW", 1, 0, [], object(), "", {"allow": True}])
def test_what_is_not_understood_is_no_approval(reply: object) -> None:
    with register_approval_callback(lambda _: reply):  # type: ignore[arg-type,return-value]
        assert callbacks.ask(request()).kind == "nobody"


def test_it_sees_the_request_and_the_callers_context() -> None:
    seen = []

    def callback(asked: ApprovalRequest) -> str:
        seen.append((asked.command, COLOUR.get()))
        return "once"

    COLOUR.set("red")
    with register_approval_callback(callback):
        callbacks.ask(request())
    assert seen == [("rm", "red")]


def test_it_belongs_to_its_context() -> None:
    with register_approval_callback(lambda _: True):
        assert callbacks.registered()
        found = []
        thread = threading.Thread(target=lambda: found.append(callbacks.registered()))
        thread.start()
        thread.join()
        assert found == [False]
        with register_approval_callback(lambda _: False):
            assert callbacks.ask(request()).kind == "deny"
        assert callbacks.ask(request()).kind == "allow"
    assert not callbacks.registered()
    assert callbacks.ask(request()).kind == "nobody"


def fails(_: ApprovalRequest) -> bool:
    raise RuntimeError("secret detail")


async def afails(_: ApprovalRequest) -> bool:
    raise RuntimeError("secret detail")


@pytest.mark.parametrize("callback", [fails, afails])
def test_a_failing_callback_is_no_approval(callback: Callable[[ApprovalRequest], bool]) -> None:
    with register_approval_callback(callback):
        answer = callbacks.ask(request())
    assert (answer.kind, answer.note) == ("nobody", "the approval callback failed: RuntimeError")


def test_a_late_plain_callback() -> None:
    go = threading.Event()
    seen = []

    def callback(asked: ApprovalRequest) -> bool:
        go.wait(20)
        seen.append(asked.withdrawal.done)
        return True

    with register_approval_callback(callback):
        assert callbacks.ask(request(timeout=0.05)).note == "no answer within 0.05 seconds"
    go.set()
    _settle()
    assert seen == [True], "it can see that nobody waits any more"


def test_a_late_async_callback_is_cancelled() -> None:
    cancelled = threading.Event()

    async def callback(_: ApprovalRequest) -> bool:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return True

    with register_approval_callback(callback):
        assert callbacks.ask(request(timeout=0.1)).kind == "nobody"
    assert cancelled.wait(10)
    _settle()


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_withdrawn_while_waiting(kind: str) -> None:
    withdrawal = Withdrawal()
    started, go = threading.Event(), threading.Event()

    def plain(_: ApprovalRequest) -> bool:
        started.set()
        return go.wait(20)

    async def coroutine(_: ApprovalRequest) -> bool:
        started.set()
        await asyncio.sleep(60)
        return True

    threading.Thread(target=lambda: started.wait(20) and withdrawal.withdraw()).start()
    with register_approval_callback(plain if kind == "plain" else coroutine):
        assert callbacks.ask(request(withdrawal=withdrawal)).note == "the question was withdrawn"
    go.set()
    _settle()


def test_async_callback_on_the_loop_that_registered_it() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def callback(_: ApprovalRequest) -> bool:
            assert asyncio.get_running_loop() is loop
            await asyncio.sleep(0)
            return True

        with register_approval_callback(callback):
            assert (await asyncio.to_thread(callbacks.ask, request())).kind == "allow"
            assert (await callbacks.aask(request())).kind == "allow"
            # A plain caller on the loop's own thread would wait for itself: it gets a loop apart.
            other = register_approval_callback(_yes)
            assert callbacks.ask(request()).kind == "allow"
            other.unregister()

    asyncio.run(main())
    _settle()


async def _yes(_: ApprovalRequest) -> bool:
    await asyncio.sleep(0)
    return True


class _Callable:
    async def __call__(self, _: ApprovalRequest) -> bool:
        return True


def test_an_object_with_an_async_call_is_a_coroutine_function() -> None:
    with register_approval_callback(_Callable()):
        assert callbacks.is_async()
        assert callbacks.ask(request()).kind == "allow"
    _settle()


def test_async_late_and_failing() -> None:
    async def main() -> None:
        async def late(_: ApprovalRequest) -> bool:
            await asyncio.sleep(60)
            return True

        with register_approval_callback(late):
            assert (await callbacks.aask(request(timeout=0.05))).kind == "nobody"
        with register_approval_callback(afails):
            assert (await callbacks.aask(request())).kind == "nobody"
        assert (await callbacks.aask(request())).kind == "nobody"

    asyncio.run(main())


def test_twenty_at_once_each_get_their_own_answer() -> None:
    async def main() -> list[Answer]:
        async def callback(asked: ApprovalRequest) -> Answer:
            await asyncio.sleep(0.01)
            return Answer("allow", by=asked.normalized)

        with register_approval_callback(callback):
            asked = [ApprovalRequest(id="a", command="rm", normalized=str(number), findings=()) for number in range(20)]
            return await asyncio.gather(*(callbacks.aask(one) for one in asked))

    assert [answer.by for answer in asyncio.run(main())] == [str(number) for number in range(20)]


def _settle() -> None:
    """Let the threads of callbacks that were given up come to their end."""
    deadline = time.monotonic() + 10
    while any(thread.name == "shellward-approval" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
