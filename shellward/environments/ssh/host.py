"""Scripts on the host, each in a channel of its own: what they print; so environments are found and ended."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.types import StreamName
from shellward.environments import keeping
from shellward.environments.machine import descriptors
from shellward.environments.ssh import boot
from shellward.environments.ssh.channel import SshChannel, abandon
from shellward.environments.ssh.config import Kept, SshConfig
from shellward.environments.ssh.inbox import Inbox
from shellward.environments.ssh.pool import Pool
from shellward.environments.ssh.sdk import sdk

if TYPE_CHECKING:
    from shellward.environments.ssh.connection import Connection

_CALL_LIMIT = 15.0
_END_LIMIT = 10.0
_PATIENCE = 5.0
_BUSY = 6
"""Times its limit that a call may take at a host that is heard of all the while: that one is busy, not gone."""

_WORDS = 400


def start(pool: Pool, text: bytes) -> SshChannel:
    """Run a script in a channel of its own.

    Raises:
        EnvironmentUnavailable: the host cannot be reached, or starts nothing.
    """
    return _start(pool, text)[0]


def _start(pool: Pool, text: bytes) -> "tuple[SshChannel, Connection]":
    key = boot.new_key()
    channel, connection = pool.open()
    inbox = None
    try:
        with descriptors("open a channel"):
            inbox = Inbox(channel)
        channel.exec_command(boot.COMMAND)
    except BaseException as error:
        abandon(channel)
        if inbox is not None:
            inbox.release()
        pool.release(connection)
        if isinstance(error, (sdk().SSHException, EOFError, OSError)):
            raise EnvironmentUnavailable(connection.why_lost() or f"the host starts nothing: {error}") from error
        raise
    sync = boot.sync_of(key)
    ours = SshChannel(channel, inbox, sync, lambda: pool.release(connection), connection.why_lost, tty=False)
    with suppress(ConnectionLost):  # it has not started: why, is to be read
        ours.write(boot.boot(boot.sync(key) + text, key), _CALL_LIMIT)
    return ours, connection


class Answer(msgspec.Struct, frozen=True):
    """What a script printed.

    Attributes:
        status: exit status; None: it was not told.
        out: its standard output.
        err: its standard error, on one line.
    """

    status: int | None
    out: str
    err: str


def ask(pool: Pool, text: bytes, limit: float = _CALL_LIMIT) -> Answer:
    """Run a script on the host and return what it printed.

    Raises:
        EnvironmentUnavailable: the host cannot be reached, is silent for ``limit`` seconds, or does not answer in six
            times that.
    """
    begun = time.monotonic()
    channel, connection = _start(pool, text)
    printed = {StreamName.STDOUT: bytearray(), StreamName.STDERR: bytearray()}
    try:
        while (pieces := channel.read(limit / 4)) is not None:
            for stream, data in pieces:
                printed[stream] += data
            now = time.monotonic()
            if now - max(begun, connection.heard) > limit or now - begun > limit * _BUSY:
                raise EnvironmentUnavailable(f"the host does not answer within {now - begun:.0f} s")
            if not pieces:
                connection.ask()
        status = channel.wait(limit)
    finally:
        channel.close()
    out, err = (bytes(data).decode("utf-8", "replace") for data in printed.values())
    return Answer(status, out, " ".join(err.split())[:_WORDS])


def call(pool: Pool, text: bytes, limit: float = _CALL_LIMIT) -> str:
    """As ``ask``, for a script that has to succeed.

    Raises:
        EnvironmentUnavailable: also when it failed.
    """
    answer = ask(pool, text, limit)
    if answer.status != 0:
        raise EnvironmentUnavailable(complaint(answer))
    return answer.out


def complaint(answer: Answer) -> str:
    """Say why a script has failed, in its own words."""
    return answer.err or " ".join(answer.out.split())[:_WORDS] or f"exit status {answer.status}"


def find(pool: Pool, scratch: str, handle: str, lease: float | None = None) -> Kept:
    """See that an environment is there, with its watchdog.

    Raises:
        EnvironmentUnavailable: it is not.
    """
    saved = call(pool, keeping.revive(scratch, seconds(lease or SshConfig(host="x").lease)))
    if not saved:
        raise EnvironmentUnavailable(f"{handle} is not there any more; create a new environment", gone=True)
    try:
        return msgspec.json.decode(saved, type=Kept)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise EnvironmentUnavailable(f"{handle} has lost its settings: {error}") from error


def seconds(lease: float) -> int:
    """Round a lease to what the watchdog counts in."""
    return max(1, round(lease))


def end(pool: Pool, scratch: str) -> bool:
    """End an environment; whether there was one."""
    deadline = time.monotonic() + _PATIENCE
    answer = ask(pool, keeping.end(scratch), _END_LIMIT)
    while answer.status is None and time.monotonic() < deadline:
        answer = ask(pool, keeping.end(scratch), _END_LIMIT)
    if answer.out.strip() not in {"ended", "none"}:
        raise EnvironmentUnavailable(complaint(answer))
    return answer.out.strip() == "ended"
