"""Daytona's toolbox, the part of its protocol that a sandbox's own daemon speaks: processes, sessions, terminals, files.

Sessions do what the daemon's shell script does to a command's output: each stream is passed on line by line with a mark
before it, so a line without an end waits, and zero bytes are lost.
"""

import asyncio
import base64
import contextlib
import errno
import json
import os
import re
import shlex
import stat as stats
import uuid
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

from aiohttp import web

from shellward.testing.services.boxes import Box
from shellward.testing.services.daytona_pty import ENVIRONMENT, EXIT_CONTROL, Terminal, limit

_STDOUT: Final = b"\x01\x01\x01"
_STDERR: Final = b"\x02\x02\x02"
_TIMEOUT: Final = 360.0
_CHUNK: Final = 1 << 18
Handler = Callable[[web.Request], Coroutine[Any, Any, web.StreamResponse]]


def refuse(status: int, message: str, code: str = "", source: str = "DAYTONA_DAEMON") -> web.Response:
    """Answer with an error in the form that the SDK reads."""
    body: dict[str, Any] = {"statusCode": status, "message": message, "source": source}
    if code:
        body["code"] = code
    return web.json_response(body, status=status)


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


class Toolbox:
    """The daemon of one sandbox.

    Args:
        box: where.
        env: variables of the sandbox.
        user: who its commands run as.
        work: directory they begin in.
    """

    def __init__(self, box: Box, env: dict[str, str], user: str | None, work: str) -> None:
        self.box = box
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **env}
        self.user = user
        self.work = work
        self.shell = "/bin/sh"
        self.terminals: dict[str, Terminal] = {}
        self.sessions: dict[str, dict[str, Command]] = {}
        self.cut = 0

    async def begin(self) -> None:
        """Find out which shell there is, as the daemon does."""
        for shell in ("/bin/bash", "/usr/bin/bash"):
            with contextlib.suppress(OSError):
                answer = await self.box.ask("open", path=shell, flags=os.O_RDONLY)
                os.close(answer.descriptors[0])
                self.shell = shell
                return

    def end(self) -> None:
        """Forget what ran."""
        for terminal in self.terminals.values():
            terminal.release()
        self.terminals.clear()
        self.sessions.clear()

    # Processes

    async def execute(self, request: web.Request) -> web.StreamResponse:
        """Run a command to its end; both streams in one."""
        asked = await request.json()
        if not asked.get("command"):
            return refuse(400, "command is required")
        done = asyncio.get_running_loop().create_future()
        reader, writer = os.pipe2(os.O_CLOEXEC)
        nothing = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        try:
            pid, _ = await self.box.spawn(
                [self.shell, "-c", asked["command"]],
                done.set_result,
                env={**self.env, **(asked.get("envs") or {})},
                cwd=asked.get("cwd") or self.work,
                user=self.user,
                given=[nothing, writer, writer],
            )
        except OSError as error:
            os.close(reader)
            return refuse(400, str(error))
        finally:
            os.close(writer)
            os.close(nothing)
        try:
            async with asyncio.timeout(asked.get("timeout") or _TIMEOUT):
                printed = await _all_of(reader)
                status = await done
        except TimeoutError:
            await self.box.ask("kill", pid=pid)
            return refuse(408, "command execution timeout", "PROCESS_EXECUTION_TIMEOUT")
        return web.json_response({"exitCode": _code(status), "result": printed.decode("utf-8", "replace")})

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
        if not name or max(size) > 1000:  # noqa: PLR2004  # the daemon's own limit
            return refuse(400, "id, cols and rows below 1000 are required")
        if name in self.terminals:
            return refuse(409, f"PTY session with ID '{name}' already exists")
        terminal = Terminal(name, size, query.get("cwd") or self.work, env)
        terminal.cut = self.cut
        self.terminals[name] = terminal
        try:
            await terminal.start(self.box, self.shell, self.env, self.user)
        except OSError as error:
            del self.terminals[name]
            return refuse(500, f"failed to start PTY session: {error}")
        terminal.on_end = lambda: self.terminals.pop(name, None) and None
        return await self._look(request, terminal, offered)

    async def see_terminal(self, request: web.Request) -> web.StreamResponse:
        """Look at a terminal that is there."""
        offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        terminal = self.terminals.get(request.match_info["name"])
        if terminal is None:
            return refuse(404, "PTY session not found")
        return await self._look(request, terminal, offered)

    async def _look(self, request: web.Request, terminal: Terminal, offered: list[str]) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=[EXIT_CONTROL], max_msg_size=limit(), compress=False)
        await socket.prepare(request)
        await terminal.look(socket, wants_exit=EXIT_CONTROL in offered)
        return socket

    async def list_terminals(self, _request: web.Request) -> web.StreamResponse:
        """List the terminals."""
        return web.json_response({"sessions": [each.info() for each in self.terminals.values()]})

    async def terminal_info(self, request: web.Request) -> web.StreamResponse:
        """Describe one."""
        terminal = self.terminals.get(request.match_info["name"])
        return refuse(404, "PTY session not found") if terminal is None else web.json_response(terminal.info())

    async def resize_terminal(self, request: web.Request) -> web.StreamResponse:
        """Change the size of one."""
        asked = await request.json()
        terminal = self.terminals.get(request.match_info["name"])
        if terminal is None or terminal.status is not None:
            return refuse(410, "PTY session is not active")
        if max(asked["cols"], asked["rows"]) > 1000:  # noqa: PLR2004  # the daemon's own limit
            return refuse(400, "cols and rows must be less than 1000")
        terminal.resize(asked["rows"], asked["cols"])
        return web.json_response(terminal.info())

    async def remove_terminal(self, request: web.Request) -> web.StreamResponse:
        """End one."""
        terminal = self.terminals.get(request.match_info["name"])
        if terminal is None:
            return refuse(404, "PTY session not found")
        await terminal.kill()
        return web.json_response({"message": "PTY session deleted"})

    # Sessions

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
        await self._run_in_session(command, lambda: finished.done() or finished.set_result(None))
        if asked.get("runAsync"):
            return web.json_response({"cmdId": command.name}, status=202)
        await finished
        out, err = _split(bytes(command.log))
        said = {"cmdId": command.name, "exitCode": command.status, "output": (out + err).decode("utf-8", "replace")}
        return web.json_response(
            {**said, "stdout": out.decode("utf-8", "replace"), "stderr": err.decode("utf-8", "replace")}
        )

    async def _run_in_session(self, command: Command, finished: Callable[[], Any]) -> None:
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
            asyncio.create_task(_by_line(pipes[number][0], command, mark)) for number, mark in ((1, _STDOUT), (2, _STDERR))
        ]

        async def wait() -> None:
            status = await ends
            await asyncio.gather(*readers)
            os.close(command.stdin)
            command.status = _code(status)
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

    # Files

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """Write files: parts of a form, each with a part before it that says where."""
        paths: dict[str, str] = {}
        async for part in await request.multipart():
            field = str(getattr(part, "name", ""))
            number = field.partition("[")[2].partition("]")[0]
            if field.endswith(".path"):
                paths[number] = (await part.read(decode=True)).decode()  # type: ignore[union-attr]
                continue
            try:
                answer = await self.box.ask(
                    "open", path=paths[number], flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode=0o644
                )
            except OSError as error:
                return _refused(error)
            with os.fdopen(answer.descriptors[0], "wb") as file:
                while chunk := await part.read_chunk(_CHUNK):  # type: ignore[union-attr]
                    file.write(chunk)
        return web.Response(status=200)

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Read files, as parts of a form."""
        paths = (await request.json())["paths"]
        mark = uuid.uuid4().hex
        answer = web.StreamResponse(headers={"Content-Type": f"multipart/form-data; boundary={mark}"})
        await answer.prepare(request)
        for path in paths:
            name, kind, file = "file", "application/octet-stream", None
            try:
                file = os.fdopen((await self.box.ask("open", path=path, flags=os.O_RDONLY)).descriptors[0], "rb")
            except OSError as error:
                name, kind = "error", "application/json"
                said = json.dumps({"message": str(error), "statusCode": 404, "code": "FILE_NOT_FOUND"}).encode()
            head = f'Content-Disposition: form-data; name="{name}"; filename="{path}"\r\nContent-Type: {kind}\r\n\r\n'
            await answer.write(f"--{mark}\r\n{head}".encode())
            if file is None:
                await answer.write(said)
            else:
                with file:
                    while chunk := file.read(_CHUNK):
                        await answer.write(chunk)
            await answer.write(b"\r\n")
        await answer.write(f"--{mark}--\r\n".encode())
        return answer

    async def file_info(self, request: web.Request) -> web.StreamResponse:
        """Describe a file."""
        path = request.query.get("path", "")
        try:
            answer = await self.box.ask("open", path=path, flags=os.O_RDONLY)
        except OSError as error:
            return _refused(error)
        found = os.fstat(answer.descriptors[0])
        os.close(answer.descriptors[0])
        return web.json_response(_described(path, found))

    async def shell_out(self, request: web.Request, command: str) -> web.StreamResponse:
        """Do what a program of the sandbox does, for calls on files that need nothing more."""
        del request
        reader, writer = os.pipe2(os.O_CLOEXEC)
        done = asyncio.get_running_loop().create_future()
        nothing = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        await self.box.spawn(
            ["/bin/sh", "-c", command],
            done.set_result,
            env=self.env,
            user=self.user,
            cwd=self.work,
            given=[nothing, writer, writer],
        )
        os.close(writer)
        os.close(nothing)
        printed = (await _all_of(reader)).decode(errors="replace").strip()
        if await done:
            return refuse(404 if "No such" in printed else 400, printed, "FILE_NOT_FOUND")
        return web.Response(status=200)

    async def make_folder(self, request: web.Request) -> web.StreamResponse:
        """Make a directory."""
        query = request.query
        command = f"mkdir -p -m {shlex.quote(query.get('mode') or '755')} {shlex.quote(query['path'])}"
        return await self.shell_out(request, command)

    async def remove_file(self, request: web.Request) -> web.StreamResponse:
        """Remove a file or directory."""
        flags = "-r" if request.query.get("recursive") == "true" else ""
        return await self.shell_out(request, f"rm {flags} -- {shlex.quote(request.query['path'])}")

    async def work_dir(self, _request: web.Request) -> web.StreamResponse:
        """Say where commands begin."""
        return web.json_response({"dir": self.work})


def _described(path: str, found: os.stat_result) -> dict[str, Any]:
    when = datetime.fromtimestamp(found.st_mtime, UTC).isoformat()
    return {
        "name": path.rpartition("/")[2],
        "size": found.st_size,
        "isDir": stats.S_ISDIR(found.st_mode),
        "mode": stats.filemode(found.st_mode),
        "permissions": f"{stats.S_IMODE(found.st_mode):04o}",
        "modTime": when,
        "modifiedAt": when,
        "owner": str(found.st_uid),
        "group": str(found.st_gid),
    }


def _refused(error: OSError) -> web.Response:
    if error.errno == errno.ENOENT:
        return refuse(404, str(error), "FILE_NOT_FOUND")
    if error.errno in (errno.EACCES, errno.EPERM):
        return refuse(403, str(error), "FILE_ACCESS_DENIED")
    return refuse(400, str(error), "INVALID_FILE_PATH")


def _code(status: int) -> int:
    """An exit status as Go's ExitCode tells it: -1 for one that a signal ended."""
    return status if status >= 0 else -1


async def _stream(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    reader = asyncio.StreamReader(limit=_CHUNK)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    return reader, transport


async def _all_of(descriptor: int) -> bytes:
    reader, transport = await _stream(descriptor)
    try:
        return await reader.read()
    finally:
        transport.close()


async def _by_line(descriptor: int, command: Command, mark: bytes) -> None:
    reader, transport = await _stream(descriptor)
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
