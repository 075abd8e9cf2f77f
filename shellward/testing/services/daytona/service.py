"""The whole loopback Daytona: its API, the way to sandboxes' daemons, calls of its own; and how it is served."""

import asyncio
import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from shellward.testing.services.boxes import BoxGone, tmpfs
from shellward.testing.services.daytona.api import API, Api
from shellward.testing.services.daytona.common import refuse
from shellward.testing.services.daytona.faults import KEY, Faults

_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Service(Api):
    """The whole of it: the API, the way to sandboxes' daemons, and calls of its own."""

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
            self.terminals.clear()
        found = {"calls": self.calls, "lacking": self.lacking, "terminals": list(self.terminals)}
        return web.json_response(found)

    async def own_sandboxes(self, _request: web.Request) -> web.StreamResponse:
        """List all sandboxes, each with what it was asked for with."""
        found = [{**each.described(self.url), "asked": each.asked} for each in self.sandboxes.values()]
        return web.json_response({"sandboxes": found})

    async def own_faults(self, request: web.Request) -> web.StreamResponse:
        """Set faults; none of them when the request is empty."""
        asked = await request.json()
        if not asked:
            self.faults = Faults()
        self.faults.set(asked)
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
        if request.path.endswith("/create-connect"):
            self.terminals.append({"query": dict(request.query), "headers": dict(request.headers)})
        faults = self.faults
        if faults.match in f"{request.method} {request.path}":
            if faults.delay:
                await asyncio.sleep(faults.delay)
            if (answer := await self._wrong(request, faults)) is not None:
                return answer
        if faults.expired or request.headers.get("Authorization") != f"Bearer {KEY}":
            return refuse(401, "Invalid credentials", source=API)
        if faults.lost and faults.match in f"{request.method} {request.path}":
            faults.lost -= 1
            await handler(request)
            return _broken(request)
        return await handler(request)

    async def _wrong(self, request: web.Request, faults: Faults) -> web.StreamResponse | None:
        """Answer a call that a fault concerns; None: this one goes well."""
        if faults.after > 0:
            faults.after -= 1
            return None
        if faults.unavailable > 0:
            faults.unavailable -= 1
            return refuse(503, "Service Unavailable", source=API)
        if faults.limited > 0:
            faults.limited -= 1
            answer = refuse(429, "ThrottlerException: Too Many Requests", source=API)
            answer.headers["Retry-After"] = "1"
            return answer
        if faults.status and faults.times > 0:
            faults.times -= 1
            return web.json_response({"error": f"on purpose: {faults.status}"}, status=faults.status)
        if faults.cut and request.path.endswith("/files/bulk-upload"):
            return await _cut(request, faults.cut)
        return None

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
            ("GET", "/api/snapshots/{name}", self.snapshot),
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


async def _cut(request: web.Request, after: int) -> web.StreamResponse:
    """Break a connection after so many bytes of what it brings."""
    taken = 0
    async for piece in request.content.iter_any():
        taken += len(piece)
        if taken >= after:
            break
    return _broken(request)


def _broken(request: web.Request) -> web.StreamResponse:
    """Break a call's connection; nobody gets what is returned."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)


def _own_mounts(state: Path) -> None:
    """Go where mounts are ours alone and end with us; put memory below ``state``: overlays lie on no overlays."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) or libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None):
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)}: this service needs root")
    tmpfs(state, "mode=755")


def _stop_at_eof(stop: asyncio.Event) -> None:
    if not sys.stdin.read(1):
        stop.set()


async def serve(image: Path, state: Path, port: int, minute: float, faults: dict[str, Any], *, until_eof: bool) -> None:
    """Serve until a signal says to end, or the end of standard input."""
    service = Service(image, state, minute)
    service.faults.set(faults)
    runner = web.AppRunner(service.application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=512).start()
    service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    sys.stdout.write(f"{service.url}\n")
    sys.stdout.flush()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if until_eof:
        asyncio.get_running_loop().add_reader(sys.stdin, _stop_at_eof, stop)
    looking = asyncio.create_task(service.look_after())
    await stop.wait()
    looking.cancel()
    await service.close()
    await runner.cleanup()


def run(image: Path, port: int, minute: float, faults: dict[str, Any], *, until_eof: bool) -> None:
    """Serve in a directory of its own, which is gone afterwards; see ``__main__`` for the arguments."""
    state = Path(tempfile.mkdtemp(prefix="shellward-daytona-"))
    try:
        _own_mounts(state)
        asyncio.run(serve(image, state, port, minute, faults, until_eof=until_eof))
    finally:
        ctypes.CDLL(None).umount2(str(state).encode(), 2)
        state.rmdir()
