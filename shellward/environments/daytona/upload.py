"""Uploads past the shell: the data of a file goes to the toolbox by the SDK, as one request that is sent as it is read.

The toolbox puts another file, one that all may read, in the place of what is there. So it is given a directory of our
own beside that, and the shell moves what came. Downloads do not need this: a channel is as fast.
"""

import contextlib
import errno
import io
import secrets
import shlex
from collections.abc import Iterable, Iterator
from typing import Any, Final

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.environments.daytona.client import explained, sdk, short

_CALL: Final = 30
_SILENCE: Final = 120
"""Seconds for which the network may take nothing."""
_REFUSED: Final = 400
"""What the toolbox answers when it cannot write a file."""
_WORDS: Final = {
    "no space left on device": errno.ENOSPC,
    "disk quota exceeded": errno.EDQUOT,
    "file too large": errno.EFBIG,
    "read-only file system": errno.EROFS,
}


def put(sandbox: Any, path: str, chunks: Iterable[bytes]) -> bool:
    """Fill a file that is there; False when the toolbox does not see it, or takes nothing now.

    Then nothing was taken from ``chunks``.

    Raises:
        OSError: the toolbox cannot write it.
        ConnectionLost: the connection broke.
        EnvironmentUnavailable: Daytona refuses.
    """
    try:
        path.encode()
    except UnicodeEncodeError:  # the request is JSON, and knows characters alone
        return False
    own = f"{path}.{secrets.token_hex(4)}"
    here, there, data = shlex.quote(path), shlex.quote(own), shlex.quote(f"{own}/data")
    try:
        if _run(sandbox, f"[ -f {here} ] && mkdir -m 700 -- {there}"):
            return False
    except ConnectionLost:
        return False  # the shell's channels may be better off, and say more
    moved = False
    try:
        source = _Source(chunks)
        _send(sandbox, source, f"{own}/data", path)
        whole = f'[ "$(stat -c %s -- {data})" = {source.count} ]'
        if _run(sandbox, f"chmod 600 {data} && {whole} && mv -f -- {data} {here} && rmdir -- {there}"):
            raise OSError(errno.EIO, f"{source.count} bytes were sent, and are not there", path)
        moved = True
    finally:
        if not moved:
            with contextlib.suppress(ConnectionLost):
                _run(sandbox, f"rm -rf -- {there}")
    return True


def _send(sandbox: Any, source: "_Source", target: str, path: str) -> None:
    daytona = sdk()
    try:
        sandbox.fs.upload_file_stream(source, target, timeout=_SILENCE)
    except daytona.DaytonaError as error:
        if source.error is not None:  # the SDK calls that an error of its own
            raise source.error from None
        status = getattr(error, "status_code", None)
        if status == _REFUSED:
            said = str(error)
            number = next((each for words, each in _WORDS.items() if words in said.lower()), errno.EIO)
            raise OSError(number, f"the toolbox: {short(said)}", path) from error
        if status is None:
            raise ConnectionLost(explained(error, f"upload of {path}")) from error
        raise EnvironmentUnavailable(explained(error, f"upload of {path}")) from error


def _run(sandbox: Any, command: str) -> int:
    """Run a line of shell; returns its exit status.

    Raises:
        ConnectionLost: Daytona did not answer, or refused.
    """
    daytona = sdk()
    try:
        return int(sandbox.process.exec(f"exec sh -c {shlex.quote(command)}", timeout=_CALL).exit_code)
    except daytona.DaytonaError as error:
        raise ConnectionLost(explained(error, "upload")) from error


class _Source(io.RawIOBase):
    """Pieces as a file that is read once.

    Attributes:
        count: bytes that were read.
        error: what the pieces raised.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)
        self._rest = memoryview(b"")
        self.count = 0
        self.error: Exception | None = None

    def readable(self) -> bool:
        """See RawIOBase."""
        return True

    def read(self, size: int = -1) -> bytes:
        """See RawIOBase; fewer bytes than were asked for, and none at the end alone."""
        while not self._rest:
            try:
                piece = next(self._chunks, None)
            except Exception as error:
                self.error = error
                raise
            if piece is None:
                return b""
            self._rest = memoryview(piece)
        taken = bytes(self._rest if size < 0 else self._rest[:size])
        self._rest = self._rest[len(taken) :]
        self.count += len(taken)
        return taken
