"""Hears of the ends of background processes without asking: a shell in the sandbox reads what supervisors ring."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.core.interrupts import held
from shellward.core.types import StreamName
from shellward.environments.encoding import script
from shellward.environments.foreign import foreign

if TYPE_CHECKING:
    from shellward.environments.base import Channel
    from shellward.environments.environment import Environment

_START_LIMIT: Final = 30.0
_JOIN: Final = 5.0


class _Event(threading.Event):
    def __init__(self, also: Callable[[], None] | None) -> None:
        super().__init__()
        self._also = also

    def set(self) -> None:
        super().set()
        if self._also is not None:
            self._also()


class Exits:
    """Tells who waits that a process has ended. Thread-safe.

    One shell in the sandbox and one thread here, from the first call of ``expect`` until ``close``. A ring may
    come for nothing, and be lost with the connection: who waits looks at the process itself, before and after.

    Args:
        environment: where.
        mark: SHELLWARD_COMMAND of the shell.
    """

    def __init__(self, environment: "Environment", mark: str) -> None:
        self._environment = environment
        self._mark = mark
        self._lock = threading.Lock()
        self._expected: dict[str, set[threading.Event]] = {}
        self._listeners: set[Callable[[str], None]] = set()
        self._channel: Channel | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    @contextmanager
    def expect(self, process: str, also: Callable[[], None] | None = None) -> Iterator[threading.Event]:
        """Have an event that is set when the process has ended, or when nobody can tell any more.

        Args:
            process: its id.
            also: is called then, too, in the thread that listens.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        event = _Event(also)
        with self._lock:
            self._expected.setdefault(process, set()).add(event)
        try:
            self._listen()
            yield event
        finally:
            with self._lock:
                waiting = self._expected[process]
                waiting.discard(event)
                if not waiting:
                    del self._expected[process]

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call ``listener`` with the id of each process that ends, in the thread that listens; "" : connection lost.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        with self._lock:
            self._listeners.add(listener)
        self._listen()

    def unsubscribe(self, listener: Callable[[str], None]) -> None:
        """Undo ``subscribe``."""
        with self._lock:
            self._listeners.discard(listener)

    def _listen(self) -> None:
        with held(), self._lock:
            if self._closed:
                raise EnvironmentUnavailable("the environment was closed")
            if self._channel is not None:
                return
            environment = self._environment
            root = environment.backend.processes
            argv = ["sh", "-c", script("watch.sh"), "shellward", root]
            with foreign(environment.kind, "the ends of processes cannot be watched"):
                channel = environment.backend.open(argv, env={"SHELLWARD_COMMAND": self._mark})
            try:
                rest = _ready(channel)
                self._channel = channel
                self._thread = threading.Thread(
                    target=self._hear, args=(channel, rest), name="shellward-exits", daemon=True
                )
                self._thread.start()
            except BaseException:
                self._channel = None
                channel.close()
                raise

    def _hear(self, channel: "Channel", rest: bytes) -> None:
        while True:
            *names, rest = rest.split(b"\n")
            for name in names:
                self._ring(name.decode("ascii", "replace"))
            pieces = channel.read(None)
            if pieces is None:
                break
            rest += b"".join(piece.data for piece in pieces if piece.stream is StreamName.STDOUT)
        with self._lock:
            if self._channel is channel:
                self._channel = None
            events = [event for waiting in self._expected.values() for event in waiting]
            listeners = list(self._listeners)
        channel.close()
        for event in events:
            event.set()
        for listener in listeners:
            listener("")

    def _ring(self, name: str) -> None:
        with self._lock:
            events, listeners = list(self._expected.get(name, ())), list(self._listeners)
        for event in events:
            event.set()
        for listener in listeners:
            listener(name)

    def close(self) -> None:
        """Stop to listen; who waits is woken. Idempotent."""
        with held(), self._lock:
            self._closed = True
            channel, thread = self._channel, self._thread
        if channel is not None:
            channel.close_stdin()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN)


def _ready(channel: "Channel") -> bytes:
    """Wait until the shell listens; return what came after that."""
    said, complaint = b"", b""
    while b"\n" not in said:
        pieces = channel.read(_START_LIMIT)
        if not pieces:
            break
        said += b"".join(piece.data for piece in pieces if piece.stream is StreamName.STDOUT)
        complaint += b"".join(piece.data for piece in pieces if piece.stream is StreamName.STDERR)
    first, _, rest = said.partition(b"\n")
    if first != b"ready":
        detail = complaint.decode("utf-8", "replace").strip() or "no answer"
        raise EnvironmentUnavailable(f"cannot listen for the ends of processes in the sandbox: {detail}")
    return rest
