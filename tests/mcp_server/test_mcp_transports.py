"""The SDK's own client against a server in another process: both transports, both protocols."""

import asyncio
import json
import socket
from contextlib import suppress
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcpserver import MODES, TRANSPORTS, Place, client_with, connected, later, mark, running, stubborn

pytestmark = pytest.mark.slow
EACH = [pytest.param(transport, mode, id=f"{transport}-{mode}") for transport in TRANSPORTS for mode in MODES]
TOKEN = "a-token-of-32-characters-at-least"


def said(result: types.CallToolResult) -> dict[str, Any]:
    assert isinstance(result.content[0], types.TextContent)
    return json.loads(result.content[0].text)


async def terminal(client: Client, command: str, **more: Any) -> dict[str, Any]:
    return said(await client.call_tool("terminal", {"command": command}, **more))


@pytest.mark.parametrize(("transport", "mode"), EACH)
def test_all_of_it(place: Place, transport: str, mode: str) -> None:
    asked: list[types.ElicitRequestFormParams] = []
    told: list[str] = []

    async def person(context: object, params: Any) -> types.ElicitResult:
        del context
        asked.append(params)
        return types.ElicitResult(action="accept", content={"decision": "allow once"})

    async def progress(value: float, total: float | None, message: str | None) -> None:
        del value, total
        told.append(message or "")

    async def main() -> None:
        async with asyncio.timeout(100), connected(place, transport, mode, person) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else mode)
            assert "terminal" in {tool.name for tool in (await client.list_tools()).tools}
            assert await terminal(client, "cd /tmp && X=5") == {
                "output": "",
                "exit_code": 0,
                "error": None,
                "cwd": "/tmp",
            }
            assert (await terminal(client, f"echo $X; cd {place.work}"))["output"] == "5\n"
            assert (await terminal(client, "touch there"))["approval"]["decided_by"] == "person"
            assert (place.work / "there").exists()
            await terminal(client, "echo one; sleep 0.5; echo two; sleep 0.5", progress_callback=progress)
            assert told == ["one", "one\ntwo"]
            both = await asyncio.gather(*(terminal(client, f"sleep 0.1; echo {number}") for number in range(20)))
            assert [each["output"] for each in both] == [f"{number}\n" for number in range(20)]
            started = await client.call_tool(
                "terminal", {"command": "printf shown; sleep 1000", "background": True, "pty": True}
            )
            uri = f"shellward://screen/{said(started)['session_id']}"
            assert uri in {str(each.uri) for each in (await client.list_resources()).resources}
            for _ in range(100):
                if "shown" in (await client.read_resource(uri, cache_mode="bypass")).contents[0].text:
                    break
                await asyncio.sleep(0.05)
            else:
                pytest.fail("the screen stays empty")

    asyncio.run(main())
    assert len(asked) == 1


@pytest.mark.parametrize(("transport", "mode"), EACH)
def test_cancelled_in_the_middle(place: Place, transport: str, mode: str) -> None:
    word = mark()

    async def main() -> None:
        async with asyncio.timeout(100), connected(place, transport, mode) as client:
            call = asyncio.ensure_future(terminal(client, stubborn(word)))
            assert await later(lambda: len(running(word)) >= 2)
            call.cancel()
            await asyncio.wait([call])
            assert await later(lambda: not running(word))
            assert (await terminal(client, "echo on"))["output"] == "on\n"

    asyncio.run(main())


@pytest.mark.parametrize(("transport", "mode"), EACH)
def test_nobody_to_ask(place: Place, transport: str, mode: str) -> None:
    async def main() -> None:
        async with asyncio.timeout(100), connected(place, transport, mode) as client:
            refused = await terminal(client, "touch there")
            assert refused["status"] == "denied"
            assert "approvals watch" in refused["hint"]

    asyncio.run(main())
    assert not (place.work / "there").exists()


@pytest.mark.parametrize("mode", MODES)
def test_token_origin_and_host(place: Place, mode: str) -> None:
    bearer = f"Bearer {TOKEN}"

    async def refused(url: str, status: int, **headers: str) -> None:
        async with httpx2.AsyncClient() as http:
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            answer = await http.post(url, json=body, headers=headers)
            assert answer.status_code == status, answer.text
            assert (answer.headers.get("www-authenticate") is not None) == (status == 401)

    async def main(url: str) -> None:
        async with asyncio.timeout(100):
            async with client_with(url, mode, authorization=bearer) as client:
                assert (await terminal(client, "echo on"))["output"] == "on\n"
            page = {"authorization": bearer, "origin": "https://app.example"}
            async with client_with(url, mode, **page) as client:
                assert (await terminal(client, "echo on"))["output"] == "on\n"
            await refused(url, 401)
            await refused(url, 401, authorization="Bearer wrong")
            await refused(url, 403, authorization=bearer, origin="https://evil.example")
            await refused(url, 421, authorization=bearer, host="evil.example")
            for origin, status in (("https://app.example", 200), ("https://evil.example", 400)):
                asks = {"origin": origin, "access-control-request-method": "POST"}
                async with httpx2.AsyncClient() as http:
                    answer = await http.options(url, headers=asks)
                assert answer.status_code == status
                assert (answer.headers.get("access-control-allow-origin") == origin) == (status == 200)
            await refused(url.removesuffix("/mcp") + "/", 404, authorization=bearer)

    with place.http("--allow-origin", "https://app.example", SHELLWARD_MCP_TOKEN=TOKEN) as (url, _):
        asyncio.run(main(url))


def test_what_is_no_request_does_no_harm(place: Place) -> None:
    bodies = [b"", b"nonsense", b"{", b"[]", b"[" * 100_000, b"\xff", b"5", b'{"jsonrpc": "2.0"}', b'{"id": 1}']
    accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}

    async def main(url: str) -> None:
        async with asyncio.timeout(100), httpx2.AsyncClient() as http:
            for version in ("2025-11-25", "2026-07-28", "nonsense"):
                for body in bodies:
                    headers = {**accept, "mcp-protocol-version": version}
                    answer = await http.post(url, content=body, headers=headers)
                    assert 400 <= answer.status_code < 500, (version, body, answer.status_code)
            assert (await http.post(url, content=b"x" * (33 << 20), headers=accept)).status_code == 413
            assert (await http.get(url)).status_code in {400, 405, 406}
            assert (await http.get(url, headers={**accept, "mcp-session-id": "x"})).status_code == 404
            async with Client(url) as client:
                assert (await terminal(client, "echo on"))["output"] == "on\n"

    with place.http() as (url, _):
        asyncio.run(main(url))


def test_the_connection_breaks_in_the_middle(place: Place) -> None:
    """In today's protocol that means that nobody wants the answer any more."""
    word = mark()

    async def main(url: str) -> None:
        async with asyncio.timeout(100):
            client = Client(url, mode="2026-07-28")
            await client.__aenter__()
            call = asyncio.ensure_future(terminal(client, f"sleep {word}"))
            assert await later(lambda: running(word))
            call.cancel()
            await asyncio.wait([call])
            await client.__aexit__(None, None, None)
            assert await later(lambda: not running(word))

    with place.http() as (url, _):
        asyncio.run(main(url))


def test_a_signal_ends_http_with_all_that_runs(place: Place) -> None:
    word = mark()

    async def main(url: str, process: Any) -> None:
        async with asyncio.timeout(100), Client(url, mode="legacy") as client:
            call = asyncio.ensure_future(terminal(client, stubborn(word)))
            assert await later(lambda: len(running(word)) >= 2)
            process.terminate()
            await asyncio.wait([call])
            assert await asyncio.to_thread(process.wait, 60) == 143
            assert not running(word)

    with place.http() as (url, process), suppress(Exception):  # the client's own complaints
        asyncio.run(main(url, process))
    assert process.returncode == 143
    assert not running(word)


def test_a_port_that_is_taken(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = place.start("--http", "--port", str(taken.getsockname()[1]))
        _, err = process.communicate(timeout=60)
    assert process.returncode == 125
    assert b"cannot listen" in err
