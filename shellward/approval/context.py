"""What else weighs in a decision, and what is asked of a person: the values that the links pass on."""

from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

from shellward.approval.withdrawal import Withdrawal
from shellward.core.gate import Finding

Scope: TypeAlias = Literal["once", "session", "always"]
"""How long an approval holds: this run, this session, or until it is taken out of ``command_allowlist``."""

ASK_RULE: Final = "user.ask"
"""Rule id of the finding that stands for the user's own ask rules."""
UNREADABLE: Final = "unknown.detector-failed"
"""Rule id of the finding that stands for a detector that failed: not understood is not harmless."""


class Detected(Protocol):
    """What the chain reads of a ``Detection``."""

    @property
    def command(self) -> str:
        """The text as submitted."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found, in order of the text."""

    @property
    def normalized(self) -> str:
        """What the shell would really run; approvals are keyed by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Where and for whom a command would run.

    Attributes:
        backend: kind of environment.
        target: which one of that kind: host, image, container; an approval for one is none for another.
        cwd: working directory, absolute; None when it is not known.
        task: id of the task.
        session: id of the session; approvals for a session hold within it.
        reason: why the agent wants it, in its words. Not to be trusted.
        goal: what the user asked for, when it is known.
    """

    backend: str = "local"
    target: str = ""
    cwd: str | None = None
    task: str = ""
    session: str = ""
    reason: str = ""
    goal: str = ""

    def record(self) -> dict[str, object]:
        """Return what is worth recording, without empty fields."""
        fields: dict[str, object] = {"backend": self.backend} if self.backend else {}
        if self.target:  # spelled out: this is on the way of every command
            fields["target"] = self.target
        if self.cwd:
            fields["cwd"] = self.cwd
        if self.task:
            fields["task"] = self.task
        if self.session:
            fields["session"] = self.session
        if self.reason:
            fields["reason"] = self.reason
        return fields


@dataclass(frozen=True, slots=True)
class Review:
    """What the smart reviewer said.

    Attributes:
        verdict: approve, deny, or escalate for everything that is not a clear answer.
        reason: its reason, or why there is no answer.
        tokens: tokens spent on it (prompt, completion); zeros when it came from the cache.
        cached: whether it came from the cache.
    """

    verdict: Literal["approve", "deny", "escalate"]
    reason: str
    tokens: tuple[int, int] = (0, 0)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said, or that there was none to ask.

    Attributes:
        kind: allow, deny, or nobody (no terminal, no watcher, time was up, cancelled).
        scope: how long an allowance holds.
        part: True when it covers the findings' inner commands in any line, False for exactly this line.
        by: who answered (``user@tty``, ``callback``), for the record.
        note: what they added, or why nobody answered.
    """

    kind: Literal["allow", "deny", "nobody"]
    scope: Scope = "once"
    part: bool = False
    by: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """One question to a person.

    Attributes:
        id: unguessable, unique.
        command: the text as submitted. It may hold anything: show it only through
            ``shellward.approval.show``.
        normalized: what the shell would really run.
        findings: those that still need an answer.
        context: where and for whom it would run.
        reach: what that environment can touch, as words.
        exact: in words, what an approval of this line would remember.
        part: in words, the narrow rule that could be remembered instead; empty when none is narrow enough.
        timeout: seconds until it counts as denied.
        withdrawal: tells when the answer is no longer wanted.
    """

    id: str
    command: str
    normalized: str
    findings: tuple[Finding, ...]
    context: Context = field(default_factory=Context)
    reach: tuple[str, ...] = ()
    exact: str = ""
    part: str = ""
    timeout: float = 300.0
    withdrawal: Withdrawal = field(default_factory=Withdrawal, compare=False, repr=False)
