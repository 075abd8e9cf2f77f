"""A process of this machine at a terminal. How it is opened, and its channel; what runs there is said elsewhere.

Not by forkpty: a fork of a program with threads runs Python, and whatever a collector finalises, in a copy of it
(docs/decisions/2026-11-21-local-terminals.md). The process is started as any other, and its own first step, in sh,
is to open the terminal: it leads a session, so that terminal becomes its controlling one (POSIX.1-2017, 11.1.3).
"""

import contextlib
import errno
import fcntl
import os
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.types import StreamName
from shellward.environments.base import Piece, PtySize
from shellward.environments.machine import descriptors, end_at_once, own, too_many_files, wait_for

_READ: Final = 1 << 16
_MOST: Final = 1 << 16
"""Bytes for one piece: the kernel gives a terminal's output in parts of 4 KiB at the most, and each piece costs."""
_TAKE: Final = 'exec <>"$0" >&0 2>&0; exec "$@"'
TAKE_LATER: Final = "exec 3>&0 <>/proc/self/fd/1 >&0 2>&0; echo >&3; exec 3>&-"
"""Lines of sh with which the leader of a new session takes the terminal that its standard output is, where that has no
name, as in a container with terminals of its own (proc(5), /proc/PID/fd: what is opened is the very file)."""
_START_LIMIT: Final = 10.0
_END_OF_INPUT: Final = b"\x04"


def open_local_pty(
    argv: Sequence[str],
    size: PtySize,
    *,
    env: Mapping[str, str],
    cwd: str,
    identity: Mapping[str, Any],
    taken: bool = True,
) -> "LocalPtyChannel":
    """Start a process at a new terminal, of which it is the session leader.

    Args:
        argv: program and arguments.
        size: of the terminal.
        env: all its variables.
        cwd: its working directory.
        identity: ``user``, ``group`` and ``extra_groups`` of subprocess.Popen, or nothing.
        taken: False: what is started leads nothing, and a descendant of it takes the terminal, by ``TAKE_LATER``.

    Raises:
        EnvironmentUnavailable: it cannot be started.
        ConnectionLost: it was started, and ended at once, since nobody can look after it.
    """
    with (
        descriptors("open a terminal"),
        contextlib.ExitStack() as held,
        contextlib.ExitStack() as theirs,
        contextlib.ExitStack() as waiting,
    ):
        try:
            master, slave = os.openpty()
        except OSError as error:
            if too_many_files(error):
                raise
            raise EnvironmentUnavailable(f"no terminal can be had: {error}") from error
        own(held, master)
        own(theirs, slave)
        told, tells = os.pipe()  # its standard input, until it has taken its terminal and lets go, or writes
        own(waiting, told)
        own(theirs, tells)
        epoll = held.enter_context(select.epoll())
        try:
            _set_size(master, size)
            if "user" in identity:
                os.fchown(slave, identity["user"], -1)
            process = subprocess.Popen(
                ["/bin/sh", "-c", _TAKE, os.ttyname(slave), *argv] if taken else list(argv),
                stdin=tells,
                stdout=slave,
                stderr=slave,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                **identity,
            )
        except OSError as error:
            if too_many_files(error):
                raise
            raise EnvironmentUnavailable(f"cannot start {argv[0]!r} at a terminal: {error}") from error
        held.callback(end_at_once, process)
        try:
            pidfd = own(held, os.pidfd_open(process.pid))
        except OSError as error:
            raise ConnectionLost(f"cannot look after {argv[0]!r} at a terminal; it may have begun: {error}") from error
        theirs.close()
        # A key that is pressed before would be nobody's: Ctrl-C signals those whose controlling terminal this is.
        poller = select.poll()  # not select, which knows the first 1,024 descriptors only
        poller.register(told, select.POLLIN)
        poller.poll(_START_LIMIT * 1000)
        made = LocalPtyChannel(process, master, epoll, pidfd)
        held.pop_all()
    return made


class LocalPtyChannel:
    """See Channel. The process and the master side of its terminal."""

    def __init__(self, process: "subprocess.Popen[bytes]", master: int, epoll: select.epoll, pidfd: int) -> None:
        self._process = process
        self._master = master
        os.set_blocking(master, False)
        self._pidfd = pidfd
        self._epoll = epoll
        self._epoll.register(master, select.EPOLLIN)
        self._epoll.register(self._pidfd, select.EPOLLIN)
        self._dead = self._ended = False
        self._open = True

    def fileno(self) -> int:
        """See Channel."""
        return self._epoll.fileno()

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        """See Channel. With its session leader a terminal ends, whoever still holds it (credentials(7))."""
        if self._ended:
            return None
        ready = {descriptor for descriptor, _ in self._epoll.poll(timeout)}
        self._dead = self._dead or self._pidfd in ready  # it stays registered, and so readable until the end is told
        data = self._take() if ready or self._dead else b""
        if data:
            return [Piece(StreamName.STDOUT, data)]
        if self._dead:
            self._ended = True
        return None if self._ended else []

    def _take(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        while size < _MOST:
            try:
                part = os.read(self._master, _READ)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                part = b""
            if not part:  # nobody has it open; the process may live on, and its end is what counts
                if self._open:
                    self._open = False
                    self._epoll.unregister(self._master)
                break
            parts.append(part)
            size += len(part)
        return b"".join(parts)

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """See Channel."""
        view = memoryview(data)
        deadline = None if timeout is None else time.monotonic() + timeout
        poller = select.poll()
        poller.register(self._master, select.POLLOUT)
        poller.register(self._pidfd, select.POLLIN)  # of a program that has ended, nobody takes the rest
        while view:
            try:
                view = view[os.write(self._master, view) :]
            except BlockingIOError:
                left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
                ready = {descriptor for descriptor, _ in poller.poll(left)}
                if self._pidfd in ready:
                    raise ConnectionLost("the program at the terminal has ended") from None
                if not ready:
                    raise ConnectionLost(f"the terminal took no input for {timeout} s") from None
            except OSError as error:
                raise ConnectionLost("the terminal is closed") from error

    def close_stdin(self) -> None:
        """See Channel. At a terminal that is Ctrl-D, and it is for the program to heed it."""
        self.write(_END_OF_INPUT, 1.0)

    def resize(self, size: PtySize) -> None:
        """See Channel."""
        _set_size(self._master, size)

    def wait(self, timeout: float | None = None) -> int | None:
        """See Channel."""
        return wait_for(self._process, timeout)

    def close(self) -> None:
        """See Channel. The session gets SIGHUP, and a second to end by itself."""
        if self._epoll.closed:
            return
        self._ended = True
        self._epoll.close()
        os.close(self._pidfd)
        os.close(self._master)
        if self.wait(1.0) is None:
            self._process.kill()
            self._process.wait()


def _set_size(master: int, size: PtySize) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))
