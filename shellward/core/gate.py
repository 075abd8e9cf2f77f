"""What the gate says of a command: findings and the decision. How it comes to them is approval/'s."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Severity(IntEnum):
    """How bad it is when a finding is real. LOW is noted; MEDIUM and above make a Detection truthy."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4


class Verdict(StrEnum):
    """The three outcomes of a decision."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason to pause.

    Attributes:
        rule: stable id of the rule, as ``pack.name`` (``files.rm-recursive``).
        description: one phrase for a person.
        severity: see Severity.
        span: start and end in characters of the submitted text, so that it can be marked.
        inner: the resolved inner command that matched (``rm -rf /srv`` for ``X=rm; $X -rf /srv``), for showing: a
            very long one is cut.
        affects: paths, hosts, branches or other targets it would touch, as far as known.
        why: a sentence on what can be lost.
        never_allow: True when nobody can approve it, in any mode and backend.
        via: wrappers around the inner command, outermost first (``sudo``, ``ssh``); what it does depends on them.
        cwd: directory that the inner command would run in, as far as it is known.
        argv: the inner command's words in full, as far as they are known; empty where it is not one command.
        line: the whole line of what no shell reads (a call of a server's tool); empty for commands.
    """

    rule: str
    description: str
    severity: Severity
    span: tuple[int, int]
    inner: str
    affects: tuple[str, ...] = ()
    why: str = ""
    never_allow: bool = False
    via: tuple[str, ...] = ()
    cwd: str = ""
    argv: tuple[str, ...] = field(default=(), repr=False)
    line: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One link of the decision chain that had something to say, in order."""

    by: str
    verdict: Verdict | None
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What the gate decided about one command, with everything it was based on.

    Attributes:
        verdict: allow, ask or deny.
        command: the text as submitted.
        normalized: what the shell would really run; approvals are keyed by it.
        findings: all of them, not only the first.
        decided_by: ``never-allow``, ``deny-rule``, ``allow-rule``, ``grant``, ``findings``, ``reviewer``,
            ``person``, ``mode``, ``nobody``, or ``audit`` when the decision could not be recorded.
        reason: a sentence that a person or a model can act on.
        steps: every link of the chain that spoke, in order.
        context: what else weighed (backend, reach, cwd, task), for the record.
    """

    verdict: Verdict
    command: str
    normalized: str
    findings: tuple[Finding, ...]
    decided_by: str
    reason: str
    steps: tuple[Step, ...] = ()
    context: Mapping[str, object] = field(default_factory=dict)
