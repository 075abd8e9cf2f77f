"""``process_tool``: looks after what a task runs in the background, also after commands that were moved there."""

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from shellward.core.errors import ConfigError, Unsupported
from shellward.process_registry import Entry
from shellward.terminal_tool import processes, telling
from shellward.terminal_tool.default import tasks
from shellward.terminal_tool.moved import Moved

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.approval.withdrawal import Withdrawal
    from shellward.core.types import ProcessInfo
    from shellward.environments.process import Process
    from shellward.terminal_tool.tasks import Task

ACTIONS: Final = ("list", "poll", "log", "wait", "kill", "write", "submit", "close", "resize")
_PREVIEW: Final = 2_000
_PART: Final = 20_000
LARGEST_PART: Final = 100_000
_SIZE: Final = re.compile(r"(\d{1,5})[x ](\d{1,5})\Z")
_LONGEST: Final = 86_400.0


@telling.answers
def process_tool(  # noqa: PLR0917  # the order is fixed by those who call it so
    action: str,
    session_id: str | None = None,
    data: str | None = None,
    offset: int | None = None,
    limit: int | None = None,
    timeout: float | None = None,
    task_id: str | None = None,
) -> dict[str, Any]:
    """Look at a process of a task, or act on it.

    Args:
        action: ``list``, ``poll`` (what is known, and the end of its output), ``log`` (its output in parts), ``wait``,
            ``kill`` (with all that it has started), ``write`` (``data`` as it is), ``submit`` (``data`` and Enter),
            ``close`` (the end of its input), ``resize`` (its terminal; ``data`` is ``COLUMNSxROWS``).
        session_id: the process, as the terminal tool has named it; needed by all but ``list``.
        data: what to write.
        offset: for ``log``: bytes from the beginning; negative: from the end; None: the end.
        limit: for ``log``: most bytes; for ``list``: most processes, the newest.
        timeout: for ``wait``: seconds; None: as long as a command may take in the foreground.
        task_id: whose process; None: of the default task.

    Returns:
        JSON; what went wrong is under ``error``.
    """
    if action not in ACTIONS:
        raise ConfigError(f"action: one of {', '.join(ACTIONS)}, not {action!r}")
    if timeout is not None and not 0 <= timeout <= _LONGEST:
        raise ConfigError(f"timeout: seconds, up to {_LONGEST:g}, not {timeout!r}")
    with tasks.call(task_id) as (task, call):
        if action == "list":
            return _list(task, limit)
        if not session_id:
            raise ConfigError(f"session_id: {action} needs one; list says which there are")
        found = processes.find(task, session_id)
        if action == "log":
            return _log(task, found, offset, limit)
        if action == "poll":
            return _shown(task, found, processes.poll(found))
        if action == "wait":
            return _wait(task, found, timeout, call)
        if action == "kill":
            return _kill(task, found)
        return _typed(task, found, action, data)


def _list(task: "Task", limit: int | None) -> dict[str, Any]:
    known = processes.listed(task)
    shown = known if limit is None else known[max(0, len(known) - max(0, limit)) :]
    return {"processes": [telling.process_of(info) for info in shown], "count": len(known)}


def _log(task: "Task", found: "Entry | Moved", offset: int | None, limit: int | None) -> dict[str, Any]:
    most = min(max(4, _PART if limit is None else limit), LARGEST_PART)  # a character may take four bytes
    log = processes.log(task, found, offset, most)
    skipped, text, used = telling.whole_characters(log.data)
    after = log.offset + used
    return {
        "session_id": found.id,
        "output": telling.text_of(text),
        "offset": log.offset + skipped,
        "next_offset": after if after < log.size else None,
        "size": log.size,
        "status": telling.status_of(processes.poll(found)),
    }


def _shown(task: "Task", found: "Entry | Moved", info: "ProcessInfo") -> dict[str, Any]:
    log = processes.log(task, found, None, _PREVIEW)
    told = telling.process_of(info)
    told["uptime_seconds"] = round(((info.ended or datetime.now(UTC)) - info.started).total_seconds(), 1)
    told |= {"output_preview": telling.text_of(telling.whole_characters(log.data)[1]), "output_size": log.size}
    if info.pty and isinstance(found, Entry):
        told["screen"] = processes.process_of(task, found).screen(scrollback=0).text
    return told


def _wait(task: "Task", found: "Entry | Moved", timeout: float | None, call: "Withdrawal") -> dict[str, Any]:
    limit = task.settings.timeout if timeout is None else timeout
    info = processes.wait(task, found, limit, call)
    told = _shown(task, found, info)
    if info.running:
        told["hint"] = (
            "the wait was interrupted" if call.done else f"it still runs after {limit:g} s; wait again, or go on"
        )
    return told


def _kill(task: "Task", found: "Entry | Moved") -> dict[str, Any]:
    if not processes.poll(found).running:
        return {**_shown(task, found, processes.poll(found)), "hint": "it had ended already"}
    info = processes.kill(found)
    told = _shown(task, found, info)
    if info.running:
        told["error"] = "it could not be ended: it is in the hands of the kernel"
    return told


def _typed(task: "Task", found: "Entry | Moved", action: str, data: str | None) -> dict[str, Any]:
    if isinstance(found, Moved):
        raise Unsupported(
            f"{action}: a command that was begun in the foreground has no input", task.terminal.kind, "start it anew"
        )
    process = processes.process_of(task, found)
    if action == "close":
        process.close_stdin()
        return {"session_id": found.id, "status": telling.status_of(processes.poll(found))}
    if data is None:
        raise ConfigError(f"data: {action} needs it")
    acts: dict[str, Callable[[Process, str], dict[str, Any]]] = {"write": _write, "submit": _submit, "resize": _resize}
    return {"session_id": found.id, **acts[action](process, data)}


def _write(process: "Process", data: str) -> dict[str, Any]:
    return {"bytes_written": process.write(data)}


def _submit(process: "Process", data: str) -> dict[str, Any]:
    return {"bytes_written": process.submit(data)}


def _resize(process: "Process", data: str) -> dict[str, Any]:
    from shellward.environments.base import PtySize

    match = _SIZE.match(data.strip())
    if match is None or not (int(match[1]) and int(match[2])):
        raise ConfigError(f"data: resize needs COLUMNSxROWS, such as 120x40, not {data!r}")
    process.resize(PtySize(rows=int(match[2]), columns=int(match[1])))
    return {"columns": int(match[1]), "rows": int(match[2])}
