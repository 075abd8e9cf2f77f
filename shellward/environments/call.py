"""The arguments of one ``run``, checked before anything happens. Nothing is run here."""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from shellward.core.errors import ConfigError
from shellward.core.limits import MAX_OUTPUT
from shellward.core.types import Chunk
from shellward.environments.encoding import join

if TYPE_CHECKING:
    from shellward.environments.launching import Launch

Directory = str | os.PathLike[str]
Command = str | Sequence[str | os.PathLike[str]]
Stdin = bytes | str | BinaryIO | Iterable[bytes] | None
OnOutput = Callable[[Chunk], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The arguments of one ``run``, checked.

    Attributes:
        shown: the command as people read it.
        words: the command, when it was given as a list.
        screen: is given input that comes bit by bit, and b"" at its end; returns what may be sent. If it raises,
            the command is ended.
        at_terminal: it will have a terminal, and its input is typed.
        by_person: a person types it, at his own terminal.
        mark: by which its processes at a terminal are found; empty: one is made.
        launch: it is to be a background process, as this says.
    """

    text: str
    shown: str
    timeout: float | None = None
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    stdin: Stdin = None
    merge_stderr: bool = False
    max_output: int | None = MAX_OUTPUT
    full_output: bool | str | Path | None = None
    screen: Callable[[bytes], bytes] | None = None
    words: tuple[str, ...] | None = None
    at_terminal: bool = False
    by_person: bool = False
    mark: str = ""
    launch: "Launch | None" = None


def make_call(command: Command, **options: object) -> Call:
    """Check the arguments of a ``run``.

    Raises:
        ConfigError: one of them is unusable; names it.
        TypeError: ``stdin`` is nothing that can be read.
    """
    if isinstance(command, str):
        words, shown, text = None, command, command
    else:
        words = tuple(_words(command))
        shown, text = shlex.join(words), join(words)
    call = Call(text=text, shown=shown, words=words, **_checked(options))  # type: ignore[arg-type]
    stdin = call.stdin
    if not (stdin is None or isinstance(stdin, bytes | bytearray | memoryview | str) or hasattr(stdin, "__iter__")):
        raise TypeError(f"stdin: needs bytes, text, a binary file or an iterable of bytes, not {stdin!r}")
    if call.timeout is not None and not (_is_number(call.timeout, Real) and call.timeout > 0):
        raise ConfigError(f"timeout: needs a number of seconds above 0, not {call.timeout!r}")
    if call.max_output is not None and not (_is_number(call.max_output, int) and call.max_output >= 0):
        raise ConfigError(f"max_output: needs a number of characters, not {call.max_output!r}")
    return call


def _words(command: object) -> list[str]:
    if isinstance(command, bytes | os.PathLike) or not isinstance(command, Sequence):
        raise ConfigError(f"command: give text or a list of words, not {type(command).__name__}")
    return [path_text(word, "command", "a list of text") for word in command]


def path_text(path: object, key: str, wanted: str = "text or a path") -> str:
    """Return a path, or another word, as text.

    Raises:
        ConfigError: it is neither text nor a path.
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise ConfigError(f"{key}: needs {wanted}, not {path!r}")
    return text


def _checked(options: dict[str, object]) -> dict[str, object]:
    """Paths as text, and nothing but text in ``env``."""
    cwd, env, full = options.get("cwd"), options.get("env"), options.get("full_output")
    if cwd is not None:
        options["cwd"] = path_text(cwd, "cwd")
    if full is not None and not isinstance(full, bool):
        options["full_output"] = path_text(full, "full_output", "True, False or a path")
    if env is not None:
        if not isinstance(env, Mapping):
            raise ConfigError(f"env: needs names and their values, not {type(env).__name__}")
        for name, value in env.items():
            if not isinstance(name, str):
                raise ConfigError(f"env: {name!r} is not a name that a shell variable can have")
            if not isinstance(value, str):
                raise ConfigError(f"env: {name}: needs text, not {value!r}")
    return options


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
