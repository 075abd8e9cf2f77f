"""One command on a warm shell, from the time it was sent: what the events of the conversation mean for it. No I/O."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from shellward.core.types import ShellEvent, StreamName
from shellward.environments.protocol import Conversation, Died, Finished, Output, Ready

MOST_STARTS = 3
"""Shells that die one after the other before none is tried any more."""

Sink = Callable[[StreamName, bytes], None]


class Outcome(NamedTuple):
    """How a command ended.

    Attributes:
        status: exit status as the shell tells it.
        cwd: where the shell stands now.
        event: what became of the shell.
        wrong_cwd: an errno: it was not run, since its directory cannot be entered.
        ended_by: None, or the reason that ``Execution.end`` was given.
        held: see ``Finished``.
    """

    status: int
    cwd: str
    event: ShellEvent | None = None
    wrong_cwd: int = 0
    ended_by: str | None = None
    held: int | None = None


class Execution:
    """One command on its way: what the events of the conversation mean for it. No I/O.

    Thread-safe in one respect: another thread may call ``end``.
    """

    def __init__(self, conversation: Conversation, *, shell_pid: int, holder: int, keeps_state: bool) -> None:
        self._conversation = conversation
        self.shell_pid = shell_pid
        self.holder = holder
        self._keeps_state = keeps_state
        self._lock = threading.Lock()
        self._status: int | None = None
        self.number = conversation.count
        self.started = time.monotonic()
        self.died = False
        self.ended_by: str | None = None
        self.outcome: Outcome | None = None
        self.ready: Ready | None = None
        self._plan: threading.Event | None = None
        self._deaths = 0

    def end(self, reason: str) -> bool:
        """Declare that the command is being ended; False when it is over, or is being ended already.

        From here on the shell's death is part of the plan: the outcome waits for its successor.
        """
        with self._lock:
            if self.outcome is not None or self.ended_by is not None:
                return False
            self.ended_by = reason
            self._plan = threading.Event()
            return True

    def plan_over(self) -> None:
        """Say that the plan to end it, to which ``end`` has agreed, was carried out, see ``carry_out``."""
        if self._plan is not None:
            self._plan.set()

    @property
    def settled(self) -> bool:
        """Whether nobody is about to end it."""
        return self._plan is None or self._plan.is_set()

    def wait_settled(self, limit: float) -> None:
        """Wait until whoever ends it is done with it, up to ``limit`` seconds."""
        if self._plan is not None:
            self._plan.wait(limit)

    def feed(self, stream: StreamName, data: bytes, sink: Sink) -> None:
        """Take bytes from the channel, hand the command's output to ``sink``; ``outcome`` is set when it is over."""
        for event in self._conversation.feed(stream, data):
            match event:
                case Output():
                    sink(event.stream, event.data)
                case Finished():
                    self._finished(event)
                case Died():
                    self._died(event)
                case Ready():
                    self._ready(event)

    def _finished(self, event: Finished) -> None:
        with self._lock:
            self._status = event.status
            if self.ended_by is None:
                happened = None if event.kept else ShellEvent.STATE_UNSAVED
                self.outcome = Outcome(event.status, event.cwd, happened, wrong_cwd=event.wrong_cwd, held=event.held)

    def _died(self, event: Died) -> None:
        self.died = True
        if self._status is None:
            self._status = event.status
        self._deaths += 1
        if self._deaths >= MOST_STARTS:  # no successor starts: the next command will say why
            self.outcome = Outcome(self._status, "", event=ShellEvent.STATE_LOST, ended_by=self.ended_by)

    def _ready(self, event: Ready) -> None:
        self.ready = event
        whole = not self._keeps_state or event.state == self.number
        happened = ShellEvent.RESTARTED if whole else ShellEvent.STATE_LOST
        with self._lock:
            self.outcome = Outcome(
                self._status if self._status is not None else -1,
                event.cwd,
                event=happened if self._keeps_state else None,
                ended_by=self.ended_by,
            )
