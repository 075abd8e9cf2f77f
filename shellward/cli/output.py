"""What commands print: JSON for programs, text for people. Everything foreign is made harmless first."""

from typing import Any

import click
import msgspec

from shellward.approval.policy import Outcome
from shellward.approval.show import pieces, safe
from shellward.core.gate import Decision, Finding

_STYLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "danger": {"fg": "red", "bold": True},
    "code": {"fg": "yellow"},
    "masked": {"dim": True},
}


def print_json(value: object) -> None:
    """Print a value as one line of JSON, on a terminal, too: lists of records are read line by line."""
    click.echo(msgspec.json.encode(plain(value)).decode())


def plain(value: object) -> Any:
    """Reduce a value to what JSON can hold; text that is not UTF-8 gets its codes."""
    builtin = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
    return _clean(builtin)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def finding_record(finding: Finding) -> dict[str, object]:
    """Return a finding as a record for JSON."""
    return {
        "rule": finding.rule,
        "description": finding.description,
        "severity": finding.severity.name.lower(),
        "span": finding.span,
        "inner": finding.inner,
        "via": finding.via,
        "cwd": finding.cwd,
        "affects": finding.affects,
        "why": finding.why,
        "never_allow": finding.never_allow,
    }


def decision_record(decision: Decision) -> dict[str, object]:
    """Return a decision as a record for JSON."""
    return {
        "verdict": decision.verdict.value,
        "decided_by": decision.decided_by,
        "reason": decision.reason,
        "command": decision.command,
        "normalized": decision.normalized,
        "findings": [finding_record(finding) for finding in decision.findings],
        "steps": [
            {"by": step.by, "verdict": step.verdict and step.verdict.value, "reason": step.reason}
            for step in decision.steps
        ],
        "context": dict(decision.context),
    }


def print_command(command: str, findings: tuple[Finding, ...] = ()) -> None:
    """Print a command with its dangerous spans marked (underlined by carets where there is no colour)."""
    text = "".join(click.style(piece.text, **_STYLES[piece.kind]) for piece in pieces(command, findings))
    for line in text.split("\n"):
        click.echo(f"  | {line}")


def print_decision(outcome: Outcome) -> None:
    """Print a decision for a person."""
    decision = outcome.decision
    print_command(decision.command, decision.findings)
    if decision.normalized != decision.command:
        click.echo(f"  would run: {safe(decision.normalized)}")
    for finding in decision.findings:
        never = ", never allowed" if finding.never_allow else ""
        start, end = finding.span
        click.echo(f"  {finding.severity.name.lower()}{never}: {safe(finding.description)}  [{finding.rule}]")
        through = f"  (through {safe(' '.join(finding.via))})" if finding.via else ""
        click.echo(f"      at {start}-{end}: {safe(finding.inner)}{through}")
        if finding.affects:
            click.echo(f"      affects {', '.join(map(safe, finding.affects))}")
        if finding.why:
            click.echo(f"      {safe(finding.why)}")
    for step in decision.steps:
        click.echo(f"  {step.by}: {step.verdict.value if step.verdict else '-'}: {safe(step.reason)}")
    click.secho(f"{decision.verdict.value}: {safe(decision.reason)}", bold=True)
