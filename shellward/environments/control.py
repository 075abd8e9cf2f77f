"""The control shell of an environment: signals what a command left behind, renews the lease.

It is a warm shell of its own, opened before it is needed, because killing must work when a sandbox can start
no further process. What it runs uses builtins only (scripts/kill.sh).
"""

import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.interrupts import held
from shellward.core.limits import KILL_GRACE
from shellward.core.types import StreamName
from shellward.environments.base import Backend
from shellward.environments.encoding import Request, quote, script
from shellward.environments.execution import Execution
from shellward.environments.shell import Shell, Silent, SilentInMidCall, within

_CALL_LIMIT = 10.0
_LATER = 600.0
"""Seconds in which a sandbox that does not answer is asked again to end a command whose time is up."""
_AGAIN = 1.0
_TRIES = 3
_ROUNDS = 60
_EMPTY_LOOKS = 3
_SHELL_GRACE = 0.5
"""Seconds that a shell may take to end in order, for which it saves its state. With KILL_GRACE and the looks between
the two, it is below the second after a limit at which the caller hears."""
_MANY = 30
_CROWD = 500
"""So many are no command that would tidy up when it is asked to; each look at them takes a while, too."""
_TICK = 100
_MARGIN = 0.5
"""Seconds by which a signal's way into the sandbox may take longer than the command's did."""


@dataclass(frozen=True, slots=True)
class Round:
    """Send a signal to everything that belongs to the command; "0" only looks."""

    signal: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Let time pass: read what the shell says for so many seconds."""

    seconds: float


Step = Round | Pause
Plan = Generator[Step, tuple[int, int], None]


@dataclass(slots=True)
class Target:
    """What belongs to one command: see scripts/kill.sh.

    Attributes:
        since: clock ticks of the sandbox at which the command began, or before; None until the first round.
        skip: pids of background jobs that stay; the first round finds them.
        began: monotonic time of the client before which the command did not begin.
        number: of the command, in its shell.
        states: where the states of its shell are; empty: it keeps none.
    """

    mark: str
    shell_pid: int
    holder: int
    since: int | None
    skip: str = ""
    began: float = 0.0
    number: int = 0
    states: str = ""


def kill_plan(execution: "Execution | _NoShell", first: str) -> Plan:
    """Say step by step how a command is ended; the answer to a ``Round`` is (processes, shells) found alive.

    First ask (``first``, TERM or INT), wait a little, then KILL until nothing is left, and last the shell itself
    when it has not ended in order by then.
    """
    left, shells = yield Round(first)
    patience = time.monotonic() + KILL_GRACE
    while 0 < left < _CROWD and time.monotonic() < patience:
        yield Pause(0.02)
        left, shells = yield Round("0")
    empty = 0
    for attempt in range(_ROUNDS):
        if not left:
            # Twice: what hops from process to process may have been between two when this looked.
            empty += 1
            if empty == _EMPTY_LOOKS:
                break
            yield Pause(0.02)
            left, shells = yield Round("0")
            continue
        empty = 0
        # What forks faster than it is killed is stopped first, the shell with it: it may be the one that forks.
        crowd = left > _MANY
        if crowd and attempt % 2 == 0:
            yield Round("STOP")
        left, shells = yield Round("KILL+" if crowd else "KILL")
        yield Pause(0.01)
    patience = time.monotonic() + _SHELL_GRACE
    while not execution.died and time.monotonic() < patience:
        yield Pause(0.02)
    if not execution.died and shells:
        yield Round("KILL+")
        yield Pause(0.02)
        # A builtin may have started something between the last look and its end.
        yield Round("KILL")


class _KilledError(ConnectionLost):
    """The control shell was killed in the middle of an answer."""


class Control:
    """See the module. Thread-safe.

    Attributes:
        closing: is set when it is closed.

    Args:
        backend: where.
        environment: the environment's id, with which every mark of its processes begins.
        user: whose processes it can signal; None: the backend's default.
        sweep: when the client is gone, end all that is ours at once and remove this directory (for places that
            have no lease); None: leave it to the lease.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        environment: str,
        user: str | None = None,
        sweep: str | None = None,
    ) -> None:
        self._shell = Shell(backend, mark=f"{environment}.control", directory="", user=user)
        self._environment = environment
        self._sweep = sweep
        self._lock = threading.Lock()
        self._loaded = 0
        self._scripts: set[str] = set()
        self._known: list[str] = []
        self._closed = False
        self.closing = threading.Event()

    def open(self) -> None:
        """Open it now, so that it is there when it is needed.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        with held(), self._lock:
            self._ready()

    def call(self, text: str, *, once: bool = False) -> str:
        """Run a line of shell in it; returns what it printed.

        Args:
            text: the line.
            once: it is not run again when this shell was killed in the middle of it.

        Raises:
            ConnectionLost: the shell was killed in the middle of it; it may have been done.
            EnvironmentUnavailable: the sandbox is gone, or does not answer in time.
        """
        with held(), self._lock:
            return self._answered(lambda: text, once=once)

    def ask(self, name: str, text: str, *, once: bool = False) -> str:
        """Run a line of shell that needs another script of ours; returns what it printed.

        Args:
            name: of the script; it is read once.
            text: the line.
            once: see ``call``.

        Raises:
            ConnectionLost, EnvironmentUnavailable: see ``call``.
        """
        with held(), self._lock:
            return self._answered(lambda: text, name, once=once)

    def _answered(self, text: Callable[[], str], name: str = "", *, once: bool = False) -> str:
        """Run a line, and again in the next shell when this one was killed: half an answer is none."""
        for left in reversed(range(_TRIES)):
            try:
                self._ready()
                if name and name not in self._scripts:
                    self._run(script(name))
                    self._scripts.add(name)
                return self._run(text())
            except _KilledError:
                if once or not left:
                    raise
        raise AssertionError

    def _ready(self) -> None:
        if self._closed:  # whoever closed it has seen its channel, and would not see another
            raise EnvironmentUnavailable("this environment was closed; create a new one")
        self._shell.ensure()
        if self._loaded == self._shell.pid:
            return
        self._run(f"LC_ALL=C\n{script('kill.sh')}")  # bytes: bash compares them several times as fast as characters
        self._scripts.clear()
        if self._sweep is not None:
            mark = f"SHELLWARD_COMMAND={self._environment}."
            # Not when it was its holder that was killed: the client lives, and will ask another control shell.
            last = (
                "sw_l=;IFS= read -r sw_l </proc/$PPID/stat;case ${sw_l##*) } in Z*|X*|'');;"
                f"*)sw_all {mark}; rm -rf {quote(self._sweep.encode()).decode()};;esac"
            )
            self._run(f"trap {quote(last.encode()).decode()} EXIT")
        if self._known:
            self._run(";".join(self._known))
        self._loaded = self._shell.pid

    def _run(self, text: str) -> str:
        printed: list[bytes] = []

        def sink(stream: StreamName, data: bytes) -> None:
            if stream is StreamName.STDOUT:
                printed.append(data)

        execution = self._shell.begin(Request(text=text))
        deadline = time.monotonic() + _CALL_LIMIT
        while execution.outcome is None:
            left = deadline - time.monotonic()
            if left <= 0:
                self._shell.close()
                raise SilentInMidCall("the sandbox does not answer")
            if not self._shell.advance(execution, left, sink):
                self._shell.close()
                raise ConnectionLost("the connection to the sandbox ended")
        if execution.died:
            raise _KilledError("the shell that looks after the others was killed in the middle of an answer")
        return b"".join(printed).decode("utf-8", "replace")

    def know(self, shell: Shell) -> None:
        """Remember a shell, so that what it left behind is found by its pipes, too."""
        line = f"sw_know {shell.pid} {shell.holder}"
        self.call(line)
        self._known.append(line)

    def round(self, target: Target, signal: str) -> tuple[int, int]:
        """Signal everything that belongs to ``target``; how many processes and shells were alive.

        The first round takes the command to have begun by ``_MARGIN`` earlier than the client's clock says; from then
        on the sandbox's clock is known, and how long its answer took.
        """
        which = f"'{target.mark}' {target.shell_pid} {target.holder}"
        if target.since is None:
            states = quote(target.states.encode()).decode()
            with held(), self._lock:
                answer = self._answered(  # how long ago is said when it is asked: others may use the shell before
                    lambda: (
                        f"sw_first {which} {signal} {self._ticks_since(target.began - _MARGIN)} "
                        f"{target.number} {states}"
                    )
                )
            left, shells, now, *skip = answer.split()
            target.since = int(now) - self._ticks_since(target.began) - 1
            target.skip = " ".join(skip)
        else:
            left, shells = self.call(f"sw_round {which} {target.since} '{target.skip}' {signal}").split()
        return int(left), int(shells)

    @staticmethod
    def _ticks_since(moment: float) -> int:
        return int((time.monotonic() - moment) * _TICK)

    def idle(self, execution: Execution) -> bool:
        """Whether the shell does nothing more for this command, though it has not said that it is over.

        It waits for its next command already, or it runs in circles and will for good (scripts/runaway.sh).
        """
        which = f"{execution.shell_pid} {execution.holder}"
        if self.call(f"sw_idle {which}").strip() == "idle":
            return True
        return self.ask("runaway.sh", f"sw_runaway {which}").strip() == "runaway"

    def end_all(self) -> None:
        """End all that is ours in the sandbox, but for this shell."""
        self.call(f"sw_all SHELLWARD_COMMAND={self._environment}.")

    def beat(self, path: str, value: int) -> None:
        """Renew the lease."""
        self.call(f"echo {value} >{quote(path.encode()).decode()}")

    def close(self) -> None:
        """Close it for good; with ``sweep`` it cleans up behind itself. Idempotent."""
        self.closing.set()
        with held(), self._lock:
            self._closed = True
            self._shell.close()


def target_of(shell: Shell, execution: Execution) -> Target:
    """Return what belongs to a command of a warm shell."""
    mark = f"SHELLWARD_COMMAND={shell.mark}.{execution.number};"
    return Target(
        mark,
        execution.shell_pid,
        execution.holder,
        None,
        began=execution.started,
        number=execution.number,
        states=shell.state_path,
    )


def carry_out(
    plan: Plan, control: Control, target: Target, pause: Callable[[float], None], limit: float | None = None
) -> None:
    """Carry out a plan.

    Args:
        plan: see ``kill_plan``.
        control: of the user whose processes they are.
        target: which those are.
        pause: waits for so many seconds, and may read the shell's channel meanwhile.
        limit: seconds that the sandbox may take for each answer, see ``within``.
    """
    answer = (0, 0)
    step = next(plan, None)
    while step is not None:
        match step:
            case Round(signal):
                if limit is None:
                    answer = control.round(target, signal)
                else:
                    answer = within(limit, partial(control.round, target, signal))
            case Pause(seconds):
                pause(seconds)
        try:
            step = plan.send(answer)
        except StopIteration:
            return


class _NoShell:
    """Stands for an execution that no warm shell has to survive."""

    died = True


def end_later(control: Control, target: Target, first: str) -> None:
    """End a command of a sandbox that does not answer as soon as it does, while its environment is open."""

    def work() -> None:
        until = time.monotonic() + _LATER
        while time.monotonic() < until:
            try:
                kill_tree(control, target, first)
            except EnvironmentUnavailable:  # silent still, or refused while it is paused
                if control.closing.wait(_AGAIN):
                    return
            else:
                return

    threading.Thread(target=work, name="shellward-ending", daemon=True).start()


def kill_tree(control: Control, target: Target, first: str) -> None:
    """End everything that belongs to ``target``, which no warm shell runs: a terminal's, or a process's.

    Raises:
        EnvironmentUnavailable: the sandbox is gone.
    """
    carry_out(kill_plan(_NoShell(), first), control, target, time.sleep)


def end_execution(
    control: Control,
    shell: Shell,
    execution: Execution,
    first: str,
    pause: Callable[[float], None],
    *,
    limit: float | None = None,
) -> None:
    """Carry out the plan for a command whose ``end`` was agreed to; the next one waits until this is over.

    Args:
        control: of the user whose command it is.
        shell: where it runs.
        execution: the command.
        first: signal to begin with.
        pause: see ``carry_out``.
        limit: see ``carry_out``.

    Raises:
        Silent: the sandbox does not answer in time; the command is ended when it does.
        EnvironmentUnavailable: the sandbox is gone.
    """
    target = target_of(shell, execution)
    try:
        carry_out(kill_plan(execution, first), control, target, pause, limit)
    except Silent:
        end_later(control, target, first)
        raise
    finally:
        execution.plan_over()
