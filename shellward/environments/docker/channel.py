"""The stream of one ``docker exec``: the engine's connection, with stdout and stderr in frames.

Frames are described in the Engine API, "Attach to a container, Stream format": a byte for the stream, three
zeros, four bytes of length (big endian), and the data. With a terminal there are none.
"""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.core.types import StreamName
from shellward.environments.base import Piece, PtySize

_HEADER = struct.Struct(">BxxxL")
_READ = 1 << 16
_MOST = 1 << 18
_FRAME = 1 << 15
"""The engine sends a flood in frames of this size."""
_GATHER = 0.0003
"""Seconds in which a flood is let run up. A reader that wakes for each frame costs the engine, too: on two processors
that halves what comes through. A socket's buffer holds more than comes in this time."""
_WORDS = 200
_NOT_STARTED = (b"OCI runtime exec failed", b"cannot exec in a ")
"""So begins what the engine prints at the terminal of a process that it could not start."""
_NEVER = frozenset((126, 127, 128))
"""Exit statuses that engines give to what they could not start."""
_NAMES = {1: StreamName.STDOUT, 2: StreamName.STDERR}


class DockerChannel:
    """See Channel.

    Args:
        wrapped: what the SDK's ``exec_start(socket=True)`` returned; kept, since it owns the socket.
        api: the SDK's low-level client.
        exec_id: of the exec.
        tty: it has a terminal.
    """

    def __init__(self, wrapped: Any, api: Any, exec_id: str, *, tty: bool) -> None:
        self._wrapped = wrapped
        self._socket: socket.socket = getattr(wrapped, "_sock", wrapped)
        self._api = api
        self._exec_id = exec_id
        self._tty = tty
        self._buffer = b""
        self._first_words = b""
        self._flood = False
        self._ended = False
        self._closed = False
        self._socket.settimeout(None)
        self._reading = select.poll()
        self._reading.register(self._socket.fileno(), select.POLLIN)
        self._writing = threading.Lock()
        early = _read_ahead(wrapped, self._socket)
        self._early: Sequence[Piece] = self._pieces(early) if early else []

    def fileno(self) -> int:
        """See Channel."""
        return self._socket.fileno()

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        """See Channel."""
        if self._ended:
            return None
        if self._early:
            early, self._early = self._early, []
            return early
        if not self._pending() and not self._reading.poll(None if timeout is None else timeout * 1000):
            return []
        if self._flood and timeout != 0:
            time.sleep(_GATHER)
        try:
            data = self._socket.recv(_MOST if self._flood else _READ)
        except (ConnectionError, ValueError, OSError):
            data = b""
        if not data:
            self._ended = True
            return None
        self._flood = len(data) >= _FRAME
        return self._pieces(data)

    def _pieces(self, data: bytes) -> Sequence[Piece]:
        if self._tty:
            if len(self._first_words) < _WORDS:
                self._first_words += data[:_WORDS]
            return [Piece(StreamName.STDOUT, data)]
        return self._frames(data)

    def _pending(self) -> bool:
        """A TLS connection may hold decrypted bytes that poll cannot see."""
        pending = getattr(self._socket, "pending", None)
        return bool(pending and pending())

    def _frames(self, data: bytes) -> list[Piece]:
        if self._buffer:
            data = self._buffer + data
        place, end = 0, len(data)
        parts: list[tuple[int, bytes]] = []
        while end - place >= _HEADER.size:
            stream, size = _HEADER.unpack_from(data, place)
            body = place + _HEADER.size
            if body + size > end:
                break
            parts.append((stream, data[body : body + size]))
            place = body + size
        self._buffer = data[place:]
        return _joined(parts)

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """See Channel."""
        with self._writing:
            try:
                if timeout is None:
                    self._socket.sendall(data)
                    return
                self._send_until(memoryview(data), time.monotonic() + timeout)
            except (OSError, ValueError) as error:
                raise ConnectionLost("the connection to the container is gone") from error

    def _send_until(self, view: memoryview, deadline: float) -> None:
        poller = select.poll()
        poller.register(self._socket.fileno(), select.POLLOUT)
        while view:
            if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise ConnectionLost("the container took no input in time")
            try:
                view = view[self._socket.send(view, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                continue

    def close_stdin(self) -> None:
        """See Channel."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return  # closed by the other side already

    def resize(self, size: PtySize) -> None:
        """See Channel."""
        if not self._tty:
            raise Unsupported("resize a process without a terminal", "docker")
        from docker.errors import APIError

        # The engine refuses when the process has ended meanwhile, which the end of the stream tells.
        with contextlib.suppress(APIError):
            self._api.exec_resize(self._exec_id, height=size.rows, width=size.columns)

    def wait(self, timeout: float | None = None) -> int | None:
        """See Channel. The engine tells the status; the end of the stream says when to ask."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._ended:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if self.read(left) == [] and left == 0.0:
                return None
        from shellward.environments.docker.engine import mapped

        try:
            with mapped("exec"):
                seen = self._api.exec_inspect(self._exec_id)
                status = seen.get("ExitCode")
                never = status in _NEVER and not seen.get("Pid") and not self._could_start(seen)
        except EnvironmentUnavailable as error:
            raise ConnectionLost(str(error)) from error
        if never:
            said = self._first_words[:_WORDS].decode("utf-8", "replace").strip()
            raise ConnectionLost(f"the engine could not start it: {said}")
        return None if status is None else int(status)

    def _could_start(self, seen: dict[str, Any]) -> bool:
        """Whether an exec without a process was one all the same: Podman forgets its number when it has ended."""
        if self._first_words.startswith(_NOT_STARTED):
            return False
        return bool(self._api.inspect_container(seen["ContainerID"])["State"]["Running"])

    def close(self) -> None:
        """See Channel."""
        if self._closed:
            return
        self._closed = self._ended = True
        with contextlib.suppress(OSError):  # closed by the other side already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._wrapped.close()
        self._socket.close()


def _read_ahead(wrapped: Any, connection: Any) -> bytes:
    """Return what came in one go with the engine's answer, and lies in the buffer that its headers were read through.

    A program that cannot be started is the usual case: the engine says why at once, and closes.
    """
    buffered: Any = getattr(getattr(getattr(getattr(wrapped, "_response", None), "raw", None), "_fp", None), "fp", None)
    if not hasattr(buffered, "peek") or not isinstance(connection, socket.socket):
        return b""
    connection.settimeout(0)  # where the buffer is empty, peek reads
    try:
        return bytes(buffered.read(len(buffered.peek())))
    except (OSError, ValueError):  # nothing is there yet; or the buffer is closed
        return b""
    finally:
        connection.settimeout(None)


def _joined(parts: list[tuple[int, bytes]]) -> list[Piece]:
    """Put neighbours of one stream together: the engine cuts at 32 KiB, and each piece costs."""
    pieces: list[Piece] = []
    at = 0
    while at < len(parts):
        stream = parts[at][0]
        until = at + 1
        while until < len(parts) and parts[until][0] == stream:
            until += 1
        if stream in _NAMES:
            run = [data for _, data in parts[at:until]]
            pieces.append(Piece(_NAMES[stream], run[0] if len(run) == 1 else b"".join(run)))
        at = until
    return pieces
