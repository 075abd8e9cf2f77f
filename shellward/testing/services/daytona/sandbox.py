"""A sandbox of the loopback Daytona: its record, its box, its daemon, its times."""

import asyncio
import contextlib
import secrets
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from shellward.testing.services.boxes import Box, BoxGone, Mount
from shellward.testing.services.daytona.faults import Faults
from shellward.testing.services.daytona.toolbox import Toolbox

_CHUNK = 1 << 16


class Sandbox:
    """One sandbox, made from what the SDK has sent.

    Attributes:
        pending: it is being made, and cannot be deleted.
        born: when it was made, by the monotonic clock.
        removed: when it was removed, likewise.
    """

    def __init__(
        self,
        asked: dict[str, Any],
        directory: Path,
        lower: list[str],
        mounts: list[Mount],
        faults: Callable[[], Faults],
    ) -> None:
        self.id = str(uuid.uuid4())
        self.name = asked.get("name") or self.id
        self.labels: dict[str, str] = asked.get("labels") or {}
        self.asked = asked
        self.state = "creating"
        self.reason = ""
        self.token = secrets.token_hex(8)
        self.created = datetime.now(UTC)
        self.intervals = {
            "autostop": _number(asked, "autoStopInterval", 15),
            "autoarchive": _number(asked, "autoArchiveInterval", 7 * 24 * 60),
            "autodelete": _number(asked, "autoDeleteInterval", -1),
            "ttl": _number(asked, "ttlMinutes", 0),
        }
        self.box = Box(directory, lower, self.id[:8], mounts)
        self.toolbox = Toolbox(self.box, dict(asked.get("env") or {}), asked.get("user"), "/root", faults)
        self.pending = False
        self.removed: float | None = None
        self.born = self._used = time.monotonic()
        self._servers: dict[int, asyncio.Server] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def described(self, url: str) -> dict[str, Any]:
        """Describe it as the API does."""
        return {
            "id": self.id,
            "organizationId": "loopback",
            "name": self.name,
            "snapshot": self.asked.get("snapshot") or "daytonaio/sandbox",
            "user": self.asked.get("user") or "daytona",
            "env": self.asked.get("env") or {},
            "labels": self.labels,
            "public": bool(self.asked.get("public")),
            "networkBlockAll": bool(self.asked.get("networkBlockAll")),
            "kvm": False,
            "target": self.asked.get("target") or "us",
            "cpu": self.asked.get("cpu") or 1,
            "gpu": self.asked.get("gpu") or 0,
            "memory": self.asked.get("memory") or 1,
            "disk": self.asked.get("disk") or 3,
            "state": self.state,
            "desiredState": "started",
            "errorReason": self.reason or None,
            "autoStopInterval": self.intervals["autostop"],
            "autoArchiveInterval": self.intervals["autoarchive"],
            "autoDeleteInterval": self.intervals["autodelete"],
            "volumes": self.asked.get("volumes") or [],
            "createdAt": self.created.isoformat(),
            "updatedAt": datetime.now(UTC).isoformat(),
            "toolboxProxyUrl": f"{url}/toolbox",
        }

    async def bring_up(self) -> None:
        """Start it, with the files it has.

        Raises:
            BoxGone: it does not start.
        """
        await self.box.start()
        await self.toolbox.begin()
        self.touch()
        self.state = "started"

    def touch(self) -> None:
        """Note that it is used."""
        self._used = time.monotonic()

    def idle(self, minute: float) -> bool:
        """Whether nobody has used it for its time."""
        interval = self.intervals["autostop"]
        return bool(interval) and time.monotonic() - self._used > interval * minute

    def too_old(self, minute: float) -> bool:
        """Whether it has lived for its time."""
        return bool(self.intervals["ttl"]) and time.monotonic() - self.born > self.intervals["ttl"] * minute

    async def halt(self) -> None:
        """End what runs in it."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()
        await self.box.stop()
        self.toolbox.end()

    async def remove(self) -> None:
        """End it with its files."""
        await self.halt()
        await self.box.remove()

    async def copy_to(self, place: Path) -> None:
        """Copy what was changed in its file system."""
        await asyncio.to_thread(self.box.save, str(place))

    async def table(self) -> list[list[Any]]:
        """List its processes."""
        if not self.box.runs:
            return []
        with contextlib.suppress(BoxGone):
            rows: list[list[Any]] = (await self.box.ask("table")).values["rows"]
            return rows
        return []

    async def preview(self, port: int) -> str:
        """Make a port of it reachable; a cloud has a proxy for that."""
        if port not in self._servers:
            self._servers[port] = await asyncio.start_server(lambda r, w: self._proxy(port, r, w), "127.0.0.1", 0)
        here = self._servers[port].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{here}"

    async def _proxy(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import socket

        try:
            answer = await self.box.ask("connect", port=port)
        except (OSError, BoxGone):
            writer.close()
            return
        inside = await asyncio.open_connection(sock=socket.socket(fileno=answer.descriptors[0]))
        await asyncio.gather(_pass_on(reader, inside[1]), _pass_on(inside[0], writer))

    def route(self, request: web.Request) -> Callable[[web.Request], Awaitable[web.StreamResponse]] | None:
        """Find what answers a call to its daemon; None: it lacks that."""
        words = request.match_info["path"].strip("/").split("/")
        method, toolbox = request.method, self.toolbox
        match words:
            case ["process", "pty", name, *rest] if name != "create-connect":
                request.match_info["name"] = name
                words = ["process", "pty", "*", *rest]
            case ["process", "session", name, "command", command, *rest]:
                request.match_info.update(name=name, command=command)
                words = ["process", "session", "*", "command", "*", *rest]
            case ["process", "session", name, *rest]:
                request.match_info["name"] = name
                words = ["process", "session", "*", *rest]
        table = {
            "POST process/execute": toolbox.execute,
            "GET process/pty": toolbox.list_terminals,
            "GET process/pty/create-connect": toolbox.make_terminal,
            "GET process/pty/*": toolbox.terminal_info,
            "DELETE process/pty/*": toolbox.remove_terminal,
            "GET process/pty/*/connect": toolbox.see_terminal,
            "POST process/pty/*/resize": toolbox.resize_terminal,
            "POST process/session": toolbox.sessions.make_session,
            "GET process/session/*": toolbox.sessions.session_info,
            "DELETE process/session/*": toolbox.sessions.session_info,
            "POST process/session/*/exec": toolbox.sessions.session_execute,
            "GET process/session/*/command/*": toolbox.sessions.session_command,
            "GET process/session/*/command/*/logs": toolbox.sessions.session_logs,
            "POST process/session/*/command/*/input": toolbox.sessions.session_input,
            "POST files/bulk-upload": toolbox.files.upload,
            "POST files/bulk-download": toolbox.files.download,
            "GET files/info": toolbox.files.file_info,
            "POST files/folder": toolbox.files.make_folder,
            "DELETE files": toolbox.files.remove_file,
            "GET work-dir": toolbox.work_dir,
        }
        return table.get(f"{method} {'/'.join(words)}")


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


def _number(asked: dict[str, Any], key: str, usual: int) -> int:
    value = asked.get(key)
    return usual if value is None else int(value)
