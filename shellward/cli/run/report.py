"""A result as JSON, and the exit code and message that it means."""

import signal
from typing import TYPE_CHECKING, Any

from shellward.cli.say import TIMED_OUT, say

if TYPE_CHECKING:
    from shellward.cli.run.options import Options
    from shellward.core.errors import ApprovalDenied
    from shellward.core.types import Result

_TEXTS = ("stdout", "stderr", "output")


def plain(result: "Result", handle: str | None) -> dict[str, Any]:
    """Return what ``--json`` prints. Output that is not UTF-8 comes a second time, whole, in base64."""
    made: dict[str, Any] = {
        "command": result.command,
        "exit_code": result.exit_code,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "output": result.output,
    }
    for name in _TEXTS:
        data: bytes = getattr(result, f"{name}_bytes")
        if not _is_text(data):
            import base64

            made[f"{name}_base64"] = base64.b64encode(data).decode()
    return made | {
        "duration": round(result.duration, 6),
        "cwd": result.cwd,
        "timed_out": result.timed_out,
        "interrupted": result.interrupted,
        "signal": result.signal,
        "truncated": result.truncated,
        "full_output": None if result.full_output is None else str(result.full_output),
        "handle": handle,
    }


def denied(error: "ApprovalDenied", handle: str | None) -> dict[str, Any]:
    """Return what ``--json`` prints, beside the error itself, of a command that the gate refused."""
    from shellward.cli.output import decision_record, plain

    record = decision_record(error.decision)
    return {"command": error.decision.command, "exit_code": None, "handle": handle, "approval": plain(record)}


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def exit_code(result: "Result", caught: int | None) -> int:
    """Return the exit code of this process; ``caught`` is the signal that it was told to end by."""
    return result.exit_code if caught is None else 128 + caught


def explain(result: "Result | None", caught: int | None, options: "Options") -> None:
    """Say on stderr how it ended, where the exit code alone does not."""
    if caught is not None:
        what = "interrupted" if caught == signal.SIGINT else f"got {signal.Signals(caught).name}"
        say(f"{what}; {_end(result)}")
    elif result is not None and result.timed_out and result.exit_code == TIMED_OUT:
        say(f"timed out after {options.timeout:g} s; the command was ended")


def _end(result: "Result | None") -> str:
    if result is None:
        return "nothing has run"
    return "the command was ended" if result.interrupted else "the command had ended"
