"""Terminals of Daytona's toolbox: a shell at a pseudo-terminal, and the websockets of those who look at it.

It follows the daemon in Daytona's sandboxes where that is surprising: the shell is an interactive login shell; a
session outlives its websockets and ends with its shell; a message of a client may have 64 KiB; and a client that does
not keep up is dropped: at most 256 messages wait for it, each what one read of the terminal gave.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import struct
import termios
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from aiohttp import WSCloseCode, WSMsgType, web

from shellward.testing.services.boxes import Box
from shellward.testing.services.daytona.faults import Faults

EXIT_CONTROL: Final = "X-Daytona-Pty-Exit-Control"
ENVIRONMENT: Final = "X-Daytona-Pty-Envs~"
_QUEUE = 256
_READ = 32 * 1024
_LIMIT = 64 * 1024
_INPUTS = 1024


class Viewer:
    """One websocket that looks at a terminal."""

    def __init__(self, socket: web.WebSocketResponse, faults: Callable[[], Faults], *, wants_exit: bool) -> None:
        self.socket = socket
        self._faults = faults
        self.wants_exit = wants_exit
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(_QUEUE)
        self.writer: asyncio.Task[None] | None = None

    async def write(self) -> None:
        """Send what comes, until None does."""
        with contextlib.suppress(ConnectionError):
            while (data := await self.queue.get()) is not None:
                if lag := self._faults().lag:
                    await asyncio.sleep(lag)
                await self.socket.send_bytes(data)

    def stop(self) -> None:
        """Send nothing more, whatever waits."""
        while not self.queue.empty():
            self.queue.get_nowait()
        if self.writer is not None:
            self.writer.cancel()

    async def drop(self) -> None:
        """Close the websocket of one that does not keep up."""
        await self.socket.close(code=WSCloseCode.POLICY_VIOLATION, message=b"slow consumer")


class Terminal:
    """One session."""

    def __init__(self, name: str, size: tuple[int, int], cwd: str, env: dict[str, str]) -> None:
        self.name = name
        self.size = size
        self.cwd = cwd
        self.env = env
        self.created = datetime.now(UTC)
        self.viewers: set[Viewer] = set()
        self.status: int | None = None
        self.on_end: Callable[[], None] = lambda: None
        self._master = -1
        self._pid = 0
        self._box: Box | None = None
        self._inputs: asyncio.Queue[bytes] = asyncio.Queue(_INPUTS)
        self._pump: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, box: Box, shell: str, env: Mapping[str, str], user: str | None) -> None:
        """Start its shell."""
        self._box = box
        rows, columns = self.size
        variables = {**env, "TERM": "xterm-256color", **self.env}
        argv = [shell, "-i", "-l"]
        self._pid, self._master = await box.spawn(
            argv, self._ended, env=variables, cwd=self.cwd, user=user, pty=(rows, columns)
        )
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._read)
        self._pump = asyncio.create_task(self._feed())

    def info(self) -> dict[str, Any]:
        """Describe it as the toolbox does."""
        return {
            "id": self.name,
            "cwd": self.cwd,
            "envs": self.env,
            "cols": self.size[1],
            "rows": self.size[0],
            "createdAt": self.created.isoformat(),
            "active": self.status is None,
            "lazyStart": False,
        }

    def _read(self) -> None:
        try:
            data = os.read(self._master, _READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
            return
        for viewer in list(self.viewers):
            try:
                viewer.queue.put_nowait(data)
            except asyncio.QueueFull:
                self.viewers.discard(viewer)
                self._later(viewer.drop())

    def _later(self, doing: Any) -> None:
        task = asyncio.ensure_future(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _feed(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            view = memoryview(await self._inputs.get())
            while view:
                try:
                    view = view[os.write(self._master, view) :]
                except BlockingIOError:
                    room = loop.create_future()
                    loop.add_writer(self._master, room.set_result, None)
                    try:
                        await room
                    finally:
                        loop.remove_writer(self._master)
                except OSError:
                    return

    def _ended(self, status: int) -> None:
        """As the daemon does: all are told at once, past the queue; what still waits in that is lost."""
        if self.status is not None:
            return
        self.status = status
        self._later(self._finish())

    async def _finish(self) -> None:
        code = 0 if self.status is None else self.status
        viewers, self.viewers = list(self.viewers), set()
        for viewer in viewers:
            viewer.stop()
            with contextlib.suppress(ConnectionError):
                if viewer.wants_exit:
                    said: dict[str, Any] = {"type": "control", "status": "exited", "exitCode": code}
                    await viewer.socket.send_str(json.dumps(said))
                close = WSCloseCode.OK if code == 0 else WSCloseCode.INTERNAL_ERROR
                await viewer.socket.close(code=close, message=json.dumps({"exitCode": code}).encode())
        self.release()
        self.on_end()

    def release(self) -> None:
        """Give back what it holds here."""
        if self._pump is not None:
            self._pump.cancel()
        master, self._master = self._master, -1
        if master >= 0:
            loop = asyncio.get_running_loop()
            loop.remove_reader(master)
            loop.remove_writer(master)
            os.close(master)

    async def kill(self) -> None:
        """End its shell with what descends from it."""
        if self.status is None and self._box is not None and self._box.runs:
            await self._box.ask("kill", pid=self._pid)

    def resize(self, rows: int, columns: int) -> None:
        """Change its size."""
        self.size = (rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    async def look(self, socket: web.WebSocketResponse, *, wants_exit: bool, faults: Callable[[], Faults]) -> None:
        """Serve one websocket until one side closes it."""
        viewer = Viewer(socket, faults, wants_exit=wants_exit)
        await socket.send_str(json.dumps({"type": "control", "status": "connected"}))
        self.viewers.add(viewer)
        writer = viewer.writer = asyncio.create_task(viewer.write())
        try:
            while True:
                message = await socket.receive()
                if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
                    break
                data = message.data if isinstance(message.data, bytes) else message.data.encode()
                await self._inputs.put(data)
        finally:
            self.viewers.discard(viewer)
            writer.cancel()

    def break_off(self) -> None:
        """Cut the connections of those who look at it, in the middle of whatever they get (a fault)."""
        for viewer in list(self.viewers):
            _abort(viewer.socket)


def _abort(socket: web.WebSocketResponse) -> None:
    """Drop a connection without any word, as a network does."""
    writer = socket._writer  # noqa: SLF001  # aiohttp has no public way to break one
    if writer is not None and writer.transport is not None:
        writer.transport.abort()


def limit() -> int:
    """Bytes that a client's message may have."""
    return _LIMIT
