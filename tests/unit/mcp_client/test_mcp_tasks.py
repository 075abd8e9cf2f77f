"""Calls of servers' tools belong to tasks: they end with them, and so does what was approved for their session."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
from mcp_hosting import Host, plain, within

from shellward.approval.callbacks import register_approval_callback
from shellward.approval.context import ApprovalRequest
from shellward.terminal_tool import cleanup_task, close_tasks, register_task_environment
from shellward.tools.endings import endings

LONG = 30.0
TOOL = "mcp__notes__remove"


@pytest.fixture
def asked() -> Iterator[list[str]]:
    """Somebody who says yes for the session, and the tasks that he was asked for."""
    seen: list[str] = []
    with register_approval_callback(lambda request: seen.append(request.context.task) or "session"):
        yield seen


@pytest.mark.parametrize("end", ["cleanup", "register", "all"])
def test_approvals_of_a_session_end_with_its_task(host: Host, asked: list[str], end: str) -> None:
    host.connect(notes=plain())

    def call(task: str | None) -> None:
        assert host.call(TOOL, {"text": "x"}, task_id=task) == {"result": '{"text": "x"}'}

    for _ in range(2):
        call("t1")
        call("t2")
    assert asked == ["t1", "t2"]
    if end == "cleanup":
        assert not cleanup_task("t1"), "there was no environment, and nothing under way"
    elif end == "register":
        register_task_environment("t1", "local")
    else:
        close_tasks()
    call("t1")
    assert asked == ["t1", "t2", "t1"]
    call("t2")
    assert asked == ["t1", "t2", "t1", *(["t2"] if end == "all" else [])]


def test_the_default_task_has_a_session_too(host: Host, asked: list[str]) -> None:
    host.connect(notes=plain())
    for task in (None, "default"):
        host.call(TOOL, {"text": "x"}, task_id=task)
    assert asked == [""]
    cleanup_task()
    host.call(TOOL, {"text": "x"})
    assert asked == ["", ""]


def test_what_is_approved_for_good_stays(host: Host) -> None:
    host.connect(notes=plain())
    with register_approval_callback(lambda _: "always"):
        host.call(TOOL, {"text": "x"}, task_id="t")
    cleanup_task("t")
    assert host.call(TOOL, {"text": "x"}, task_id="t") == {"result": '{"text": "x"}'}


def test_calls_end_with_their_task(host: Host) -> None:
    host.connect(notes=plain(timeout=3 * LONG))
    with ThreadPoolExecutor(21) as pool:
        calls = [pool.submit(host.call, "mcp__notes__hang", task_id="t") for _ in range(20)]
        other = pool.submit(host.call, "mcp__notes__hang", task_id="other")
        assert within(LONG, lambda: host.call("mcp__notes__seen")["result"].count("hang") == 21)
        assert cleanup_task("t")
        assert {each.result(LONG)["status"] for each in calls} == {"interrupted"}
        assert not other.done()
        close_tasks()
        assert other.result(LONG)["status"] == "interrupted"
    assert not cleanup_task("t")


def test_an_answer_that_comes_with_the_end_is_remembered_by_nobody(host: Host) -> None:
    """Cleaning up waits for a call whose question is answered in this moment; what is remembered then goes, too."""
    host.connect(notes=plain())
    questions: list[ApprovalRequest] = []
    asked = threading.Event()

    def late(request: ApprovalRequest) -> str:
        questions.append(request)
        if len(questions) == 1:
            over = threading.Event()
            request.withdrawal.listen(over.set)
            asked.set()
            over.wait(LONG)
        return "session"

    with register_approval_callback(late), ThreadPoolExecutor() as pool:
        call = pool.submit(copy_context().run, host.call, TOOL, {"text": "x"}, task_id="t")
        assert asked.wait(LONG)
        assert cleanup_task("t")
        assert call.done(), "it was not waited for"
        host.call(TOOL, {"text": "x"}, task_id="t")
    assert len(questions) == 2


def test_who_is_closed_hears_of_no_more_ends(host: Host) -> None:
    before = len(endings._listeners)
    host.connect(notes=plain())
    host.call("mcp__notes__echo", {"text": "x"})
    assert len(endings._listeners) == before + 1
    host.servers.close()
    assert len(endings._listeners) == before
