"""What the model is told of a call: JSON, with the output as a reader sees it, and what to do next where that helps."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec

from shellward.approval.advice import approval
from shellward.core.errors import ApprovalDenied, ConnectionLost, ShellwardError
from shellward.core.types import ShellEvent
from shellward.terminal_tool import ansi
from shellward.terminal_tool.exit_codes import meaning
from shellward.terminal_tool.turns import Interrupted
from shellward.tools.answers import encode, sanitised

if TYPE_CHECKING:
    from shellward.core.types import ProcessInfo, Result
    from shellward.terminal_tool.tasks import Task

P = ParamSpec("P")
NOT_RUN: Final = -1
"""Exit code of what has not run, or of which nobody knows how it ended."""
_KIND, _CONTINUES = 0xC0, 0x80
"""Bits that say whether a byte begins a character or continues one (UTF-8)."""


def command_answers(function: Callable[P, dict[str, Any]]) -> Callable[P, str]:
    """Turn what a command comes to into JSON; an error has ``output`` and ``exit_code``, too."""
    return _answers(function, {"output": "", "exit_code": NOT_RUN})


def answers(function: Callable[P, dict[str, Any]]) -> Callable[P, str]:
    """Turn what a call comes to into JSON, also when it is an error."""
    return _answers(function, {})


def _answers(function: Callable[P, dict[str, Any]], before: dict[str, Any]) -> Callable[P, str]:
    @wraps(function)
    def answered(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return encode(function(*args, **kwargs))
        except ApprovalDenied as denied:
            said = sanitised(str(denied))
            return encode({**before, "error": said, "status": "denied", "approval": approval(denied.decision)})
        except Interrupted:
            return encode({**before, "error": "interrupted before it began; nothing has run", "status": "interrupted"})
        except ConnectionLost as lost:
            output = text_of(lost.result.output) if lost.result is not None and before else None
            told = {"output": output} if output is not None else {}
            return encode({**before, **told, "error": sanitised(str(lost)), "status": "lost"})
        except (ShellwardError, OSError, ValueError) as problem:
            return encode({**before, "error": sanitised(said_by(problem))})

    return answered


def said_by(problem: BaseException) -> str:
    """Return what an error says, without numbers and types."""
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
    return str(problem) or type(problem).__name__


def text_of(output: str) -> str:
    """Return output as the model gets it."""
    return ansi.strip(output)


def result_of(result: "Result", *, command: str, cwd_before: str) -> dict[str, Any]:
    """Return what a command came to.

    Args:
        result: how it ended.
        command: as it was submitted.
        cwd_before: the session's directory before it.
    """
    told: dict[str, Any] = {"output": text_of(result.output), "exit_code": result.exit_code, "error": None}
    hints = []
    if result.interrupted:
        told |= {"status": "interrupted", "error": "it was interrupted; what it had printed is in output"}
    elif result.exit_code and (said := meaning(command, result.exit_code)) is not None:
        told["exit_code_meaning"] = said
    if result.cwd != cwd_before:
        told["cwd"] = result.cwd
    if result.truncated:
        told["truncated"] = True
        if result.full_output is not None:
            told["full_output"] = str(result.full_output)
            hints.append("the whole output is in full_output; read it in parts with read_file")
    if result.shell is ShellEvent.STATE_LOST:
        hints.append(f"the shell was lost and began afresh in {result.cwd}: variables and functions are gone")
    elif result.shell is ShellEvent.STATE_UNSAVED:
        hints.append(
            "the shell's state could not be saved, since there is no room for it; free some, or it may get lost"
        )
    if hints:
        told["hint"] = "; ".join(hints)
    return told


def process_of(info: "ProcessInfo") -> dict[str, Any]:
    """Return what is known of a process."""
    told: dict[str, Any] = {"session_id": info.id, "status": status_of(info), "command": clean(info.command)}
    if info.pid:
        told["pid"] = info.pid
    told |= {"cwd": clean(info.cwd), "started": info.started.isoformat(timespec="seconds")}
    if not info.running:
        told["exit_code"] = info.exit_code
        if info.exit_code and (said := meaning(info.command, info.exit_code)) is not None:
            told["exit_code_meaning"] = said
    if info.pty:
        told["pty"] = True
    return told


def status_of(info: "ProcessInfo") -> str:
    """Return where a process is in its life: running, exited, killed, timed out or lost."""
    return "running" if info.running else info.reason or info.state.value


def clean(text: str) -> str:
    """Return text that JSON can hold: what was no UTF-8 becomes U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def with_news(task: "Task", told: dict[str, Any]) -> dict[str, Any]:
    """Add what has happened to a task's environment since the last call."""
    news, task.news = task.news, ""
    if news:
        told["hint"] = f"{news}; {told['hint']}" if told.get("hint") else news
    return told


def whole_characters(data: bytes) -> tuple[int, str, int]:
    """Decode a piece that may begin and end within a character.

    Returns:
        How many bytes at the beginning belong to a character before them, the text, and how many bytes were used.
    """
    begin = next((index for index, byte in enumerate(data[:4]) if byte & _KIND != _CONTINUES), 0)
    for cut in range(min(4, len(data))):
        try:
            text = data[begin : len(data) - cut].decode()
        except UnicodeDecodeError:
            continue
        return begin, text, len(data) - cut
    return begin, data[begin:].decode(errors="replace"), len(data)
