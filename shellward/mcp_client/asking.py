"""The gate in front of calls of servers' tools.

A call is judged as a line ``mcp <server> <tool> '<arguments>'``: rules, approvals and the log know it by that. What
makes it dangerous is what the server says of the tool, and commands among the arguments, which are judged as such.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from shellward.approval.advice import allow_with, refusal
from shellward.approval.brought import line_of
from shellward.approval.context import Context
from shellward.approval.detect import Detection, detect_dangerous_command
from shellward.approval.gatekeeper import Gate, open_gate
from shellward.approval.inner import shorten
from shellward.approval.withdrawal import CALLER, Withdrawal
from shellward.core.errors import ApprovalDenied, EnvironmentUnavailable
from shellward.core.gate import Decision, Finding, Severity, Verdict
from shellward.mcp_client.commands import commands_in
from shellward.mcp_client.described import Effect
from shellward.mcp_client.interrupted import Interrupted
from shellward.tools.endings import endings
from shellward.tools.under_way import DEFAULT

if TYPE_CHECKING:
    from shellward.approval.engine import Packs

BACKEND: Final = "mcp"
"""What the gate knows these calls by, as the kind of the place where they act."""
_CLOSED: Final = "the MCP servers were closed; nothing was called"


@dataclass(slots=True)
class Passed:
    """A call that may be made.

    Attributes:
        status: how it has ended, for the log: 0 when it did what it was to do; who makes it says that.
    """

    status: int = 1


class Door:
    """Decides about calls. Safe to share between threads; the gate is opened with the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gate: Gate | None = None
        self._questions: set[Withdrawal] = set()
        self._closed = False
        self._inside = 0
        self._hear_no_more = endings.listen(self._forget)

    @contextmanager
    def passing(
        self,
        server: str,
        tool: str,
        args: Mapping[str, Any],
        *,
        effect: Effect,
        calls: Literal["hints", "ask", "allow"],
        task: str = "",
        goal: str = "",
    ) -> Iterator["Passed"]:
        """Decide about a call, asking whoever has to be asked; what happens inside is the call, and is recorded.

        Args:
            server: its name in the settings.
            tool: the tool's name there.
            args: the arguments.
            effect: what the server says that the tool does.
            calls: which calls need an answer, by the settings.
            task: whose call it is.
            goal: what the user asked for.

        Raises:
            ApprovalDenied: it may not be made; nothing was sent.
            EnvironmentUnavailable: the servers were closed meanwhile.
            Interrupted: whoever called took it back before there was an answer; nothing was sent.
        """
        gate = self._enter()
        try:
            gate.follow_settings()
            detection = detected(server, tool, args, effect=effect, calls=calls, packs=gate.packs)
            context = Context(backend=BACKEND, target=server, task=task, session=task or DEFAULT, goal=goal)
            decision = self._decide(gate, detection, context)
            if decision.verdict is not Verdict.ALLOW:
                _still_wanted()
                allowing = allow_with(gate.examine(detection, context), context, gate.reach)
                raise ApprovalDenied(decision, refusal(decision, allowing, end="Nothing was called."))
            started, passed = time.monotonic(), Passed()
            try:
                _still_wanted()
                yield passed
            finally:
                gate.record(decision, passed.status, time.monotonic() - started)
        finally:
            self._leave()

    def close(self) -> None:
        """Take all questions back; the gate's log is closed once the calls that are under way have been recorded."""
        self._hear_no_more()
        with self._lock:
            self._closed = True
            questions = list(self._questions)
        for each in questions:
            each.withdraw()
        self._close_if_over()

    def _enter(self) -> Gate:
        from shellward.config import load

        with self._lock:
            if self._closed:
                raise EnvironmentUnavailable(_CLOSED)
            if self._gate is None:
                self._gate = open_gate(load())
            self._inside += 1
            return self._gate

    def _forget(self, task: str | None) -> None:
        """Let nothing hold any more that was approved for the session of a task; None: of any."""
        gate = self._gate
        if gate is not None:
            gate.forget_session(task)

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
        self._close_if_over()

    def _close_if_over(self) -> None:
        with self._lock:
            if not self._closed or self._inside:
                return
            gate, self._gate = self._gate, None
        if gate is not None:
            gate.close()

    def _decide(self, gate: Gate, detection: Detection, context: Context) -> Decision:
        withdrawal, caller = Withdrawal(), CALLER.get()
        with self._lock:
            if self._closed:
                raise EnvironmentUnavailable(_CLOSED)
            self._questions.add(withdrawal)
        try:
            with caller.listening(withdrawal.withdraw) if caller is not None else nullcontext():
                return gate.decide(detection, context, withdrawal=withdrawal)
        finally:
            with self._lock:
                self._questions.discard(withdrawal)


def _still_wanted() -> None:
    if (caller := CALLER.get()) is not None and caller.done:
        raise Interrupted("it was interrupted before it was made; nothing was called")


def detected(
    server: str,
    tool: str,
    args: Mapping[str, Any],
    *,
    effect: Effect,
    calls: Literal["hints", "ask", "allow"],
    packs: "Packs",
) -> Detection:
    """Return a call as the gate sees it, with all that was found in it."""
    words = ["mcp", server, tool, msgspec.json.encode(args).decode()]
    line = line_of(words)
    found = detect_dangerous_command(line, packs=packs)
    findings = [*found.findings, *_of_effect(words, line, effect, calls)]
    commands = commands_in(args)
    for command in commands.lines:
        inside = detect_dangerous_command(command, packs=packs).findings
        # What is allowed for a command here is not allowed for one that a server runs wherever it runs things.
        findings += [replace(each, span=(0, len(line)), via=("mcp", *each.via)) for each in inside]
    if commands.unread:
        said, why = (
            "calls a tool with arguments that could not all be read",
            f"There may be commands: {commands.unread}.",
        )
        whole = (0, len(line))
        unread = Finding(
            "mcp.unread", said, Severity.MEDIUM, whole, shorten(line), why=why, argv=tuple(words), line=line
        )
        findings.append(unread)
    return found.only(tuple(findings))


def _of_effect(
    words: Sequence[str], line: str, effect: Effect, calls: Literal["hints", "ask", "allow"]
) -> Iterator[Finding]:
    if calls == "allow" or (calls == "hints" and effect is Effect.HARMLESS):
        return
    if effect is Effect.DESTRUCTIVE:
        rule, severity = "mcp.destructive", Severity.HIGH
        said, why = "calls a tool that destroys or overwrites", "The server itself says so."
    elif effect is Effect.UNKNOWN:
        rule, severity = "mcp.unknown-effect", Severity.MEDIUM
        said = "calls a tool that may destroy or overwrite"
        why = f"The server does not say what it does; who trusts it sets calls: allow in mcp_servers.{words[1]}."
    else:
        rule, severity = "mcp.call", Severity.MEDIUM
        said, why = "calls a tool of a server", f"mcp_servers.{words[1]}.calls is ask."
    yield Finding(rule, said, severity, (0, len(line)), shorten(line), why=why, argv=tuple(words), line=line)
