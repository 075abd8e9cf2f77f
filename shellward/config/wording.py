"""How a wrong setting is told of: in one line, with what was meant where that can be guessed."""

import contextlib
import difflib
import functools
import os
import typing
from collections.abc import Iterable
from typing import Any


def hint(name: str, known: Iterable[str]) -> str:
    """Return what may have been meant by an unknown name, to be put after the message; empty when nothing is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def plain(problem: str, wanted: Any, value: object) -> str:
    """Say in plain words why a value does not fit.

    Args:
        problem: what msgspec said.
        wanted: the type of the setting.
        value: what was given.
    """
    choices = typing.get_args(wanted) if typing.get_origin(wanted) is typing.Literal else ()
    if choices:
        return f"must be one of {', '.join(map(str, choices))} (got {value!r:.60})"
    text = problem.replace("`", "")
    text = text[:1].lower() + text[1:]
    return f"{text} (got {value!r:.60})" if isinstance(value, str | int | float | bool) else text


@functools.lru_cache(maxsize=64)
def say_once(message: str) -> None:
    """Print a message on stderr, once in this program; nobody there to read it is no error."""
    with contextlib.suppress(OSError):
        os.write(2, f"shellward: {message}\n".encode("utf-8", "backslashreplace"))
