"""A TCP proxy that does to a connection what networks do: delays, falls silent, breaks, breaks in the middle."""

import contextlib
import heapq
import itertools
import selectors
import socket
import struct
import threading
import time
from typing import Self


class Proxy:
    """Listens on a port of its own and passes on what comes, both ways. A context manager.

    Attributes:
        port: where it listens.
        delay: seconds that each byte takes, each way.
        connections: how many it has passed on so far.
    """

    def __init__(self, port: int, *, delay: float = 0.0) -> None:
        self.delay = delay
        self.connections = 0
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._stalled = False
        self._refusing = False
        self._left: int | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopped = True
        self._stalled = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()
        self._thread.join(5)

    def stall(self) -> None:
        """Pass on nothing any more, and close nothing: a cable that was pulled."""
        self._stalled = True

    def resume(self) -> None:
        """Pass on again, for connections made from now on."""
        self.drop()
        self._stalled = self._refusing = False
        self._left = None

    def refuse(self) -> None:
        """Break what there is, and turn new connections away."""
        self._refusing = True
        self.drop()

    def cut_after(self, count: int) -> None:
        """Break the connection when the host has sent so many more bytes."""
        self._left = count

    def drop(self) -> None:
        """Break all connections, as a router does that forgot them."""
        with self._lock:
            open_now = set(self._open)
        self._break(open_now)

    def _break(self, which: set[socket.socket]) -> None:
        with self._lock:
            self._open -= which
        for each in which:
            with contextlib.suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing or self._stopped:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._to))
            for each in (near, far):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            with self._lock:
                self._open |= {near, far}
            threading.Thread(target=self._pass, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, True), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, from_host: bool) -> None:
        held: list[tuple[float, int, bytes]] = []
        numbers = itertools.count()
        with contextlib.ExitStack() as stack:
            stack.callback(self._break, {source, sink})
            stack.enter_context(contextlib.suppress(OSError, ValueError))
            selector = stack.enter_context(selectors.DefaultSelector())
            selector.register(source, selectors.EVENT_READ)
            open_still = True
            while open_still or held:
                # A descriptor that another thread has closed wakes nobody.
                pause = max(0.0, held[0][0] - time.monotonic()) if held else 0.1
                if source.fileno() < 0:
                    return
                if open_still and selector.select(pause):
                    data = source.recv(1 << 16)
                    while self._stalled and not self._stopped and source.fileno() >= 0:
                        time.sleep(0.01)
                    if not data:
                        open_still = False
                        selector.unregister(source)
                    heapq.heappush(held, (time.monotonic() + self.delay, next(numbers), data))
                elif not open_still:
                    time.sleep(pause or 0)
                while held and held[0][0] <= time.monotonic():
                    self._send(sink, heapq.heappop(held)[2], from_host)

    def _send(self, sink: socket.socket, data: bytes, from_host: bool) -> None:
        if not data:
            sink.shutdown(socket.SHUT_WR)
            return
        if from_host and self._left is not None:
            data, self._left = data[: self._left], self._left - len(data)
            sink.sendall(data)
            if self._left <= 0:
                self.drop()
            return
        sink.sendall(data)
