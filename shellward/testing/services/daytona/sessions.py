"""Sessions of Daytona's toolbox: commands with a log that can be followed.

They do what the daemon's shell script does to a command's output: each stream is passed on line by line with a mark
before it, so a line without an end waits, and zero bytes are lost.
"""

import asyncio
import os
import re
import uuid
from collections.abc import Callable
from typing import Any, Final

from aiohttp import web

from shellward.testing.services.boxes import Box
from shellward.testing.services.daytona.common import code, refuse, stream

_STDOUT: Final = b"\x01\x01\x01"
_STDERR: Final = b"\x02\x02\x02"


class Command:
    """One command of a session."""

    def __init__(self, text: str) -> None:
        self.name = str(uuid.uuid4())
        self.text = text
        self.status: int | None = None
        self.log = bytearray()
        self.grown = asyncio.Event()
        self.stdin = -1

    def add(self, mark: bytes, line: bytes) -> None:
        """Add a line of output, or the echo of one of input."""
        self.log += mark + line.replace(b"\0", b"")
        self.wake()

    def wake(self) -> None:
        """Tell those who follow the log."""
        grown, self.grown = self.grown, asyncio.Event()
        grown.set()

    def info(self) -> dict[str, Any]:
        """Describe it as the toolbox does."""
        said: dict[str, Any] = {"id": self.name, "command": self.text}
        if self.status is not None:
            said["exitCode"] = self.status
        return said


class Sessions:
    """All sessions of a sandbox."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.sessions: dict[str, dict[str, Command]] = {}
        self.env: dict[str, str] = {}
        self.user: str | None = None
        self.work = "/"
        self.shell = "/bin/sh"

    async def make_session(self, request: web.Request) -> web.StreamResponse:
        """Make a session; its commands run in a directory and with variables of their own here, as in no shell."""
        name = (await request.json()).get("sessionId", "")
        if name in self.sessions:
            return refuse(409, "session already exists")
        self.sessions[name] = {}
        return web.Response(status=201)

    async def session_info(self, request: web.Request) -> web.StreamResponse:
        """Describe one, or remove it."""
        commands = self.sessions.get(request.match_info["name"])
        if commands is None:
            return refuse(404, "session not found")
        if request.method == "DELETE":
            del self.sessions[request.match_info["name"]]
            return web.Response(status=204)
        listed = [command.info() for command in commands.values()]
        return web.json_response({"sessionId": request.match_info["name"], "commands": listed})

    async def session_execute(self, request: web.Request) -> web.StreamResponse:
        """Run a command in a session."""
        commands = self.sessions.get(request.match_info["name"])
        if commands is None:
            return refuse(404, "session not found")
        asked = await request.json()
        command = Command(asked["command"])
        commands[command.name] = command
        finished = asyncio.get_running_loop().create_future()
        await self._run_in_session(command, lambda: finished.set_result(None))
        if asked.get("runAsync"):
            return web.json_response({"cmdId": command.name}, status=202)
        await finished
        out, err = _split(bytes(command.log))
        said = {"cmdId": command.name, "exitCode": command.status, "output": (out + err).decode("utf-8", "replace")}
        return web.json_response(
            {**said, "stdout": out.decode("utf-8", "replace"), "stderr": err.decode("utf-8", "replace")}
        )

    async def _run_in_session(self, command: Command, finished: Callable[[], None]) -> None:
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(3)]
        command.stdin = pipes[0][1]
        ends = asyncio.get_running_loop().create_future()
        await self.box.spawn(
            [self.shell, "-c", command.text],
            ends.set_result,
            env=self.env,
            cwd=self.work,
            user=self.user,
            given=[pipes[0][0], pipes[1][1], pipes[2][1]],
        )
        for descriptor in (pipes[0][0], pipes[1][1], pipes[2][1]):
            os.close(descriptor)
        readers = [
            asyncio.create_task(_by_line(pipes[number][0], command, mark))
            for number, mark in ((1, _STDOUT), (2, _STDERR))
        ]

        async def wait() -> None:
            status = await ends
            await asyncio.gather(*readers)
            os.close(command.stdin)
            command.status = code(status)
            command.wake()
            finished()

        command.task = asyncio.create_task(wait())  # type: ignore[attr-defined]

    async def session_command(self, request: web.Request) -> web.StreamResponse:
        """Describe a command."""
        command = self._command(request)
        return refuse(404, "command not found") if command is None else web.json_response(command.info())

    async def session_logs(self, request: web.Request) -> web.StreamResponse:
        """Give a command's output, or follow it through a websocket."""
        command = self._command(request)
        if command is None:
            return refuse(404, "command not found")
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return web.Response(body=bytes(command.log))
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        place = 0
        while True:
            grown, done = command.grown, command.status is not None
            if place < len(command.log):
                data = bytes(command.log[place:])
                place += len(data)
                await socket.send_bytes(data)
            elif done:
                break
            else:
                await grown.wait()
        await socket.close()
        return socket

    async def session_input(self, request: web.Request) -> web.StreamResponse:
        """Send a line to a command; the daemon sees to its end, and puts an echo in the log."""
        command = self._command(request)
        if command is None:
            return refuse(404, "command not found")
        if command.status is not None:
            return refuse(410, "command has already completed", "COMMAND_ALREADY_COMPLETED")
        data = (await request.json())["data"].encode()
        data += b"" if data.endswith(b"\n") else b"\n"
        await asyncio.to_thread(os.write, command.stdin, data)
        command.add(_STDOUT, data)
        return web.Response(status=204)

    def _command(self, request: web.Request) -> Command | None:
        return self.sessions.get(request.match_info["name"], {}).get(request.match_info["command"])


async def _by_line(descriptor: int, command: Command, mark: bytes) -> None:
    reader, transport = await stream(descriptor)
    try:
        while line := await reader.readline():
            command.add(mark, line if line.endswith(b"\n") else line + b"\n")
    finally:
        transport.close()


def _split(log: bytes) -> tuple[bytes, bytes]:
    """Take a log apart: what stands behind each mark, put together by stream."""
    parts = re.split(b"(" + re.escape(_STDOUT) + b"|" + re.escape(_STDERR) + b")", log)
    marked = list(zip(parts[1::2], parts[2::2], strict=True))
    out = b"".join(text for mark, text in marked if mark == _STDOUT)
    return out, b"".join(text for mark, text in marked if mark == _STDERR)
