"""What the command line says about itself: messages on stderr, JSON on stdout, and the exit code of an error."""

import contextlib
import os
import sys
from collections.abc import Mapping
from typing import Any, Final

from shellward.core.errors import HAD_BEGUN, NOTHING_RAN, ApprovalDenied, ConfigError, ConnectionLost

OK: Final = 0
NO: Final = 1
"""The answer is no, or nothing was there to be done."""
USAGE: Final = 2
DENIED: Final = 20
"""The gate refused a command; as ``shellward check`` has it."""
TIMED_OUT: Final = 124
"""As timeout(1) has it."""
FAILED: Final = 125
"""Shellward itself failed, not the command, and nothing has run; as ``docker run`` has it."""
UNKNOWN: Final = 122
"""Shellward failed, or lost the connection, when the command had begun, or may have."""
BROKEN_PIPE: Final = 141
"""What a program has that SIGPIPE ended."""


def say(message: str, *, dim: bool = False) -> None:
    """Print a message on stderr, mostly one line; nobody there to read it is no error.

    Args:
        message: what to say.
        dim: it is by the way: less bright, on a terminal that has colours.
    """
    lines = [" ".join(line.split()) for line in message.splitlines()] or [""]
    line = "".join(f"shellward: {line}\n" for line in lines)
    if dim and _has_colours():
        line = f"\x1b[2m{line[:-1]}\x1b[0m\n"
    with contextlib.suppress(OSError):
        os.write(2, line.encode("utf-8", "backslashreplace"))


def _has_colours() -> bool:
    """Whether stderr is a terminal whose user has colours (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb" and os.isatty(2)


def print_json(value: object) -> None:
    """Print one JSON value on stdout, in UTF-8; text that no encoding can hold stays in JSON's own escapes.

    Raises:
        BrokenPipeError: nobody reads it.
    """
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout and sys.stdout.isatty() else None)
    view = memoryview(text.encode("utf-8", "backslashreplace") + b"\n")
    while view:
        view = view[os.write(1, view) :]


def describe(error: BaseException) -> tuple[str, str, int]:
    """Say what an error means to the caller: one line, the name of its kind, the exit code."""
    kind = type(error).__name__
    if isinstance(error, ConfigError):
        return str(error), kind, USAGE
    if isinstance(error, ApprovalDenied):
        return str(error), kind, DENIED
    if isinstance(error, ConnectionLost):
        return str(error), kind, UNKNOWN
    if isinstance(error, OSError) and error.strerror and type(error).__module__ == "builtins":
        return ": ".join(str(part) for part in (error.strerror, error.filename) if part), kind, FAILED
    return str(error) or kind, kind, FAILED


def _notes(error: BaseException) -> list[str]:
    return [note for note in getattr(error, "__notes__", []) if note not in (NOTHING_RAN, HAD_BEGUN)]


def fail(error: BaseException, *, as_json: bool, more: Mapping[str, Any] | None = None) -> int:
    """Report an error; returns the exit code."""
    message, kind, code = describe(error)
    if as_json:
        notes = _notes(error)
        print_json({"error": message, "kind": kind, **({"notes": notes} if notes else {}), **(more or {})})
    else:
        said = error.here if isinstance(error, ApprovalDenied) and _at_terminal() else message
        say("\n".join([said, *_notes(error)]))
    return code


def _at_terminal() -> bool:
    """Whether a person has started this, and reads what it says."""
    from shellward.approval.person import has_terminal

    return has_terminal()
