"""The byte stream below a connection: a socket that notices when the other side has fallen silent."""

import contextlib
import errno
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_MISSED = 2
"""Signs of life that may be missing before a connection is taken for lost."""
_AHEAD = 1 << 16
"""Bytes taken at once. paramiko asks for each packet in two pieces, and a flood of short lines is all packets."""


class Link:
    """What paramiko uses as a socket. Its thread asks it for bytes ten times a second, so it needs no clock of its own.

    Args:
        stream: a socket, or a channel of another connection.
        keepalive: seconds of silence after which ``probe`` is called, to make the other side answer.
        process: what is at the other end of the socket, when that is a program.

    Attributes:
        heard: monotonic time at which the last bytes came.
        probe: see above; None until the connection is up.
        lost: why it was given up; empty: it was not.
    """

    def __init__(self, stream: Any, keepalive: float, process: "subprocess.Popen[bytes] | None" = None) -> None:
        self._stream = stream
        self._keepalive = keepalive
        self._process = process
        self.heard = time.monotonic()
        self._probed = 0.0
        self._wanted = False
        self._stuck = 0.0
        self._ahead = b""
        self._at = 0
        self.probe: Callable[[], None] | None = None
        self.lost = ""

    def recv(self, size: int) -> bytes:
        """See socket. Raises ConnectionResetError when the silence has lasted too long."""
        if self._at < len(self._ahead):
            begin = self._at
            self._at += size
            return self._ahead[begin : self._at]
        try:
            data: bytes = self._stream.recv(max(size, _AHEAD))
        except TimeoutError:
            self._look()
            raise
        self.heard = time.monotonic()
        if len(data) > size:
            self._ahead, self._at = data, size
            return data[:size]
        return data

    def _look(self) -> None:
        now = time.monotonic()
        if self.lost:
            raise ConnectionResetError(errno.ECONNRESET, self.lost)
        if self.probe is None or (now - self.heard < self._keepalive and not self._wanted):
            return
        if self._wanted or self._probed < self.heard:
            self._wanted = False
            if self._probed < self.heard:
                self._probed = now
            self.probe()
        elif now - self._probed > self._keepalive * _MISSED:
            self._give_up(f"no sign of life for {now - self.heard:.0f} s")

    def ask(self) -> None:
        """Let the thread that reads ask the other side for a sign of life: who waits may not be held up by it."""
        self._wanted = True

    def _give_up(self, why: str) -> None:
        self.lost = why
        raise ConnectionResetError(errno.ECONNRESET, why)  # paramiko's thread dies of one without a number

    def send(self, data: bytes) -> int:
        """See socket. A host that takes nothing for too long is gone: SSH has a flow control of its own above."""
        try:
            sent: int = self._stream.send(data)
        except TimeoutError:
            now = time.monotonic()
            self._stuck = self._stuck or now
            if now - self._stuck > self._keepalive * (_MISSED + 1):
                self._give_up(f"nothing was taken for {now - self._stuck:.0f} s")
            raise
        self._stuck = 0.0
        return sent

    @property
    def _closed(self) -> bool:
        """What paramiko asks of a socket when it ends its thread."""
        return bool(self._stream._closed if isinstance(self._stream, socket.socket) else self._stream.closed)  # type: ignore[attr-defined]  # noqa: SLF001

    def settimeout(self, seconds: float | None) -> None:
        """See socket."""
        self._stream.settimeout(seconds)

    def close(self) -> None:
        """See socket. Wakes who waits in it."""
        if isinstance(self._stream, socket.socket):
            with contextlib.suppress(OSError):  # the other side was first
                self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
                return
            self._process.kill()
            self._process.wait()


def dial(address: str, port: int, limit: float) -> socket.socket:
    """Connect over TCP, without the delay that Nagle's algorithm adds to each small packet.

    Raises:
        OSError: nobody answers there.
    """
    connection = socket.create_connection((address, port), limit)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connection


def spawn(command: str) -> "tuple[socket.socket, subprocess.Popen[bytes]]":
    """Start a ProxyCommand at the other end of a socket.

    Raises:
        OSError: it cannot be started.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        words = ["sh", "-c", f"exec {command}"]
        try:
            process = subprocess.Popen(words, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL)
        except OSError:
            ours.close()
            raise
    return ours, process
