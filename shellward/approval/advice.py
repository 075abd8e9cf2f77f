"""What a refusal says: what was found, why it matters, and what would allow it; for people, and as JSON."""

from typing import TYPE_CHECKING, Any

import msgspec

from shellward.approval.context import ASK_RULE, Context
from shellward.approval.rules import suggest
from shellward.approval.show import safe
from shellward.core.gate import Decision, Verdict

if TYPE_CHECKING:
    from shellward.approval.policy import Outcome

_MOST = 5
_MOST_TOLD = 10


def allow_with(outcome: "Outcome", context: Context) -> dict[str, object]:
    """Return what in the approval section would allow a command that is stopped; empty when nothing can.

    Narrow rules where the findings' commands are simple ones, else the whole normalised line.

    Args:
        outcome: what is decided when nobody is asked.
        context: where and for whom it would run.
    """
    if outcome.decision.verdict is not Verdict.ASK:
        return {}
    rules = [suggest(finding, context) for finding in outcome.open]
    if None in rules or any(finding.rule == ASK_RULE for finding in outcome.open):
        return {"command_allowlist": [outcome.decision.normalized]}
    return {"rules": [msgspec.to_builtins(rule) for rule in dict.fromkeys(rules)]}


def refusal(decision: Decision, allowing: dict[str, object], *, end: str = "Nothing was run.") -> str:
    """Say in a few lines why a command was not run, for a person or a model.

    Args:
        decision: the refusal.
        allowing: what would allow it, from ``allow_with``.
        end: the last line: what has run.
    """
    lines = [safe(decision.reason)]
    for finding in decision.findings[:_MOST]:
        inner = f": {safe(finding.inner[:200])}" if finding.inner else ""
        why = f" ({safe(finding.why)})" if finding.why else ""
        lines.append(f"{finding.severity.name.lower()}: {safe(finding.description)} [{finding.rule}]{inner}{why}")
    if len(decision.findings) > _MOST:
        lines.append(f"and {len(decision.findings) - _MOST} more findings")
    if allowing and decision.decided_by not in {"never-allow", "deny-rule"}:
        text = safe(msgspec.json.encode(allowing).decode(errors="replace"))
        lines.append(f"a person's approval would allow it, or this in the approval section of config.yaml: {text}")
    lines.append(end)
    return "\n".join(lines)


def approval(decision: "Decision") -> dict[str, Any]:
    """Return what was decided about a command that somebody had to be asked of; secrets are masked."""
    findings = [
        {
            "rule": finding.rule,
            "severity": finding.severity.name.lower(),
            "description": safe(finding.description),
            "command": safe(finding.inner[:500]),
            "affects": [safe(each) for each in finding.affects[:_MOST_TOLD]],
        }
        for finding in decision.findings[:_MOST_TOLD]
    ]
    return {
        "verdict": decision.verdict.value,
        "decided_by": decision.decided_by,
        "reason": safe(decision.reason),
        "findings": findings,
    }
