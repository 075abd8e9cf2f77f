"""Daytona's toolbox, what a sandbox's own daemon speaks: commands and terminals here, sessions and files beside it."""

import asyncio
import base64
import contextlib
import json
import os
from collections.abc import Callable
from typing import Any, Final

from aiohttp import web

from shellward.testing.services.boxes import Box
from shellward.testing.services.daytona.common import all_of, code, refuse
from shellward.testing.services.daytona.faults import Faults
from shellward.testing.services.daytona.files import Files
from shellward.testing.services.daytona.pty import ENVIRONMENT, EXIT_CONTROL, Terminal, limit
from shellward.testing.services.daytona.sessions import Sessions

_TIMEOUT: Final = 360.0


class Toolbox:
    """The daemon of one sandbox.

    Args:
        box: where.
        env: variables of the sandbox.
        user: who its commands run as.
        work: directory they begin in.
        faults: says what goes wrong now.
    """

    def __init__(
        self, box: Box, env: dict[str, str], user: str | None, work: str, faults: Callable[[], Faults]
    ) -> None:
        self._faults = faults
        self._tasks: set[asyncio.Future[None]] = set()
        self.box = box
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **env}
        self.user = user
        self.work = work
        self.shell = "/bin/sh"
        self.terminals: dict[str, Terminal] = {}
        self.sessions = Sessions(box)
        self.files = Files(box, self.env, user, work)

    async def begin(self) -> None:
        """Find out which shell there is, as the daemon does."""
        self.sessions.env, self.sessions.user, self.sessions.work = self.env, self.user, self.work
        for shell in ("/bin/bash", "/usr/bin/bash"):
            with contextlib.suppress(OSError):
                answer = await self.box.ask("open", path=shell, flags=os.O_RDONLY)
                os.close(answer.descriptors[0])
                self.shell = self.sessions.shell = shell
                return

    def _later(self, doing: Any) -> None:
        task = asyncio.ensure_future(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def end(self) -> None:
        """Forget what ran."""
        for terminal in self.terminals.values():
            terminal.release()
        self.terminals.clear()
        self.sessions.sessions.clear()

    # Processes

    async def execute(self, request: web.Request) -> web.StreamResponse:
        """Run a command to its end, both streams in one; the shell reads it from its standard input."""
        asked = await request.json()
        if not asked.get("command"):
            return refuse(400, "command is required")
        done = asyncio.get_running_loop().create_future()
        reader, writer = os.pipe2(os.O_CLOEXEC)
        commands, typing = os.pipe2(os.O_CLOEXEC)
        try:
            pid, _ = await self.box.spawn(
                [self.shell],
                done.set_result,
                env={**self.env, **(asked.get("envs") or {})},
                cwd=asked.get("cwd") or self.work,
                user=self.user,
                given=[commands, writer, writer],
            )
        except OSError as error:
            os.close(reader)
            os.close(typing)
            return _refused(400, str(error))
        finally:
            os.close(writer)
            os.close(commands)
        self._later(asyncio.to_thread(_type, typing, asked["command"].encode() + b"\n"))
        try:
            async with asyncio.timeout(asked.get("timeout") or _TIMEOUT):
                printed = await all_of(reader)
                status = await done
        except TimeoutError:
            await self.box.ask("kill", pid=pid)
            return refuse(408, "command execution timeout", "PROCESS_EXECUTION_TIMEOUT")
        return web.json_response({"exitCode": code(status), "result": printed.decode("utf-8", "replace")})

    # Terminals

    async def make_terminal(self, request: web.Request) -> web.StreamResponse:
        """Make a terminal and look at it, in one round trip."""
        offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        env: dict[str, str] = {}
        for word in offered:
            if word.startswith(ENVIRONMENT):
                text = word.removeprefix(ENVIRONMENT)
                env = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        query = request.query
        name = query.get("id", "")
        size = int(query.get("rows", 24)), int(query.get("cols", 80))
        if not name or max(size) > 1000:  # the daemon's own limit
            return _refused(400, "id, cols and rows below 1000 are required")
        if name in self.terminals:
            return _refused(409, f"PTY session with ID '{name}' already exists")
        terminal = Terminal(name, size, query.get("cwd") or self.work, env)
        self.terminals[name] = terminal
        try:
            await terminal.start(self.box, self.shell, self.env, self.user)
        except OSError as error:
            del self.terminals[name]
            return _refused(500, f"failed to start PTY session: {error}")
        terminal.on_end = lambda: self._forget(name)
        return await self._look(request, terminal, offered)

    def _forget(self, name: str) -> None:
        self.terminals.pop(name, None)

    async def see_terminal(self, request: web.Request) -> web.StreamResponse:
        """Look at a terminal that is there."""
        offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        terminal = self.terminals.get(request.match_info["name"])
        if terminal is None:
            return _refused(404, "PTY session not found")
        return await self._look(request, terminal, offered)

    async def _look(self, request: web.Request, terminal: Terminal, offered: list[str]) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=[EXIT_CONTROL], max_msg_size=limit(), compress=False)
        await socket.prepare(request)
        await terminal.look(socket, wants_exit=EXIT_CONTROL in offered, faults=self._faults)
        return socket

    async def list_terminals(self, _request: web.Request) -> web.StreamResponse:
        """List the terminals."""
        return web.json_response({"sessions": [each.info() for each in self.terminals.values()]})

    async def terminal_info(self, request: web.Request) -> web.StreamResponse:
        """Describe one."""
        terminal = self.terminals.get(request.match_info["name"])
        return _refused(404, "PTY session not found") if terminal is None else web.json_response(terminal.info())

    async def resize_terminal(self, request: web.Request) -> web.StreamResponse:
        """Change the size of one."""
        asked = await request.json()
        terminal = self.terminals.get(request.match_info["name"])
        if terminal is None or terminal.status is not None:
            return _refused(410, "PTY session is not active")
        if max(asked["cols"], asked["rows"]) > 1000:  # the daemon's own limit
            return _refused(400, "cols and rows must be less than 1000")
        terminal.resize(asked["rows"], asked["cols"])
        return web.json_response(terminal.info())

    async def remove_terminal(self, request: web.Request) -> web.StreamResponse:
        """End one."""
        terminal = self.terminals.get(request.match_info["name"])
        if terminal is None:
            return _refused(404, "PTY session not found")
        await terminal.kill()
        return web.json_response({"message": "PTY session deleted"})

    async def work_dir(self, _request: web.Request) -> web.StreamResponse:
        """Say where commands begin."""
        return web.json_response({"dir": self.work})


def _refused(status: int, message: str) -> web.Response:
    """Answer with an error as the daemon's terminals do: with ``error`` alone."""
    return web.json_response({"error": message}, status=status)


def _type(descriptor: int, text: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as pipe:
        pipe.write(text)
