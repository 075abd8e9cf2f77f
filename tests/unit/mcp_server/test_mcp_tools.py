"""Tools through the SDK's own client, over both protocols: listed, called, many at once, wrong."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import MCPError, types
from mcphost import MODES, Host, host

from shellward.mcp_server import calls
from shellward.tools import get_tool_definitions

pytestmark = pytest.mark.parametrize("mode", MODES)


def test_tools_are_those_of_the_runtime_with_annotations(mode: str) -> None:
    async def test(made: Host) -> None:
        listed = {tool.name: tool for tool in (await made.client.list_tools()).tools}
        definitions = {each["function"]["name"]: each["function"] for each in get_tool_definitions(["coding"])}
        assert set(listed) == set(definitions) >= {"terminal", "process", "patch", "read_file", "execute_code"}
        for name, tool in listed.items():
            assert tool.description == definitions[name]["description"]
            assert tool.input_schema == json.loads(json.dumps(definitions[name]["parameters"]))
            assert tool.annotations is not None, name
        assert {name for name, tool in listed.items() if tool.annotations.read_only_hint} == {
            "read_file",
            "search_files",
            "read_result",
        }
        assert listed["terminal"].annotations.destructive_hint
        assert listed["terminal"].annotations.open_world_hint

    host(mode, test)


def test_calls_share_a_session(mode: str, place: Path) -> None:
    async def test(made: Host) -> None:
        assert (await made.terminal("mkdir there && cd there && X=5"))["exit_code"] == 0
        said = await made.terminal("pwd; echo $X; false")
        assert said == {"output": f"{place}/there\n5\n", "exit_code": 1, "error": None}
        await made.told("write_file", path="f.txt", content="hello\n")
        assert "hello" in (await made.told("read_file", path="f.txt"))["content"]
        assert (place / "there" / "f.txt").read_text() == "hello\n"

    host(mode, test)


@pytest.mark.slow
def test_only_tools_of_the_toolsets(mode: str, place: Path) -> None:
    async def test(made: Host) -> None:
        assert {tool.name for tool in (await made.client.list_tools()).tools} == {
            "read_file",
            "search_files",
            "read_result",
        }
        said = await made.terminal("touch there")
        assert "terminal" in said["error"]
        assert not (place / "there").exists()
        assert (await made.client.list_resources()).resources == []

    host(mode, test, toolsets=["reading"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("terminal", {}, "command"),
        ("terminal", {"command": 5, "nonsense": 1}, "nonsense"),
        ("no_such_tool", {}, "no_such_tool"),
        ("terminal", {"command": "true", "timeout": -1}, "timeout"),
        ("read_file", {"path": "not there"}, "not there"),
    ],
)
def test_what_is_wrong_is_a_result(mode: str, name: str, arguments: dict, says: str) -> None:
    async def test(made: Host) -> None:
        said = await made.told(name, **arguments)
        assert says in said["error"]

    host(mode, test)


@pytest.mark.slow
def test_strange_output_arrives(mode: str) -> None:
    async def test(made: Host) -> None:
        said = await made.terminal(r"printf 'a\0b\377\355\240\200\033[31mred\033[0m \342\202\254'")
        assert said["output"].startswith("ab")
        assert said["output"].endswith("red €")

    host(mode, test)


@pytest.mark.slow
def test_twenty_at_once(mode: str) -> None:
    async def test(made: Host) -> None:
        said = await asyncio.gather(*(made.terminal(f"sleep 0.2; echo {number}") for number in range(20)))
        assert [each["output"] for each in said] == [f"{number}\n" for number in range(20)]

    host(mode, test)


@pytest.mark.slow
def test_too_many_at_once(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST", 2)

    async def test(made: Host) -> None:
        slow = [asyncio.ensure_future(made.terminal("sleep 0.5")) for _ in range(2)]
        await asyncio.sleep(0.2)
        assert "2 calls are under way" in (await made.terminal("true"))["error"]
        assert [each["exit_code"] for each in await asyncio.gather(*slow)] == [0, 0]
        assert (await made.terminal("true"))["exit_code"] == 0

    host(mode, test)


@pytest.mark.slow
def test_ends_in_the_background_are_told(mode: str) -> None:
    async def test(made: Host) -> None:
        def ends(result: types.CallToolResult) -> list[str]:
            return [each.text for each in result.content[1:] if isinstance(each, types.TextContent)]

        # The notice comes with the first answer after the end, which may be that to the start.
        first = await made.call("terminal", command="exit 3", background=True, notify_on_complete=True)
        started = cast("dict[str, Any]", first.structured_content)
        told = ends(first) + ends(await made.call("process", action="wait", session_id=started["session_id"]))
        for _ in range(50):
            if told:
                break
            told += ends(await made.call("terminal", command="sleep 0.1"))
        assert told == [f"background process {started['session_id']} has ended: exit code 3"]

    host(mode, test)


@pytest.mark.slow
def test_screen_of_a_terminal(mode: str) -> None:
    async def test(made: Host) -> None:
        assert (await made.client.list_resources()).resources == []
        (template,) = (await made.client.list_resource_templates()).resource_templates
        assert template.uri_template == "shellward://screen/{session_id}"
        command = r"printf '\033[2J\033[3;5Hhere'; sleep 1000"
        started = await made.terminal(command, background=True, pty=True)
        plain = await made.terminal("sleep 1000", background=True)
        (resource,) = (await made.client.list_resources()).resources
        assert str(resource.uri) == f"shellward://screen/{started['session_id']}"
        for _ in range(100):
            (shown,) = (await made.client.read_resource(str(resource.uri))).contents
            if "here" in shown.text:
                break
            await asyncio.sleep(0.05)
        assert shown.text.split("\n")[2] == "    here"
        for wrong in (
            f"shellward://screen/{plain['session_id']}",
            "shellward://screen/p000000000000",
            started["session_id"][:3],
            "shellward://screen/../x",
        ):
            with pytest.raises(MCPError, match="no such screen"):
                await made.client.read_resource(wrong)

    host(mode, test)
