"""Messages over streamable HTTP, at ``/mcp``: who may send any is decided before anything of a message is read."""

import asyncio
import contextlib
import hmac
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse

from shellward.core.errors import EnvironmentUnavailable
from shellward.mcp_server.settings import Address, is_loopback

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH: Final = "/mcp"
_LARGEST: Final = 32 << 20
"""Bytes of a message."""
_GRACE: Final = 1
"""Seconds for answers that are being sent when the server ends."""
_ELSEWHERE: Final = TransportSecuritySettings(enable_dns_rebinding_protection=False)
"""The SDK's own check, which knows nothing of tokens, is done by ``Guard``."""


class Guard:
    """Refuses requests: without the token, from foreign web pages, and under a name that is not this machine's.

    A web page can send requests to this machine, from the browser of whoever works there, and give a name of its own
    this machine's address (DNS rebinding). Its Origin, and the Host that it has asked for, tell.

    Args:
        app: what answers the others.
        address: see ``Address``.
    """

    def __init__(self, app: "ASGIApp", address: Address) -> None:
        self._app = app
        self._address = address
        self._expected = f"Bearer {address.token}".encode()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """See ASGI."""
        if scope["type"] != "lifespan" and (refusal := self.refusal(Headers(scope=scope))) is not None:
            status, why = refusal
            headers = {"WWW-Authenticate": 'Bearer realm="shellward"'} if status == 401 else {}  # noqa: PLR2004  # RFC 9110
            await PlainTextResponse(why, status, headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def refusal(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Return status and reason, or None when the request may pass."""
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin is not None and not self._may(origin):
            return 403, "this Origin may not use this server; --allow-origin names those that may\n"
        if self._address.loopback and not is_loopback(_host_in(f"//{host}")):
            return 421, "this server answers to names of this machine only\n"
        given = headers.get("authorization", "").encode("utf-8", "replace")
        if self._address.token and not hmac.compare_digest(given, self._expected):
            return 401, "needs the header Authorization: Bearer TOKEN\n"
        return None

    def _may(self, origin: str) -> bool:
        if origin in _allowed(self._address):
            return True
        return self._address.loopback and is_loopback(_host_in(origin))


def _allowed(address: Address) -> list[str]:
    return [each.lower().rstrip("/") for each in address.origins]


def door(app: "ASGIApp", address: Address) -> "ASGIApp":
    """Put a guard in front of an app; browsers are told which pages may use it, and only of those that were named."""
    guarded = Guard(app, address)
    if not address.origins:
        return guarded
    return CORSMiddleware(
        guarded,
        allow_origins=_allowed(address),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["Mcp-Session-Id"],
    )


class _Uvicorn(uvicorn.Server):
    """Leaves signals to whoever runs the loop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    server: "Server[Any]", address: Address, started: Callable[[str], None], end: Callable[[], Awaitable[None]]
) -> None:
    """Serve until this is cancelled.

    Args:
        server: answers.
        address: see ``Address``.
        started: is called with the URL once clients can come.
        end: ends what is under way, so that it can be answered.

    Raises:
        EnvironmentUnavailable: it cannot listen there.
    """
    listener = _listening(address)
    host = f"[{address.host.strip('[]')}]" if ":" in address.host else address.host
    url = f"http://{host}:{listener.getsockname()[1]}{PATH}"
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=_ELSEWHERE, max_request_body_size=_LARGEST
    )
    config = uvicorn.Config(
        door(app, address),
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    web = _Uvicorn(config)
    with listener:
        running = asyncio.ensure_future(web.serve(sockets=[listener]))
        try:
            started(url)
            await asyncio.shield(running)
        finally:
            web.should_exit = True
            await end()
            await asyncio.wait([running])


def _listening(address: Address) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address.host.strip("[]"), address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as problem:
        raise EnvironmentUnavailable(f"cannot listen on {address.host}: {problem.strerror or problem}") from problem
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(128)
    except OSError as problem:
        listener.close()
        raise EnvironmentUnavailable(
            f"cannot listen on {address.host} port {address.port}: {problem.strerror}; --port 0 takes a free one"
        ) from problem
    return listener


def _host_in(url: str) -> str:
    """Return the name of the host in a URL; empty when it is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
