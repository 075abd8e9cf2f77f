"""Approvals through the client: asked where the gate asks, once, for exactly what runs; nobody there is a refusal."""

import asyncio
import threading
from pathlib import Path

import mcp_types as types
import pytest
from mcp import MCPError
from mcphost import CANCEL, DECLINE, DENY, LEGACY, MODERN, MODES, ONCE, SETTINGS, Absent, Host, Person, host, until

from shellward.approval.context import Answer, ApprovalRequest
from shellward.approval.queue import Queue
from shellward.config import paths
from shellward.mcp_server import questions

BOTH = pytest.mark.parametrize("mode", MODES)


def names_in(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def accepted(decision: object) -> types.ElicitResult:
    return types.ElicitResult.model_construct(action="accept", content={"decision": decision})


@BOTH
def test_approved_runs_once(mode: str, place: Path) -> None:
    person = Person(ONCE)

    async def test(made: Host) -> None:
        assert (await made.terminal("true"))["exit_code"] == 0
        assert person.asked == []
        said = await made.terminal("echo run >>log; touch there", reason="I need it")
        assert said["exit_code"] == 0
        assert said["approval"]["decided_by"] == "person"
        assert "user of " in said["approval"]["reason"]
        assert (place / "log").read_text() == "run\n"
        assert (place / "there").exists()

    host(mode, test, person)
    (question,) = person.asked
    assert "    echo run >>log; touch there\n" in question.message
    assert 'the agent says: "I need it"' in question.message
    assert question.requested_schema["properties"]["decision"]["enum"][:2] == ["deny", "allow once"]


@BOTH
def test_a_long_question_does_not_hold_the_others_up(mode: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is searched for secrets beside the event loop, which answers meanwhile."""
    begun, go_on, made_by = threading.Event(), threading.Event(), []
    original = questions.message

    def message(request: ApprovalRequest) -> str:
        made_by.append(threading.current_thread())
        begun.set()
        go_on.wait(20)
        return original(request)

    monkeypatch.setattr(questions, "message", message)
    person = Person(ONCE)

    async def test(made: Host) -> None:
        asked = asyncio.create_task(made.terminal("touch there; : " + "token=abc123 " * 10_000))
        assert await until(begun.is_set)
        assert {tool.name for tool in (await made.client.list_tools()).tools} >= {"terminal"}
        assert not asked.done()
        go_on.set()
        assert (await asked)["exit_code"] == 0
        assert (place / "there").exists()

    host(mode, test, person)
    assert threading.main_thread() not in made_by
    assert "abc123" not in person.asked[0].message


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(
    ("answer", "by"),
    [
        (DENY, "person"),
        (DECLINE, "person"),
        (CANCEL, "nobody"),
        (accepted("yes, all of it"), "nobody"),
        (accepted(True), "nobody"),
        (types.ElicitResult(action="accept"), "nobody"),
    ],
)
def test_anything_else_is_a_refusal(mode: str, place: Path, answer: types.ElicitResult, by: str) -> None:
    async def test(made: Host) -> None:
        said = await made.terminal("touch there")
        assert said["status"] == "denied"
        assert said["approval"]["decided_by"] == by
        assert not (place / "there").exists()
        assert (await made.terminal("echo on"))["output"] == "on\n"

    host(mode, test, Person(answer))


@pytest.mark.slow
@BOTH
def test_for_the_session(mode: str) -> None:
    sure = types.ElicitResult(
        action="accept", content={"decision": "allow this command for this session", "confirm": True}
    )
    person = Person(sure, DENY)

    async def test(made: Host) -> None:
        assert (await made.terminal("touch there"))["exit_code"] == 0
        assert (await made.terminal("touch there"))["approval"]["decided_by"] == "grant"
        assert (await made.terminal("touch elsewhere"))["status"] == "denied"

    host(mode, test, person)
    assert len(person.asked) == 2


@pytest.mark.slow
@BOTH
def test_files_are_asked_about_too(mode: str, place: Path, settings: Path) -> None:
    settings.write_text('approval: {rules: [{action: ask, glob: "*secret*"}]}')
    person = Person(DENY, ONCE)

    async def test(made: Host) -> None:
        assert (await made.told("write_file", path="secret.txt", content="x"))["status"] == "denied"
        assert not (place / "secret.txt").exists()
        assert "error" not in await made.told("write_file", path="secret.txt", content="x")
        assert (place / "secret.txt").read_text() == "x"

    host(mode, test, person)


@pytest.mark.slow
@BOTH
def test_several_questions_in_one_call(mode: str, place: Path) -> None:
    person = Person(ONCE, DENY, ONCE)
    code = (
        "from shellward_tools import terminal\n"
        "for name in 'abc':\n"
        "    print(name, terminal(f'touch {name}').get('status', 'ran'))\n"
    )

    async def test(made: Host) -> None:
        said = await made.told("execute_code", code=code)
        assert said["output"] == "a ran\nb denied\nc ran\n"
        assert names_in(place) == ["a", "c"]

    host(mode, test, person)
    assert len(person.asked) == 3


@BOTH
def test_nobody_can_be_asked(mode: str, place: Path) -> None:
    async def test(made: Host) -> None:
        said = await made.terminal("touch there")
        assert said["status"] == "denied"
        assert said["approval"]["decided_by"] == "nobody"
        assert "shellward approvals watch" in said["hint"]
        assert "in the approval section of config.yaml" in said["error"]
        assert not (place / "there").exists()

    host(mode, test)


@pytest.mark.slow
@BOTH
def test_somebody_watches_the_queue(mode: str) -> None:
    seen = threading.Event()
    queue = Queue(paths.approvals_dir())

    def watch() -> None:
        for entries in queue.watch():
            seen.set()
            for entry in entries:
                queue.answer(entry.request.id, Answer("allow", by="somebody"))
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    assert seen.wait(20)

    async def test(made: Host) -> None:
        said = await made.terminal("touch there")
        assert said["exit_code"] == 0
        assert "somebody" in said["approval"]["reason"]

    host(mode, test)
    watcher.join(20)


@pytest.mark.slow
@BOTH
def test_never_allowed_is_not_asked_about(mode: str, settings: Path) -> None:
    settings.write_text('approval: {rules: [{action: deny, glob: "touch *"}]}')
    person = Person(ONCE)

    async def test(made: Host) -> None:
        said = await made.terminal("touch there")
        assert said["approval"]["decided_by"] == "deny-rule"
        assert "hint" not in said

    host(mode, test, person)
    assert person.asked == []


@pytest.mark.slow
@BOTH
def test_time_is_up(mode: str, place: Path, settings: Path) -> None:
    settings.write_text(SETTINGS.format(timeout=1))
    person = Absent()

    async def test(made: Host) -> None:
        call = asyncio.ensure_future(made.terminal("touch there"))
        seen = asyncio.ensure_future(person.seen.wait())
        await asyncio.wait([seen, call], return_when=asyncio.FIRST_COMPLETED)
        seen.cancel()
        if mode == MODERN and not call.done():  # the server has answered, and waits for nothing any more
            assert await until(lambda: all(each.done for each in made.endpoint.calls._under_way))
            call.cancel()
        else:
            assert (await call)["status"] == "denied"
        assert not (place / "there").exists()
        assert (await made.terminal("echo on"))["output"] == "on\n"

    host(mode, test, person)


@pytest.mark.slow
@BOTH
def test_cancelled_while_asked(mode: str, place: Path) -> None:
    person = Absent()

    async def test(made: Host) -> None:
        call = asyncio.ensure_future(made.terminal("touch there"))
        await person.seen.wait()
        call.cancel()
        await asyncio.wait([call])
        assert (await made.terminal("echo on", timeout=5))["exit_code"] in {0, None}
        assert not (place / "there").exists()

    host(mode, test, person)


class Rounds:
    """The rounds of a modern call, by hand."""

    def __init__(self, made: Host, command: str) -> None:
        self.session = made.client.session
        self.arguments = {"command": command}

    async def first(self) -> str:
        asked = await self.session.call_tool("terminal", self.arguments, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        assert asked.request_state
        return asked.request_state

    async def then(self, state: str, answers: dict | None = None, **more: object) -> types.CallToolResult:
        answers = {"approval": ONCE} if answers is None else answers
        given = {"arguments": self.arguments, **more}
        return await self.session.call_tool(
            "terminal", input_responses=answers, request_state=state, allow_input_required=True, **given
        )


def test_an_answer_counts_once_and_for_its_command(place: Path) -> None:
    async def test(made: Host) -> None:
        rounds = Rounds(made, "echo run >>log; touch there")
        state = await rounds.first()
        for wrong in (state[:-2] + "xx", "v1.nonsense", "0" * 32):
            with pytest.raises(MCPError, match="requestState"):
                await rounds.then(wrong)
        with pytest.raises(MCPError, match="requestState"):
            await rounds.then(state, arguments={"command": "touch elsewhere"})
        assert not (place / "there").exists()
        assert not (await rounds.then(state)).is_error
        again = await rounds.then(state)
        assert again.is_error
        assert "answered already" in again.content[0].text
        assert (place / "log").read_text() == "run\n"

    host(MODERN, test, Person(ONCE))


@pytest.mark.slow
def test_who_comes_without_an_answer_is_asked_again(place: Path) -> None:
    async def test(made: Host) -> None:
        rounds = Rounds(made, "touch there")
        state = await rounds.first()
        asked = await rounds.then(state, answers={})
        assert isinstance(asked, types.InputRequiredResult)
        assert not (place / "there").exists()
        assert not (await rounds.then(asked.request_state)).is_error
        assert (place / "there").exists()

    host(MODERN, test, Person(ONCE))


@pytest.mark.slow
def test_a_client_that_fails_to_ask() -> None:
    async def broken(context: object, params: object) -> types.ErrorData:
        del context, params
        return types.ErrorData(code=-32603, message="no window")

    async def test(made: Host) -> None:
        said = await made.terminal("touch there")
        assert said["approval"]["decided_by"] == "nobody"
        assert "no window" in said["approval"]["reason"]

    host(LEGACY, test, broken)
