"""Calls of servers' tools that are no longer wanted: the question is taken back, the server is told to stop."""

import contextvars
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mcp_hosting import Host, plain, within

from shellward.approval.callbacks import register_approval_callback
from shellward.approval.context import ApprovalRequest
from shellward.approval.withdrawal import CALLER, Withdrawal
from shellward.terminal_tool import interrupt

LONG = 30.0


def seen(host: Host) -> dict[str, Any]:
    """What the server has got up to now."""
    return json.loads(host.call("mcp__notes__seen")["result"])


def called(host: Host, caller: Withdrawal | None, name: str, **more: Any) -> dict[str, Any]:
    """Call a tool for somebody who may no longer want it."""

    def call() -> dict[str, Any]:
        CALLER.set(caller)
        return host.call(name, {"text": "x"} if name.endswith("unknown") else None, **more)

    return contextvars.copy_context().run(call)


class Slow:
    """A person who says yes, but only once the question was taken back."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.withdrawn = False

    def __call__(self, request: ApprovalRequest) -> str:
        over = threading.Event()
        request.withdrawal.listen(over.set)
        self.asked.set()
        self.withdrawn = over.wait(LONG)
        return "once"


def by_caller(caller: Withdrawal) -> None:
    caller.withdraw()


def by_task(caller: Withdrawal) -> None:
    del caller
    assert interrupt("another") == 0
    assert interrupt("t") == 1


BOTH = pytest.mark.parametrize("end", [by_caller, by_task])


@BOTH
def test_in_the_middle_of_the_question(host: Host, end: Callable[[Withdrawal], None]) -> None:
    host.connect(notes=plain())
    person, caller, answers = Slow(), Withdrawal(), []
    with register_approval_callback(person):
        here = contextvars.copy_context()
    call = threading.Thread(
        target=lambda: answers.append(here.run(called, host, caller, "mcp__notes__unknown", task_id="t"))
    )
    call.start()
    assert person.asked.wait(LONG)
    end(caller)
    call.join(LONG)
    assert person.withdrawn
    assert answers[0]["status"] == "interrupted"
    assert "nothing was called" in answers[0]["error"]
    assert seen(host) == {"calls": [], "cancelled": 0}


@BOTH
def test_in_the_middle_of_the_call(host: Host, end: Callable[[Withdrawal], None]) -> None:
    host.connect(notes=plain(timeout=3 * LONG))
    caller = Withdrawal()
    with ThreadPoolExecutor() as pool:
        call = pool.submit(called, host, caller, "mcp__notes__hang", task_id="t")
        assert within(LONG, lambda: seen(host)["calls"] == ["hang"])
        end(caller)
        answer = call.result(LONG)
    assert answer["status"] == "interrupted"
    assert "may have been carried out" in answer["error"]
    assert within(LONG, lambda: seen(host)["cancelled"] == 1), "the server was not told"
    assert host.call("mcp__notes__echo", {"text": "on"})["result"] == '{"text": "on"}'


def test_before_it_began(host: Host) -> None:
    host.connect(notes=plain())
    caller = Withdrawal()
    caller.withdraw()
    for name in ("echo", "unknown"):
        assert called(host, caller, f"mcp__notes__{name}")["status"] == "interrupted"
    assert seen(host)["calls"] == []


def test_twenty_at_once(host: Host) -> None:
    host.connect(notes=plain(timeout=3 * LONG))
    callers = [Withdrawal() for _ in range(20)]
    with ThreadPoolExecutor(20) as pool:
        calls = [pool.submit(called, host, caller, "mcp__notes__hang", task_id="t") for caller in callers]
        assert within(LONG, lambda: len(seen(host)["calls"]) == 20)
        for caller in callers[:10]:
            caller.withdraw()
        assert {each.result(LONG)["status"] for each in calls[:10]} == {"interrupted"}
        assert not any(each.done() for each in calls[10:])
        assert interrupt("t") == 10
        assert {each.result(LONG)["status"] for each in calls[10:]} == {"interrupted"}
    assert interrupt("t") == 0


def test_a_caller_that_makes_many_calls_keeps_none_of_them(host: Host) -> None:
    host.connect(notes=plain())
    caller = Withdrawal()
    for _ in range(20):
        called(host, caller, "mcp__notes__echo")
    assert not caller._listeners
