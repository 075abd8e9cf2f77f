"""Ports of the host, reachable from here: a listener on this machine, and a channel for each connection to it."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any, Final

from shellward.core.errors import ShellwardError

_PIECE: Final = 1 << 16
_HERE: Final = "127.0.0.1"
_END: Final = 2.0


class Forward:
    """One port. Connections are passed on until ``close``; of one that cannot be, the caller sees the end.

    Args:
        open_tunnel: opens a channel to the port, and returns it with what gives it back.

    Attributes:
        address: ``host:port`` here.
    """

    def __init__(self, open_tunnel: Callable[[], tuple[Any, Callable[[], None]]]) -> None:
        self._open_tunnel = open_tunnel
        self._listener = socket.create_server((_HERE, 0))
        self.address = f"{_HERE}:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._closed = False
        self._ends: set[Any] = set()
        self._threads: set[threading.Thread] = set()
        self._start(self._accept)

    def close(self) -> None:
        """Take no connection any more, and end those that there are. Idempotent."""
        with self._lock:
            self._closed = True
            ends = list(self._ends)
            threads = list(self._threads)
        for each in (self._listener, *ends):
            _end(each)
        for thread in threads:
            thread.join(_END)
        self._listener.close()

    def _start(self, work: Callable[..., None], *arguments: object) -> threading.Thread:
        def run() -> None:
            try:
                work(*arguments)
            finally:
                with self._lock:
                    self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=run, name="shellward-forward", daemon=True)
        with self._lock:
            self._threads.add(thread)
        thread.start()
        return thread

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            self._start(self._pass_on, connection)

    def _pass_on(self, connection: socket.socket) -> None:
        with connection, contextlib.ExitStack() as stack:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                channel, release = self._open_tunnel()
            except ShellwardError:
                return  # nobody listens there, or the host is gone: that is all a TCP connection can tell
            stack.callback(release)
            stack.callback(channel.close)
            with self._lock:
                if self._closed:
                    return
                self._ends |= {connection, channel}
            try:
                back = self._start(_copy, channel, connection, lambda: connection.shutdown(socket.SHUT_WR))
                _copy(connection, channel, channel.shutdown_write)
                back.join()
            finally:
                with self._lock:
                    self._ends -= {connection, channel}


def _copy(source: Any, target: Any, end: Callable[[], None]) -> None:
    """Copy what one side says to the other, and its end."""
    with contextlib.suppress(OSError, EOFError):  # one of them is gone, and the other is told
        while data := source.recv(_PIECE):
            target.sendall(data)
    with contextlib.suppress(OSError, EOFError):
        end()


def _end(each: Any) -> None:
    """Wake who waits in it."""
    with contextlib.suppress(OSError, EOFError):
        if isinstance(each, socket.socket):
            each.shutdown(socket.SHUT_RDWR)
        else:
            each.close()
