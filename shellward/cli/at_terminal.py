"""A person's own terminal, lent to a program elsewhere: raw mode, sizes, and its restoration on every way out."""

import contextlib
import os
import select
import signal
import termios
import tty
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final, Protocol, Self

from shellward.terminal.modes import Modes

_READ: Final = 1 << 16
_ENDS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


class Terminated(BaseException):
    """A signal told this program to end; as KeyboardInterrupt, nobody's error.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


@contextlib.contextmanager
def ending_by_signal() -> Iterator[None]:
    """Turn the signals that end a program into Terminated, so that what has to be put back is."""

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        raise Terminated(number)

    before = {number: signal.signal(number, end) for number in _ENDS if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Let no signal cut off what puts things back."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class OwnTerminal:
    """The terminal that this program runs at. A context manager; leaving it puts everything back.

    Args:
        raw: every key is passed on, Ctrl-C too; else keys are only not shown.
    """

    def __init__(self, *, raw: bool = True) -> None:
        self._raw = raw
        self._modes = Modes()
        self._before: list[object] | None = None

    def __enter__(self) -> Self:
        if os.isatty(0):
            self._before = termios.tcgetattr(0)
            if self._raw:
                tty.setraw(0)
            else:
                tty.setcbreak(0)
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(OSError, termios.error):  # the terminal itself may be gone
            if undo := self._modes.undo():
                self.write(undo)
            if self._before is not None:
                # Also throws away what the terminal has answered, and what was typed while nobody listened.
                termios.tcsetattr(0, termios.TCSAFLUSH, self._before)  # type: ignore[arg-type]

    def write(self, data: bytes) -> None:
        """Print, all of it.

        Raises:
            OSError: the terminal is gone.
        """
        self._modes.feed(data)
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(1, view) :]
            except BlockingIOError:  # somebody who shares it has made it non-blocking
                select.select([], [1], [])


def own_size() -> tuple[int, int]:
    """Return rows and columns of the terminal; 24 and 80 where it does not know them."""
    try:
        size = os.get_terminal_size(1)
    except OSError:
        return 24, 80
    return size.lines or 24, size.columns or 80


class Session(Protocol):
    """The program's side; ``PtySession`` is one."""

    @property
    def ended(self) -> bool:
        """Whether everything was read, and no more comes."""

    def fileno(self) -> int:
        """Return a descriptor that is readable when there is something to read."""

    def read(self, timeout: float, /) -> bytes:
        """Return what has come."""

    def write(self, data: bytes, /) -> None:
        """Type."""

    def resize(self, rows: int, columns: int) -> None:
        """Change its size."""


class Joined:
    """A person at a program's terminal: keys there, output here, sizes followed.

    Args:
        session: the program's side; made with ``emulate=False``, since the person's terminal answers it.
        own: the person's.
        detach: is given what was typed; returns what to send, or None to leave.
    """

    def __init__(
        self, session: Session, own: OwnTerminal, detach: Callable[[bytes], bytes | None] | None = None
    ) -> None:
        self._session = session
        self._own = own
        self._detach = detach
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._waker, False)

    def run(self) -> bool:
        """Copy until the program has ended; False when the person has left before.

        Raises:
            ConnectionLost: the sandbox went away.
            OSError: the person's terminal is gone.
        """

        def resized(number: int, frame: FrameType | None) -> None:
            del number, frame
            with contextlib.suppress(BlockingIOError):
                os.write(self._waker, b"x")

        before = signal.signal(signal.SIGWINCH, resized)
        try:
            return self._copy()
        finally:
            signal.signal(signal.SIGWINCH, before)
            os.close(self._wake)
            os.close(self._waker)

    def _copy(self) -> bool:
        session = self._session
        sources = [0, session.fileno(), self._wake]
        while True:
            ready, _, _ = select.select(sources, [], [])
            if session.fileno() in ready:
                if data := session.read(0):
                    self._own.write(data)
                if session.ended:
                    return True
            if self._wake in ready:
                os.read(self._wake, _READ)
                session.resize(*own_size())
            if 0 in ready:
                data = os.read(0, _READ)
                if not data:  # the terminal is gone
                    return False
                kept = data if self._detach is None else self._detach(data)
                if kept is None:
                    return False
                if kept:
                    session.write(kept)
