"""Uploads past the shell: the data of a file goes to the toolbox by the SDK, in requests of some MiB.

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
from shellward.environments.daytona.client import again, explained, sdk, short

_CALL: Final = 30
_PART: Final = 2 << 20
"""Bytes of one request; they are held until the toolbox has them."""
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
        if _run(sandbox, f"[ -f {here} ] && {{ [ -d {there} ] || mkdir -m 700 -- {there}; }}"):
            return False
    except ConnectionLost:
        return False  # the shell's channels may be better off, and say more
    moved = False
    try:
        count = 0
        for number, part in enumerate(_parts(chunks)):
            _send(sandbox, part, f"{own}/data{number or ''}", path)
            count += len(part)
            if number:
                more = shlex.quote(f"{own}/data{number}")
                # Twice is as once: what is there already is cut off again.
                append = f"truncate -s {count - len(part)} -- {data} && cat -- {more} >>{data}"
                if _run(sandbox, f"[ ! -e {more} ] || {{ {append} && rm -f -- {more}; }}"):
                    raise OSError(errno.EIO, f"{count} bytes were sent, and are not there", path)
        whole = f'[ "$(stat -c %s -- {data})" = {count} ]'
        came = f'[ ! -d {there} ] && [ "$(stat -c %s -- {here})" = {count} ]'
        move = f"chmod 600 {data} && {whole} && mv -f -- {data} {here} && rmdir -- {there}"
        if _run(sandbox, f"{{ {came}; }} || {{ {move}; }}"):
            raise OSError(errno.EIO, f"{count} bytes were sent, and are not there", path)
        moved = True
    finally:
        if not moved:
            with contextlib.suppress(ConnectionLost):
                _run(sandbox, f"rm -rf -- {there}")
    return True


def _parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Put pieces together to parts, at least one: what is refused for now has to be sent again."""
    held: list[bytes] = []
    size = 0
    sent = False
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= _PART:
            yield b"".join(held)
            held, size, sent = [], 0, True
    if held or not sent:
        yield b"".join(held)


def _send(sandbox: Any, part: bytes, target: str, path: str) -> None:
    daytona = sdk()

    def send() -> None:
        with io.BytesIO(part) as body:  # closed, since what the SDK keeps of a request would hold it for a while
            sandbox.fs.upload_file_stream(body, target, timeout=_SILENCE)

    try:
        again(send)
    except daytona.DaytonaError as error:
        status = getattr(error, "status_code", None)
        if status == _REFUSED:
            said = str(error)
            number = next((each for words, each in _WORDS.items() if words in said.lower()), errno.EIO)
            raise OSError(number, f"the toolbox: {short(said)}", path) from error
        if status is None:
            raise ConnectionLost(explained(error, f"upload of {path}")) from error
        raise EnvironmentUnavailable(explained(error, f"upload of {path}")) from error


def _run(sandbox: Any, command: str) -> int:
    """Run a line of shell, one that may run twice; returns its exit status.

    Raises:
        ConnectionLost: Daytona did not answer, or refused.
    """
    daytona = sdk()
    try:
        text = f"exec sh -c {shlex.quote(command)}"
        return int(again(lambda: sandbox.process.exec(text, timeout=_CALL)).exit_code)
    except daytona.DaytonaError as error:
        raise ConnectionLost(explained(error, "upload")) from error
