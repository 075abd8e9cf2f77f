"""Calls of servers' tools pass the gate. The server takes commands and does nothing with them."""

import contextvars
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_hosting import Host, plain, within

from shellward.approval.callbacks import register_approval_callback
from shellward.approval.context import ApprovalRequest
from shellward.config import paths


@pytest.fixture
def asked() -> Iterator[list[ApprovalRequest]]:
    """Somebody who says yes once, and what he was asked."""
    seen: list[ApprovalRequest] = []
    with register_approval_callback(lambda request: seen.append(request) or "once"):
        yield seen


def test_without_anybody_to_ask_what_is_not_known_is_denied(host: Host) -> None:
    host.connect(notes=plain())
    answer = host.call("mcp__notes__unknown", {"text": "x"})
    assert answer["status"] == "denied"
    assert "mcp.unknown-effect" in answer["error"]
    assert "calls: allow in mcp_servers.notes" in answer["error"]
    assert "Nothing was called." in answer["error"]
    assert host.call("mcp__notes__remove", {"text": "x"})["status"] == "denied"
    assert host.call("mcp__notes__echo", {"text": "x"}) == {"result": '{"text": "x"}'}


def test_with_a_person_who_says_yes(host: Host, asked: list[ApprovalRequest]) -> None:
    host.connect(notes=plain())
    answer = host.call("mcp__notes__remove", {"text": "x"}, task_id="t1", user_task="tidy up")
    assert answer == {"result": '{"text": "x"}'}
    (request,) = asked
    assert request.command == 'mcp notes remove \'{"text":"x"}\''
    assert (request.context.backend, request.context.target, request.context.task) == ("mcp", "notes", "t1")
    assert request.context.goal == "tidy up"
    assert [each.rule for each in request.findings] == ["mcp.destructive"]


def test_by_the_settings_of_the_server(host: Host, asked: list[ApprovalRequest]) -> None:
    host.connect(trusted=plain(calls="allow"), watched=plain(calls="ask"))
    assert host.call("mcp__trusted__remove", {"text": "x"}) == {"result": '{"text": "x"}'}
    assert not asked
    assert host.call("mcp__watched__echo", {"text": "x"}) == {"result": '{"text": "x"}'}
    assert [each.rule for each in asked[0].findings] == ["mcp.call"]


def test_commands_are_judged_whatever_the_settings_say(host: Host) -> None:
    host.connect(notes=plain(calls="allow"))
    answer = host.call("mcp__notes__run", {"command": "rm -rf /srv/data"})
    assert answer["status"] == "denied"
    assert host.call("mcp__notes__run", {"command": "ls -l"}) == {"result": '{"command": "ls -l"}'}


def test_what_nobody_can_approve(host: Host, asked: list[ApprovalRequest]) -> None:
    host.connect(notes=plain(calls="allow"))
    answer = host.call("mcp__notes__run", {"command": "rm -rf --no-preserve-root /"})
    assert answer["status"] == "denied"
    assert not asked


def test_rules_of_the_user(host: Host, own_home: Path) -> None:
    own_home.mkdir(exist_ok=True)
    rules = [
        {"action": "allow", "argv": ["mcp", "notes", "unknown"]},
        {"action": "deny", "glob": "mcp notes echo *", "note": "no echoes"},
    ]
    (own_home / "config.yaml").write_text(json.dumps({"approval": {"rules": rules}}))
    host.connect(notes=plain())
    assert host.call("mcp__notes__unknown", {"text": "x"}) == {"result": '{"text": "x"}'}
    assert "no echoes" in host.call("mcp__notes__echo", {"text": "x"})["error"]
    assert host.call("mcp__notes__remove", {"text": "x"})["status"] == "denied"


def test_calls_are_in_the_log(host: Host, asked: list[ApprovalRequest]) -> None:
    host.connect(notes=plain())
    host.call("mcp__notes__unknown", {"text": "x"})
    assert asked
    records = [json.loads(line) for line in paths.audit_file().read_text().splitlines()]
    decision = next(each for each in records if each["event"] == "decision")
    assert decision["command"].startswith("mcp notes unknown")
    assert any(each["event"] == "outcome" and each["exit_code"] == 0 for each in records)


def test_a_tool_that_fails_is_in_the_log_as_that(host: Host, asked: list[ApprovalRequest]) -> None:
    host.connect(notes=plain(calls="ask"))
    assert "error" in host.call("mcp__notes__fail")
    assert asked
    records = [json.loads(line) for line in paths.audit_file().read_text().splitlines()]
    assert [each["exit_code"] for each in records if each["event"] == "outcome"] == [1]


def test_a_refusal_says_who_has_decided(host: Host) -> None:
    """As the terminal tool's does: by that a client is told how somebody could be asked."""
    host.connect(notes=plain())
    approval = host.call("mcp__notes__unknown", {"text": "x"})["approval"]
    assert (approval["verdict"], approval["decided_by"]) == ("deny", "nobody")
    assert [each["rule"] for each in approval["findings"]] == ["mcp.unknown-effect"]


def test_nothing_of_calls_is_kept_by_the_gate(host: Host) -> None:
    host.connect(notes=plain())
    for number in range(5):
        host.call("mcp__notes__echo", {"text": str(number)})
    assert host.servers._door._gate._unasked.cache_info().currsize == 0


def test_a_question_is_taken_back_when_the_servers_are_closed(host: Host) -> None:
    waiting, withdrawn = threading.Event(), []

    def nobody(request: ApprovalRequest) -> str:
        over = threading.Event()
        request.withdrawal.listen(over.set)
        waiting.set()
        withdrawn.append(over.wait(30))
        return "deny"

    answers: list[dict[str, object]] = []
    with register_approval_callback(nobody):
        host.connect(notes=plain())
        here = contextvars.copy_context()  # where the callback is registered
        call = threading.Thread(
            target=lambda: answers.append(here.run(host.call, "mcp__notes__unknown", {"text": "x"}))
        )
        call.start()
        assert waiting.wait(30)
        host.servers.close()
        assert within(30, lambda: answers)
        call.join()
    assert withdrawn == [True]
    assert answers[0]["status"] == "denied"
