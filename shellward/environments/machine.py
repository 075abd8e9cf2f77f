"""What backends need of the machine that Shellward runs on: processes with pipes, and a place for small files."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.pipes import PIPE, PipeChannel

_TOO_MANY: Final = (errno.EMFILE, errno.ENFILE)


def too_many_files(error: BaseException | None) -> bool:
    """Whether an error says, or comes of one that says, that there can be no further descriptor."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in _TOO_MANY:
            return True
        # urllib3 and requests hand on what they had as an argument.
        inner = next((each for each in error.args if isinstance(each, BaseException)), None)
        error = error.__cause__ or error.__context__ or inner
    return False


@contextmanager
def descriptors(what: str) -> Iterator[None]:
    """Say in our own words that this process can have no further descriptor; other errors pass.

    Args:
        what: cannot be done, an infinitive.

    Raises:
        EnvironmentUnavailable: so it is.
    """
    try:
        yield
    except OSError as error:
        if not too_many_files(error):
            raise
        raise EnvironmentUnavailable(no_descriptor(what)) from error


def no_descriptor(what: str) -> str:
    """Say that something cannot be done, since this process can have no further descriptor."""
    return f"cannot {what}: too many files are open in this process (see ulimit -n), or on this machine"


def own(held: ExitStack, descriptor: int) -> int:
    """Have a descriptor closed with ``held``; returns it."""
    held.callback(os.close, descriptor)
    return descriptor


def new_pipe(held: ExitStack) -> tuple[int, int]:
    """Make a pipe that is closed with ``held``: reading end, writing end."""
    reader, writer = os.pipe()
    return own(held, reader), own(held, writer)


def end_at_once(process: "subprocess.Popen[bytes]") -> None:
    """Kill a child that nobody can look after, and wait for it."""
    process.kill()
    process.wait()


def wait_for(process: "subprocess.Popen[bytes]", timeout: float | None) -> int | None:
    """Return the exit status of a child as a shell tells it (128 + n for signal n); None when time is up."""
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    return status if status >= 0 else 128 - status


class _Child:
    """The life of a child process; see ``pipes.Life``."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._pidfd = os.pidfd_open(process.pid)

    def fileno(self) -> int:
        return self._pidfd

    def wait(self, timeout: float | None = None) -> int | None:
        return wait_for(self._process, timeout)

    def close(self) -> None:
        """It gets a second to end by itself."""
        if self.wait(1.0) is None:
            self._process.kill()
            self._process.wait()
        os.close(self._pidfd)


def spawn(kind: str, argv: Sequence[str], **options: Any) -> PipeChannel:
    """Start a process in a session of its own, with pipes. When this raises, nothing is left of either.

    Raises:
        EnvironmentUnavailable: this process has no descriptor left for it.
        OSError: it cannot be started.
    """
    with descriptors(f"start {argv[0]!r}"), ExitStack() as held, ExitStack() as theirs:
        stdin, stdin_of_process = _split(held, theirs, writing=True)
        stdout, stdout_of_process = _split(held, theirs)
        stderr, stderr_of_process = _split(held, theirs)
        process = subprocess.Popen(
            argv,
            stdin=stdin_of_process,
            stdout=stdout_of_process,
            stderr=stderr_of_process,
            start_new_session=True,
            **options,
        )
        # Nothing was sent to it, and what is started with pipes does nothing before it was.
        held.callback(end_at_once, process)
        theirs.close()
        life = _Child(process)
        held.callback(os.close, life.fileno())
        made = PipeChannel(kind, stdin, stdout, stderr, life)
        held.pop_all()
    return made


def _split(ours: ExitStack, theirs: ExitStack, *, writing: bool = False) -> tuple[int, int]:
    """Make a pipe; returns our end of it, and that of the process."""
    reader, writer = os.pipe()
    mine, other = (writer, reader) if writing else (reader, writer)
    return own(ours, mine), own(theirs, other)


def memory_backed() -> str | None:
    """Where small files never touch a disk: the user's runtime directory, /dev/shm, else the usual place."""
    for place in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):  # noqa: S108  # a private directory is made in it
        if place and os.access(place, os.W_OK | os.X_OK) and shutil.disk_usage(place).free > PIPE:
            return place
    return None
