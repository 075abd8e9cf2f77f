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
    STATE_UNSAVED = "state unsaved"
    """The shell goes on, but there was no room in the sandbox to save what this command changed: commands that run
    beside others, programs at terminals and a shell that takes this one's place begin with an older state."""


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
        timed_out: the time limit ended it; ``output`` is what it had printed. Where the sandbox does not answer, the
            caller hears within a second of the limit, and the command is ended as soon as the sandbox answers.
        interrupted: a caller cancelled it (Ctrl-C).
        signal: name of the signal that ended it (``SIGKILL``), as far as the exit status tells.
        truncated: more than ``max_output`` characters were printed; head and tail were kept.
        full_output: file with everything that was printed, when it was kept (see ``Environment.run``); of an
            environment's, the newest are, and until it is closed.
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
    if exit_code <= 128:  # noqa: PLR2004  # most, and an enumeration's refusal is dear
        return None
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


class FilePart(NamedTuple):
    """Some lines of a file.

    Attributes:
        data: the bytes.
        size: bytes in the whole file.
        lines: how many the whole file has; the last one may lack its end.
    """

    data: bytes
    size: int
    lines: int


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


class ProcessState(StrEnum):
    """Where a background process is in its life."""

    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"
    """It is gone, and so is its supervisor: killed from outside, or the sandbox was restarted. How, nobody knows."""
    UNKNOWN = "unknown"
    """It ran when somebody looked last, and its sandbox cannot be reached now; the reason says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessInfo:
    """What is known of a background process, as it was at one moment.

    Attributes:
        id: its name, unique among all processes; also of its directory in the sandbox.
        command: as submitted (a list is joined with shell quoting; a very long one is cut).
        cwd: directory it was started in.
        pid: process id in the sandbox; 0: not known.
        born: when the kernel says that it began, in clock ticks since boot; with ``pid`` its name for good.
        state: running, ended, lost, or unknown.
        exit_code: exit status; 128 + n when ended by signal n; None while it runs, and when it was lost.
        signal: name of the signal that ended it, as far as the exit status tells.
        reason: ``exited``, ``killed`` (by a call of ours), ``timed out``, ``lost``; empty while it runs; why nobody
            knows, with ``unknown``.
        started: time of the start, by its client's clock, UTC.
        ended: time of the end; None while it runs, and when it was lost.
        bytes_out: bytes on standard output (all output, with a terminal); None: not asked for.
        bytes_err: bytes on standard error; None: not asked for.
        owner: who started it, as ``user@host:pid``.
        user: who it runs as, when that is not the sandbox's own user.
        task: id of the task that it belongs to.
        ttl: seconds after its start for which it keeps its sandbox alive without a client.
        pty: it has a terminal.
        closed_stdin: it was started with all of its input, so nothing can be written to it.
    """

    id: str
    command: str
    cwd: str
    pid: int
    born: str
    state: ProcessState
    exit_code: int | None = None
    signal: str | None = None
    reason: str = ""
    started: datetime
    ended: datetime | None = None
    bytes_out: int | None = None
    bytes_err: int | None = None
    owner: str = ""
    user: str | None = None
    task: str = ""
    ttl: float = 0.0
    pty: bool = False
    closed_stdin: bool = False

    @property
    def running(self) -> bool:
        """Whether it runs still."""
        return self.state is ProcessState.RUNNING

    @property
    def over(self) -> bool:
        """Whether it has ended, or was lost."""
        return self.state in {ProcessState.ENDED, ProcessState.LOST}


@dataclass(frozen=True, slots=True)
class Usage:
    """What a background process and everything that it has started use now.

    Attributes:
        when: seconds since the sandbox's boot.
        cpu_seconds: processor time that those which live have used.
        memory_bytes: resident memory; what is shared counts for each.
        processes: how many there are.
    """

    when: float
    cpu_seconds: float
    memory_bytes: int
    processes: int


@dataclass(frozen=True, slots=True)
class Log:
    """A piece of a process's output.

    Attributes:
        data: the bytes.
        offset: of the first of them.
        size: bytes that there were in all.
    """

    data: bytes
    offset: int
    size: int

    @property
    def next(self) -> int:
        """Offset of what comes after this piece."""
        return self.offset + len(self.data)

    @property
    def text(self) -> str:
        """The bytes as UTF-8; what is not is replaced by U+FFFD."""
        return self.data.decode("utf-8", "replace")
