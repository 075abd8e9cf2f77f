"""One warm shell at the end of a channel. Blocks in the caller's thread."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, TypeVar, cast

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.interrupts import interruptible
from shellward.core.types import ShellEvent
from shellward.environments.base import Backend, Channel, Piece
from shellward.environments.encoding import Holding, Request, script
from shellward.environments.execution import MOST_STARTS, Execution, Sink
from shellward.environments.foreign import foreign
from shellward.environments.protocol import Conversation, Died, Phase, Ready

T = TypeVar("T")

START_LIMIT = 30.0
"""Seconds in which a shell has to be there."""
_SLICE = 0.2
_MOST_WORDS = 400
_NO_DESCRIPTORS = 123
"""Exit status of scripts/bash.sh when the two descriptors that it needs are above the limit."""


class Silent(EnvironmentUnavailable):
    """The sandbox has not answered within the time that there was; it may do so yet."""


class SilentInMidCall(ConnectionLost, Silent):
    """The same, of something that was sent and may have been done."""


class Version(NamedTuple):
    """A state that a session's shell has saved.

    Attributes:
        path: where, without the number at its end.
        pid: of the shell.
        number: of the command after which; 0: none that was saved.
    """

    path: str
    pid: int
    number: int


def within(limit: float, work: Callable[[], T], late: Callable[[T], object] | None = None) -> T:
    """Do something that may wait for the sandbox, and for so long at the most.

    Args:
        limit: seconds.
        work: what to do; it goes on in a thread of its own when it takes longer.
        late: is given what comes when nobody waits any more.

    Raises:
        Silent: it takes longer.
    """
    ended: queue.SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = queue.SimpleQueue()
    lock = threading.Lock()
    given_up = False

    def carry() -> None:
        try:
            value = work()
        except BaseException as error:  # noqa: BLE001  # raised in the caller's thread
            ended.put((None, error))
            return
        with lock:
            if not given_up:
                ended.put((value, None))
                return
        if late is not None:
            late(value)

    threading.Thread(target=carry, name="shellward-asking", daemon=True).start()
    try:
        value, error = ended.get(timeout=limit)
    except queue.Empty:
        with lock:
            given_up = True
        if ended.empty():
            raise Silent("the sandbox does not answer") from None
        value, error = ended.get()  # in the last moment
    if error is not None:
        raise error
    return cast("T", value)


class Shell:
    """A warm shell: opens when first needed, and again when its channel was lost.

    Not thread-safe: one command at a time, see ``lock``. Only ``execution`` may be looked at from other threads.

    Args:
        backend: where.
        mark: ``environment.session``, for SHELLWARD_COMMAND.
        directory: directory in the sandbox for its state and input files; it is made when missing.
        name: name of its state there; empty: it keeps none.
        program: ``auto``, or the shell to use.
        user: who it runs as; None: the backend's default.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        mark: str,
        directory: str,
        name: str = "",
        program: str = "auto",
        user: str | None = None,
    ) -> None:
        self._backend = backend
        self.mark = mark
        self.directory = directory
        self.name = name
        self.user = user
        self._program = program
        self._channel: Channel | None = None
        self._conversation: Conversation | None = None
        self._watch = _StartWatch()
        self.lock = threading.Lock()
        self.streamed_in: int | None = None
        """The thread that has opened the stream that holds the lock; None where no stream does."""
        self.execution: Execution | None = None
        self.pid = 0
        self.holder = 0
        self.kind = ""
        self.cwd = ""
        self.restored: int | None = None
        self.event: ShellEvent | None = None
        self.closed = False
        self.pooled: tuple[str | None, str] | None = None
        """Of which user, and for what, when it is one of the pool, see ``Pool.borrow``."""
        self.held: Version | None = None
        """The state of another shell that this one, which keeps none of its own, holds, as its own process has said."""
        self.wanted: Version | None = None
        """The one that its next command begins with. A shell that holds another begins anew before, see ``ensure``."""
        self.takes = False
        """It is to take over the wanted one with its next command."""
        self.private = False
        """It runs the room's own scripts, which do not begin with the session's state."""
        self.forgotten = False
        """Its state goes with it."""
        self.dropped = False
        """Who holds the lock closes the channel when he lets go of it."""
        self._last = 0

    @property
    def channel(self) -> Channel:
        """The open channel.

        Raises:
            ConnectionLost: there is none.
        """
        if self._channel is None:
            raise ConnectionLost("the shell's channel is closed")
        return self._channel

    @property
    def conversation(self) -> Conversation:
        """The conversation on the open channel.

        Raises:
            ConnectionLost: there is none.
        """
        if self._conversation is None:
            raise ConnectionLost("the shell's channel is closed")
        return self._conversation

    def take_turn(self, limit: float | None) -> None:
        """Acquire the lock behind whoever runs a command here.

        Raises:
            EnvironmentUnavailable: it was not released in time, or cannot be, since this very thread holds it.
        """
        if self.lock.acquire(blocking=False):
            return
        if limit is None and self.streamed_in == threading.get_ident():
            raise EnvironmentUnavailable(
                "an unfinished stream of this session, opened in this thread, holds it: "
                "finish or close that first; nothing has run"
            )
        until = None if limit is None else time.monotonic() + min(limit, threading.TIMEOUT_MAX)
        while not (
            mine := self.lock.acquire(
                timeout=_SLICE if until is None else max(0.0, min(_SLICE, until - time.monotonic()))
            )
        ):
            with interruptible():  # not the waiting itself: nobody could say whether the lock was acquired
                if until is not None and time.monotonic() >= until:
                    break
        if not mine:
            holder = "an unfinished stream" if self.streamed_in is not None else "another command"
            raise EnvironmentUnavailable(f"{holder} of this session still holds it after {limit} s; nothing has run")

    def release(self) -> None:
        """Let the next one have its turn."""
        if self.dropped:
            self.close()
        self.lock.release()

    def drop(self, patience: float) -> None:
        """Close the channel, which somebody may use; he has ``patience`` seconds to find out that it is over."""
        self.dropped = True
        if self.lock.acquire(timeout=patience):
            self.close()
            self.dropped = False
            self.lock.release()

    @property
    def count(self) -> int:
        """Number of its last command; 0 when there is none."""
        return self._conversation.count if self._conversation else 0

    @property
    def saved(self) -> int:
        """Number of the command after which its state was saved last: it is that still. 0 when there is none."""
        return self._conversation.saved if self._conversation else 0

    @property
    def state_path(self) -> str:
        """Where its state is saved, without the number at its end."""
        return self._conversation.state_path() if self._conversation else ""

    @property
    def fits(self) -> bool:
        """Whether its next command can begin here: it holds no state, or the one that is wanted."""
        return self.held is None or self.held == self.wanted

    def ensure(self, limit: float | None = None) -> None:
        """Be ready for a command: open the channel where it is not, take what came since the last one.

        Args:
            limit: seconds that it may take; never more than ``START_LIMIT``.

        Raises:
            Silent: it has not answered in time.
            EnvironmentUnavailable: the sandbox is gone, or no shell starts in it.
        """
        if self.warm():
            return
        limit = START_LIMIT if limit is None else min(limit, START_LIMIT)
        deadline = time.monotonic() + limit
        if self._channel is None:
            self.open_channel(limit)
        elif self.conversation.phase is Phase.IDLE:  # it holds another state
            self.conversation.send(Request(text="\\builtin exit"))
            with suppress(ConnectionLost):  # which is read below
                self.flush(limit)
        while self.conversation.phase is not Phase.IDLE:
            pieces = self.channel.read(max(0.0, deadline - time.monotonic()))
            if pieces is None:
                self.close()
                raise EnvironmentUnavailable(self._watch.complaint(self._program))
            if time.monotonic() > deadline:
                self.close()
                raise Silent(self._watch.complaint(self._program))
            self._take(pieces)
        if not self.fits:  # it has not ended
            self.close()
            self.ensure(max(0.0, deadline - time.monotonic()))

    def warm(self) -> bool:
        """Take what came since the last command, without waiting; whether a command can be sent at once."""
        if self._channel is None:
            return False
        try:
            while pieces := self._channel.read(0):
                self._take(pieces)
            if pieces is None:
                self.close()
        except ConnectionLost:
            self.close()
        return self._channel is not None and self.conversation.phase is Phase.IDLE and self.fits

    def open_channel(self, limit: float = START_LIMIT) -> None:
        """Open the channel and say hello, which may take ``limit`` seconds; ``ensure`` waits for the answer."""
        self._watch = _StartWatch()
        self._conversation = Conversation(
            mark=self.mark,
            state=f"{self.directory}/{self.name}" if self.name else "",
        )
        argv = ["sh", "-c", script("holder.sh"), "shellward", self._program, self.directory]

        def opened() -> "Channel":
            with foreign(self._backend.kind, "no shell could be started"):
                return self._backend.open(argv, env={"SHELLWARD_COMMAND": f"{self.mark}.0;"}, user=self.user)

        self._channel = opened() if limit >= START_LIMIT else within(limit, opened, lambda late: late.close())
        with suppress(ConnectionLost):  # no shell has started: why, is to be read
            self.flush(limit)

    def flush(self, limit: float = START_LIMIT) -> None:
        """Send what the conversation has to say."""
        if data := self.conversation.outgoing():
            self.channel.write(data, limit)

    def _take(self, pieces: Sequence[Piece]) -> None:
        try:
            for stream, data in pieces:
                self._watch.hear(data)
                for event in self.conversation.feed(stream, data):
                    if isinstance(event, Ready):
                        self._note_between(event)
                    elif isinstance(event, Died) and self._watch.failed(event.status):
                        raise EnvironmentUnavailable(self._watch.complaint(self._program))  # noqa: TRY301
        except EnvironmentUnavailable:
            self.close()
            raise
        self.flush()

    def _note_between(self, event: Ready) -> None:
        """A shell that was lost between two commands is told of with the result of the next."""
        if self.pid and self.name:
            whole = event.state is not None and event.state >= self._last
            self.event = ShellEvent.RESTARTED if whole else ShellEvent.STATE_LOST
        self.note(event)

    def note(self, event: Ready) -> None:
        """Remember which shell it is that is there now."""
        self.pid, self.holder = event.pid, event.holder
        self.kind, self.restored, self.held = event.shell, event.state, None
        self.cwd = event.cwd
        self._watch = _StartWatch()

    def begin(self, request: Request, limit: float = START_LIMIT) -> Execution:
        """Send a command, within ``limit`` seconds; ``ensure`` comes first. It is sent once, whatever happens."""
        if request.state and not self.name:
            request = replace(request, holding=self._holding(request))
        try:
            self.conversation.send(request)
            self._last = self.conversation.count
            self.execution = Execution(
                self.conversation,
                shell_pid=self.pid,
                holder=self.holder,
                keeps_state=bool(self.name),
            )
        except BaseException:
            if self.conversation.phase is Phase.RUNNING:  # Ctrl-C in between: nothing was sent, nothing will answer
                self.close()
            raise
        self.flush(limit)
        self.conversation.prepare()  # while the command runs
        return self.execution

    def _holding(self, request: Request) -> Holding | None:
        if not self.fits:
            raise RuntimeError("a shell was not made ready for the state that its command begins with")
        if self.held is not None:
            return Holding.HELD
        return Holding.TAKEN if self.takes and not request.traceless else None

    def advance(self, execution: Execution, timeout: float | None, sink: Sink, *, interrupts: bool = False) -> bool:
        """Wait for output up to ``timeout`` seconds and hand it to ``sink``.

        Args:
            execution: the command.
            timeout: seconds.
            sink: takes the output.
            interrupts: Ctrl-C is heard meanwhile.

        Returns:
            False at the end of the stream.
        """
        if interrupts:
            with interruptible():
                pieces = self.channel.read(timeout)
        else:
            pieces = self.channel.read(timeout)
        if pieces is None:
            return False
        self.take(execution, pieces, sink)
        return True

    def take(self, execution: Execution, pieces: Sequence[Piece], sink: Sink) -> None:
        """Hand on what was read from the channel while a command ran."""
        for stream, data in pieces:
            execution.feed(stream, data, sink)
        if execution.died:
            self.flush()
        if execution.outcome is not None:
            self.settle(execution)

    def settle(self, execution: Execution) -> None:
        """Take over what an execution that is over has found out about the shell."""
        self._last = self.conversation.saved
        if execution.ready is not None:
            self.note(execution.ready)
        outcome = execution.outcome
        if outcome is not None and outcome.cwd:
            self.cwd = outcome.cwd
        if outcome is not None and self.wanted is not None:
            self.held = None if outcome.held is None else self.wanted._replace(number=outcome.held)
        if execution.died and execution.ready is None:
            self.close()

    def part(self, execution: Execution | None) -> None:
        """Let go of a command. A shell that was told to end, and may yet, takes no other: it would not be run."""
        self.execution = None
        if execution is not None and (not execution.settled or (execution.ended_by and execution.outcome is None)):
            self.close()

    def forget_state(self, limit: float) -> None:
        """Have the shell save nothing when it ends, where it is there to be asked."""
        if not self.warm():
            return
        execution = self.begin(Request(text="trap - EXIT"))
        until = time.monotonic() + limit
        while execution.outcome is None and (left := until - time.monotonic()) > 0:
            if not self.advance(execution, left, lambda _stream, _data: None):
                return

    def close(self) -> None:
        """Release the channel; idempotent. The shell sees the end of its input and saves its state."""
        channel, self._channel = self._channel, None
        self.held = None
        if channel is not None:
            channel.close()


class _StartWatch:
    """Counts deaths before a shell was ready, so that a missing shell is an error and no endless loop."""

    def __init__(self) -> None:
        self._deaths = 0
        self._status = 0
        self._said = b""

    def failed(self, status: int) -> bool:
        self._deaths += 1
        self._status = status
        return self._deaths >= MOST_STARTS

    def hear(self, data: bytes) -> None:
        """Keep what comes before a shell is there: the place's own complaint, perhaps."""
        if len(self._said) < _MOST_WORDS:
            self._said += data

    def complaint(self, program: str) -> str:
        shell = "sh" if program == "auto" else program
        if self._status == _NO_DESCRIPTORS:
            return "no session can be held in the sandbox: its limit of open files (ulimit -Hn) is below 256"
        if self._deaths:
            return f"the shell {shell!r} does not start in the sandbox: exit status {self._status}"
        if words := b" ".join(self._said.split()).decode("utf-8", "replace"):
            return f"no shell could be started in the sandbox: {words[:_MOST_WORDS]}"
        return f"no answer from the shell {shell!r} in the sandbox (it needs at least a POSIX sh)"
