"""Starting a server, and ending it with all that it has started: at the end of stdin, on Ctrl-C and its kin."""

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from shellward.core.errors import ConfigError, MissingDependency
from shellward.mcp_server.streams import taken_over

if TYPE_CHECKING:
    from shellward.mcp_server.server import Endpoint
    from shellward.mcp_server.settings import Address, Served

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_stdio(served: "Served") -> int:
    """Serve one client over stdin and stdout, until it closes our stdin. Called by the main thread.

    Returns:
        The exit code: 0, or 128 and the signal that has ended it.

    Raises:
        MissingDependency: the MCP SDK is not installed.
        ConfigError: there is no such toolset, or the settings cannot be read.
    """
    with taken_over() as streams:  # before any tool is loaded: what it prints then is no message, either
        _check(served)

        async def serve(endpoint: "Endpoint") -> None:
            from shellward.mcp_server import stdio

            await stdio.serve(endpoint.server(), streams)

        return _run(served, serve)


def serve_http(served: "Served", address: "Address", started: Callable[[str], None]) -> int:
    """Serve any number of clients over HTTP, until a signal ends it. Called by the main thread.

    Args:
        served: what is offered.
        address: where, and to whom.
        started: is called with the URL once clients can come.

    Returns:
        The exit code: 128 and the signal that has ended it.

    Raises:
        MissingDependency: the MCP SDK is not installed.
        ConfigError: there is no such toolset, or it would not be safe to listen there.
        EnvironmentUnavailable: it cannot listen there.
    """
    _check(served)
    address.checked()

    async def serve(endpoint: "Endpoint") -> None:
        from shellward.mcp_server import streamable

        await streamable.serve(endpoint.server(), address, started, endpoint.calls.end_all)

    return _run(served, serve)


def _check(served: "Served") -> None:
    try:
        import mcp_types.version  # noqa: F401  # which only an SDK of today has
        from mcp.server import Server  # noqa: F401
    except ImportError as error:
        raise MissingDependency("the MCP SDK (2.3 or later)", "mcp") from error
    from shellward.tools import discover, get_tool_definitions
    from shellward.tools.default import runtime

    # A client waits for its first answer meanwhile: so the servers of the settings are left alone where nobody asks
    # for their tools.
    discover(servers=False)
    if runtime.toolsets.of_servers(served.toolsets):
        discover()
    listed = get_tool_definitions(served.toolsets, quiet_mode=True)
    known = {*runtime.toolsets.names(runtime.registry.tools()), "all", "*"}
    unknown = [name for name in served.toolsets if name.removesuffix("_tools") not in known]
    if unknown:
        raise ConfigError(f"toolsets: there is no {unknown[0]!r}; there are {', '.join(sorted(known - {'*'}))}")
    if not listed:
        raise ConfigError(f"toolsets: {', '.join(served.toolsets)}: none of these tools can be used here")


def _run(served: "Served", serve: "Callable[[Endpoint], Awaitable[None]]") -> int:
    from shellward.mcp_server.server import Endpoint
    from shellward.terminal_tool import close_tasks

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="shellward mcp: %(name)s: %(message)s")
    received: list[int] = []

    async def main() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101  # this is one

        def end(number: int) -> None:
            if not received:  # another one does not hurry: what is under way is being ended
                received.append(number)
                task.cancel()

        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                loop.add_signal_handler(number, end, number)
        endpoint = Endpoint(served)
        try:
            await serve(endpoint)
        finally:
            await endpoint.calls.end_all()

    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        if not received:
            raise
    finally:
        before = [signal.signal(number, signal.SIG_IGN) for number in _ENDING]
        try:
            close_tasks()
        finally:
            for number, handler in zip(_ENDING, before, strict=True):
                signal.signal(number, handler)
    return 128 + received[0] if received else 0
