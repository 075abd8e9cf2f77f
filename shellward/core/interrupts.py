"""Ctrl-C in the middle of a call: heard where the call waits, and once; never in the middle of what must be whole.

Python raises KeyboardInterrupt between any two steps of the main thread: also between a lock and the block that
releases it, or while what the first Ctrl-C has stopped is cleaned up. In a block of ``held`` it is kept until the end
of the block, or until a wait in a block of ``interruptible``; once it was raised, a further one adds nothing. Who
insists, ``INSIST`` seconds later, is heard anywhere.

It is the handler of SIGINT that was there which raises, or does what else it does; it is called at once.
"""

import _signal  # type: ignore[import-not-found]  # the functions of "signal" look for an enum first, which costs 2 us each
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final

INSIST: Final = 3.0
"""Seconds after the first Ctrl-C of a call from which on another one is raised wherever the call is."""


class _MainThread:
    """What is known of the one thread in which Python handles signals.

    Attributes:
        depth: so many blocks of ``held`` are open.
        changing: the handler is being put in place, or taken away.
        open: it may be raised now.
        raised: it was, in the present call.
        kept: what is still to be raised.
        first: monotonic time of the first one in the present call; 0: there was none.
        before: the handler in whose place ours is; None: there is none of Python's.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.changing = self.open = self.raised = False
        self.kept: BaseException | None = None
        self.first = 0.0
        self.before: Callable[[int, FrameType | None], Any] | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        before = self.before
        if before is None:
            return
        if not (self.depth or self.changing):
            before(number, frame)
        elif self.open and not self.raised:
            self.raised, self.first = True, time.monotonic()
            before(number, frame)
            self.raised = False  # it has done something else than to raise
        else:
            self._keep(before, number, frame)

    def _keep(self, before: Callable[[int, FrameType | None], Any], number: int, frame: FrameType | None) -> None:
        try:
            before(number, frame)
        except BaseException as error:
            now = time.monotonic()
            self.first = self.first or now
            if now - self.first > INSIST:
                self.raised = True
                raise
            self.kept = self.kept or error.with_traceback(None)

    def install(self) -> None:
        there = _signal.getsignal(_signal.SIGINT)
        if there != _handle:
            self.before = there if callable(there) else None
            if self.before is not None:
                self.changing = True
                _signal.signal(_signal.SIGINT, _handle)
        self.raised, self.kept, self.first = False, None, 0.0
        self.depth = 1
        self.changing = False

    def remove(self) -> None:
        self.changing = True
        self.depth = 0
        if self.before is not None and _signal.getsignal(_signal.SIGINT) == _handle:
            _signal.signal(_signal.SIGINT, self.before)
        self.changing = False

    def due(self) -> BaseException | None:
        """Take what is to be raised now, if it may be."""
        if self.kept is None or self.raised or (self.depth and not self.open):
            return None
        error, self.kept, self.raised = self.kept, None, True
        return error


_main = _MainThread()
_handle = _main.handle


def _here() -> bool:
    return threading.current_thread() is threading.main_thread()


class held:  # noqa: N801  # used as a function is
    """Keep Ctrl-C until the end of the block, or a block of ``interruptible`` in it.

    In other threads, which Ctrl-C never reaches, it does nothing.
    """

    __slots__ = ("_ours", "_was")

    def __enter__(self) -> None:
        self._ours = _here()
        if self._ours:
            if _main.depth == 0:
                _main.install()
                self._was = False
            else:
                self._was, _main.open = _main.open, False
                _main.depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ours:
            return
        if _main.depth == 1:
            _main.remove()
        else:
            _main.depth -= 1
        _main.open = self._was
        if (kept := _main.due()) is not None:
            raise kept


class interruptible:  # noqa: N801
    """Let Ctrl-C be raised in the block: the call waits, or the caller's own code runs.

    What the block had already may be lost then.
    """

    __slots__ = ("_ours", "_was")

    def __enter__(self) -> None:
        self._ours = _here() and bool(_main.depth)
        if self._ours:
            self._was, _main.open = _main.open, True
            if (kept := _main.due()) is not None:
                _main.open = self._was
                raise kept

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ours:
            _main.open = self._was
