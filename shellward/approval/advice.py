"""What a refusal says: what was found, why it matters, and what would allow it; for people, and as JSON."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from shellward.approval.context import Context
from shellward.approval.grants import exact
from shellward.approval.plainly import deed
from shellward.approval.reach import EVERYTHING, Reach
from shellward.approval.show import safe
from shellward.core.gate import Decision, Verdict

if TYPE_CHECKING:
    from shellward.approval.policy import Outcome

_MOST: Final = 5
_MOST_TOLD: Final = 10
_MOST_SAID: Final = 200


def allow_with(outcome: "Outcome", context: Context, reach: Reach) -> dict[str, object]:
    """Return what in the approval section would allow a command that is stopped; empty when nothing can.

    It is this very line, in this place, with what was found in it, and nothing else. A rule for a finding's command
    would also allow it in other lines and directories, and a canonical form (``@run ..``) stands for many commands.

    Args:
        outcome: what is decided when nobody is asked.
        context: where and for whom it would run.
        reach: what the environment can touch.
    """
    decision = outcome.decision
    if decision.verdict is not Verdict.ASK or decision.normalized.lstrip().startswith("@"):
        return {}
    entry = exact(decision, outcome.open, context, reach).entry()
    if reach == EVERYTHING:
        del entry["reach"]  # there is nothing further to reach
    if not context.target and context.backend == "local":
        del entry["target"]  # there is one
    return {"command_allowlist": [entry]}


_TO_AGENTS: Final = {
    "never-allow": "Do not try it another way.",
    "person": "Do not try it another way; ask the user what to do instead.",
    "nobody": "Do it in a way that needs no approval, or tell the user why it is needed.",
}


def for_agent(decision: Decision) -> str:
    """Return a refusal's reason with what an agent is to do now."""
    reason, then = safe(decision.reason), _TO_AGENTS.get(decision.decided_by, "")
    return f"{reason.rstrip('.')}. {then}" if then and decision.verdict is Verdict.DENY else reason


def refusal(decision: Decision, allowing: dict[str, object], *, end: str = "Nothing was run.") -> str:
    """Say in a few lines why a command was not run, for a model or whoever reads what a program prints.

    Args:
        decision: the refusal.
        allowing: what would allow it, from ``allow_with``.
        end: the last line: what has run.
    """
    lines = [for_agent(decision), *_found(decision)]
    if allowing and decision.decided_by not in {"never-allow", "deny-rule"}:
        text = msgspec.json.encode(allowing).decode(errors="replace")
        # An entry with a secret taken out, or with codes for what cannot be seen, would allow nothing.
        or_this = f", or this in the approval section of config.yaml: {text}" if safe(text) == text else ""
        lines.append(f"a person's approval would allow it{or_this}")
    lines.append(end)
    return "\n".join(lines)


def refusal_here(decision: Decision, *, end: str = "Nothing was run.") -> str:
    """Say why a command was not run to the person at whose terminal it was started, and who may have refused it.

    Args:
        decision: the refusal.
        end: the last line: what has run.
    """
    if decision.decided_by == "person":  # they have just read it all
        return f"{safe(decision.reason)}. {end}"
    return "\n".join([safe(decision.reason), *_found(decision), end])


def _found(decision: Decision) -> Iterator[str]:
    for finding in decision.findings[:_MOST]:
        runs = deed(finding)
        inner = f": {safe(runs[:_MOST_SAID])}{' ..' if len(runs) > _MOST_SAID else ''}" if runs.strip() else ""
        why = f" ({safe(finding.why)})" if finding.why else ""
        yield f"{finding.severity.name.lower()}: {safe(finding.description)} [{finding.rule}]{inner}{why}"
    if len(decision.findings) > _MOST:
        yield f"and {len(decision.findings) - _MOST} more findings"


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
