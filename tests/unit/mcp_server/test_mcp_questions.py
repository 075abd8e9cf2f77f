"""The question as text and form, for requests of every kind; and what answers mean."""

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.approval.context import ApprovalRequest, Context
from shellward.core.gate import Finding, Severity
from shellward.mcp_server.questions import answer_of, form, message

FINDING = Finding("files.rm", "removes a tree", Severity.HIGH, (0, 4), "rm -rf /srv", ("/srv",), "It is gone.")


def request(command: str = "x; rm -rf /srv", *, part: str = "", **context: str) -> ApprovalRequest:
    return ApprovalRequest(
        id="1",
        command=command,
        normalized=command,
        findings=(FINDING,),
        context=Context(cwd="/work", target="image", **context),
        reach=("network",),
        exact=f"exactly {command}",
        part=part,
    )


def test_everything_that_matters_is_in_it() -> None:
    text = message(request(reason="tidy up"))
    for part in ("    x; rm -rf /srv", "high: removes a tree (files.rm)", "runs: rm -rf /srv", "affects: /srv"):
        assert part in text
    for part in ("why: It is gone.", "in: local image, /work", "reaches: network", 'the agent says: "tidy up"'):
        assert part in text


def test_nothing_in_it_draws_and_secrets_are_masked() -> None:
    token = "ghp_" + "a1B2" * 9
    text = message(request(f"rm\x1b[2K\r\u202e {token}", reason="\x1b]0;x\x07"))
    assert not any(character in text for character in "\x1b\r\u202e\x07")
    assert token not in text


def test_a_long_command_says_what_is_not_shown() -> None:
    text = message(request("a" * 9000 + "MIDDLE" + "b" * 9000))
    assert len(text) < 14_000
    assert "characters are not shown" in text


@given(st.text(max_size=200), st.text(max_size=50))
def test_any_command_can_be_shown(command: str, reason: str) -> None:
    asked = request(command, reason=reason)
    types.ElicitRequestFormParams(message=message(asked), requested_schema=form(asked)).model_dump_json()


def test_who_only_confirms_denies() -> None:
    assert form(request())["properties"]["decision"]["enum"][0] == "deny"
    assert "default" not in form(request())["properties"]["decision"]


@pytest.mark.parametrize(
    ("said", "kind", "scope", "part"),
    [
        ("allow once", "allow", "once", False),
        ("allow for this session", "allow", "session", False),
        ("allow always", "allow", "always", False),
        ("allow similar for this session", "allow", "session", True),
        ("allow similar always", "allow", "always", True),
        ("deny", "deny", "once", False),
        ("ALLOW ONCE", "nobody", "once", False),
        ("", "nobody", "once", False),
        (1, "nobody", "once", False),
        (None, "nobody", "once", False),
    ],
)
def test_answers(said: object, kind: str, scope: str, part: bool) -> None:
    result = types.ElicitResult.model_construct(action="accept", content={"decision": said})
    answer = answer_of(result, request(part="rm -rf under /srv"), "me")
    assert (answer.kind, answer.scope, answer.part) == (kind, scope, part)


def test_whose_a_session_is() -> None:
    """Over HTTP a server has many clients, and one task."""
    said = form(request(part="rm -rf under /srv"))["properties"]["decision"]["description"]
    assert said.endswith(
        "Similar: rm -rf under /srv. The session is that of the server's task, which all its clients share"
    )


def test_similar_only_where_it_was_offered() -> None:
    asked = request()
    assert not any("similar" in each for each in form(asked)["properties"]["decision"]["enum"])
    result = types.ElicitResult(action="accept", content={"decision": "allow similar always"})
    assert answer_of(result, asked, "me").kind == "nobody"


@pytest.mark.parametrize(("action", "kind"), [("decline", "deny"), ("cancel", "nobody"), ("whatever", "nobody")])
def test_actions(action: str, kind: str) -> None:
    result = types.ElicitResult.model_construct(action=action, content={"decision": "allow once"})
    assert answer_of(result, request(), "me").kind == kind
