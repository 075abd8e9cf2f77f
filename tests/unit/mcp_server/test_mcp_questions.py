"""The question as text and form, for requests of every kind; and what answers mean."""

from dataclasses import replace

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.approval.context import ApprovalRequest, Context
from shellward.approval.keys import CHOICES, Choice
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
    for part in (
        "why: It is gone.",
        "in: local image, /work",
        "reaches: unlike other local environments, this one cannot use your credentials",
        'the agent says: "tidy up"',
    ):
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
    ("said", "confirm", "kind", "scope", "part"),
    [
        ("allow once", None, "allow", "once", False),
        ("allow this command for this session", True, "allow", "session", False),
        ("allow this command always", True, "allow", "always", False),
        ("allow this part for this session", True, "allow", "session", True),
        ("allow this part always", True, "allow", "always", True),
        ("deny", None, "deny", "once", False),
        ("deny", True, "deny", "once", False),
        ("ALLOW ONCE", True, "nobody", "once", False),
        ("y", True, "nobody", "once", False),
        ("", True, "nobody", "once", False),
        (1, True, "nobody", "once", False),
        (None, True, "nobody", "once", False),
    ],
)
def test_answers(said: object, confirm: bool | None, kind: str, scope: str, part: bool) -> None:
    result = types.ElicitResult.model_construct(action="accept", content={"decision": said, "confirm": confirm})
    answer = answer_of(result, request(part="rm -rf under /srv"), "me")
    assert (answer.kind, answer.scope, answer.part) == (kind, scope, part)


@pytest.mark.parametrize("choice", [choice for choice in CHOICES if choice.wide], ids=lambda choice: choice.name)
@pytest.mark.parametrize("confirm", [None, False, "true", 1])
def test_what_allows_more_than_once_is_confirmed(choice: Choice, confirm: object) -> None:
    result = types.ElicitResult.model_construct(
        action="accept", content={"decision": choice.name} | ({} if confirm is None else {"confirm": confirm})
    )
    assert answer_of(result, request(part="rm -rf under /srv"), "me").kind == "nobody"


def test_what_is_covered_stands_beside_the_confirmation() -> None:
    """Over HTTP a server has many clients, and one task."""
    fields = form(request(part="rm -rf under /srv"))["properties"]
    said = fields["confirm"]["description"]
    assert said == "'This command' is exactly x; rm -rf /srv; 'this part' is rm -rf under /srv"
    assert fields["confirm"]["default"] is False
    assert fields["decision"]["description"].endswith("the server's task, which all its clients share")


def test_the_choices_are_those_of_the_terminal() -> None:
    asked = request(part="rm -rf under /srv")
    assert form(asked)["properties"]["decision"]["enum"] == [choice.name for choice in CHOICES]


def test_a_part_only_where_it_was_offered() -> None:
    asked = request()
    assert not any("part" in each for each in form(asked)["properties"]["decision"]["enum"])
    result = types.ElicitResult(action="accept", content={"decision": "allow this part always", "confirm": True})
    assert answer_of(result, asked, "me").kind == "nobody"


def test_no_canonical_form_is_shown() -> None:
    found = Finding("remote.run", "runs code from the network", Severity.HIGH, (0, 4), "@run sh piped net:curl")
    text = message(replace(request(), findings=(found,)))
    assert "@" not in text
    assert "runs: a shell runs what comes from the network (curl)" in text


@pytest.mark.parametrize(("action", "kind"), [("decline", "deny"), ("cancel", "nobody"), ("whatever", "nobody")])
def test_actions(action: str, kind: str) -> None:
    result = types.ElicitResult.model_construct(action=action, content={"decision": "allow once"})
    assert answer_of(result, request(), "me").kind == kind
