"""Servers that run as processes, their tools in a registry of the test's own, and a look at the process table."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shellward.config.schema import McpServer
from shellward.mcp_client import Servers
from shellward.tools.registry import Registry
from shellward.tools.results import ResultStore
from shellward.tools.runtime import ToolRuntime

HERE = Path(__file__).parent


class Host:
    """A program that uses servers: its registry, its runtime, its connections."""

    def __init__(self, results: Path) -> None:
        self.registry = Registry()
        self.runtime = ToolRuntime(self.registry, results=ResultStore(lambda: results))
        self.servers = Servers(self.registry)

    def connect(self, **configured: McpServer) -> None:
        self.servers.configure(configured)

    def call(self, name: str, args: object = None, **more: Any) -> dict[str, Any]:
        return json.loads(self.runtime.handle_function_call(name, args, **more))

    def names(self, *toolsets: str) -> list[str]:
        listed = self.runtime.get_tool_definitions(toolsets or None)
        return [each["function"]["name"] for each in listed]

    def status(self, name: str):
        (found,) = [each for each in self.servers.status() if each.name == name]
        return found


def plain(*about: str, **more: Any) -> McpServer:
    """A server that starts at once."""
    return McpServer(command=sys.executable, args=("-S", str(HERE / "plain_mcp_server.py"), *about), **more)


def sdk(**more: Any) -> McpServer:
    """A server written with the SDK."""
    return McpServer(command=sys.executable, args=(str(HERE / "sdk_mcp_server.py"),), **more)


class Listening:
    """A server written with the SDK that listens at an address."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.start()

    def start(self) -> None:
        program = [sys.executable, str(HERE / "sdk_mcp_server.py"), str(self.port)]
        self.process = subprocess.Popen(program, stderr=subprocess.DEVNULL)
        assert within(30, self._listens)

    def _listens(self) -> bool:
        with socket.socket() as trial:
            return trial.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def within(seconds: float, holds: Callable[[], object]) -> bool:
    """Whether something comes to hold within a time; generous, for busy machines."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    return bool(holds())


def children() -> set[int]:
    """The processes that this one has started and that run."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(name.split()[0]))
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
