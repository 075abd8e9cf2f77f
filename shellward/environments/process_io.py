"""The output and the input of a background process: read by offset, followed, written to. Never whole in memory."""

import errno
import os
import select
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

from shellward.core.errors import ConfigError, ConnectionLost
from shellward.core.interrupts import held
from shellward.core.types import Chunk, Log, StreamName
from shellward.environments.call import make_call
from shellward.environments.encoding import printf_escape, quote
from shellward.environments.machine import descriptors

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.environments.process import Process

_BLOCK: Final = 1 << 16
_PIECE: Final = 4096
"""Bytes that a FIFO takes whole or not at all (pipe(7), PIPE_BUF): so it is known how many were taken."""
_LOOK_AGAIN: Final = 5.0
"""Seconds after which a silent process is looked at anyway: its supervisor may have been killed."""


def word(path: str) -> str:
    """Quote a path for a shell."""
    return quote(path.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _run(environment: "Environment", text: str, timeout: float | None = None) -> bytes:
    """Run a script of this module in a shell of its own; what it printed."""
    parts: list[bytes] = []

    def sink(chunk: Chunk) -> None:
        if chunk.stream is StreamName.STDOUT:
            parts.append(chunk.data)

    with held(), environment.helper() as shell:
        call = make_call(text, timeout=timeout, max_output=0, full_output=False)
        result = environment.run_on(shell, call, sink)
    if result.exit_code < 0 or result.signal is not None:
        raise ConnectionLost("the shell that looked at a process in the sandbox was killed", result)
    return b"".join(parts)


def read(environment: "Environment", path: str, offset: int | None, limit: int | None) -> Log:
    """Return a piece of a file.

    Args:
        environment: where.
        path: of the file.
        offset: of the first byte; negative: from the end; None: so that ``limit`` bytes are left.
        limit: most bytes; None: to the end.

    Raises:
        FileNotFoundError: there is no such file.
        ConfigError: ``limit`` is below 0.
    """
    if limit is not None and limit < 0:
        raise ConfigError(f"limit: needs a number of bytes, not {limit!r}")
    if offset is None:
        offset = -limit if limit else 0
        if limit == 0:
            offset, limit = 0, 0
    # In whole blocks, since every dd can seek by those; the rest is cut off here.
    start = f"o={offset};if [ $o -lt 0 ];then o=$((s+o));fi;if [ $o -lt 0 ];then o=0;fi;"
    length = f"l={'$s' if limit is None else limit};if [ $((o+l)) -gt $s ];then l=$((s-o));fi;"
    copy = (
        f'printf "%s %s %s\\n" $s $o $l;if [ $l -gt 0 ];then b=$((o/{_BLOCK}));'
        f'dd if="$f" bs={_BLOCK} skip=$b count=$(((o+l-1)/{_BLOCK}-b+1)) 2>/dev/null;fi'
    )
    text = f'f={word(path)};s=$(stat -c %s -- "$f" 2>/dev/null)||exit 0;{start}{length}{copy}'
    answer = _run(environment, f"({text})")
    head, newline, data = answer.partition(b"\n")
    if not newline:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    size, first, length_ = (int(number) for number in head.split())
    cut = first % _BLOCK
    return Log(data[cut : cut + max(0, length_)], first, size)


def lines(environment: "Environment", path: str, start: int | None, count: int | None) -> list[str]:
    """Return lines of a file; see ``Process.lines``."""
    if start is None:
        return _last_lines(environment, path, count)
    found: list[str] = []
    at, rest, skip = 0, b"", start
    while count is None or len(found) < count:
        piece = read(environment, path, at, 1 << 20)
        if not piece.data:
            break
        at = piece.next
        parts = (rest + piece.data).split(b"\n")
        rest = parts.pop()
        found += [part.decode("utf-8", "replace") for part in parts[skip:]]
        skip = max(0, skip - len(parts))
    if rest and not skip:
        found.append(rest.decode("utf-8", "replace"))
    return found if count is None else found[:count]


def _last_lines(environment: "Environment", path: str, count: int | None) -> list[str]:
    piece = read(environment, path, None, _BLOCK)
    data, first = piece.data, piece.offset
    while first > 0 and (count is None or data.count(b"\n", 0, -1) < count):
        more = min(first, max(_BLOCK, len(data)))
        first -= more
        data = read(environment, path, first, more).data + data
    whole = data.split(b"\n")
    if whole and not whole[-1]:
        whole.pop()
    kept = whole if count is None else whole[len(whole) - min(count, len(whole)) :]
    return [line.decode("utf-8", "replace") for line in kept]


def follow(
    environment: "Environment", process: "Process", path: str, offset: int, timeout: float | None
) -> Generator[bytes, None, None]:
    """Yield a file's bytes as they come, until its process has ended; see ``Process.follow``."""
    # tail skips what is there, and no more: where the place lies beyond the end, what comes first is left out here.
    now = read(environment, path, min(offset, 0), 0)
    if offset < 0:
        offset = now.offset
    deadline = None if timeout is None else time.monotonic() + timeout
    at, until = min(offset, now.size), None
    with ExitStack() as stack:
        wake = _Wake()
        stack.callback(wake.close)
        stack.enter_context(environment.exits.expect(process.id, wake.set))
        channel = environment.follower(path, at, process.user)
        stack.callback(channel.close)
        wait = select.poll()
        wait.register(channel.fileno(), select.POLLIN)
        wait.register(wake.reader, select.POLLIN)
        wake.set()  # it may have ended before
        while until is None or at < until:
            left = _LOOK_AGAIN if deadline is None else min(_LOOK_AGAIN, deadline - time.monotonic())
            if left <= 0:
                return
            pieces = channel.read(0)
            if pieces is None:
                raise ConnectionLost("the connection to the sandbox ended")
            for piece in pieces:
                if piece.stream is StreamName.STDOUT and piece.data:
                    wanted = piece.data[max(0, offset - at) :]
                    at += len(piece.data)
                    if wanted:
                        yield wanted
            if not pieces and (not (events := wait.poll(left * 1000)) or wake.reader in dict(events)) and until is None:
                wake.clear()
                if not process.poll().running:
                    until = read(environment, path, 0, 0).size


def whole(environment: "Environment", process: "Process", path: str, offset: int) -> Generator[bytes, None, None]:
    """Yield what there is of a file now, through a channel of its own; see ``Process.whole``."""
    now = read(environment, path, min(offset, 0), 0)
    at = now.offset if offset < 0 else min(offset, now.size)
    left = now.size - at
    if not left:
        return
    channel = environment.printer(path, at, process.user)
    try:
        while left > 0:
            pieces = channel.read(None)
            if pieces is None:
                raise ConnectionLost("the connection to the sandbox ended")
            for piece in pieces:
                if piece.stream is StreamName.STDOUT and left > 0:
                    wanted = piece.data[:left]
                    left -= len(wanted)
                    yield wanted
    finally:
        channel.close()


class _Wake:
    """A descriptor that is readable once ``set`` was called."""

    def __init__(self) -> None:
        with descriptors("follow a process"):
            self.reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._lock = threading.Lock()
        self._closed = False

    def set(self) -> None:
        with self._lock:
            if not self._closed:
                with suppress(BlockingIOError):  # full, so it is readable
                    os.write(self._writer, b"x")

    def clear(self) -> None:
        with suppress(BlockingIOError):
            os.read(self.reader, 1 << 16)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            os.close(self.reader)
            os.close(self._writer)


def write(environment: "Environment", process: "Process", data: bytes, timeout: float) -> int:
    """Write to a FIFO; see ``Process.write``."""
    directory = process.directory
    pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)]
    puts = "".join(
        f"printf %b {quote(printf_escape(piece)).decode('ascii')} >&4||{{ echo broken;exit;}};echo {len(piece)}\n"
        for piece in pieces
    )
    text = (
        f"(d={word(directory)};trap '' PIPE\n"
        'if read -r s <"$d/status"||[ ! -p "$d/in" ];then echo broken;exit;fi\n'
        f'exec 3<>"$d/in" 4>"$d/in" 3>&-||exit\n{puts}echo done) 2>/dev/null'
    )
    said = _run(environment, text, timeout).split()
    taken = sum(int(number) for number in said if number.isdigit())
    if said[-1:] == [b"done"]:
        return taken
    if said[-1:] == [b"broken"]:
        raise BrokenPipeError(errno.EPIPE, f"its input is closed; {taken} of {len(data)} bytes were taken", process.id)
    message = f"it did not read its input within {timeout:g} s; {taken} of {len(data)} bytes were taken"
    raise BlockingIOError(errno.EAGAIN, message, taken)
