"""One websocket to a terminal of the toolbox: its bytes, and a descriptor that tells when there are some.

The SDK's own handle reads in a thread into a queue, and pings in a second one; it has no descriptor to wait for. So the
connection is made with httpx and spoken with wsproto, which both came with the SDK, in the very words of the SDK.
"""

import base64
import contextlib
import json
import os
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.environments.base import PtySize
from shellward.environments.daytona import client
from shellward.environments.daytona.client import FOR_NOW

MOST_CELLS: Final = 1000
"""The toolbox's own limit to rows and columns."""
_EXIT_CONTROL: Final = "X-Daytona-Pty-Exit-Control"
_ENVIRONMENT: Final = "X-Daytona-Pty-Envs~"
_READ = 1 << 18
_MESSAGE = 1 << 15
"""Bytes per message; the daemon refuses one of more than 64 KiB."""
_GREETING = 20.0
_ANSWER = 5.0


def http() -> Any:
    """Make the client that connections come from; it honours proxies and certificates as the SDK's own does."""
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    timeout = httpx.Timeout(client.CONNECT, read=_GREETING)
    return httpx.Client(limits=limits, timeout=timeout)


class Refused(EnvironmentUnavailable):
    """No terminal was given.

    Attributes:
        for_now: it may be asked again.
        made: it may be there all the same.
    """

    def __init__(self, message: str, status: int) -> None:
        self.for_now = status in FOR_NOW
        self.made = status in (500, 502, 504)
        super().__init__(message)


class Wire:
    """A websocket. One thread reads at a time and one writes at a time.

    Attributes:
        name: of the terminal.
        status: exit status of the terminal's shell, once it was told; -1: by a signal.
        lost: why it has ended; empty: it has not, or as it should.
        over: nothing comes any more.
    """

    def __init__(self, response: Any, name: str) -> None:
        from wsproto.connection import Connection, ConnectionType

        self.name = name
        self._response = response
        self._stream = response.extensions["network_stream"]
        self._socket: socket.socket = self._stream.get_extra_info("socket")
        self._tls = isinstance(self._socket, ssl.SSLSocket)
        self._protocol = Connection(ConnectionType.CLIENT)
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._reading = select.poll()
        self._writing = select.poll()
        self._owed: deque[bytes] = deque()
        self._early = b""
        self._closed = False
        self.status: int | None = None
        self.lost = ""
        self.over = False
        self.connected = False

    @classmethod
    def open(cls, connections: Any, url: str, key: str, *, name: str, size: PtySize, env: Mapping[str, str]) -> "Wire":
        """Make a terminal and connect to it.

        Args:
            connections: see ``http``.
            url: of the sandbox's toolbox.
            key: API key.
            name: of the terminal.
            size: of it.
            env: variables of its shell.

        Raises:
            EnvironmentUnavailable: the sandbox is not there, or gives none.
        """
        import httpx

        # The script of a terminal gives it the rest.
        asked = {"id": name, "cols": min(size.columns, MOST_CELLS), "rows": min(size.rows, MOST_CELLS)}
        offered = [_EXIT_CONTROL]
        if env:
            offered.append(
                _ENVIRONMENT + base64.urlsafe_b64encode(json.dumps(dict(env)).encode()).rstrip(b"=").decode()
            )
        headers = {
            "Authorization": f"Bearer {key}",
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Protocol": ", ".join(offered),
            "X-Daytona-Source": "sdk-python",
        }
        request = connections.build_request(
            "GET", f"{url}/process/pty/create-connect?{urlencode(asked)}", headers=headers
        )
        try:
            response = connections.send(request, stream=True)
        except (httpx.HTTPError, OSError) as error:
            raise EnvironmentUnavailable(f"Daytona cannot be reached ({error or type(error).__name__})") from error
        if response.status_code != httpx.codes.SWITCHING_PROTOCOLS:
            try:
                response.read()
                why = _complaint(response)
            finally:
                response.close()
            raise Refused(why, response.status_code)
        wire = cls(response, name)
        try:
            wire._greet()
        except BaseException:
            wire.close()
            raise
        return wire

    def _greet(self) -> None:
        """Take the word of welcome. What came with the answer's headers is only to be had from httpx's stream."""
        import httpcore

        self._early = b""
        try:
            self._feed(self._stream.read(_READ, timeout=_GREETING))
        except (httpcore.NetworkError, httpcore.TimeoutException, OSError) as error:
            raise EnvironmentUnavailable(f"the sandbox gives no terminal ({error})") from error
        self._socket.setblocking(False)
        self._reading.register(self._socket.fileno(), select.POLLIN)
        self._writing.register(self._socket.fileno(), select.POLLOUT)
        deadline = time.monotonic() + _GREETING
        while not self.connected and not self.over and time.monotonic() < deadline:
            self._early += self.read(deadline - time.monotonic()) or b""
        if not self.connected:
            raise EnvironmentUnavailable(f"the sandbox gives no terminal: {self.lost or 'no answer'}")

    def fileno(self) -> int:
        """Return the connection's descriptor."""
        return self._socket.fileno()

    def pending(self) -> bool:
        """Whether there is something that the descriptor does not show."""
        return bool(self._early) or (self._tls and self._socket.pending() > 0)  # type: ignore[attr-defined]

    def read(self, timeout: float | None = 0.0) -> bytes | None:
        """Wait up to ``timeout`` seconds for what comes; empty: nothing, None: nothing will come any more."""
        if self._early:
            early, self._early = self._early, b""
            return early
        if self.over:
            return None
        if not self.pending() and not self._reading.poll(None if timeout is None else timeout * 1000):
            return b""
        return self._receive()

    def _receive(self) -> bytes | None:
        why = "the connection to the sandbox was closed"
        try:
            with self._lock:
                data = self._socket.recv(_READ)
        except (BlockingIOError, ssl.SSLWantReadError):
            return b""
        except (OSError, ValueError) as error:
            data, why = b"", f"the connection to the sandbox broke ({error})"
        if data:
            return self._feed(data)
        self._end(why)
        return None

    def _feed(self, data: bytes) -> bytes:
        from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
        from wsproto.utilities import ProtocolError

        came: list[bytes] = []
        try:
            self._protocol.receive_data(data)
            for event in self._protocol.events():
                if isinstance(event, BytesMessage):
                    came.append(bytes(event.data))
                elif isinstance(event, TextMessage):
                    self._hear(event.data)
                elif isinstance(event, Ping):
                    self._answer(event.response())
                elif isinstance(event, CloseConnection):
                    self._hear_end(event.code, event.reason or "")
        except ProtocolError as error:
            self._end(f"the sandbox speaks no websocket ({error})")
        return came[0] if len(came) == 1 else b"".join(came)

    def _hear(self, text: str) -> None:
        try:
            said = json.loads(text)
        except ValueError:
            return
        match said:
            case {"type": "control", "status": "connected"}:
                self.connected = True
            case {"type": "control", "status": "exited", **rest}:
                self.status = int(str(rest.get("exitCode") or 0))
            case {"type": "control", "error": why}:
                self._end(str(why))

    def _hear_end(self, code: int, reason: str) -> None:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            self.status = int(json.loads(reason)["exitCode"])
        usual = self.status is not None
        self._end("" if usual else f"the sandbox ended the connection ({code} {reason})".replace(" )", ")"))

    def _end(self, why: str) -> None:
        self.lost = self.lost or why
        self.over = True

    def _answer(self, event: Any) -> None:
        """Send a small frame of the protocol's own; who is in the middle of a message does it after that."""
        self._owed.append(self._protocol.send(event))
        if self._sending.acquire(blocking=False):
            try:
                self._pay()
            finally:
                self._sending.release()

    def _pay(self) -> None:
        with contextlib.suppress(ConnectionLost, IndexError):
            while True:
                self._send(memoryview(self._owed.popleft()), _ANSWER)

    def add(self, data: bytes) -> None:
        """Send a few bytes without waiting for who is in the middle of sending; lost where the connection has ended."""
        from wsproto.events import BytesMessage

        if not self._closed and not self.over:
            self._answer(BytesMessage(data))

    def ping(self) -> None:
        """Keep those awake who are on the way."""
        from wsproto.events import Ping

        if not self._closed and not self.over:
            self._answer(Ping(b"shellward"))

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """Send bytes, in as many messages as they need.

        Raises:
            ConnectionLost: it has ended, or nothing was taken for ``timeout`` seconds.
        """
        from wsproto.events import BytesMessage
        from wsproto.utilities import LocalProtocolError

        with self._sending:
            for at in range(0, len(data), _MESSAGE):
                try:
                    frame = self._protocol.send(BytesMessage(data[at : at + _MESSAGE]))
                except LocalProtocolError as error:
                    raise ConnectionLost(self.lost or "the connection to the sandbox has ended") from error
                self._send(memoryview(frame), timeout)
                self._pay()

    def _send(self, view: memoryview, timeout: float | None) -> None:
        while view:
            if self._closed:
                raise ConnectionLost("the channel is closed")
            try:
                with self._lock:
                    view = view[self._socket.send(view) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                if not self._writing.poll(None if timeout is None else timeout * 1000):
                    raise ConnectionLost(f"the sandbox took no input for {timeout:g} s") from None
            except (OSError, ValueError) as error:
                raise ConnectionLost(self.lost or f"the connection to the sandbox broke ({error})") from error

    def close(self) -> None:
        """Say good-bye, where that can be said at once, and release the connection. Idempotent."""
        from wsproto.events import CloseConnection
        from wsproto.utilities import LocalProtocolError

        if self._closed:
            return
        self._closed = self.over = True
        with contextlib.suppress(OSError, ValueError, LocalProtocolError), self._lock:
            self._socket.send(self._protocol.send(CloseConnection(1000)))
        with contextlib.suppress(OSError):  # wakes who waits for it
            self._socket.shutdown(socket.SHUT_RDWR)
        self._response.close()


def _complaint(response: Any) -> str:
    try:
        body = response.json()
        said = str(body.get("message") or body.get("error") or "")
    except ValueError:
        said = response.text[:200]
    said = " ".join(said.split())
    by_status = {
        401: "Daytona does not accept the API key (expired or revoked?); set DAYTONA_API_KEY",
        403: "this API key may not use the sandbox",
        404: "the sandbox is not there any more; create a new environment",
        429: "Daytona's rate limit is reached; wait a little",
        **dict.fromkeys((500, 502, 503, 504), "Daytona does not work just now; try again later"),
    }
    words = by_status.get(response.status_code, f"Daytona answers {response.status_code}")
    return f"{words} ({said})" if said else words
