"""Rows about the MCP server: a call over stdin and stdout, beside a tool of the SDK's own server that does nothing."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from figures import Bar, Measured, Row, Settings, Skipped, compare, timed

ROOT = Path(__file__).parent.parent
_ECHO = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("echo")

@server.tool()
def echo(command: str) -> str:
    return command

server.run()
"""
_GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}


class _Client:
    """Writes messages and reads their answers, with as little between as can be: the server is what is timed."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a server needs pipes")
        self._in, self._out = process.stdin, process.stdout
        self._number = 0

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        message: dict[str, Any] = json.loads(self._out.readline())
        if message.get("id") != self._number or message.get("result", {}).get("isError"):
            raise RuntimeError(str(message))
        return message

    def greet(self) -> None:
        self.request("initialize", **_GREETING)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, name: str) -> None:
        self.request("tools/call", name=name, arguments={"command": "true"})

    def _send(self, message: dict[str, Any]) -> None:
        self._in.write(json.dumps(message).encode() + b"\n")
        self._in.flush()


@contextmanager
def _server(*words: str, home: str) -> Iterator[_Client]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "SHELLWARD_HOME": home, "PYTHONPATH": path}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, *words], env=environment, **pipes) as process:
        client = _Client(process)
        client.greet()
        yield client


def _terminal(settings: Settings) -> Measured:
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise Skipped("the MCP SDK is not installed")
    with (
        tempfile.TemporaryDirectory() as home,
        _server("-m", "shellward", "mcp", "--env", "local", home=home) as ours,
        _server("-c", _ECHO, home=home) as echo,
    ):
        ours.call("terminal")
        measured = compare(
            timed(lambda: ours.call("terminal")),
            timed(lambda: echo.call("echo")),
            samples=settings.of(1000, 20),
            block=settings.of(20, 5),
        )
    return Measured(measured.figure, measured.baseline, measured.samples, f"{measured.difference:+.2f} ms")


ROWS = (
    Row(
        "mcp-terminal-true",
        'MCP `terminal("true")` over stdio, gate and audit on',
        "an echo tool of the SDK's own server",
        "ms",
        Bar("<=", 2, "difference"),
        _terminal,
    ),
)
