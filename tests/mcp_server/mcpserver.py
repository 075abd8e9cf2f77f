"""The server as clients start it: a process of its own, over both transports, looked at from outside."""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).parents[2]
MODES = ["legacy", "2026-07-28"]
TRANSPORTS = ["stdio", "http"]
SETTINGS = "approval: {timeout: 60, packs: [touch.yaml]}\n"
PACK = (Path(__file__).parent / "touch.yaml").read_text(encoding="utf-8")
"""What has to be approved is harmless: these tests must fail when the gate is broken, and then it runs."""


def mark() -> str:
    """A word that no other process has in its command line."""
    return str(secrets.randbelow(10**9) + 10**9)


def running(word: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if word.encode() in words:
                found.append(int(entry.name))
    return found


def soon(what: Callable[[], object], seconds: float = 30.0) -> bool:
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.05)
    return bool(what())


async def later(what: Callable[[], object], seconds: float = 30.0) -> bool:
    return await asyncio.to_thread(soon, what, seconds)


class Place:
    """A directory to work in, with settings and state of its own."""

    def __init__(self, directory: Path) -> None:
        self.work = directory / "work"
        self.home = directory / "home"
        self.work.mkdir()
        self.home.mkdir()
        (self.home / "config.yaml").write_text(SETTINGS)
        (self.home / "touch.yaml").write_text(PACK)

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHELLWARD_", "TERMINAL_"))}
        return {**kept, "SHELLWARD_HOME": str(self.home), "PYTHONPATH": path, "PYTHONWARNINGS": "error"}

    def words(self, *options: str) -> list[str]:
        """What starts the server; further options are stronger than these."""
        return [sys.executable, "-m", "shellward", "mcp", "--env", "local", "--cwd", str(self.work), *options]

    def start(self, *options: str, **more: Any) -> "subprocess.Popen[bytes]":
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(self.words(*options), **{**pipes, "env": self.environment, **more})

    @contextmanager
    def http(self, *options: str, **variables: str) -> Iterator["tuple[str, subprocess.Popen[bytes]]"]:
        """A server over HTTP: its URL, and its process."""
        environment = {**self.environment, **variables}
        process = self.start("--http", "--port", "0", *options, stdout=subprocess.DEVNULL, env=environment)
        try:
            assert process.stderr is not None
            said = []
            while (line := process.stderr.readline().decode()) and "serving MCP at " not in line:
                said.append(line)
            assert line, said
            yield line.split()[-1], process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


@asynccontextmanager
async def connected(place: Place, transport: str, mode: str, person: Any = None) -> AsyncIterator[Client]:
    if transport == "stdio":
        command, *arguments = place.words()
        server = StdioServerParameters(command=command, args=arguments, env=place.environment)
        async with Client(server, mode=mode, elicitation_callback=person) as client:
            yield client
        return
    with place.http() as (url, _):
        async with Client(url, mode=mode, elicitation_callback=person) as client:
            yield client


@asynccontextmanager
async def client_with(url: str, mode: str, **headers: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


def request(number: int, method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


HELLO = (
    request(
        0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "by hand", "version": "1"}
    )
    + b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
)


def terminal(number: int, command: str, **more: Any) -> bytes:
    return request(number, "tools/call", name="terminal", arguments={"command": command, **more})


def stubborn(word: str) -> str:
    """A command that ends by KILL only, with a process outside of its session."""
    return f"bash -c \"trap '' INT TERM; (setsid sleep {word} &); sleep {word}\""


def gone(pid: int) -> bool:
    """Whether a process has ended; nobody may be there to reap it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class ByHand:
    """A server whose messages a test writes itself, in the older protocol."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.stdin, self.stdout = process, process.stdin, process.stdout
        self._got: dict[object, dict[str, Any]] = {}

    def send(self, *messages: bytes) -> None:
        self.stdin.write(b"".join(messages))
        self.stdin.flush()

    def answer(self, number: int) -> dict[str, Any]:
        """Read up to the answer to a request; everything on the way is a message."""
        while number not in self._got and (line := self.stdout.readline()):
            message = json.loads(line)
            self._got[message.get("id")] = message
        if number in self._got:
            return self._got.pop(number)
        raise AssertionError(f"no answer to {number}: {self.process.communicate()[1].decode()}")

    def greet(self) -> None:
        self.send(HELLO)
        assert self.answer(0)["result"]["serverInfo"]["name"] == "shellward"

    def output(self, number: int) -> str:
        return self.answer(number)["result"]["structuredContent"]["output"]
