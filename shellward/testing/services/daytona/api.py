"""The part of the loopback Daytona that makes and changes sandboxes and snapshots: what its API does."""

import asyncio
import json
import secrets
import time
import uuid
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import socketio
from aiohttp import web

from shellward.testing.services.boxes import BoxGone, Mount, tmpfs
from shellward.testing.services.daytona.common import refuse
from shellward.testing.services.daytona.faults import KEY, Faults
from shellward.testing.services.daytona.sandbox import Sandbox

API: Final = "DAYTONA_API"
_HANGS: Final = 2.0
_QUOTA = "Total CPU limit exceeded. Maximum allowed: 10."


class Api:
    """The whole of it.

    Args:
        image: directory with the file system that sandboxes begin with.
        state: directory on a file system that overlays can lie on.
        minute: seconds that a minute of the intervals takes; 60 in the cloud.
    """

    def __init__(self, image: Path, state: Path, minute: float) -> None:
        self.images = {"": str(image)}
        self.state = state
        self.minute = minute
        self.url = ""
        self.sandboxes: dict[str, Sandbox] = {}
        self.snapshots: dict[str, list[str]] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.faults = Faults()
        self.calls: list[str] = []
        self.lacking: list[str] = []
        self.terminals: deque[dict[str, Any]] = deque(maxlen=10)
        self.sockets = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*")
        self.sockets.on("connect", self._connected)
        self._removed: list[Sandbox] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def _connected(self, _sid: str, _environ: dict[str, Any], auth: Any) -> bool:
        return bool(isinstance(auth, dict) and auth.get("token") == KEY)

    def later(self, doing: Any) -> None:
        """Do something without waiting for it."""
        task = asyncio.ensure_future(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def tell(self, sandbox: Sandbox, old: str) -> None:
        """Tell a change of state to those who listen."""
        said = {"sandbox": sandbox.described(self.url), "oldState": old, "newState": sandbox.state}
        await self.sockets.emit("sandbox.state.updated", said)

    def find(self, request: web.Request) -> Sandbox | None:
        """Find a sandbox by id or name."""
        wanted = request.match_info["id"]
        for sandbox in self.sandboxes.values():
            if wanted in (sandbox.id, sandbox.name):
                return sandbox
        return None

    # Sandboxes

    async def create(self, request: web.Request) -> web.StreamResponse:
        """Make a sandbox; it is there at once and starts a moment later."""
        asked = await request.json()
        if self.faults.quota:
            return refuse(403, _QUOTA, source=API)
        snapshot = asked.get("snapshot") or ""
        image = _image_of(asked)
        if snapshot and snapshot not in self.snapshots:
            return refuse(
                404, f"Snapshot {snapshot} not found. Did you add it through the Daytona Dashboard?", source=API
            )
        if asked.get("name") and any(each.name == asked["name"] for each in self.sandboxes.values()):
            return refuse(409, f"Sandbox with name {asked['name']} already exists", source=API)
        lower = [*self.snapshots.get(snapshot, []), self.images[""]]
        sandbox = Sandbox(asked, self.state / secrets.token_hex(8), lower, self._mounts(asked), lambda: self.faults)
        sandbox.pending = True
        self.sandboxes[sandbox.id] = sandbox
        if "no-such" in image:
            sandbox.pending = False
            sandbox.state, sandbox.reason = "build_failed", f"failed to pull image {image}: not found"
        else:
            self.later(self._bring_up(sandbox))
        return web.json_response(sandbox.described(_here(request)))

    def _mounts(self, asked: dict[str, Any]) -> list[Mount]:
        found = []
        for each in asked.get("volumes") or ():
            volume = next((one for one in self.volumes.values() if one["id"] == each["volumeId"]), None)
            place = self.state / "volumes" / each["volumeId"]
            if volume is not None and not place.exists():
                place.mkdir(parents=True)
                if volume["name"].endswith("-1m"):  # for tests of a full disk
                    tmpfs(place, "mode=1777,size=1m")
            found.append(Mount(str(place), str(each["mountPath"])))
        return found

    async def _bring_up(self, sandbox: Sandbox) -> None:
        old = sandbox.state
        if self.faults.hang:
            await asyncio.sleep(_HANGS)
            sandbox.pending = False
            return
        await asyncio.sleep(self.faults.slow)
        sandbox.pending = False
        if self.faults.create:
            sandbox.state, sandbox.reason = "error", self.faults.create
        else:
            try:
                await sandbox.bring_up()
            except (BoxGone, OSError) as error:
                sandbox.state, sandbox.reason = "error", str(error)
        await self.tell(sandbox, old)

    async def list(self, request: web.Request) -> web.StreamResponse:
        """List sandboxes, by labels; it may know late of one that was made or removed."""
        labels = json.loads(request.query.get("labels") or "{}")
        states = request.query.getall("states", [])
        found = [
            each
            for each in [*self.sandboxes.values(), *self._removed]
            if self._listed(each) and labels.items() <= each.labels.items() and (not states or each.state in states)
        ]
        self._removed = [each for each in self._removed if self._listed(each)]
        start = int(request.query.get("cursor") or 0)
        most = int(request.query.get("limit") or 100)
        items = [each.described(_here(request)) for each in found[start : start + most]]
        more = str(start + most) if start + most < len(found) else None
        return web.json_response({"items": items, "nextCursor": more})

    def _listed(self, sandbox: Sandbox) -> bool:
        since = time.monotonic() - self.faults.late
        return sandbox.born <= since and (sandbox.removed is None or sandbox.removed > since)

    async def one(self, request: web.Request) -> web.StreamResponse:
        """Describe a sandbox, or remove it."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, f"Sandbox with ID or name {request.match_info['id']} not found", source=API)
        if request.method == "DELETE":
            if sandbox.pending:
                return refuse(409, "Sandbox state change in progress", source=API)
            await self.remove(sandbox)
        return web.json_response(sandbox.described(_here(request)))

    async def remove(self, sandbox: Sandbox) -> None:
        """End a sandbox with its files."""
        old = sandbox.state
        sandbox.state, sandbox.removed = "destroyed", time.monotonic()
        self._removed.append(sandbox)
        self.sandboxes.pop(sandbox.id, None)
        await sandbox.remove()
        await self.tell(sandbox, old)

    async def change(self, request: web.Request) -> web.StreamResponse:
        """Start, stop or archive one, or set one of its intervals."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, f"Sandbox with ID or name {request.match_info['id']} not found", source=API)
        what, value = request.match_info["what"], request.match_info.get("value", "")
        old = sandbox.state
        if what == "start":
            if sandbox.state not in ("stopped", "archived"):
                return refuse(409, f"Sandbox is not in a startable state: {sandbox.state}", source=API)
            sandbox.state = "starting"
            self.later(self._bring_up(sandbox))
        elif what == "stop":
            await self.stop(sandbox)
        elif what == "archive":
            if sandbox.state != "stopped":
                return refuse(409, "Sandbox is not stopped", source=API)
            sandbox.state = "archived"
        elif what in ("autostop", "autoarchive", "autodelete", "ttl"):
            sandbox.intervals[what] = int(value)
        else:
            return self.lack(request)
        if sandbox.state != old:
            await self.tell(sandbox, old)
        return web.json_response(sandbox.described(_here(request)))

    async def stop(self, sandbox: Sandbox) -> None:
        """End what runs in a sandbox; one without a time to be deleted is gone with that."""
        if sandbox.state == "started":
            sandbox.state = "stopped"
            await sandbox.halt()
        if sandbox.intervals["autodelete"] == 0:
            await self.remove(sandbox)

    async def set_labels(self, request: web.Request) -> web.StreamResponse:
        """Replace the labels."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, "Sandbox not found", source=API)
        sandbox.labels = (await request.json())["labels"]
        return web.json_response(sandbox.described(_here(request)))

    async def touch(self, request: web.Request) -> web.StreamResponse:
        """Note that a sandbox is used."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, "Sandbox not found", source=API)
        sandbox.touch()
        return web.Response(status=201)

    async def preview(self, request: web.Request) -> web.StreamResponse:
        """Say where a port is reachable."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, "Sandbox not found", source=API)
        port = int(request.match_info["port"])
        url = await sandbox.preview(port)
        return web.json_response({"sandboxId": sandbox.id, "url": url, "token": sandbox.token})

    async def take_snapshot(self, request: web.Request) -> web.StreamResponse:
        """Keep a copy of a sandbox's files under a name."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, "Sandbox not found", source=API)
        name = (await request.json())["name"]
        if name in self.snapshots:
            return refuse(409, f"Snapshot {name} already exists", source=API)
        place = self.state / f"snapshot-{uuid.uuid4().hex}"
        await sandbox.copy_to(place)
        self.snapshots[name] = [str(place), *sandbox.box.lower[:-1]]
        return web.json_response(sandbox.described(_here(request)))

    async def snapshot(self, request: web.Request) -> web.StreamResponse:
        """Describe a snapshot, which is ready at once."""
        name = request.match_info["name"]
        if name not in self.snapshots:
            return refuse(404, f"Snapshot {name} not found", source=API)
        return web.json_response(_snapshot(name))

    async def volume(self, request: web.Request) -> web.StreamResponse:
        """Find, make, list or remove volumes."""
        name = request.match_info.get("name", "")
        if request.method == "POST":
            name = (await request.json())["name"]
            self.volumes[name] = _volume(name)
        if not name:
            return web.json_response(list(self.volumes.values()))
        found = self.volumes.get(name) or next((each for each in self.volumes.values() if each["id"] == name), None)
        if found is None:
            return refuse(404, f"Volume with name {name} not found", source=API)
        if request.method == "DELETE":
            del self.volumes[found["name"]]
        return web.json_response(found)

    def lack(self, request: web.Request) -> web.Response:
        """Record a call that there is no answer for."""
        self.lacking.append(f"{request.method} {request.path}")
        return refuse(501, f"the loopback service has no {request.method} {request.path}", source=API)


def _here(request: web.Request) -> str:
    """The address by which a client reached us, which may be a proxy's."""
    return f"http://{request.host}"


def _image_of(asked: dict[str, Any]) -> str:
    first = str((asked.get("buildInfo") or {}).get("dockerfileContent") or "").split("\n", 1)[0]
    return first.removeprefix("FROM ").strip()


def _snapshot(name: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {
        "id": name,
        "name": name,
        "general": False,
        "state": "active",
        "size": 0.1,
        "entrypoint": None,
        "cpu": 1,
        "gpu": 0,
        "mem": 1,
        "disk": 3,
        "errorReason": None,
        "createdAt": now,
        "updatedAt": now,
        "lastUsedAt": now,
        "sourceSandboxId": None,
    }


def _volume(name: str) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {
        "id": str(uuid.uuid4()),
        "name": name,
        "organizationId": "loopback",
        "state": "ready",
        "createdAt": now,
        "updatedAt": now,
        "errorReason": None,
    }
