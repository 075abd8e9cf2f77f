"""Lines that a server prints: gathered as they come, and never more of one than a message may be long.

The SDK gathers a line until its end, whatever that comes to, and lets nothing be chosen but its encoding. So this is
one: UTF-8 whose decoder gives whole lines only, and fails at one that is too long.
"""

import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

ENCODING: Final = "shellward_lines"
LONGEST: Final = 32 << 20
"""Bytes of one message; pictures come in them, too."""
_TELL: Final[ContextVar[Callable[[str], None] | None]] = ContextVar("shellward_tell_of_a_line", default=None)


class LineTooLongError(ConnectionError):
    """What was printed without an end of line is no message."""


@contextmanager
def limited(tell: Callable[[str], None]) -> Iterator[None]:
    """Have decoders that are made in this context limit lines.

    Args:
        tell: is called with why one has failed: who reads does not pass that on.
    """
    try:
        codecs.lookup(ENCODING)
    except LookupError:
        codecs.register(_found)
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


class _Lines(codecs.IncrementalDecoder):
    """Gives whole lines. Used by one reader."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._held = bytearray()
        self._tell = _TELL.get()

    def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]  # bytes it is
        """Return the lines that are whole by now.

        Raises:
            LineTooLongError: one of them is too long, or will be.
        """
        first = data.find(b"\n")
        if len(self._held) + (len(data) if first < 0 else first) > LONGEST:
            self._held.clear()
            why = f"a line of more than {LONGEST >> 20} MiB on its standard output"
            if self._tell is not None:
                self._tell(why)
            raise LineTooLongError(why)
        end = len(data) if final else data.rfind(b"\n") + 1
        if not end and not final:
            self._held += data
            return ""
        whole = bytes(self._held) + data[:end]
        self._held[:] = data[end:]
        return whole.decode("utf-8", self.errors)

    def reset(self) -> None:
        """Forget what is held."""
        self._held.clear()


def _found(name: str) -> codecs.CodecInfo | None:
    if name != ENCODING:
        return None
    return codecs.CodecInfo(codecs.utf_8_encode, codecs.utf_8_decode, incrementaldecoder=_Lines, name=ENCODING)
