"""``terminal_tool``: a command in a task's environment, in the foreground or in the background.

A command in the foreground that takes longer than it may goes on in the background; the answer says how to follow it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from shellward.approval.advice import approval
from shellward.core.errors import ConfigError
from shellward.terminal_tool import processes, telling
from shellward.terminal_tool.default import tasks
from shellward.terminal_tool.exit_codes import meaning
from shellward.terminal_tool.hearing import ON_OUTPUT
from shellward.terminal_tool.judge import DECIDED, WHY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shellward.approval.withdrawal import Withdrawal
    from shellward.environments.stream import Stream
    from shellward.process_registry import Entry
    from shellward.terminal_tool.tasks import Task

_LONGEST: Final = 86_400.0
_AFTER_INTERRUPT: Final = 10.0
_FOLLOW: Final = (
    "follow it with the process tool: poll, log, wait, kill with this session_id; "
    "later commands run beside it, in the directory from before it"
)
_STARTED: Final = "it runs in the background; poll, log, wait, write, kill it with the process tool and this session_id"
_WHO: Final = frozenset({"allow-rule", "grant", "person", "reviewer"})
"""Who lets pass what would else be stopped."""
_LOG: Final = 200_000
"""Bytes at the end of what a program at a terminal has printed that are looked at."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for, and by which call."""

    task: "Task"
    call: "Withdrawal"
    command: str
    limit: float
    workdir: str | None
    pty: bool
    notify: bool
    watch: tuple[str, ...]


@telling.command_answers
def terminal_tool(  # noqa: PLR0917  # the order is fixed by those who call it so
    command: str,
    background: bool = False,
    timeout: float | None = None,
    workdir: str | None = None,
    pty: bool = False,
    task_id: str | None = None,
    notify_on_complete: bool = False,
    watch_patterns: "Sequence[str] | None" = None,
    reason: str | None = None,
    goal: str | None = None,
) -> dict[str, Any]:
    """Run a command in a task's environment.

    Args:
        command: a shell line, of any number of lines.
        background: start it and return at once.
        timeout: seconds for a command in the foreground; None: the setting.
        workdir: directory for this command; the session's stays as it is.
        pty: give it a terminal.
        task_id: whose environment, directory and session; None: those of the default task.
        notify_on_complete: tell of its end; see ``next_notice``.
        watch_patterns: what in its output to tell of.
        reason: why the agent wants it; shown to whoever is asked.
        goal: what the user asked for; likewise.

    Returns:
        JSON: ``output``, ``exit_code``, ``error``, and more where it applies (docs/terminal-tool.md).
    """
    if timeout is not None and not 0 < timeout <= _LONGEST:
        raise ConfigError(f"timeout: seconds, above 0 and up to {_LONGEST:g}, not {timeout!r}")
    with tasks.call(task_id) as (task, call):
        limit, watch = timeout or task.settings.timeout, tuple(watch_patterns or ())
        asked = _Asked(task, call, command, limit, workdir, pty, notify_on_complete, watch)
        why = WHY.set((reason or "", goal or ""))
        decided = DECIDED.set([])
        try:
            act = _background if background else _at_terminal if pty else _foreground
            told = act(asked)
            if let_pass := [each for each in DECIDED.get() or () if each.decided_by in _WHO]:
                told["approval"] = approval(let_pass[-1])
            return telling.with_news(task, told)
        finally:
            DECIDED.reset(decided)
            WHY.reset(why)


def _foreground(asked: _Asked) -> dict[str, Any]:
    task, call = asked.task, asked.call
    terminal = task.terminal
    with task.turns.turn(call, alone=terminal.changes_session(asked.command, cwd=asked.workdir)):
        before = terminal.cwd
        stream = terminal.stream(asked.command, cwd=asked.workdir, merge_stderr=True)
        try:
            call.listen(lambda: _end(stream))
            result = stream.wait(asked.limit, ON_OUTPUT.get())
            if result is None and call.done:
                result = stream.wait(_AFTER_INTERRUPT)
            if result is None:
                return _moved(asked, stream, before)
        except BaseException:
            stream.close()
            raise
    if result.full_output is not None:
        task.outputs.add(result.full_output)
    return telling.result_of(result, command=asked.command, cwd_before=before)


def _end(stream: "Stream") -> None:
    stream.end()


def _moved(asked: _Asked, stream: "Stream", cwd: str) -> dict[str, Any]:
    output, truncated = stream.so_far()
    moved = processes.move(asked.task, stream, asked.command, cwd, notify=asked.notify)
    told: dict[str, Any] = {
        "output": telling.text_of(output),
        "exit_code": None,
        "error": None,
        "status": "running",
        "session_id": moved.id,
        "hint": f"it still runs after {asked.limit:g} s, so it was moved to the background; {_FOLLOW}",
    }
    if truncated:
        told |= {"truncated": True, "full_output": str(moved.file)}
    return told


def _background(asked: _Asked) -> dict[str, Any]:
    info = _started(asked).info
    told: dict[str, Any] = {"output": "", "exit_code": None, "error": None, "status": "running"}
    return {**told, "session_id": info.id, "pid": info.pid, "hint": _STARTED}


def _started(asked: _Asked) -> "Entry":
    from shellward.environments.base import PtySize

    # It runs beside the session, but begins with what that knows: so after the calls that change that.
    with asked.task.turns.turn(asked.call, alone=False):
        return processes.start(
            asked.task,
            asked.command,
            pty=PtySize() if asked.pty else None,
            cwd=asked.workdir,
            notify=asked.notify,
            watch=asked.watch,
        )


def _at_terminal(asked: _Asked) -> dict[str, Any]:
    """Run a program at a terminal: as a process, so that it can go on when it takes long, and be typed at."""
    entry = _started(asked)
    info = processes.wait(asked.task, entry, asked.limit, asked.call)
    if info.running and asked.call.done:
        info = processes.kill(entry)
    log = processes.log(asked.task, entry, None, _LOG)
    output = telling.text_of(telling.whole_characters(log.data)[1])
    told: dict[str, Any] = {"output": output, "exit_code": info.exit_code, "error": None}
    if info.running:
        hint = f"after {asked.limit:g} s {_STARTED}"
        return {**told, "status": "running", "session_id": info.id, "pid": info.pid, "hint": hint}
    if asked.call.done:
        told |= {"status": "interrupted", "exit_code": 130, "error": "it was interrupted"}
    elif info.exit_code and (said := meaning(asked.command, info.exit_code)) is not None:
        told["exit_code_meaning"] = said
    if log.offset:
        return {**told, "truncated": True, "session_id": info.id, "hint": "read all of it with the process tool: log"}
    if not (asked.notify or asked.watch):
        processes.forget(entry)  # all that is to be known of it is in the answer
    return told
