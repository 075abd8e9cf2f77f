"""A loopback Daytona: speaks its REST, websocket and Socket.IO to the real SDK, and runs what it is asked to run.

    python -m shellward.testing.services.daytona [--port N] [--image NAME | --rootfs DIR] [--minute SECONDS]

It prints its URL as its first line. Sandboxes are ``boxes``; nothing in them reaches a network. Every call is
recorded, and one that it has no answer for is recorded as lacking. Faults and records are at ``/_service/...``:

    GET    /_service/calls      {"calls": [...], "lacking": [...]}
    DELETE /_service/calls      forget them
    POST   /_service/faults     {"unavailable": 2, "delay": 0.1, "expired": true, "quota": true, "limited": 1, "cut": 1}
    GET    /_service/sandboxes  all sandboxes
    GET    /_service/table/ID   the processes of a sandbox
    POST   /_service/evict/ID   a sandbox is gone at once, as if its machine had failed
    POST   /_service/break/ID   the websockets of a sandbox are cut off
"""

import argparse
import asyncio
import ctypes
import json
import os
import secrets
import signal
import sys
import tempfile
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import socketio
from aiohttp import web

from shellward.testing.services.boxes import BoxGone, rootfs
from shellward.testing.services.daytona_sandbox import Sandbox
from shellward.testing.services.daytona_toolbox import refuse

KEY: Final = "loopback-key"
"""The API key that is let in."""
_API = "DAYTONA_API"
_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_QUOTA = "Total CPU limit exceeded. Maximum allowed: 10."
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Faults:
    """What goes wrong on purpose. Each number counts down with the calls that it hits."""

    def __init__(self) -> None:
        self.unavailable = 0
        self.limited = 0
        self.delay = 0.0
        self.expired = False
        self.quota = False
        self.cut = 0
        self.create = ""
        self.match = ""

    def set(self, values: dict[str, Any]) -> None:
        """Change some.

        Raises:
            AttributeError: there is no such fault.
        """
        for key, value in values.items():
            getattr(self, key)
            setattr(self, key, value)


class Service:
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
        self.sockets = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*")
        self.sockets.on("connect", self._connected)
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
            return refuse(403, _QUOTA, source=_API)
        snapshot = asked.get("snapshot") or ""
        image = _image_of(asked)
        if snapshot and snapshot not in self.snapshots:
            return refuse(404, f"Snapshot {snapshot} not found. Did you add it through the Daytona Dashboard?", source=_API)
        if asked.get("name") and any(each.name == asked["name"] for each in self.sandboxes.values()):
            return refuse(409, f"Sandbox with name {asked['name']} already exists", source=_API)
        lower = [*self.snapshots.get(snapshot, []), self.images[""]]
        sandbox = Sandbox(asked, self.state / secrets.token_hex(8), lower, self._mounts(asked))
        self.sandboxes[sandbox.id] = sandbox
        if "no-such" in image:
            sandbox.state, sandbox.reason = "build_failed", f"failed to pull image {image}: not found"
        else:
            self.later(self._bring_up(sandbox))
        return web.json_response(sandbox.described(self.url))

    def _mounts(self, asked: dict[str, Any]) -> list[tuple[str, str]]:
        found = []
        for each in asked.get("volumes") or ():
            volume = next((one for one in self.volumes.values() if one["id"] == each["volumeId"]), None)
            place = self.state / "volumes" / each["volumeId"]
            if volume is not None and not place.exists():
                place.mkdir(parents=True)
                if volume["name"].endswith("-1m"):  # for tests of a full disk
                    _tmpfs(place, "mode=1777,size=1m")
            found.append((str(place), str(each["mountPath"])))
        return found

    async def _bring_up(self, sandbox: Sandbox) -> None:
        old = sandbox.state
        if self.faults.create:
            sandbox.state, sandbox.reason = "error", self.faults.create
        else:
            try:
                await sandbox.bring_up()
            except (BoxGone, OSError) as error:
                sandbox.state, sandbox.reason = "error", str(error)
        sandbox.toolbox.cut = self.faults.cut
        await self.tell(sandbox, old)

    async def list(self, request: web.Request) -> web.StreamResponse:
        """List sandboxes, by labels."""
        labels = json.loads(request.query.get("labels") or "{}")
        states = request.query.getall("states", [])
        found = [
            each
            for each in self.sandboxes.values()
            if labels.items() <= each.labels.items() and (not states or each.state in states)
        ]
        start = int(request.query.get("cursor") or 0)
        most = int(request.query.get("limit") or 100)
        items = [each.described(self.url) for each in found[start : start + most]]
        more = str(start + most) if start + most < len(found) else None
        return web.json_response({"items": items, "nextCursor": more})

    async def one(self, request: web.Request) -> web.StreamResponse:
        """Describe a sandbox, or remove it."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, f"Sandbox with ID or name {request.match_info['id']} not found", source=_API)
        if request.method == "DELETE":
            await self.remove(sandbox)
        return web.json_response(sandbox.described(self.url))

    async def remove(self, sandbox: Sandbox) -> None:
        """End a sandbox with its files."""
        old = sandbox.state
        sandbox.state = "destroyed"
        self.sandboxes.pop(sandbox.id, None)
        await sandbox.remove()
        await self.tell(sandbox, old)

    async def change(self, request: web.Request) -> web.StreamResponse:
        """Start, stop or archive one, or set one of its intervals."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, f"Sandbox with ID or name {request.match_info['id']} not found", source=_API)
        what, value = request.match_info["what"], request.match_info.get("value", "")
        old = sandbox.state
        if what == "start":
            if sandbox.state not in ("stopped", "archived"):
                return refuse(409, f"Sandbox is not in a startable state: {sandbox.state}", source=_API)
            sandbox.state = "starting"
            self.later(self._bring_up(sandbox))
        elif what == "stop":
            await self.stop(sandbox)
        elif what == "archive":
            if sandbox.state != "stopped":
                return refuse(409, "Sandbox is not stopped", source=_API)
            sandbox.state = "archived"
        elif what in ("autostop", "autoarchive", "autodelete", "ttl"):
            sandbox.intervals[what] = int(value)
        else:
            return self.lack(request)
        if sandbox.state != old:
            await self.tell(sandbox, old)
        return web.json_response(sandbox.described(self.url))

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
            return refuse(404, "Sandbox not found", source=_API)
        sandbox.labels = (await request.json())["labels"]
        return web.json_response(sandbox.described(self.url))

    async def touch(self, request: web.Request) -> web.StreamResponse:
        """Note that a sandbox is used."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, "Sandbox not found", source=_API)
        sandbox.touch()
        return web.Response(status=201)

    async def preview(self, request: web.Request) -> web.StreamResponse:
        """Say where a port is reachable."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, "Sandbox not found", source=_API)
        port = int(request.match_info["port"])
        url = await sandbox.preview(port)
        return web.json_response({"sandboxId": sandbox.id, "url": url, "token": sandbox.token})

    async def take_snapshot(self, request: web.Request) -> web.StreamResponse:
        """Keep a copy of a sandbox's files under a name."""
        sandbox = self.find(request)
        if sandbox is None:
            return refuse(404, "Sandbox not found", source=_API)
        name = (await request.json())["name"]
        if name in self.snapshots:
            return refuse(409, f"Snapshot {name} already exists", source=_API)
        place = self.state / f"snapshot-{uuid.uuid4().hex}"
        await sandbox.copy_to(place)
        self.snapshots[name] = [str(place), *sandbox.box.lower[:-1]]
        return web.json_response(sandbox.described(self.url))

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
            return refuse(404, f"Volume with name {name} not found", source=_API)
        if request.method == "DELETE":
            del self.volumes[found["name"]]
        return web.json_response(found)

    # The rest

    async def toolbox(self, request: web.Request) -> web.StreamResponse:
        """Pass a call on to a sandbox's daemon."""
        sandbox = self.sandboxes.get(request.match_info["id"])
        if sandbox is None:
            return refuse(404, "sandbox container not found", source="DAYTONA_PROXY")
        if sandbox.state != "started":
            message = f"bad request: failed to get runner info: sandbox is {sandbox.state}"
            return refuse(400, message, source="DAYTONA_PROXY")
        sandbox.touch()
        handler = sandbox.route(request)
        if handler is None:
            return self.lack(request)
        try:
            return await handler(request)
        except BoxGone as error:
            return refuse(502, str(error), source="DAYTONA_PROXY")

    def lack(self, request: web.Request) -> web.Response:
        """Record a call that there is no answer for."""
        self.lacking.append(f"{request.method} {request.path}")
        return refuse(501, f"the loopback service has no {request.method} {request.path}", source=_API)

    async def missing(self, request: web.Request) -> web.StreamResponse:
        """Answer what no route is for."""
        return self.lack(request)

    async def look_after(self) -> None:
        """Stop what nobody has used for its time, and remove what has lived for its time."""
        while True:
            await asyncio.sleep(min(1.0, self.minute / 4))
            for sandbox in list(self.sandboxes.values()):
                if sandbox.too_old(self.minute):
                    await self.remove(sandbox)
                elif sandbox.state == "started" and sandbox.idle(self.minute):
                    await self.stop(sandbox)

    # Its own calls

    async def own_calls(self, request: web.Request) -> web.StreamResponse:
        """Tell, or forget, what was called."""
        if request.method == "DELETE":
            self.calls.clear()
            self.lacking.clear()
        return web.json_response({"calls": self.calls, "lacking": self.lacking})

    async def own_sandboxes(self, _request: web.Request) -> web.StreamResponse:
        """List all sandboxes."""
        return web.json_response({"sandboxes": [each.described(self.url) for each in self.sandboxes.values()]})

    async def own_faults(self, request: web.Request) -> web.StreamResponse:
        """Set faults; none of them when the request is empty."""
        asked = await request.json()
        if not asked:
            self.faults = Faults()
        self.faults.set(asked)
        for sandbox in self.sandboxes.values():
            sandbox.toolbox.cut = self.faults.cut
        return web.json_response({})

    async def own_sandbox(self, request: web.Request) -> web.StreamResponse:
        """Look at a sandbox from outside, or break it."""
        sandbox, what = self.find(request), request.match_info["what"]
        if sandbox is None:
            return web.json_response({"rows": []}, status=200 if what == "table" else 404)
        if what == "table":
            return web.json_response({"rows": await sandbox.table()})
        if what == "evict":
            await self.remove(sandbox)
        elif what == "break":
            for terminal in sandbox.toolbox.terminals.values():
                terminal.break_off()
        return web.json_response({})

    @web.middleware
    async def gate(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Record a call, look at its key, and let go wrong what is to."""
        if request.path.startswith(("/_service/", "/api/socket.io/")):
            return await handler(request)
        self.calls.append(f"{request.method} {request.path}")
        faults = self.faults
        if faults.match in request.path:
            if faults.delay:
                await asyncio.sleep(faults.delay)
            if faults.unavailable > 0:
                faults.unavailable -= 1
                return refuse(503, "Service Unavailable", source=_API)
            if faults.limited > 0:
                faults.limited -= 1
                answer = refuse(429, "ThrottlerException: Too Many Requests", source=_API)
                answer.headers["Retry-After"] = "1"
                return answer
        if faults.expired or request.headers.get("Authorization") != f"Bearer {KEY}":
            return refuse(401, "Invalid credentials", source=_API)
        return await handler(request)

    def application(self) -> web.Application:
        """Make the web application."""
        app = web.Application(middlewares=[self.gate], client_max_size=1 << 40)
        self.sockets.attach(app, socketio_path="api/socket.io")
        one = "/api/sandbox/{id}"
        routes: list[tuple[str, str, _Handler]] = [
            ("POST", "/api/sandbox", self.create),
            ("GET", "/api/sandbox", self.list),
            ("GET", one, self.one),
            ("DELETE", one, self.one),
            ("PUT", f"{one}/labels", self.set_labels),
            ("POST", f"{one}/last-activity", self.touch),
            ("POST", f"{one}/snapshot", self.take_snapshot),
            ("GET", one + "/ports/{port}/preview-url", self.preview),
            ("POST", one + "/{what}", self.change),
            ("POST", one + "/{what}/{value}", self.change),
            ("GET", "/api/volumes", self.volume),
            ("POST", "/api/volumes", self.volume),
            ("GET", "/api/volumes/by-name/{name}", self.volume),
            ("GET", "/api/volumes/{name}", self.volume),
            ("DELETE", "/api/volumes/{name}", self.volume),
            ("*", "/toolbox/{id}/{path:.*}", self.toolbox),
            ("*", "/_service/calls", self.own_calls),
            ("POST", "/_service/faults", self.own_faults),
            ("GET", "/_service/sandboxes", self.own_sandboxes),
            ("*", "/_service/{what}/{id}", self.own_sandbox),
            ("*", "/{path:.*}", self.missing),
        ]
        for method, path, handler in routes:
            app.router.add_route(method, path, handler)
        return app

    async def close(self) -> None:
        """End all sandboxes."""
        for sandbox in list(self.sandboxes.values()):
            await sandbox.remove()


def _image_of(asked: dict[str, Any]) -> str:
    first = str((asked.get("buildInfo") or {}).get("dockerfileContent") or "").split("\n", 1)[0]
    return first.removeprefix("FROM ").strip()


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


def _own_mounts(state: Path) -> None:
    """Go where mounts are ours alone and end with us, and put memory below ``state``: overlays do not lie on overlays."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) or libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None):
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)}: this service needs root")
    _tmpfs(state, "mode=755")


def _tmpfs(place: Path, options: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", ctypes.c_ulong(0), options.encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(place))


async def serve(image: Path, state: Path, port: int, minute: float) -> None:
    """Serve until a signal says to end."""
    service = Service(image, state, minute)
    runner = web.AppRunner(service.application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=512).start()
    service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    sys.stdout.write(f"{service.url}\n")
    sys.stdout.flush()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    looking = asyncio.create_task(service.look_after())
    await stop.wait()
    looking.cancel()
    await service.close()
    await runner.cleanup()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description="a loopback Daytona; sandboxes are boxes of this machine")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--image", default="shellward/sandbox:latest", help="of this machine's Docker Engine")
    parser.add_argument("--rootfs", type=Path, help="a directory with a file system, in place of an image")
    parser.add_argument("--minute", type=float, default=60.0, help="seconds that a minute of an interval takes")
    parser.add_argument("--cache", type=Path, default=Path("/var/cache/shellward-tests"))
    given = parser.parse_args()
    image = given.rootfs or rootfs(given.image, given.cache)
    state = Path(tempfile.mkdtemp(prefix="shellward-daytona-"))
    try:
        _own_mounts(state)
        asyncio.run(serve(image, state, given.port, given.minute))
    finally:
        ctypes.CDLL(None).umount2(str(state).encode(), 2)
        state.rmdir()


if __name__ == "__main__":
    main()
