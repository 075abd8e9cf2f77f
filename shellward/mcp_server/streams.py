"""Standard input and output, out of the way of whatever else reads and prints in this program. Needs no MCP SDK."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Streams(NamedTuple):
    """Where messages come from and go to.

    Attributes:
        given: descriptor that is read.
        taken: descriptor that is written.
    """

    given: int
    taken: int


@contextmanager
def taken_over() -> Iterator[Streams]:
    """Move stdin and stdout away from where programs and prints would find them: 0 is empty, 1 is standard error."""
    _flush()
    streams = Streams(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield streams
    finally:
        _flush()  # what was printed meanwhile is not for the client
        os.dup2(streams.given, 0)
        os.dup2(streams.taken, 1)
        os.close(streams.given)
        os.close(streams.taken)


def _flush() -> None:
    if sys.stdout is not None:  # else it was closed
        sys.stdout.flush()
