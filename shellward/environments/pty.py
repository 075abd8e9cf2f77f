"""A program at a terminal, as one holds it: keys in, raw stream and screen out. Made by ``Environment.pty``.

Nothing reads behind the caller's back: each call takes what has come meanwhile, and answers what the program asked
of its terminal. What nobody has read stays in the kernel, and the program waits, as it would for a slow terminal.
"""

import errno
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, Unsupported, beside
from shellward.core.interrupts import held
from shellward.environments.base import Channel, PtySize
from shellward.environments.encoding import UNREAD_STATUS
from shellward.environments.foreground import Foreground
from shellward.environments.process import signal_text
from shellward.environments.pty_kept import Kept
from shellward.environments.running import state_unread
from shellward.terminal.keys import END_OF_INPUT, INTERRUPT, encode_key, encode_paste
from shellward.terminal.screen import SCROLLBACK, Screen, Snapshot

if TYPE_CHECKING:
    import re
    from pathlib import Path

    from shellward.terminal.asciicast import Recording

_KEPT: Final = 1 << 20
"""Bytes of the raw stream that are kept for ``read`` while only the screen is looked at."""
_WRITE_LIMIT: Final = 30.0
_SMALL: Final = 1024
"""Bytes that a terminal's input takes at once; for more, its output may have to be read meanwhile."""
_SLICE: Final = 0.05
_STATUS_LIMIT: Final = 1.0
"""Seconds in which an exit status comes behind the end of a stream."""


class PtySession:
    """See the module. One thread at a time, but for ``kill`` and ``close``, which any may call.

    A context manager: leaving it closes it.

    Args:
        channel: of the process, with a terminal.
        command: as people read it.
        size: of the terminal.
        kill: ends all its processes in the sandbox.
        foreground: what is at the terminal; None: nobody knows.
        gate: is given what is to be typed, and returns what may be sent; it raises for what may not.
        emulate: keep a screen and answer the program's questions; False where another terminal does.
        scrollback: lines kept after they scrolled off.

    Attributes:
        command: as people read it.
        size: of the terminal now.
        interrupted: it was ended by ``Environment.interrupt``.
        closing: ``close`` was called.
        on_end: is called once, with the exit status (None: unknown), when it is over or closed.
        on_close: is called once it is closed.
        before_close: is called before the channel, and with it ``fileno``, is closed.
        on_data: is given the raw stream as it comes; then none of it is kept for ``read``.
        refusal: what is printed in place of a program that cannot begin with its session's state; empty: nothing is.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        command: str,
        size: PtySize,
        kill: Callable[[str], None],
        foreground: Foreground | None = None,
        gate: Callable[[bytes], bytes] | None = None,
        emulate: bool = True,
        scrollback: int = SCROLLBACK,
    ) -> None:
        self.command = command
        self.size = size
        self.interrupted = self.closing = False
        self.on_end: Callable[[int | None], None] | None = None
        self.on_close: Callable[[], object] | None = None
        self.before_close: Callable[[], object] | None = None
        self.on_data: Callable[[bytes], None] | None = None
        self.refusal = self._first = b""
        self._channel = channel
        self._kill = kill
        self._foreground = foreground
        self._gate = gate
        self._screen = Screen(size.rows, size.columns, scrollback=scrollback) if emulate else None
        self._raw = Kept(_KEPT)
        self._ended = self._closed = self._heard = self._told = False
        self._status: int | None = None
        self._recording: Recording | None = None
        self._reading = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with beside(error):
            self.close()

    def __repr__(self) -> str:
        return f"<PtySession {self.command!r}{' ended' if self._ended else ''}>"

    @property
    def ended(self) -> bool:
        """Whether the stream has ended, as far as it was read."""
        return self._ended

    @property
    def dropped(self) -> int:
        """Bytes of the raw stream that were dropped, since nobody called ``read`` for them."""
        return self._raw.dropped

    def fileno(self) -> int:
        """Return a descriptor that is readable when there is something to read."""
        return self._channel.fileno()

    # -- input ---------------------------------------------------------------------------------------------

    def write(self, data: bytes | str) -> None:
        """Type: send bytes as they are (text as UTF-8). Enter is a carriage return.

        Raises:
            ConnectionLost: the program has ended, the sandbox is gone, or it takes no input.
            ApprovalDenied: what is typed may not run; nothing of it was sent.
        """
        data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)
        self._send(self._passed(data))

    def send_keys(self, *keys: str) -> None:
        """Press keys, by the names that tmux has: ``Enter``, ``Up``, ``C-c``, ``M-x``, ``F1``, or a character.

        Arrow keys are sent in the form that the program has asked for.

        Raises:
            ConfigError: there is no such key; none was sent.
            ConnectionLost, ApprovalDenied: see ``write``.
        """
        application = False
        if self._screen is not None:
            self.take(0)
            application = self._screen.application_cursor
        self.write(b"".join(encode_key(key, application_cursor=application) for key in keys))

    def paste(self, text: str) -> None:
        """Paste: as a bracketed paste where the program has asked for that, else as if it were typed.

        Raises:
            ConnectionLost, ApprovalDenied: see ``write``.
        """
        bracketed = False
        if self._screen is not None:
            self.take(0)
            bracketed = self._screen.bracketed_paste
        self.write(encode_paste(text.encode("utf-8", "surrogateescape"), bracketed=bracketed))

    def interrupt(self) -> None:
        """Press Ctrl-C; what it does is up to the program."""
        self.write(INTERRUPT)

    def end_input(self) -> None:
        """Press Ctrl-D: at the beginning of a line, the end of the input."""
        self.write(END_OF_INPUT)

    def signal_foreground(self, signal: str) -> None:
        """Send a signal to the foreground job: what Ctrl-C would reach, and nothing else that was started here.

        At the prompt of a shell that is the shell.

        Args:
            signal: its name: ``INT``, ``TERM``, ``STOP``, ...

        Raises:
            ConfigError: there is no such signal.
            ProcessLookupError: the program has ended, or nothing is in the foreground.
            PermissionError: the job is another user's, as with sudo.
            Unsupported: the sandbox does not show what is at its terminals.
            EnvironmentUnavailable: the sandbox is gone.
        """
        name = signal_text(signal)
        self._at_terminal("signal the foreground job of a terminal").signal(name)

    def echo(self) -> bool:
        """Return whether the terminal shows what is typed; where a password is asked for, it mostly does not.

        Raises:
            ProcessLookupError: the program has ended.
            Unsupported: the sandbox does not show it, or has no ``stty``.
            EnvironmentUnavailable: the sandbox is gone.
        """
        return self._at_terminal("see the echo of a terminal").echo()

    def set_echo(self, on: bool) -> None:  # what it is set to
        """Let the terminal show what is typed, or not. The program may change it, as shells do at their prompt.

        Raises:
            ProcessLookupError, Unsupported, EnvironmentUnavailable: see ``echo``.
        """
        self._at_terminal("set the echo of a terminal").echo(on)

    def _at_terminal(self, what: str) -> Foreground:
        self.take(0)
        if self._ended:
            raise ProcessLookupError(errno.ESRCH, "the program at the terminal has ended", self.command)
        if self._foreground is None:
            raise Unsupported(what, "these")
        return self._foreground

    def resize(self, rows: int, columns: int) -> None:
        """Change the size; the program gets SIGWINCH.

        Raises:
            ConnectionLost: the sandbox is gone.
        """
        self.take(0)
        self.size = PtySize(rows=rows, columns=columns)
        if not self._ended:
            self._channel.resize(self.size)
        if self._screen is not None:
            with self._reading:
                self._screen.resize(rows, columns)
        if self._recording is not None:
            self._recording.resize(rows, columns)

    # -- output --------------------------------------------------------------------------------------------

    def read(self, timeout: float | None = None) -> bytes:
        """Return the raw stream since the last ``read``: waits for something to come, if there is nothing.

        Args:
            timeout: seconds to wait at the most; None: for ever; 0: do not wait.

        Returns:
            Bytes; none when the time is up, or at the end (see ``ended``).
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._raw and not self._ended:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                self.take(0)
                break
            self.take(left)
        return self.taken()

    def screen(self, *, quiet: float = 0.05, timeout: float = 2.0) -> Snapshot:
        """Return the screen as text, once the program has stopped printing.

        Args:
            quiet: seconds without output after which it counts as that; 0: what is there now.
            timeout: seconds after which it is taken as it is.
        """
        until = time.monotonic() + timeout
        while quiet and not self._ended and (left := until - time.monotonic()) > 0:
            if not self.take(min(quiet, left)):
                break
        self.take(0)
        return self.snapshot()

    def wait_for(self, what: "str | re.Pattern[str]", timeout: float = 10.0) -> Snapshot | None:
        """Wait until something stands on the screen.

        Args:
            what: text, or an expression that is searched for in the screen's text; see ``Snapshot.shows``.
            timeout: seconds.

        Returns:
            The screen on which it stands; None when it did not appear in time, or before the end.
        """
        until = time.monotonic() + timeout
        while True:
            more = self.take(0)
            shown = self.snapshot()
            if shown.shows(what):
                return shown
            left = until - time.monotonic()
            if self._ended or left <= 0:
                return None
            if not more:
                self.take(left)

    def record(self, path: "str | Path", *, keep_input: bool = False) -> None:
        """Record from here on, as asciicast v2 (see ``shellward replay``).

        Args:
            path: file to write.
            keep_input: record what is typed, too: passwords as well.

        Raises:
            OSError: as of open(2).
        """
        from shellward.terminal.asciicast import Recording

        made = Recording(
            path, rows=self.size.rows, columns=self.size.columns, title=self.command, keep_input=keep_input
        )
        before, self._recording = self._recording, made
        if before is not None:
            before.close()

    # -- its end -------------------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the program to end, and keep what it prints meanwhile.

        Args:
            timeout: seconds; None: for ever.

        Returns:
            Its exit status (128 + n for signal n); None when the time is up, or when ``close`` has ended it.

        Raises:
            ConnectionLost: the sandbox went away.
            OSError: the state of the session that it was to begin with cannot be read; it has not run.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._ended:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            self.take(left)
        if self._status is None and not self._closed:
            left = None if deadline is None else max(0.1, deadline - time.monotonic())
            self._status = self._channel.wait(left)
            self._tell()
        if self._status == UNREAD_STATUS and self.refusal and self._first.split() == self.refusal.split():
            raise state_unread(self.command)
        return self._status

    def kill(self, first: str = "TERM") -> None:
        """End the program with everything it started: first a signal, then KILL for what is still there.

        Args:
            first: name of the signal to begin with.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        with held():
            self._kill(first)

    def end(self, reason: str) -> bool:
        """End it for a reason, as ``Environment.interrupt`` does; False when it was over."""
        if self._closed or self._told:
            return False
        self.interrupted = reason == "interrupt"
        self._kill("INT")
        return True

    def close(self) -> None:
        """End it with everything it started, and let go of it. Idempotent."""
        with held():
            self._close()

    def _close(self) -> None:
        if self._closed:
            return
        self.closing = True
        try:
            self._look()
            if not self._told:
                self._kill("HUP")
        finally:
            self._closed = True
            self._ended = True
            if self.before_close is not None:
                self.before_close()
            self._channel.close()
            if self._recording is not None:
                self._recording.close()
            self._tell()
            if self.on_close is not None:
                self.on_close()

    # -- for the parts of this room ------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Type, as ``write`` does, while another thread reads."""
        self._channel.write(self._passed(data), _WRITE_LIMIT)

    def take(self, timeout: float | None) -> bool:
        """Wait for output, and hand it to all who want it; False when none came."""
        with self._reading:
            if self._ended:
                return False
            pieces = self._channel.read(timeout)
            if pieces is None:
                self._ended = True
                return False
            self._heard = self._heard or bool(pieces)
            for _, data in pieces:
                self._hand_on(data)
            return bool(pieces)

    def begun(self) -> bool:
        """Whether its program is known to have begun, or to be over: something came of it."""
        if self._heard or self._ended:
            return True
        poller = select.poll()
        poller.register(self.fileno(), select.POLLIN)
        return bool(poller.poll(0))

    def taken(self) -> bytes:
        """Return what was taken and not yet returned. Never waits."""
        return self._raw.take()

    def snapshot(self) -> Snapshot:
        """Return the screen as far as was taken."""
        if self._screen is None:
            raise ValueError("this session keeps no screen: another terminal shows it")
        with self._reading:
            return self._screen.snapshot()

    # -- inside --------------------------------------------------------------------------------------------

    def _hand_on(self, data: bytes) -> None:
        if len(self._first) <= len(self.refusal):
            self._first += data
        if self.on_data is None:
            self._raw.add(data)
        else:
            self.on_data(data)
        if self._recording is not None:
            self._recording.output(data)
        if self._screen is not None and (answer := self._screen.feed(data)):
            self._answer(answer)

    def _answer(self, answer: bytes) -> None:
        with suppress(ConnectionLost):  # whoever asked has ended, or does not read
            self._channel.write(answer, 1.0)

    def _passed(self, data: bytes) -> bytes:
        if self._gate is not None:
            data = self._gate(data)
        if self._recording is not None:
            self._recording.input(data)
        return data

    def _send(self, data: bytes) -> None:
        if len(data) <= _SMALL:
            self._channel.write(data, _WRITE_LIMIT)
            return
        failed: list[ConnectionLost] = []

        def send() -> None:
            try:
                self._channel.write(data, _WRITE_LIMIT)
            except ConnectionLost as error:
                failed.append(error)

        # A program that prints while it reads, as most do, would wait for us, and we for it.
        writer = threading.Thread(target=send, name="shellward-typing", daemon=True)
        writer.start()
        while writer.is_alive():
            if not self.take(_SLICE):
                writer.join(_SLICE)
        if failed:
            raise failed[0]

    def _look(self) -> None:
        """Learn the exit status of a program that has ended by itself: nobody could say it once it is closed."""
        if self._status is not None or not self._reading.acquire(timeout=_SLICE):  # else whoever reads learns it
            return
        try:
            until = time.monotonic() + _SLICE  # what prints on and on has not ended
            while self.take(0) and time.monotonic() < until:
                pass
        finally:
            self._reading.release()
        if self._ended:
            with suppress(EnvironmentUnavailable):
                self._status = self._channel.wait(_STATUS_LIMIT)

    def _tell(self) -> None:
        told, self._told = self._told, True
        if not told and self.on_end is not None:
            self.on_end(self._status)
