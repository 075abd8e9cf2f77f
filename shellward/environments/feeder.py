"""Standard input that is long or comes bit by bit: it goes to the command through a FIFO and a channel of its own.

The control stream never carries it, so nothing of it can be taken for a command.
"""

import contextlib
import io
import os
import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Self

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, had_begun
from shellward.environments.base import Backend
from shellward.environments.foreign import foreign
from shellward.environments.machine import descriptors, new_pipe

Source = BinaryIO | Iterable[bytes]

_CHUNK = 1 << 16
_PATIENCE = 30.0
_SCRIPT = 'mkfifo -m 600 "$1" && echo && exec 3>"$1" && rm -f -- "$1" && exec cat >&3'


class Feeder:
    """Pumps a source into a FIFO in the sandbox while a command runs. Use as a context manager.

    Args:
        backend: where.
        path: of the FIFO, in the sandbox.
        source: what to read. A file with a descriptor is waited for without blocking the end.
        user: who makes the FIFO.
        mark: SHELLWARD_COMMAND of the pump.
        on_error: is called, in the pump's thread, when the source raises: the command is to end.
        screen: is given each piece, and b"" at the end; returns what is to be sent of it.

    Raises:
        EnvironmentUnavailable: the FIFO cannot be made.
    """

    def __init__(
        self,
        backend: Backend,
        path: str,
        source: Source,
        *,
        user: str | None,
        mark: str,
        on_error: Callable[[], object],
        screen: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._source = source
        self._screen = screen
        self._on_error = on_error
        self.error: BaseException | None = None
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._holders = 2
        self._thread = threading.Thread(target=self._pump, name="shellward-stdin", daemon=True)
        with (
            foreign(backend.kind, "standard input cannot be sent"),
            descriptors("pass standard input on"),
            contextlib.ExitStack() as held,
        ):
            self._wake, self._waker = new_pipe(held)
            self._channel = backend.open(
                ["sh", "-c", _SCRIPT, "shellward", path], user=user, env={"SHELLWARD_COMMAND": mark}
            )
            held.callback(self._channel.close)
            self._wait_for_fifo()
            held.pop_all()

    def _wait_for_fifo(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        said = b""
        while said != b"\n" and (left := deadline - time.monotonic()) > 0:
            pieces = self._channel.read(left)
            if pieces is None:
                break
            said += b"".join(piece.data for piece in pieces)
        if said != b"\n":
            detail = said.decode("utf-8", "replace").strip() or "no answer"
            raise EnvironmentUnavailable(f"cannot make a FIFO for standard input in the sandbox: {detail}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopped.set()
        os.write(self._waker, b"x")
        self._channel.close()
        # A source without a descriptor may block for ever in its own code; its thread is a daemon then.
        self._thread.join(1.0)
        self._let_go()

    def _let_go(self) -> None:
        """Close the pipe that wakes the pump, when both who holds this and the pump are done with it."""
        with self._lock:
            self._holders -= 1
            if self._holders:
                return
        os.close(self._wake)
        os.close(self._waker)

    def _pump(self) -> None:
        try:
            self._pump_all()
        finally:
            self._let_go()

    def _pump_all(self) -> None:
        try:
            for chunk in self._chunks():
                if not isinstance(chunk, bytes | bytearray | memoryview):
                    raise TypeError(f"stdin: its pieces have to be bytes, not {type(chunk).__name__}")  # noqa: TRY301
                if not self._send(chunk):
                    return
            if not self._stopped.is_set() and self._send(b""):
                self._close()
        except Exception as error:  # noqa: BLE001  # the source's own error, handed to the caller by run
            had_begun(error)
            self.error = error
            while not self._on_error() and not self._stopped.wait(0.01):
                pass  # the command is only about to begin

    def _send(self, chunk: bytes) -> bool:
        """Pass a piece on; False when the command ended before it had read everything, as ``head`` does."""
        if self._screen is not None:
            chunk = self._screen(chunk)
        try:
            if chunk:
                self._channel.write(chunk)
        except (ConnectionLost, ValueError):
            return False
        return True

    def _close(self) -> None:
        # OSError and ValueError: closed already, by the other side or by the end of the command.
        with contextlib.suppress(ConnectionLost, ValueError, OSError):
            self._channel.close_stdin()

    def _chunks(self) -> Iterator[bytes]:
        if not hasattr(self._source, "read"):
            yield from self._source
            return
        descriptor = _descriptor(self._source)
        if descriptor is None:
            while chunk := self._source.read(_CHUNK):
                yield chunk
            return
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        poller.register(self._wake, select.POLLIN)
        while self._wake not in dict(poller.poll()):
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                return
            yield chunk


def _descriptor(source: object) -> int | None:
    """Return the descriptor of a file without a buffer between, or with an untouched one."""
    try:
        return source.fileno()  # type: ignore[attr-defined, no-any-return]
    except (AttributeError, OSError, io.UnsupportedOperation):
        return None
