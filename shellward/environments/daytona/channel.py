"""Channels of the toolbox: one terminal for a process that has a terminal, two for one that has none (see boot)."""

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from shellward.core.errors import ConnectionLost, Unsupported
from shellward.core.types import StreamName
from shellward.environments.base import Piece, PtySize
from shellward.environments.daytona.boot import heard
from shellward.environments.daytona.config import KIND
from shellward.environments.daytona.socket import Wire

_END_OF_INPUT: Final = b"\x04"
_LOST = 255


class Stream:
    """One of a channel's outputs: its bytes, and the words of the scripts among them. No I/O."""

    def __init__(self, key: str, on_word: Callable[[bytes], None]) -> None:
        self._sign = b"\x1e" + key.encode()
        self._on_word = on_word
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return what is the process's own."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        if b"\x1e" not in data:
            return data
        clean: list[bytes] = []
        at = 0
        while (found := data.find(self._sign, at)) >= 0:
            clean.append(data[at:found])
            end = data.find(b"\0", found)
            if end < 0:
                self._rest = data[found:]
                return b"".join(clean)
            self._on_word(data[found + len(self._sign) : end])
            at = end + 1
        keep = self._partial(data, at)
        clean.append(data[at:keep])
        self._rest = data[keep:]
        return b"".join(clean)

    def _partial(self, data: bytes, at: int) -> int:
        """Where a sign begins that is not all there yet; else the end."""
        start = max(at, len(data) - len(self._sign) + 1)
        while (start := data.find(b"\x1e", start)) >= 0:
            if self._sign.startswith(data[start:]):
                return start
            start += 1
        return len(data)


class PairChannel:
    """See Channel. A process without a terminal: a websocket for its input and output, one for its errors.

    Args:
        data: the first terminal.
        control: the second one.
        key: see boot.
        release: is called when it is closed.
    """

    def __init__(self, data: Wire, control: Wire, key: str, release: Callable[[], None]) -> None:
        self._data = data
        self._control = control
        self._release = release
        self._status: int | None = None
        self._begun = False
        self._gone = False
        self._out_ended = self._err_ended = False
        self._sent = 0
        self._closed = False
        self._lock = threading.Lock()
        self._reading = threading.RLock()  # a signal handler may close it in the middle of a read
        self._out = Stream(key, self._word_of_data)
        self._err = Stream(key, self._word_of_control)
        self._asked: list[bytes] = []
        self._epoll = select.epoll()
        self._wires = {data.fileno(): data, control.fileno(): control}
        for descriptor in self._wires:
            self._epoll.register(descriptor, select.EPOLLIN)
        # A connection that is closed vanishes from epoll, and whoever waits there may not notice: this one stays.
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        self._epoll.register(self._wake, select.EPOLLIN)

    def fileno(self) -> int:
        """See Channel."""
        return self._epoll.fileno()

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        """See Channel."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._reading:
            return self._read(deadline)

    def _read(self, deadline: float | None) -> Sequence[Piece] | None:
        while not self._over():
            pending = [wire for wire in self._wires.values() if wire.pending()]
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not pending:
                try:
                    events = self._epoll.poll(left)
                except (OSError, ValueError):
                    return None  # closed meanwhile
                pending = [self._wires[descriptor] for descriptor, _ in events if descriptor in self._wires]
            pieces = [piece for wire in pending for piece in self._take(wire)]
            if (pieces or not pending) and not self._closed:
                return pieces
        return None

    def _over(self) -> bool:
        return self._closed or (self._out_ended and self._err_ended)

    def _take(self, wire: Wire) -> list[Piece]:
        data = wire.read()
        if data is None:
            self._broken(wire)
            return []
        if wire is self._control:
            clean = self._err.feed(data)
            pieces = [Piece(StreamName.STDERR, clean)] if clean else []
        else:
            clean = self._out.feed(data)
            stream = StreamName.STDERR if self._gone else StreamName.STDOUT
            pieces = [Piece(stream, clean)] if clean and (self._begun or self._gone) else []
        self._ask()
        return pieces

    def _broken(self, wire: Wire) -> None:
        """One of the two is gone: what the process says cannot be told whole any more."""
        with contextlib.suppress(OSError, ValueError):
            self._epoll.unregister(wire.fileno())
        self._out_ended = self._err_ended = True

    def _word_of_data(self, word: bytes) -> None:
        kind = word[:1]
        if kind == b"A":
            self._asked.append(b"o\n")
        elif kind == b"S":
            self._begun = True
        elif kind == b"E":
            self._status = int(word[1:] or 0)
            self._out_ended = True
        elif kind == b"X":
            self._gone, self._status = True, 125
            self._err_ended = True

    def _word_of_control(self, word: bytes) -> None:
        if word == b"A":
            self._asked.append(b"e\n")
        elif word == b"E":
            self._err_ended = True

    def _ask(self) -> None:
        """Ask for the next turns of what was read."""
        asked, self._asked = self._asked, []
        if asked and not self._over():
            with contextlib.suppress(ConnectionLost):  # its end will be read
                self._control.write(b"".join(asked), 5.0)

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """See Channel."""
        if self._closed or self._status is not None:
            raise ConnectionLost(self.why_lost() or "the process in the sandbox has ended, or was closed")
        self._data.write(data, timeout)
        self._sent += len(data)

    def close_stdin(self) -> None:
        """See Channel. The other terminal's input is another connection: it says how much comes before the end."""
        with contextlib.suppress(ConnectionLost):
            self._control.write(b"x%d\n" % self._sent, 5.0)

    def resize(self, size: PtySize) -> None:
        """See Channel."""
        del size
        raise Unsupported("resize a process without a terminal", KIND)

    def wait(self, timeout: float | None = None) -> int | None:
        """See Channel."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._status is None and not self._over():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            self.read(left)
        if self._status is None and (why := self.why_lost()):
            raise ConnectionLost(why)
        return self._status

    def why_lost(self) -> str:
        """Say why the connection has ended; empty: it has not."""
        return self._data.lost or self._control.lost

    def ping(self) -> None:
        """See Wire."""
        self._data.ping()
        self._control.ping()

    def close(self) -> None:
        """See Channel. The two scripts end the rest of what they have started."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        os.eventfd_write(self._wake, 1)
        with contextlib.suppress(ConnectionLost):
            self._control.write(b"q\n", 1.0)
        self._data.close()
        self._control.close()
        with self._reading:
            self._epoll.close()
            os.close(self._wake)
        self._release()


class TerminalChannel:
    """See Channel. A process at a terminal: one websocket.

    Args:
        wire: to the terminal.
        key: see boot.
        resize: changes the terminal's size.
        release: is called when it is closed; it ends the terminal.
    """

    def __init__(self, wire: Wire, key: str, resize: Callable[[PtySize], Any], release: Callable[[], None]) -> None:
        self._wire = wire
        self._heard = heard(key)
        self._output = Stream(key, self._word)
        self._begun = False
        self._status: int | None = None
        self._resize = resize
        self._release = release
        self._closed = False
        self._kept: list[Piece] = []
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """See Channel."""
        return self._wire.fileno()

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        """See Channel."""
        if self._kept:
            kept, self._kept = self._kept, []
            return kept
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._status is None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            data = self._wire.read(left)
            if data is None:
                return None
            if clean := self._take(data):
                return [Piece(StreamName.STDOUT, clean)]
            if left == 0.0:
                return [] if self._status is None else None
        return None

    def _take(self, data: bytes) -> bytes:
        """Return what is the program's own; what comes before it begins is not."""
        begun = self._begun
        clean = self._output.feed(data)
        return clean if begun or self._begun else b""

    def _word(self, word: bytes) -> None:
        if word[:1] == b"E":
            self._status = int(word[1:] or 0)
            self._wire.add(self._heard)
        else:
            self._begun = True

    def await_start(self, timeout: float) -> None:
        """Wait until the process begins: what is typed before that is echoed among the shell's own words."""
        deadline = time.monotonic() + timeout
        while not self._begun and (left := deadline - time.monotonic()) > 0:
            data = self._wire.read(left)
            if data is None:
                return
            if rest := self._take(data):
                self._kept.append(Piece(StreamName.STDOUT, rest))

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """See Channel."""
        if self._status is not None:
            raise ConnectionLost("the process in the sandbox has ended")
        self._wire.write(data, timeout)

    def close_stdin(self) -> None:
        """See Channel. A terminal has a character for that."""
        with contextlib.suppress(ConnectionLost):
            self._wire.write(_END_OF_INPUT, 1.0)

    def resize(self, size: PtySize) -> None:
        """See Channel."""
        if self._status is None:
            self._resize(size)

    def wait(self, timeout: float | None = None) -> int | None:
        """See Channel."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._status is None and not self._wire.over:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if self.read(left) == [] and left == 0.0:
                return None
        if self._status is not None:
            return self._status
        if self._wire.status is None:
            raise ConnectionLost(self._wire.lost or "the connection to the terminal has ended")
        return self._wire.status if self._wire.status >= 0 else _LOST

    def ping(self) -> None:
        """See Wire."""
        self._wire.ping()

    def close(self) -> None:
        """See Channel."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._wire.close()
        self._release()
