"""What is asked of the gate about one command, and with what: its words, directory, variables, input, session."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shellward.approval.advice import allow_with, refusal, refusal_here
from shellward.approval.brought import Brought, Look, line_of, look
from shellward.approval.context import Context
from shellward.approval.withdrawal import CALLER, Withdrawal
from shellward.command.known import Known
from shellward.core.errors import ApprovalDenied, EnvironmentUnavailable
from shellward.core.gate import Decision, Verdict
from shellward.environments.call import Call
from shellward.environments.pty_calls import new_mark
from shellward.terminal_tool.audience import Audience
from shellward.terminal_tool.front import Front, names_in
from shellward.terminal_tool.looking import Looking, Sight
from shellward.terminal_tool.memory import Memory, only_runs
from shellward.terminal_tool.places import Places
from shellward.terminal_tool.surroundings import target_of
from shellward.terminal_tool.typed import TypedInput
from shellward.terminal_tool.typed_keys import TypedKeys

if TYPE_CHECKING:
    from shellward.approval.detect import Detection
    from shellward.approval.gatekeeper import Gate
    from shellward.core.types import Result
    from shellward.environments.environment import Environment
    from shellward.environments.pool import Start
    from shellward.environments.process import Process
    from shellward.environments.shell import Shell

WHY: Final[ContextVar[tuple[str, str]]] = ContextVar("shellward_why", default=("", ""))
"""Why the agent wants a command, in its words, and what its user asked for: shown to whoever is asked."""
DECIDED: Final[ContextVar[list[Decision] | None]] = ContextVar("shellward_decided", default=None)
"""Where to note decisions to let something pass that was found to be dangerous."""
_MOST_LOOKS: Final = 8
"""How often a command is looked at again because its session has changed while somebody was asked."""
_TAKE_TIME: Final = frozenset({"person", "reviewer"})
_TYPED: Final = "The input was stopped there: this part of it was not sent, what came before it has run."


@dataclass(frozen=True, slots=True)
class Passed:
    """A command that may run, exactly as it is here.

    Attributes:
        call: what to run.
        start: the state to begin with.
        decision: what was decided.
        changes_state: whether its session may know other things after it.
        must_save: whether its shell has to save its state after it.
    """

    call: "Call"
    start: "Start"
    decision: Decision
    changes_state: bool
    must_save: bool = False


class _Typed:
    """What is kept of one process that is typed into."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.screen: TypedInput | TypedKeys | None = None
        self.harmless = False


class Judge:
    """Asks the gate on behalf of one environment. Thread-safe.

    Args:
        environment: where the commands would run.
        gate: who decides.
        task: id of the task that the commands are for.
    """

    def __init__(self, environment: "Environment", gate: "Gate", *, task: str = "") -> None:
        self.gate = gate
        self._environment = environment
        self._memory = Memory(environment)
        self._places = Places(environment)
        self._context = Context(backend=environment.kind, target=target_of(environment.backend), task=task)
        self._lock = threading.Lock()
        self._questions: set[Withdrawal] = set()
        self._closed = False
        self._looking = Looking(environment, gate, self._memory, self._places, self._context, self._screened)
        self._typed: dict[str, _Typed] = {}

    @property
    def asking(self) -> bool:
        """Whether somebody is being asked now."""
        return bool(self._questions)

    def withdraw(self, *, for_good: bool = False) -> int:
        """Take back every question; what they are about does not run.

        Args:
            for_good: there will be no further ones.

        Returns:
            How many there were.
        """
        with self._lock:
            self._closed = self._closed or for_good
            questions = list(self._questions)
        for question in questions:
            question.withdraw()
        return len(questions)

    def check(self, shell: "Shell", call: "Call") -> Passed:
        """Decide about a command, for a shell whose lock is held: what it would begin with is not to change.

        Raises:
            ApprovalDenied: it may not run; nothing has run.
            EnvironmentUnavailable: the sandbox is gone, or the environment was closed meanwhile.
        """
        environment = self._environment
        environment.ready(shell)
        start, pid = environment.start_of(shell), shell.pid
        sight = self._looking.look_at(shell, call, start)
        for _ in range(_MOST_LOOKS):
            decision = self._decide(sight.seen.detection, sight.context)
            if decision.decided_by not in _TAKE_TIME and not start.saved:
                return self._pass(shell, sight, decision)
            # In which the shell may have been lost, and others may have run.
            environment.ready(shell)
            now = environment.start_of(shell)
            if now == start and pid == shell.pid and self._places.see(sight.seen.wanted) == sight.nearby:
                return self._pass(shell, sight, decision)
            start, pid, before = now, shell.pid, sight
            sight = self._looking.look_at(shell, call, start)
            if sight.same(before):
                return self._pass(shell, sight, decision)
        raise EnvironmentUnavailable("the session changed again and again while its command was looked at; not run")

    def changes_session(self, text: str, shell: "Shell", *, cwd: str | None = None) -> bool:
        """Say whether the session of a shell may know other things after a command; it need not be free now."""
        from shellward.environments.pool import Start

        start = Start(shell, shell.cwd, shell.state_path, shell.saved) if shell.saved else Start(None, shell.cwd)
        return self._looking.glance(shell, Call(text=text, shown=text, cwd=cwd), start).changes_state

    @contextmanager
    def deed(self, text: str) -> Iterator[None]:
        """Decide about what is done without a shell, written as the shell line that would do the same; record its end.

        Raises:
            ApprovalDenied: it may not be done.
            EnvironmentUnavailable: the environment was closed meanwhile.
        """
        call = Call(text=text, shown=text)
        self.gate.follow_settings()
        context = replace(self._context, cwd=self._environment.cwd or None)
        seen = self._looking.seen(call, context, Brought())
        if seen.wanted:
            there = self._places.real(seen.wanted.paths)
            lines = "".join(f"/bin/cat >{line_of([path])} </dev/null\n" for path in there)
            if lines:  # links are followed, so what they lead to is written
                seen = self._looking.seen(replace(call, text=f"{text}\n{lines}"), context, Brought())
        decision = self._decide(seen.detection, context, end="Nothing was written.")
        started = time.monotonic()
        try:
            yield
        except BaseException:
            self.gate.record(decision, 1, time.monotonic() - started)
            raise
        self.gate.record(decision, 0, time.monotonic() - started)

    def record(self, passed: Passed, result: "Result") -> None:
        """Record how a command ended."""
        start = passed.start
        if result.shell is None and start.shell is not None and start.saved is None:
            self._memory.ended(start.shell, start.number, changes=passed.changes_state, must_save=passed.must_save)
        self.gate.record(passed.decision, result.exit_code, result.duration)

    def record_end(self, passed: Passed, status: int | None, duration: float) -> None:
        """Record how a program ended that has left no trace in its session."""
        self.gate.record(passed.decision, -1 if status is None else status, duration)

    # -- the parts of a check ------------------------------------------------------------------------------

    def _screened(  # the parts of one look
        self, call: "Call", context: Context, known: Known, before: Look, user: str | None
    ) -> "Call":
        """Have each line of the input pass the gate, where a shell or an interpreter reads it as its program."""

        def seen(text: str) -> Look:
            return complete(self._looking.seen(call, context, Brought(known=known, env=call.env or {}, stdin=text)))

        def complete(seen: Look) -> Look:
            return replace(seen, detection=self.gate.complete(seen.detection, context))

        def decide(detection: "Detection") -> Decision:
            return self._decide(detection, context, end=_TYPED)

        if not call.at_terminal:
            return replace(call, screen=TypedInput(seen, decide, complete(before).detection.findings))

        allowed = complete(before).detection.findings
        own = TypedInput(seen, decide, allowed, by_caller=True) if before.takes_orders else None

        def looked(text: str, stdin: str | None) -> Look:
            other = replace(call, text=text, shown=text, words=None)
            brought = Brought(known=known, env=call.env or {}, stdin=stdin)
            return complete(self._looking.seen(other, context, brought))

        mark = new_mark(self._environment.id)
        front = Front(self._environment, user, f"SHELLWARD_COMMAND={mark}")
        audience = Audience(own, names_in(call.shown), looked, decide, front)
        return replace(call, screen=TypedKeys(audience), mark=mark)

    def _decide(self, detection: "Detection", context: Context, *, end: str = "Nothing was run.") -> Decision:
        if self._closed:
            raise EnvironmentUnavailable("the environment was closed; nothing was run")
        if (passed := self.gate.passes(detection, context)) is not None and passed.verdict is Verdict.ALLOW:
            return passed
        with self._question() as withdrawal:
            reason, goal = WHY.get()
            decision = self.gate.decide(detection, replace(context, reason=reason, goal=goal), withdrawal=withdrawal)
        if decision.verdict is Verdict.ALLOW:
            if withdrawal.done and decision.findings and self._closed:
                raise EnvironmentUnavailable("the environment was closed; nothing was run")
            if decision.findings and (noted := DECIDED.get()) is not None:
                noted.append(decision)
            return decision
        allowing = allow_with(self.gate.examine(detection, context), context, self.gate.reach)
        raise ApprovalDenied(decision, refusal(decision, allowing, end=end), refusal_here(decision, end=end))

    def _pass(self, shell: "Shell", sight: "Sight", decision: Decision) -> Passed:
        seen, context, call = sight.seen, sight.context, sight.call
        if call.launch is not None:  # it runs beside the session, which stays as it is
            return Passed(call, sight.start, decision, changes_state=False)
        if shell.name:
            self._memory.begins(shell, seen)
            if not seen.changes_state and context.cwd is not None and call.cwd is None:
                self._memory.note_place(shell, context.cwd)
            must_save = seen.changes_state and not only_runs(call, sight.known)
            return Passed(call, sight.start, decision, seen.changes_state, must_save)
        return Passed(call, sight.start, decision, changes_state=True)

    @contextmanager
    def _question(self) -> Iterator[Withdrawal]:
        withdrawal = Withdrawal()
        if (caller := CALLER.get()) is not None:
            caller.listen(withdrawal.withdraw)
        with self._lock:
            if self._closed:
                raise EnvironmentUnavailable("the environment was closed; nothing was run")
            self._questions.add(withdrawal)
        try:
            yield withdrawal
        finally:
            with self._lock:
                self._questions.discard(withdrawal)

    # -- what is typed into a process ----------------------------------------------------------------------

    def typed(self, process: "Process", data: bytes) -> None:
        """Decide about what is to be typed into a background process: with its command, it may be a program.

        All that was typed through this environment is judged together. Answers hold for the rest of it.

        Raises:
            ApprovalDenied: it may not be sent; nothing of it was.
            EnvironmentUnavailable: the sandbox is gone, or the environment was closed meanwhile.
            FileNotFoundError: the process was removed.
        """
        with self._lock:
            kept = self._typed.setdefault(process.id, _Typed())
        with kept.lock:
            if kept.screen is None and not kept.harmless:
                self._begin_typing(process, kept)
            if kept.screen is not None:
                kept.screen(data)

    def _begin_typing(self, process: "Process", kept: "_Typed") -> None:
        info = process.poll()
        command = self._environment.read_file(f"{process.directory}/command").decode("utf-8", "surrogateescape")
        known = self._memory.of_process(process)
        context = replace(self._context, cwd=info.cwd)
        if info.user is not None:
            context = replace(context, target=f"{context.target} as {info.user}".lstrip())
        reads = look(command, cwd=info.cwd, brought=Brought(known=known, more=True)).takes_orders
        if not (reads or info.pty):
            kept.harmless = True
            return

        def seen(text: str) -> Look:
            return complete(look(command, cwd=info.cwd, brought=Brought(known=known, stdin=text)))

        def looked(text: str, stdin: str | None) -> Look:
            return complete(look(text, cwd=info.cwd, brought=Brought(known=known, stdin=stdin)))

        def complete(seen: Look) -> Look:
            return replace(seen, detection=self.gate.complete(seen.detection, context))

        allowed = complete(look(command, cwd=info.cwd, brought=Brought(known=known))).detection.findings
        end = "It was not sent."

        def decide(found: "Detection") -> Decision:
            return self._decide(found, context, end=end)

        typed = TypedInput(seen, decide, allowed, whole_lines=False, by_caller=True)
        if not info.pty:
            kept.screen = typed
            return
        front = Front(self._environment, info.user, f"SHELLWARD_PROCESS={process.id}")
        kept.screen = TypedKeys(Audience(typed if reads else None, names_in(command), looked, decide, front))
