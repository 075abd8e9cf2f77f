"""All servers of a program: one thread with an event loop holds their connections; calls come from any thread."""

import asyncio
import atexit
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from shellward.approval.advice import approval
from shellward.approval.withdrawal import CALLER, Withdrawal
from shellward.core.errors import ApprovalDenied, ConnectionLost, EnvironmentUnavailable, MissingDependency
from shellward.mcp_client.interrupted import Interrupted
from shellward.tools.answers import error
from shellward.tools.under_way import under_way

if TYPE_CHECKING:
    import concurrent.futures

    from shellward.config.schema import McpServer
    from shellward.mcp_client.asking import Door
    from shellward.mcp_client.connection import Connection
    from shellward.mcp_client.described import Effect
    from shellward.tools.registry import Registry

_log = logging.getLogger(__name__)

_PATIENCE: Final = 8.0
"""Seconds beyond its limit until a server that does not answer has been ended."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server is, for people.

    Attributes:
        name: its name in the settings.
        state: ``connecting``, ``connected``, ``lost`` (it is tried again), ``failed`` or ``closed``.
        reason: why it is not connected; its last words on standard error, if it has any.
        tools: the names of its tools, as they are registered.
        protocol: the version of the protocol.
    """

    name: str
    state: str
    reason: str
    tools: tuple[str, ...]
    protocol: str


class Servers:
    """Connections to servers, and their tools in a registry. Safe to share between threads.

    Args:
        registry: where the tools go.
    """

    def __init__(self, registry: "Registry") -> None:
        self.registry = registry
        self._lock = threading.RLock()
        self._connections: dict[str, Connection] = {}
        self._runs: dict[str, concurrent.futures.Future[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._door: Door | None = None

    def configure(self, configured: "Mapping[str, McpServer]") -> None:
        """Connect servers, and wait until each has listed its tools or failed; those that are connected stay so.

        A server that cannot be connected is logged, and its reason is in ``status``; the others are not held up by
        it longer than by its ``connect_timeout``.

        Args:
            configured: the servers by name; those that are not among them, or have changed, are let go of.

        Raises:
            MissingDependency: the SDK is not installed.
        """
        wanted = {name: spec for name, spec in configured.items() if spec.enabled}
        with self._lock:
            if wanted:
                _need_sdk()
            self._stop(
                [name for name, each in self._connections.items() if wanted.get(name) != each.spec or _over(each)]
            )
            new = [self._start(name, spec) for name, spec in wanted.items() if name not in self._connections]
            if not self._connections:
                self._end_loop()
        for each in new:
            each.settled.wait(each.spec.connect_timeout + _PATIENCE)

    def status(self) -> list[ServerStatus]:
        """Return how each server is, in the order of their names."""
        with self._lock:
            connections = sorted(self._connections.items())
        tools = self.registry.tools().values()
        return [
            ServerStatus(
                name,
                each.state.value,
                each.reason,
                tuple(sorted(tool.name for tool in tools if tool.toolset == each.toolset)),
                each.protocol,
            )
            for name, each in connections
        ]

    def close(self) -> None:
        """End all connections, and the servers that were started with all that they have started. Idempotent.

        Calls that are under way end with an error, questions are taken back.
        """
        with self._lock:
            door, self._door = self._door, None
            if door is not None:
                door.close()
            self._stop(list(self._connections))
            self._end_loop()

    # -- calls ----------------------------------------------------------------------------------------------

    def _call(
        self,
        connection: "Connection",
        tool: str,
        effect: "Effect",
        args: Mapping[str, Any],
        *,
        task: str | None,
        goal: str | None,
    ) -> str:
        """Make a call that the gate lets pass; returns JSON, whatever comes of it."""
        from mcp import MCPError
        from pydantic import ValidationError

        from shellward.mcp_client.answered import told

        name, spec = connection.name, connection.spec
        try:
            if not connection.connected:
                raise connection.unavailable()
            door = self._opened_door()
            with (
                _endable(task),
                door.passing(
                    name, tool, args, effect=effect, calls=spec.calls, task=task or "", goal=goal or ""
                ) as passed,
            ):
                result = connection.call(tool, args)
                passed.status = int(bool(result.is_error))
            return told(result)
        except Interrupted as problem:
            return error(str(problem), status="interrupted")
        except (ApprovalDenied, EnvironmentUnavailable, TimeoutError) as problem:
            return _failed(problem, name, spec.timeout)
        except MCPError as problem:
            return error(f"the MCP server {name} refused the call: {problem}")
        except (ValidationError, RuntimeError) as problem:
            return error(
                f"the call was carried out, but the answer of the MCP server {name} is not as it must be: {problem}"
            )

    def _opened_door(self) -> "Door":
        from shellward.mcp_client.asking import Door

        with self._lock:
            if self._loop is None:
                raise EnvironmentUnavailable("the MCP servers were closed; nothing was called")
            if self._door is None:
                self._door = Door()
            return self._door

    # -- the loop; with the lock held ------------------------------------------------------------------------

    def _start(self, name: str, spec: "McpServer") -> "Connection":
        from shellward.mcp_client.connection import Connection

        def caller(tool: str, effect: "Effect", args: Mapping[str, Any], task: str | None, goal: str | None) -> str:
            return self._call(made, tool, effect, args, task=task, goal=goal)

        made = Connection(name, spec, self.registry, caller)
        loop = self._running_loop()
        self._connections[name] = made
        self._runs[name] = asyncio.run_coroutine_threadsafe(made.run(), loop)
        return made

    def _stop(self, names: list[str]) -> None:
        """End connections, at the same time, and wait for them."""
        for name in names:
            if self._loop is not None and not self._runs[name].done():
                self._loop.call_soon_threadsafe(self._connections[name].stop)
        for name in names:
            problem = self._runs.pop(name).exception()
            if problem is not None:
                _log.error("the connection to MCP server %s failed", name, exc_info=problem)
            del self._connections[name]

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            ready = threading.Event()
            self._thread = threading.Thread(target=self._hold, args=(ready,), name="shellward-mcp", daemon=True)
            self._thread.start()
            ready.wait()
            atexit.register(self.close)
        assert self._loop is not None  # noqa: S101  # for the type checker
        return self._loop

    def _hold(self, ready: threading.Event) -> None:
        """Run the loop until it is stopped; afterwards nothing of it is left."""
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._loop.call_soon(ready.set)
            self._loop.run_forever()

    def _end_loop(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        atexit.unregister(self.close)


@contextmanager
def _endable(task: str | None) -> Iterator[None]:
    """Have a call that ends when its task is interrupted, or when the script does that it is made by."""
    call = Withdrawal()
    outer = CALLER.get()
    token = CALLER.set(call)
    try:
        with under_way.during(task, call.withdraw), outer.listening(call.withdraw) if outer else nullcontext():
            yield
    finally:
        CALLER.reset(token)


def _failed(problem: Exception, name: str, limit: float) -> str:
    match problem:
        case ApprovalDenied():
            return error(str(problem), status="denied", approval=approval(problem.decision))
        case TimeoutError():
            said = f"the MCP server {name} did not answer within {limit:g} s and was told to stop"
            return error(f"{said}; the call may have been carried out", status="timeout")
        case ConnectionLost():
            return error(str(problem), status="lost")
    return error(str(problem), status="unavailable")


def _over(connection: "Connection") -> bool:
    from shellward.mcp_client.connection import State

    return connection.state in {State.FAILED, State.CLOSED}


def _need_sdk() -> None:
    try:
        import mcp  # noqa: F401  # only whether it is there
    except ImportError as problem:
        raise MissingDependency("the MCP SDK", "mcp") from problem
