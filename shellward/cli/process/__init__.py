"""Commands about background processes: one file each, and here what they share."""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shellward.process_registry import Entry, ProcessRegistry
    from shellward.terminal_tool.guard import Terminal


@contextmanager
def registry() -> "Iterator[ProcessRegistry]":
    """Open the registry, whose environments have the gate in front of them."""
    from shellward.process_registry import ProcessRegistry

    with ProcessRegistry(terminal) as opened:
        yield opened


def terminal(place: str) -> "Terminal":
    """Open the guarded environment of a place."""
    from shellward.terminal_tool.guard import Terminal

    return Terminal("local") if place == "local" else Terminal.attach(place)


def entries(known: "ProcessRegistry", task: str | None = None) -> "Sequence[Entry]":
    """List what is known, and what programs have started on this machine without the registry."""
    if "local" not in known.store.places():
        known.refresh("local")
    return known.list(task=task)


def record(entry: "Entry") -> dict[str, Any]:
    """Return what is known of a process as a record for JSON."""
    info = entry.info
    return {
        "session_id": info.id,
        "state": str(info.state),
        "exit_code": info.exit_code,
        "signal": info.signal,
        "reason": info.reason,
        "pid": info.pid,
        "command": info.command,
        "environment": entry.place,
        "cwd": info.cwd,
        "task": info.task,
        "user": info.user,
        "owner": info.owner,
        "started": info.started.isoformat(),
        "ended": None if info.ended is None else info.ended.isoformat(),
        "bytes_out": info.bytes_out,
        "bytes_err": info.bytes_err,
        "pty": info.pty,
    }


def ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the id of a process that is known."""
    del ctx, param
    from shellward.process_registry.registry import default_path
    from shellward.process_registry.store import Store

    if not default_path().exists():
        return []
    store = Store(default_path())
    try:
        return [CompletionItem(entry.id, help=entry.info.command[:60]) for entry in store.entries(prefix=incomplete)]
    finally:
        store.close()


def exit_status(entry: "Entry") -> int:
    """Return the exit code of this program for a process that has ended."""
    from shellward.cli.say import FAILED

    return FAILED if entry.info.exit_code is None else entry.info.exit_code
