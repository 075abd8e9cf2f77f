"""Standard input, output and error of ``run``: bytes, passed on as they come."""

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

from shellward.core.errors import ShellwardError
from shellward.core.types import Chunk, StreamName

_NULL_DEVICE: Final = os.makedev(1, 3)
_WAKE: Final = signal.SIGURG
"""Sent to our own thread alone, to get it out of a write; a process that does not expect it never notices it."""


class OutputClosedError(Exception):
    """Nobody reads our standard output any more, as with ``| head -1``."""


class OutputFailedError(ShellwardError):
    """Output cannot be written: a full disk, a closed descriptor."""


class Output:
    """Writes chunks to this process's stdout and stderr. One thread calls it, any other may ``discard``."""

    def __init__(self) -> None:
        self._descriptors = {StreamName.STDOUT: os.dup(1), StreamName.STDERR: os.dup(2)}
        self._writer: int | None = None
        self._discarded = False
        signal.signal(_WAKE, lambda *_: None)

    def __call__(self, chunk: Chunk) -> None:
        """Write a chunk.

        Raises:
            OutputClosedError: nobody reads it.
            OutputFailedError: it cannot be written.
        """
        if self._discarded:
            return
        self._writer = threading.get_ident()
        try:
            view = memoryview(chunk.data)
            while view:
                view = view[os.write(self._descriptors[chunk.stream], view) :]
        except BlockingIOError:
            self._wait(chunk.stream, view)
        except BrokenPipeError as error:
            raise OutputClosedError(str(chunk.stream)) from error
        except OSError as error:
            name = "output" if chunk.stream is StreamName.STDOUT else "error"
            raise OutputFailedError(f"cannot write standard {name}: {error.strerror}") from error
        finally:
            self._writer = None

    def _wait(self, stream: StreamName, view: memoryview) -> None:
        """Write to a descriptor that somebody who shares it has made non-blocking."""
        import select

        poller = select.poll()
        poller.register(self._descriptors[stream], select.POLLOUT)
        while view and not self._discarded:
            poller.poll(100)
            try:
                view = view[os.write(self._descriptors[stream], view) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise OutputClosedError(str(stream)) from error

    def discard(self) -> None:
        """Throw away all that is still to be written, also what a write is stuck with.

        The descriptors lead nowhere from here on, and a signal makes the writing thread try again: there.
        """
        self._discarded = True
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        for descriptor in self._descriptors.values():
            os.dup2(nowhere, descriptor, inheritable=False)
        os.close(nowhere)
        if (writer := self._writer) is not None:
            signal.pthread_kill(writer, _WAKE)


def standard_input() -> BinaryIO | None:
    """Return standard input when there is something to pass on; None: it is closed, a terminal or /dev/null."""
    about = os.fstat(0)
    if os.isatty(0) or (stat.S_ISCHR(about.st_mode) and about.st_rdev == _NULL_DEVICE):
        return None
    return open(0, "rb", buffering=0, closefd=False)  # not ours to close


@contextmanager
def recorded(path: str, title: str, output: Callable[[Chunk], None] | None) -> Iterator[Callable[[Chunk], None]]:
    """Record what a command prints, as a terminal would show it, beside passing it on.

    Args:
        path: file to write.
        title: what was recorded.
        output: where it is passed on to; None: nowhere.

    Raises:
        OSError: the file cannot be made.
    """
    from shellward.cli.at_terminal import own_size
    from shellward.cli.say import say
    from shellward.terminal.asciicast import Recording

    rows, columns = own_size()
    recording: Recording | None = Recording(path, rows=rows, columns=columns, title=title)

    def sink(chunk: Chunk) -> None:
        nonlocal recording
        if recording is not None:
            try:
                recording.output(chunk.data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
            except OSError as error:  # a full disk; the command has nothing to do with it
                with suppress(OSError):
                    recording.close()
                recording = None
                say(f"recorded no further: {error.strerror}: {path}")
        if output is not None:
            output(chunk)

    try:
        yield sink
    finally:
        if recording is not None:
            recording.close()
