"""The stream of one process on the host: a channel of a connection, without what the login shell says before it."""

import select
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from shellward.core.errors import ConnectionLost, Unsupported
from shellward.core.types import StreamName
from shellward.environments.base import Piece, PtySize
from shellward.environments.ssh.inbox import Inbox

_READ = 1 << 20
_NO_STATUS = 255
_MOST_NOISE = 1 << 16
"""Bytes of a login shell's own words that are kept, to be told when nothing else comes."""


class SshChannel:
    """See Channel.

    Args:
        channel: paramiko's, in which the process was started.
        inbox: what comes on it.
        sync: bytes after which its output begins, on either stream; what comes before is the login shell's.
        release: is called when it is closed.
        lost: says why the connection has ended; empty: it has not.
        tty: it has a terminal.
    """

    def __init__(
        self,
        channel: Any,
        inbox: Inbox,
        sync: bytes,
        release: Callable[[], None],
        lost: Callable[[], str],
        *,
        tty: bool,
    ) -> None:
        self._channel = channel
        self._inbox = inbox
        self._sync = sync
        self._release = release
        self._lost = lost
        self._tty = tty
        self._noise = {StreamName.STDOUT: b""} if tty else {StreamName.STDOUT: b"", StreamName.STDERR: b""}
        self._closed = False
        self._ended = False
        self._sending = threading.Lock()
        self._poll = select.poll()
        self._poll.register(inbox.descriptor, select.POLLIN)

    def fileno(self) -> int:
        """See Channel."""
        return self._inbox.descriptor

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        """See Channel."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._ended:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._poll.poll(None if left is None else left * 1000):
                return []
            came = self._take()
            if not came and self._inbox.over():
                self._ended = True
                return self._last_words() or None
            if self._noise:
                came = [piece for each in came if (piece := self._without_noise(each))]
            if came:
                return came
        return None

    def await_start(self, timeout: float) -> None:
        """Wait until the process begins: what is typed before that is echoed among the login shell's words."""
        deadline = time.monotonic() + timeout
        while self._noise and (left := deadline - time.monotonic()) > 0:
            if not self._poll.poll(left * 1000) or not (came := self._take()):
                return
            self._inbox.put_back([piece for each in came if (piece := self._without_noise(each))])

    def _take(self) -> list[Piece]:
        pieces = []
        room = _READ
        while room > 0 and (stream := self._inbox.next()) is not None:
            # Through the channel, which tells the host that it may send more.
            data = self._channel.recv(room) if stream is StreamName.STDOUT else self._channel.recv_stderr(room)
            pieces.append(Piece(stream, data))
            room -= len(data)
        return pieces

    def _without_noise(self, piece: Piece) -> Piece | None:
        stream, data = piece
        if stream not in self._noise:
            return piece
        noise, found, rest = (self._noise[stream] + data).partition(self._sync)
        if not found:
            self._noise[stream] = noise[-_MOST_NOISE:]
            return None
        del self._noise[stream]
        return Piece(stream, rest) if rest else None

    def _last_words(self) -> list[Piece]:
        """What the login shell said instead of starting the process."""
        noise, self._noise = self._noise, {}
        return [Piece(stream, data) for stream, data in noise.items() if data]

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """See Channel."""
        with self._sending:
            try:
                self._channel.settimeout(timeout)
                self._channel.sendall(data)
            except TimeoutError as error:
                raise ConnectionLost(f"the process on the host took no input for {timeout:g} s") from error
            except (OSError, EOFError) as error:
                raise ConnectionLost(self._lost() or "the process on the host has ended, or was closed") from error

    def close_stdin(self) -> None:
        """See Channel."""
        try:
            self._channel.shutdown_write()
        except (OSError, EOFError):
            return  # closed by the other side already

    def resize(self, size: PtySize) -> None:
        """See Channel."""
        if not self._tty:
            raise Unsupported("resize a process without a terminal", "ssh")
        try:
            self._channel.resize_pty(width=size.columns, height=size.rows)
        except _ssh_errors() as error:
            raise ConnectionLost(self._lost() or "the process on the host has ended") from error

    def wait(self, timeout: float | None = None) -> int | None:
        """See Channel. The host tells an exit status at the end of the stream; 255 where it told none."""
        event = self._channel.status_event
        if not event.wait(timeout):
            return None
        if self._channel.exit_status < 0 and (why := self._lost()):
            raise ConnectionLost(why)
        status = int(self._channel.exit_status)
        return _NO_STATUS if status < 0 else status

    def close(self) -> None:
        """See Channel."""
        if self._closed:
            return
        self._closed = self._ended = True
        try:
            abandon(self._channel)
        finally:
            self._inbox.release()
            self._release()


def abandon(channel: Any) -> None:
    """Close one of paramiko's channels; when the connection is gone, it is gone with it."""
    with suppress(*_ssh_errors()):
        channel.close()


def _ssh_errors() -> tuple[type[Exception], ...]:
    from shellward.environments.ssh.sdk import sdk

    return (OSError, EOFError, sdk().SSHException)
