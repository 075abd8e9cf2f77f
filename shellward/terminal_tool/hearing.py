"""Who wants to know what a command prints while a call waits for it: an MCP client that shows how it goes."""

import codecs
import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from shellward.core.types import Chunk, StreamName

if TYPE_CHECKING:
    from shellward.environments.base import Channel
    from shellward.environments.process import Process

OnOutput = Callable[[Chunk], None]
ON_OUTPUT: Final[ContextVar[OnOutput | None]] = ContextVar("shellward_on_output", default=None)
"""Is called with each piece of output, by the thread that reads it; not to be kept waiting."""
_BEFORE: Final = 4_096
"""Bytes that were printed before a wait, and are told with it."""


@contextmanager
def heard(process: "Process") -> Iterator[None]:
    """Tell of what a process in the background prints meanwhile; nothing is done where nobody wants to know.

    Raises:
        EnvironmentUnavailable: the sandbox is gone.
    """
    on_output = ON_OUTPUT.get()
    if on_output is None:
        yield
        return
    channel = process.follower(offset=max(0, process.log(0, 0).size - _BEFORE))
    stop = os.eventfd(0, os.EFD_CLOEXEC)
    thread = threading.Thread(target=_tell, args=(channel, stop, on_output), name="shellward-heard", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.eventfd_write(stop, 1)
        thread.join()
        os.close(stop)
        channel.close()


def _tell(channel: "Channel", stop: int, on_output: OnOutput) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    poll = select.poll()
    poll.register(channel.fileno(), select.POLLIN)
    poll.register(stop, select.POLLIN)
    while stop not in dict(poll.poll()):
        pieces = channel.read(0)
        if pieces is None:
            return
        for piece in pieces:
            if piece.stream is StreamName.STDOUT:
                on_output(Chunk(piece.stream, piece.data, decoder.decode(piece.data)))
