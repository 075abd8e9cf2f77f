"""``shellward rules``: the rules that find dangers, the user's own, and which speak about a command."""

from typing import Any

import click

from shellward.approval.context import Context
from shellward.approval.gatekeeper import Gate
from shellward.approval.patterns_index import Known, known_rules
from shellward.approval.rules import Rules, describe
from shellward.cli.output import finding_record, print_json
from shellward.config import load


@click.group(
    "rules",
    epilog="""\b
Examples:
  shellward rules list --user
  shellward rules show files.rm-recursive
  shellward rules test 'git push --force'
""",
)
def command() -> None:
    """List, show and test rules."""


def _known(entry: Known) -> dict[str, Any]:
    return {"id": entry.id, "description": entry.description, "severity": entry.severity}


@command.command(
    "list",
    epilog="""\b
Examples:
  shellward rules list
  shellward rules list --user --json
""",
)
@click.option("--user", is_flag=True, help="Only the user's own rules.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def list_(user: bool, as_json: bool) -> None:
    """List the user's rules, then those that find dangers."""
    approval = load().config.approval
    for rule in Rules(approval.rules).all:
        if as_json:
            print_json({"user": rule.index, "rule": rule.spec})
        else:
            click.echo(rule.name)
    for entry in () if user else known_rules(approval.packs):
        if as_json:
            print_json(_known(entry))
        else:
            click.echo(f"{entry.id:40} {entry.severity:8} {entry.description}")


@command.command(
    "show",
    epilog="""\b
Examples:
  shellward rules show files.rm-recursive
""",
)
@click.argument("rule_id", metavar="RULE")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(rule_id: str, as_json: bool) -> None:
    """Show one rule in full, with its examples."""
    entry = next((entry for entry in known_rules(load().config.approval.packs) if entry.id == rule_id), None)
    if entry is None:
        raise click.ClickException(f"{rule_id}: there is no such rule")
    if as_json:
        print_json(_known(entry) | dict(entry.details))
        return
    click.secho(f"{entry.id}  {entry.severity}", bold=True)
    click.echo(f"  {entry.description}")
    for name, value in entry.details.items():
        for item in value if isinstance(value, list | tuple) else [value]:
            click.echo(f"  {name}: {item}")


@command.command(
    "test",
    epilog="""\b
Examples:
  shellward rules test 'git push --force'
  shellward rules test --env docker 'rm -rf /srv'
""",
)
@click.argument("text", metavar="CMD")
@click.option("--env", "kind", default="local", help="Kind of environment it would run in.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def test(text: str, kind: str, as_json: bool) -> None:
    """Show which rules speak about CMD: the user's, and those that find dangers."""
    config = load().config
    context = Context(backend=kind)
    outcome = Gate(config, terminal=False).examine(text, context)
    rules, findings = Rules(config.approval.rules), outcome.decision.findings
    detected = _Detected(text, outcome.decision.normalized, findings)
    spoke = {
        "deny": rules.denying(detected, context),
        "ask": rules.asking(detected, context),
    }
    allowing = {finding.rule: rules.allowing(finding, context) for finding in findings}
    if as_json:
        record: dict[str, Any] = {action: rule and rule.index for action, rule in spoke.items()}
        record["allow"] = {name: rule and rule.index for name, rule in allowing.items()}
        print_json(record | {"findings": [finding_record(finding) for finding in findings]})
        return
    for action, rule in spoke.items():
        if rule is not None:
            click.echo(f"{action}: {rule.name}")
    for finding in findings:
        rule = allowing[finding.rule]
        click.echo(f"found: {finding.rule} ({finding.severity.name.lower()}): {finding.description}")
        if rule is not None:
            click.echo(f"    allowed by approval.rules[{rule.index}]: {describe(rule.spec)}")
    if not findings and not any(spoke.values()):
        click.echo("no rule speaks about it")


class _Detected:
    def __init__(self, command: str, normalized: str, findings: Any) -> None:
        self.command, self.normalized, self.findings = command, normalized, findings
