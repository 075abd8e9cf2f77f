"""A network between client and server that takes its time."""

import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

_READ: Final = 1 << 16


def _pass_on(source: socket.socket, sink: socket.socket, delay: float) -> None:
    """Pass on what comes, after a delay, until there is no more."""
    held: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def send() -> None:
        while True:
            due, data = held.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not data:
                return
            with suppress(OSError):  # closed by the other side
                sink.sendall(data)

    threading.Thread(target=send, daemon=True).start()
    data = b"x"
    while data:
        try:
            data = source.recv(_READ)
        except OSError:
            data = b""
        held.put((time.monotonic() + delay, data))


@contextmanager
def far(port: int, delay: float) -> Iterator[int]:
    """Make a server of this machine look far away; gives the port to connect to.

    Args:
        port: of the server.
        delay: seconds that each byte takes, each way.
    """
    with ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):  # the listener is closed
                while True:
                    near, _ = listener.accept()
                    far = socket.create_connection(("127.0.0.1", port))
                    for source, sink in ((near, far), (far, near)):
                        stack.callback(source.close)
                        source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        threading.Thread(target=_pass_on, args=(source, sink, delay), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
