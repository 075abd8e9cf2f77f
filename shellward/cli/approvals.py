"""``shellward approvals``: answer the questions of running programs from another terminal."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from shellward.approval.context import Answer, Scope
from shellward.approval.person import whoami
from shellward.approval.plainly import deed, unlike_others
from shellward.approval.queue import MOST, Entry, Queue
from shellward.approval.show import safe
from shellward.approval.withdrawal import Descriptor, Withdrawal
from shellward.cli.accepting import is_inside
from shellward.cli.output import finding_record, print_command, print_json
from shellward.cli.say import NO, OK, say
from shellward.config import paths


@click.group(
    "approvals",
    epilog="""\b
Examples:
  shellward approvals watch
  shellward approvals list
  shellward approvals approve 3f --scope session
""",
)
def command() -> None:
    """Answer questions of running programs."""


def _queue() -> Queue:
    return Queue(paths.approvals_dir())


def _record(entry: Entry) -> dict[str, Any]:
    request = entry.request
    return {
        "id": request.id,
        "state": entry.state,
        "command": request.command,
        "normalized": request.normalized,
        "findings": [finding_record(finding) for finding in request.findings],
        "context": request.context.record(),
        "reach": request.reach,
        "exact": request.exact,
        "part": request.part,
        "created": entry.created,
        "expires": entry.expires,
        "pid": entry.pid,
        "host": entry.host,
        "answer": entry.answer,
    }


@command.command(
    "list",
    epilog="""\b
Examples:
  shellward approvals list
  shellward approvals list --all --json
""",
)
@click.option("--all", "everything", is_flag=True, help="Also those that were answered or are over.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def list_(everything: bool, as_json: bool) -> None:
    """List the open questions, 1,000 at the most: of those that are open the oldest, of all the newest."""
    queue = _queue()
    entries = queue.entries(pending_only=not everything)
    left = queue.count(pending_only=not everything) - len(entries) if len(entries) >= MOST else 0
    for entry in entries:
        if as_json:
            print_json(_record(entry))
        else:
            click.echo(_line(entry))
    if left > 0:
        say(f"{left} more are not shown")


def _line(entry: Entry) -> str:
    left = f"{max(0, entry.expires - time.time()):.0f} s left" if entry.state == "pending" else entry.state
    rules = ", ".join(dict.fromkeys(finding.rule for finding in entry.request.findings))
    text = safe(entry.request.command)
    return f"{entry.request.id}  {left}  {text[:100]}{'...' if len(text) > 100 else ''}  [{rules}]"  # noqa: PLR2004


@command.command(
    "show",
    epilog="""\b
Examples:
  shellward approvals show 3f
""",
)
@click.argument("id_", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(id_: str, as_json: bool) -> None:
    """Show one question in full. ID may be shortened."""
    entry = _find(id_)
    if as_json:
        print_json(_record(entry))
        return
    _print(entry)


def _print(entry: Entry) -> None:
    request = entry.request
    click.secho(f"{request.id}  {entry.state}  asked by process {entry.pid} on {safe(entry.host)}", bold=True)
    print_command(request.command, request.findings)
    for finding in request.findings:
        click.echo(f"  {finding.severity.name.lower()}: {safe(finding.description)}  [{finding.rule}]")
        through = f"  (through {safe(' '.join(finding.via))})" if finding.via else ""
        if runs := deed(finding):
            click.echo(f"      runs {safe(runs)}{through}")
        if finding.affects:
            click.echo(f"      affects {', '.join(map(safe, finding.affects))}")
    for name, value in request.context.record().items():
        click.echo(f"  {name}: {safe(str(value))}")
    if unusual := unlike_others(request.context.backend, request.reach):
        click.echo(f"  reaches: {unusual}")
    click.echo(f"  an approval covers {safe(request.exact)}")
    if request.part:
        click.echo(f"  with --part it covers {safe(request.part)}")


def _find(id_: str) -> Entry:
    entry = _queue().find(id_)
    if entry is None:
        raise click.ClickException(f"{id_}: there is no such question (or several begin like that)")
    return entry


@command.command(
    "approve",
    epilog="""\b
Examples:
  shellward approvals approve 3f
  shellward approvals approve 3f --scope always --part
""",
)
@click.argument("id_", metavar="ID")
@click.option(
    "--scope",
    type=click.Choice(["once", "session", "always"]),
    default="once",
    show_default=True,
    help="How long the approval holds; 'always' is written to config.yaml.",
)
@click.option("--part", is_flag=True, help="Remember the narrow rule instead of the whole line (see 'show').")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def approve(id_: str, scope: Scope, part: bool, as_json: bool) -> int:
    """Approve one question. ID may be shortened."""
    entry = _find(id_)
    if part and (scope == "once" or not entry.request.part):
        raise click.UsageError("--part needs --scope session or always, and a question that offers a narrow rule")
    return _answer(entry, Answer("allow", scope, part, by=whoami()), as_json)


@command.command(
    "deny",
    epilog="""\b
Examples:
  shellward approvals deny 3f --note 'use the staging host'
""",
)
@click.argument("id_", metavar="ID")
@click.option("--note", default="", help="What to tell the agent.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def deny(id_: str, note: str, as_json: bool) -> int:
    """Deny one question. ID may be shortened."""
    return _answer(_find(id_), Answer("deny", by=whoami(), note=note), as_json)


def _answer(entry: Entry, answer: Answer, as_json: bool) -> int:
    if answer.kind == "allow" and entry.host == os.uname().nodename and entry.pid in _ancestors():
        raise click.ClickException("a program cannot approve its own question; answer from another terminal")
    if answer.kind == "allow" and is_inside():
        raise click.ClickException("this runs inside a command of Shellward's: answer in a terminal of your own")
    state = _queue().answer(entry.request.id, answer)
    if as_json:
        print_json({"id": entry.request.id, "state": state, "accepted": state == "accepted"})
    elif state == "accepted":
        click.echo(f"{entry.request.id}: {'approved' if answer.kind == 'allow' else 'denied'}")
    else:
        raise click.ClickException(f"{entry.request.id} is {state}: this answer does not count")
    return OK if state == "accepted" else NO


def _ancestors() -> set[int]:
    """List the processes this one descends from, as far as the kernel tells."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 1 and pid not in found:
        found.add(pid)
        try:
            status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            break
        pid = int(status.rpartition(")")[2].split()[1])  # the name in front may hold anything, ")" too
    return found


@command.command(
    "watch",
    epilog="""\b
Examples:
  shellward approvals watch
  shellward approvals watch --json
""",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per new question, and answer nothing.")
def watch(as_json: bool) -> None:
    """Wait for questions and answer them here. While this runs, programs know that somebody is there."""
    queue = _queue()
    interactive = not as_json and sys.stdin.isatty() and not is_inside()
    seen: set[str] = set()
    if not as_json:
        say("waiting for questions; Ctrl-C ends")
    try:
        for entries in queue.watch():
            for entry in entries:
                if entry.request.id in seen:
                    continue
                seen.add(entry.request.id)
                _meet(queue, entry, as_json=as_json, interactive=interactive)
    except KeyboardInterrupt:
        return


@contextmanager
def _while_wanted(queue: Queue, id_: str) -> Iterator[int]:
    """Have a descriptor that becomes readable when nobody waits for the answer any more."""
    over, stop = Withdrawal(), Withdrawal()
    with Descriptor(over) as over_fd, Descriptor(stop) as stop_fd:

        def mind() -> None:
            if queue.wait_until_over(id_, cancel_fd=stop_fd):
                over.withdraw()

        thread = threading.Thread(target=mind, name="shellward-question", daemon=True)
        thread.start()
        try:
            yield over_fd
        finally:
            stop.withdraw()
            thread.join()


def _meet(queue: Queue, entry: Entry, *, as_json: bool, interactive: bool) -> None:
    if as_json:
        print_json(_record(entry))
        sys.stdout.flush()
        return
    if not interactive:
        click.echo(_line(entry))
        return
    from dataclasses import replace

    from shellward.approval import person

    left = max(0.1, entry.expires - time.time())
    with _while_wanted(queue, entry.request.id) as cancel_fd:
        answer = person.ask(replace(entry.request, timeout=left), cancel_fd=cancel_fd)
    if answer.kind == "nobody":
        found = queue.find(entry.request.id)
        say(f"{entry.request.id} is {found.state if found else 'gone'}: no answer is wanted any more")
        return
    state = queue.answer(entry.request.id, answer)
    if state != "accepted":
        say(f"{entry.request.id} is {state}: this answer does not count")
