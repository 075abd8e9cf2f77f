"""Which calls of one task may run at the same time: each has its turn, in the order in which they came.

A call that changes what others see (the session's directory, files) is alone: it waits for those before it, and those
after it wait for it. All others run beside each other. So the outcome is that of one call after the other.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from shellward.approval.withdrawal import Withdrawal

_INSIDE: Final[ContextVar["Turns | None"]] = ContextVar("shellward_turn", default=None)
"""Whose turn the calls of a script have already: that of the script."""


class Interrupted(Exception):  # noqa: N818  # what happened, and no fault of anybody's
    """The call was ended from outside while it waited; nothing has run."""


class _Ticket:
    __slots__ = ("alone",)

    def __init__(self, *, alone: bool) -> None:
        self.alone = alone


class Turns:
    """The turns of one task. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._line: list[_Ticket] = []

    @contextmanager
    def turn(self, call: Withdrawal, *, alone: bool) -> Iterator[None]:
        """Wait for a turn, and have it.

        Args:
            call: is withdrawn when nobody wants the call any more.
            alone: nothing of this task may run beside it.

        Raises:
            Interrupted: it was withdrawn before its turn came.
        """
        if _INSIDE.get() is self:
            yield
            return
        ticket = _Ticket(alone=alone)
        with self._changed:
            self._line.append(ticket)
            if not self._may_begin(ticket):
                call.listen(self._wake)
        try:
            with self._changed:
                while not self._may_begin(ticket) and not call.done:
                    self._changed.wait()
            if call.done:
                raise Interrupted
            yield
        finally:
            with self._changed:
                self._line.remove(ticket)
                self._changed.notify_all()

    @contextmanager
    def shared_with_calls(self) -> Iterator[None]:
        """Let the calls of a script, made in this context, run in the turn that the script has."""
        token = _INSIDE.set(self)
        try:
            yield
        finally:
            _INSIDE.reset(token)

    def _may_begin(self, ticket: _Ticket) -> bool:
        if ticket.alone:
            return self._line[0] is ticket
        for each in self._line:
            if each is ticket:
                return True
            if each.alone:
                return False
        return True

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
