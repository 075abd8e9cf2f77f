"""The values that users hold: results, chunks of output, file entries, statistics."""

import signal as _signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from shellward.core.errors import CommandTimeout


class StreamName(StrEnum):
    """Which of a command's two output streams."""

    STDOUT = "stdout"
    STDERR = "stderr"


class Chunk(NamedTuple):
    """A piece of output, as it arrived.

    Attributes:
        stream: stdout or stderr.
        data: the bytes.
        text: the same decoded as UTF-8. A character split between chunks comes whole, with the later one;
            what is not UTF-8 is replaced by U+FFFD.
    """

    stream: StreamName
    data: bytes
    text: str


class ShellEvent(StrEnum):
    """What became of the session's shell during a command, when it did not simply go on."""

    RESTARTED = "restarted"
    """The shell ended (``exit``, ``set -e``, a timeout); a new one has its state: directory, variables, functions,
    aliases, options, traps (but one on EXIT), umask. Limits of ulimit, the directory stack, disabled builtins and
    completions are not part of it, nor are background jobs, which go on but are nobody's children."""
    STATE_LOST = "state lost"
    """The shell ended before it could save what this command changed; the new one has the state from before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one command did. A non-zero exit status is a result, never an exception.

    Attributes:
        command: as submitted (a list is joined with shell quoting).
        exit_code: exit status; 128 + n when ended by signal n; 124 when it timed out; 130 when interrupted.
        stdout: text of standard output, at most ``max_output`` characters (see ``truncated``).
        stderr: text of standard error, likewise.
        output: both in order of arrival (the exact order with ``merge_stderr``), likewise.
        stdout_bytes: what ``stdout`` was decoded from, without the note about what was left out.
        stderr_bytes: likewise.
        output_bytes: likewise.
        duration: seconds from sending the command to its end.
        cwd: the session's working directory afterwards.
        timed_out: the time limit ended it; ``output`` is what it had printed.
        interrupted: a caller cancelled it (Ctrl-C).
        signal: name of the signal that ended it (``SIGKILL``), as far as the exit status tells.
        truncated: more than ``max_output`` characters were printed; head and tail were kept.
        full_output: file with everything that was printed, when it was kept (see ``Environment.run``).
        shell: set when the session's shell had to be replaced.
    """

    command: str
    exit_code: int
    stdout: str = ""
    stderr: str = ""
    output: str = ""
    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    output_bytes: bytes = b""
    duration: float = 0.0
    cwd: str = ""
    timed_out: bool = False
    interrupted: bool = False
    signal: str | None = None
    truncated: bool = False
    full_output: Path | None = None
    shell: ShellEvent | None = None

    @property
    def ok(self) -> bool:
        """Whether the exit status is 0."""
        return self.exit_code == 0

    def check(self) -> "Result":
        """Return self, for callers that do want an exception.

        Raises:
            CommandTimeout: it timed out.
            subprocess.CalledProcessError: the exit status is not 0.
        """
        if self.timed_out:
            raise CommandTimeout(self)
        if self.exit_code:
            from subprocess import CalledProcessError

            raise CalledProcessError(self.exit_code, self.command, self.stdout, self.stderr)
        return self


def signal_name(exit_code: int) -> str | None:
    """Name the signal that an exit status of 128 + n stands for, or None.

    A command may also exit with such a status of its own; a shell cannot tell the two apart
    (POSIX.1-2017, Shell Command Language, 2.8.2).
    """
    try:
        return _signal.Signals(exit_code - 128).name
    except ValueError:
        return None


class FileType(StrEnum):
    """What a path is."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file in the environment (links are not followed).

    Attributes:
        name: last part of the path. Bytes that are not UTF-8 are kept as lone surrogates (PEP 383).
        path: the path it was asked by, joined with the name.
        type: file, directory, symlink or other.
        size: bytes.
        mode: permission bits (0o644).
        modified: time of the last change, UTC, to the second.
        uid: owner's number.
        gid: group's number.
    """

    name: str
    path: str
    type: FileType
    size: int
    mode: int
    modified: datetime
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Stats:
    """What an environment uses now; None where the backend cannot know.

    Attributes:
        cpu_seconds: processor time used since it was made.
        memory_bytes: resident memory, without the page cache where the backend can tell.
        memory_limit_bytes: its cap.
        pids: processes now.
    """

    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    pids: int | None = None


@dataclass(frozen=True, slots=True)
class EnvironmentInfo:
    """One known environment, as ``shellward env ls`` shows it.

    Attributes:
        handle: what ``environments.attach`` takes.
        kind: backend.
        name: label or container name.
        image: what it was made from, where that applies.
        created: when.
        state: ``running``, ``exited``, ...
        owner: who made it, as ``user@host:pid``.
        lease: seconds it lives on without a client.
        labels: the backend's labels.
    """

    handle: str
    kind: str
    name: str
    image: str = ""
    created: datetime | None = None
    state: str = ""
    owner: str = ""
    lease: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
