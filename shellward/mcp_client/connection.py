"""One server: connected, its tools in the registry, watched, and connected again when it was lost.

All of it runs in the loop of ``Servers``; only ``call`` and what it reads are for other threads. Scopes of anyio are
used for limits, since a task that is cancelled in asyncio's way may leave a server behind.
"""

import asyncio
import concurrent.futures
import itertools
import logging
import math
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from enum import StrEnum
from fnmatch import fnmatchcase
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    Implementation,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from shellward.aio.loop import in_thread
from shellward.approval.withdrawal import CALLER
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.mcp_client.described import specs
from shellward.mcp_client.interrupted import Interrupted
from shellward.mcp_client.transports import Tail, address, program
from shellward.tools.answers import sanitised
from shellward.tools.tool import MCP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp.client.session import IncomingMessage
    from mcp_types import CallToolResult, Tool

    from shellward.config.schema import McpServer
    from shellward.mcp_client.described import Caller
    from shellward.tools.registry import Registry

_log = logging.getLogger(__name__)

_PAGES: Final = 100
"""Pages of a list that are read; one that never ends must not hang the connection."""
_CALM: Final = 0.2
"""Seconds between two looks at a list that changes all the time."""
_POLL: Final = 30.0
"""Seconds between two looks at what listens at an address: it may be gone without a sign."""
_GOODBYE: Final = 5.0
"""Seconds that ending a connection may take, beside ending a program."""
_PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 60.0, 60.0)
"""Seconds before each attempt to connect again; after the last one it stays lost."""
_STEADY: Final = 60.0
"""Seconds that a connection must have lasted for these to begin anew."""


class State(StrEnum):
    """Where a connection is in its life."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    LOST = "lost"
    FAILED = "failed"
    CLOSED = "closed"


class Connection:
    """The connection to one server.

    Args:
        name: the server's name in the settings.
        spec: its settings.
        registry: where its tools go, in the toolset ``mcp-<name>``.
        caller: carries out a call of one of its tools.

    Attributes:
        state: where it is in its life.
        reason: why it is not connected; empty when it is.
        protocol: the version of the protocol that was agreed on.
        settled: is set once the first attempt has come to something.
    """

    def __init__(self, name: str, spec: "McpServer", registry: "Registry", caller: "Caller") -> None:
        self.name = name
        self.spec = spec
        self.state = State.CONNECTING
        self.reason = ""
        self.protocol = ""
        self.settled = threading.Event()
        self._key = f"mcp_servers.{name}"
        self._registry = registry
        self._caller = caller
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._connecting: anyio.CancelScope | None = None
        self._client: Client | None = None
        self._listed: Iterable[Tool] | None = None

    @property
    def toolset(self) -> str:
        """The toolset of its tools."""
        return f"{MCP}{self.name}"

    # -- for other threads ----------------------------------------------------------------------------------

    def call(self, tool: str, args: Mapping[str, Any]) -> "CallToolResult":
        """Call a tool, and wait for its answer.

        Args:
            tool: its name at the server.
            args: its arguments.

        Raises:
            EnvironmentUnavailable: the server is not connected; nothing was sent.
            ConnectionLost: it went away during the call, which may have been carried out.
            Interrupted: whoever called took it back; the server was told to stop, and may have carried it out.
            TimeoutError: it took longer than it may; the server was told to stop.
            MCPError: the server refused the call.
        """
        loop = self._loop
        if loop is None or not self.connected:
            raise self.unavailable()
        calling = self._call(tool, dict(args))
        try:
            future = asyncio.run_coroutine_threadsafe(calling, loop)
        except RuntimeError:  # the loop was closed in this moment
            calling.close()
            raise EnvironmentUnavailable(f"the MCP server {self.name} was closed; nothing was sent") from None
        caller = CALLER.get()

        def end() -> None:
            future.cancel()

        try:
            with caller.listening(end) if caller is not None else nullcontext():
                return future.result(self.spec.timeout + _GOODBYE)
        except concurrent.futures.CancelledError:
            if caller is not None and caller.done:
                raise Interrupted(
                    f"it was interrupted and the MCP server {self.name} was told to stop; the call may have been "
                    "carried out"
                ) from None
            raise self._went_away() from None
        except BaseException:  # also Ctrl-C: the server is told to stop
            future.cancel()
            raise

    def unavailable(self) -> EnvironmentUnavailable:
        """Return what to raise when nothing can be sent."""
        return EnvironmentUnavailable(f"the MCP server {self.name} is not connected: {self.reason or self.state}")

    @property
    def connected(self) -> bool:
        """Whether calls can be made now."""
        return self._client is not None

    # -- in the loop ----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Connect, and stay connected, until ``stop``."""
        self._loop = asyncio.get_running_loop()
        attempts = 0
        try:
            while not self._stopping.is_set():
                began = anyio.current_time()
                worked = await self._once()
                attempts = 0 if worked and anyio.current_time() - began > _STEADY else attempts + 1
                # What has never worked is not tried again by itself: a wrong setting stays wrong.
                if not self._stopping.is_set() and (
                    not (worked or self.state is State.LOST) or attempts > len(_PAUSES)
                ):
                    self.state = State.FAILED
                    return
                with anyio.move_on_after(_PAUSES[attempts - 1] if attempts else _PAUSES[0]):
                    await self._stopping.wait()
            self.state, self.reason = State.CLOSED, "it was closed"
        finally:
            self.settled.set()
            self._loop = None

    def stop(self) -> None:
        """End the connection soon; ``run`` returns once its server has ended."""
        self._stopping.set()
        if self._connecting is not None:
            self._connecting.cancel()

    async def _once(self) -> bool:
        """Connect and serve until the connection ends; returns whether there was one."""
        again, tail, ended = self.state is State.LOST, Tail(), asyncio.Event()
        self._changed.clear()
        worked = False
        if self.spec.command:
            transport = program(self.spec, self._key, ended, tail)
        else:
            transport = address(self.spec, self._key, tail)
        try:
            with anyio.CancelScope() as scope:
                self._connecting = scope
                scope.deadline = anyio.current_time() + self.spec.connect_timeout
                async with Client(
                    transport,
                    read_timeout_seconds=self.spec.timeout,
                    client_info=Implementation(name="shellward", version=version("shellward")),
                    message_handler=self._heard,
                    cache=None,
                ) as client:
                    tools = await _all_tools(client)
                    scope.deadline, self._connecting = math.inf, None
                    worked = True
                    try:
                        await self._connected(client, tools)
                        await self._watch(client, ended)
                    finally:
                        self._gone()
                        scope.deadline = anyio.current_time() + _GOODBYE
            problem = f"did not answer within {self.spec.connect_timeout:g} s" if not worked else "it has ended"
        except Exception as error:  # noqa: BLE001  # the server's, the network's or the SDK's: one server must not end others
            problem = _told(error)
        self._connecting = None
        if not self._stopping.is_set():
            self._lost(problem, tail, worked=worked, again=again)
        return worked

    async def _connected(self, client: Client, tools: "list[Tool]") -> None:
        self.protocol = client.protocol_version
        self._client = client
        await self._publish(tools)
        self.state, self.reason = State.CONNECTED, ""
        self.settled.set()
        _log.info("MCP server %s is connected (%s), with %d tools", self.name, self.protocol, len(tools))

    def _gone(self) -> None:
        if self._client is not None:
            self._client, self._listed = None, None
            self._registry.deregister_toolset(self.toolset)
            if not self._stopping.is_set():  # ending it may take a moment; why will be known then
                self.state, self.reason = State.LOST, "it has ended"

    def _lost(self, problem: str, tail: Tail, *, worked: bool, again: bool) -> None:
        said = tail.text()
        self.reason = f"{problem}; it said: {said}" if said else problem
        self.state = State.LOST if worked or again else State.FAILED
        self.settled.set()
        _log.warning("MCP server %s is %s: %s", self.name, self.state, self.reason)

    async def _publish(self, tools: "list[Tool]") -> None:
        if tools == self._listed:
            return

        def publish() -> None:
            taken = [tool for tool in tools if self._takes(tool.name)]
            self._registry.replace_toolset(self.toolset, specs(self.name, taken, self._caller))

        # Many large schemas take a while to look through, and the loop is that of all servers. When this is cancelled,
        # it has ended first: then what it has put there is taken away.
        await in_thread(publish)
        self._listed = tools

    def _takes(self, tool: str) -> bool:
        def among(patterns: tuple[str, ...]) -> bool:
            return any(fnmatchcase(tool, pattern) for pattern in patterns)

        return (not self.spec.include or among(self.spec.include)) and not among(self.spec.exclude)

    async def _heard(self, message: "IncomingMessage") -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()

    async def _watch(self, client: Client, ended: asyncio.Event) -> None:
        """Follow the server's list until the connection ends.

        Raises:
            MCPError: the server does not answer as a server any more.
        """
        async with anyio.create_task_group() as group:

            async def until(event: asyncio.Event) -> None:
                await event.wait()
                group.cancel_scope.cancel()

            group.start_soon(until, ended)
            group.start_soon(until, self._stopping)
            group.start_soon(self._subscribe, client)
            await self._follow(client)

    async def _follow(self, client: Client) -> None:
        """Read the list again when it changes, and from an address now and then."""
        while True:
            with anyio.move_on_after(_POLL if self.spec.url else math.inf):
                await self._changed.wait()
            self._changed.clear()
            try:
                await self._publish(await _all_tools(client))
            except MCPError as problem:
                if problem.code != REQUEST_TIMEOUT:  # it may be busy with a call
                    raise
                _log.warning("MCP server %s does not list its tools in time", self.name)
            await anyio.sleep(_CALM)

    async def _subscribe(self, client: Client) -> None:
        """Ask to be told of changes; by older versions of the protocol that needs no asking."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        for pause in itertools.chain(_PAUSES, itertools.repeat(_PAUSES[-1])):
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    self._changed.set()  # what has changed before this
                    async for _ in changes:
                        self._changed.set()
            except MCPError as problem:
                if problem.code == METHOD_NOT_FOUND:
                    return
            except (SubscriptionLost, TimeoutError):
                pass
            self._changed.set()  # whether the server is still there will be seen by asking it
            await anyio.sleep(pause)

    async def _call(self, tool: str, args: dict[str, Any]) -> "CallToolResult":
        client = self._client
        if client is None:
            raise self.unavailable()
        try:
            with anyio.fail_after(self.spec.timeout):
                return await client.call_tool(tool, args, read_timeout_seconds=self.spec.timeout)
        except MCPError as problem:
            if problem.code == REQUEST_TIMEOUT:
                raise TimeoutError from None
            self._changed.set()  # an address may be gone, or have forgotten this session: asking it will tell
            if problem.code == CONNECTION_CLOSED or self._client is not client:
                raise self._went_away() from None
            raise

    def _went_away(self) -> ConnectionLost:
        return ConnectionLost(f"the MCP server {self.name} went away during the call, which may have been carried out")


async def _all_tools(client: Client) -> "list[Tool]":
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


def _told(error: BaseException) -> str:
    """Return what an error says, without the groups around it."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return sanitised(str(error)) or type(error).__name__
