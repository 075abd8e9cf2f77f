"""``shellward audit``: read the log of decisions, and prove that it is whole."""

from collections import deque
from pathlib import Path
from typing import Any

import click

from shellward.approval.show import safe
from shellward.cli.output import print_json
from shellward.cli.say import NO, OK
from shellward.config import load, paths
from shellward.telemetry import chain


@click.group(
    "audit",
    epilog="""\b
Examples:
  shellward audit show -n 10
  shellward audit verify
""",
)
def command() -> None:
    """Show or verify the audit log."""


def _path() -> Path:
    configured = load().config.audit.path
    return Path(configured).expanduser() if configured else paths.audit_file()


@command.command(
    "show",
    epilog="""\b
Examples:
  shellward audit show -n 10
  shellward audit show --limit 0 --verdict deny --json
""",
)
@click.option("-n", "--limit", default=50, show_default=True, help="How many of the last records; 0 for all.")
@click.option("--verdict", type=click.Choice(["allow", "ask", "deny"]), help="Only decisions with this verdict.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def show(limit: int, verdict: str | None, as_json: bool) -> None:
    """Show the last records."""
    outcomes: dict[str, dict[str, Any]] = {}
    kept: deque[dict[str, Any]] = deque(maxlen=limit or None)
    for record in chain.read(_path()):
        if record.get("event") == "outcome" and not as_json:
            outcomes[str(record.get("id"))] = record
        elif verdict is None or record.get("verdict") == verdict:
            kept.append(record)
    for record in kept:
        if as_json:
            print_json(record)
        else:
            click.echo(_line(record, outcomes.get(str(record.get("id")))))


def _line(record: dict[str, Any], outcome: dict[str, Any] | None) -> str:
    if record.get("event") != "decision":
        return f"{record.get('time')}  {record.get('event')}"
    end = f" -> exit {outcome.get('exit_code')} in {outcome.get('duration', 0):.2f} s" if outcome else ""
    command = safe(str(record.get("command", "")))
    if len(command) > 200:  # noqa: PLR2004  # a line of a list, not the record
        command = command[:200] + "..."
    verdict, by = record.get("verdict"), record.get("by")
    return f"{record.get('time')}  {verdict:5}  {command}{end}\n    {by}: {safe(str(record.get('reason', '')))}"


@command.command(
    "verify",
    epilog="""\b
Examples:
  shellward audit verify
  shellward audit verify --expect 4711:9c56e1
""",
)
@click.option("--expect", metavar="SEQ:HASH", help="A record noted earlier that must still be there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(expect: str | None, as_json: bool) -> int:
    """Check that no record was changed, removed or added. Exit status: 0 whole, 1 broken."""
    path = _path()
    wanted = None
    if expect is not None:
        seq, _, digest = expect.partition(":")
        if not seq.isdigit() or not digest:
            raise click.BadParameter("must be a record's number and hash, as SEQ:HASH", param_hint="--expect")
        wanted = (int(seq), digest)
    report = chain.verify(path, expect=wanted)
    if as_json:
        problems, notes = (
            [{"file": str(p.file), "line": p.line, "what": p.what} for p in found]
            for found in (report.problems, report.notes)
        )
        last = {"seq": report.last.seq, "hash": report.last.hash}
        print_json({"ok": report.ok, "records": report.records, "last": last, "problems": problems, "notes": notes})
    else:
        for word, found in (("BROKEN", report.problems), ("note", report.notes)):
            for problem in found:
                click.echo(f"{word}: {problem.file}:{problem.line}: {problem.what}")
        state = "whole" if report.ok else "BROKEN"
        click.echo(f"{state}: {report.records} records, the last is {report.last.seq}:{report.last.hash}")
    return OK if report.ok else NO
