"""A client in the same process whose user answers as a test says, and what is left of commands in the process table."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.shared.memory import create_client_server_memory_streams

from shellward.mcp_server.server import Endpoint
from shellward.mcp_server.settings import Served

SETTINGS = "approval: {{timeout: {timeout}, packs: [touch.yaml]}}"
PACK = (Path(__file__).parents[2] / "mcp_server" / "touch.yaml").read_text(encoding="utf-8")
"""What has to be approved is harmless: these tests have to fail when the gate is broken, and then it runs."""
LEGACY, MODERN = "legacy", "2026-07-28"
MODES = [LEGACY, MODERN]
ONCE = types.ElicitResult(action="accept", content={"decision": "allow once"})
DENY = types.ElicitResult(action="accept", content={"decision": "deny"})
DECLINE = types.ElicitResult(action="decline")
CANCEL = types.ElicitResult(action="cancel")


class Person:
    """Answers questions, one after the other; the last answer holds on."""

    def __init__(self, *answers: types.ElicitResult) -> None:
        self.answers = list(answers)
        self.asked: list[types.ElicitRequestFormParams] = []

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        del context
        self.asked.append(params)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Absent(Person):
    """Sees the question and never answers."""

    def __init__(self) -> None:
        super().__init__(DENY)
        self.seen = asyncio.Event()

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.seen.set()
        await asyncio.Event().wait()
        return await super().__call__(context, params)


class Host:
    """A connected client."""

    def __init__(self, client: Client, endpoint: Endpoint) -> None:
        self.client = client
        self.endpoint = endpoint

    async def call(self, name: str, progress: Any = None, **arguments: Any) -> types.CallToolResult:
        return await self.client.call_tool(name, arguments, progress_callback=progress)

    async def told(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; returns what it says, which is the same as text and as structure."""
        result = await self.call(name, **arguments)
        assert isinstance(result.content[0], types.TextContent)
        said = json.loads(result.content[0].text)
        assert result.structured_content == said
        assert result.is_error == bool(said.get("error"))
        return said

    async def terminal(self, command: str, **more: Any) -> dict[str, Any]:
        return await self.told("terminal", command=command, **more)


@asynccontextmanager
async def piped(server: Any) -> AsyncIterator[tuple[Any, Any]]:
    """Serve in this process as over a pipe: messages both ways, in either protocol, until the client closes it."""
    async with (
        create_client_server_memory_streams() as (theirs, ours),
        anyio.create_task_group() as group,
    ):
        group.start_soon(server.run, *ours, server.create_initialization_options())
        try:
            yield theirs
        finally:
            await theirs[1].aclose()


@asynccontextmanager
async def connected(
    mode: str, person: Person | None = None, toolsets: Sequence[str] = ("coding",), task: str = "mcp"
) -> AsyncIterator[Host]:
    endpoint = Endpoint(Served(toolsets=tuple(toolsets), task=task))
    try:
        async with Client(piped(endpoint.server()), mode=mode, elicitation_callback=person, cache=None) as client:
            yield Host(client, endpoint)
    finally:
        await endpoint.calls.end_all()


def host(mode: str, test: Callable[[Host], Awaitable[None]], person: Person | None = None, **more: Any) -> None:
    """Run a test's coroutine with a connected client."""

    async def main() -> None:
        async with asyncio.timeout(60), connected(mode, person, **more) as made:
            await test(made)

    asyncio.run(main())


def running(mark: str) -> int:
    """How many processes have a word in their command line."""
    count = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            count += mark.encode() in words
    return count


async def until(what: Callable[[], object], seconds: float = 20.0) -> bool:
    """Wait until something holds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not what() and loop.time() < end:  # noqa: ASYNC110  # it is another process that changes
        await asyncio.sleep(0.02)
    return bool(what())
