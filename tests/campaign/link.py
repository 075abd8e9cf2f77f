"""Connections that break: a proxy before a Unix socket or a TCP port, which delays, stalls, cuts and turns away."""

import contextlib
import socket
import struct
import threading
import time
from typing import Self


class Link:
    """Passes on what comes, both ways. A context manager.

    Args:
        target: path of a socket, or a port of this machine.
        at: path of the socket to listen at; None: a port.

    Attributes:
        port: where it listens, if that is a port.
        delay: seconds that each piece takes, each way.
        stalled: nothing is passed on, and nothing closed.
        refusing: new connections are closed at once.
    """

    def __init__(self, target: str | int, at: str | None = None) -> None:
        self.delay = 0.0
        self.stalled = self.refusing = False
        self._target = target
        if at is None:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.port = int(self._listener.getsockname()[1])
        else:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(at)
            self._listener.listen(64)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """Break all connections, as a router does that forgot them."""
        with self._lock:
            cut, self._open = self._open, set()
        for each in cut:
            with contextlib.suppress(OSError):
                if each.family != socket.AF_UNIX:
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.refusing:
                near.close()
                continue
            try:
                if isinstance(self._target, int):
                    far = socket.create_connection(("127.0.0.1", self._target))
                else:
                    far = socket.socket(socket.AF_UNIX)
                    far.connect(self._target)
            except OSError:
                near.close()
                continue
            with self._lock:
                self._open |= {near, far}
            threads = [
                threading.Thread(target=self._pass, args=ends, daemon=True) for ends in ((near, far), (far, near))
            ]
            threading.Thread(target=self._end, args=(near, far, threads), daemon=True).start()

    def _end(self, near: socket.socket, far: socket.socket, threads: list[threading.Thread]) -> None:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        with self._lock:
            self._open -= {near, far}
        near.close()
        far.close()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                while self.stalled and not self._closed:
                    time.sleep(0.01)
                if self.delay:
                    time.sleep(self.delay)
                sink.sendall(data)
        except OSError:
            for each in (source, sink):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        else:
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_WR)
