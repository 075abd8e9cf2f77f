"""Uploads over SFTP: the data of a file goes past the shell. Where a server has no SFTP, files.py has its own way.

Downloads do not use it: what paramiko reads over SFTP comes at a tenth of the rate of a channel.
"""

import errno
from collections.abc import Iterable
from typing import Any

from shellward.core.errors import ConnectionLost
from shellward.environments.ssh.pool import Pool
from shellward.environments.ssh.sdk import sdk

_ANSWER = 10.0
"""Seconds within which a server has to say that it speaks SFTP."""
_REQUEST = 1 << 15
"""Bytes per request that every server takes (draft-ietf-secsh-filexfer-02, section 3)."""


def put(pool: Pool, path: str, chunks: Iterable[bytes]) -> bool:
    """Write a file that is there over SFTP; False when the server has none, or sees other paths than its shells.

    Then nothing was taken from ``chunks``.

    Raises:
        OSError: the server refuses to write; SFTP has no word for why.
        ConnectionLost: the connection broke.
    """
    paramiko = sdk()
    channel, connection = pool.open()
    try:
        file = _opened(channel, path)
        if file is None:
            return False
        try:
            sent = _send(file, chunks)
            # What fails among writes that were not waited for is not always told (paramiko 5.1).
            if (there := file.sftp.stat(path).st_size) != sent:
                raise OSError(errno.EIO, f"{there} bytes of {sent} were taken", path)  # noqa: TRY301
        except (EOFError, paramiko.SSHException) as error:
            raise ConnectionLost(connection.why_lost() or "the connection ended while a file was sent") from error
        except OSError as error:
            if why := connection.why_lost():
                raise ConnectionLost(why) from error
            raise
        except paramiko.SFTPError as error:
            raise OSError(errno.EIO, f"the server's SFTP: {error}", path) from error
        return True
    finally:
        channel.close()
        pool.release(connection)


def _send(file: Any, chunks: Iterable[bytes]) -> int:
    """Write without waiting for each answer; returns the number of bytes."""
    sent = 0
    file.set_pipelined(True)
    for chunk in chunks:
        for at in range(0, len(chunk), _REQUEST):
            file.write(chunk[at : at + _REQUEST])
        sent += len(chunk)
    file.close()
    return sent


def _opened(channel: Any, path: str) -> Any:
    paramiko = sdk()
    try:
        channel.invoke_subsystem("sftp")
        channel.settimeout(_ANSWER)
        file = paramiko.SFTPClient(channel).open(path, "r+b")
    except (paramiko.SSHException, paramiko.SFTPError, EOFError, OSError):
        # Refused; or what a login shell prints stands before it; or it begins elsewhere (ChrootDirectory).
        return None
    channel.settimeout(None)
    return file
