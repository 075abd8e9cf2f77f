"""A channel that is closed while another thread reads from it."""

import socket
import threading
import time
from typing import Any, cast

from shellward.environments.daytona.channel import PairChannel


class Wire:
    """A connection of this machine's, closed as the real one is."""

    lost = ""

    def __init__(self) -> None:
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)

    def fileno(self) -> int:
        return self.near.fileno()

    def pending(self) -> bool:
        return False

    def read(self) -> bytes | None:
        try:
            return self.near.recv(100) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def write(self, data: bytes, _timeout: float) -> None:
        self.near.send(data)

    def close(self) -> None:
        self.near.shutdown(socket.SHUT_RDWR)
        self.near.close()
        self.far.close()


def test_who_reads_hears_of_the_end() -> None:
    for _ in range(300):
        channel = PairChannel(cast("Any", Wire()), cast("Any", Wire()), "key", lambda: None)
        heard: list[object] = []
        began = threading.Event()

        def listen(channel: PairChannel = channel, heard: list[object] = heard, began: Any = began) -> None:
            began.set()
            heard.append(channel.read(20))

        reader = threading.Thread(target=listen)
        reader.start()
        began.wait()
        time.sleep(0.0005)
        before = time.monotonic()
        channel.close()
        reader.join(30)
        assert time.monotonic() - before < 5, "it waited for its time limit"
        assert heard == [None]
