"""The connections of one environment: a server takes so many channels on each (MaxSessions), so there are several."""

import math
import threading
import time
from typing import Any, Final

from shellward.core.errors import EnvironmentUnavailable, Unsupported
from shellward.environments.ssh.config import SshConfig
from shellward.environments.ssh.connection import Connection, connect
from shellward.environments.ssh.sdk import sdk
from shellward.environments.ssh.target import Target

_MAX_SESSIONS: Final = 10
"""What OpenSSH's server allows unless told otherwise (sshd_config, MaxSessions)."""
_PAUSE: Final = 1.0
"""Seconds for which a connection that refused a channel is let alone: one that was closed may still be on its way."""
_OPEN_LIMIT: Final = 10.0
_MOST_FAILURES: Final = 2
_PROHIBITED: Final = 1
"""RFC 4254, section 5.1."""


class Pool:
    """Opens channels, on connections that it makes as they are needed. Thread-safe.

    Args:
        target: where.
        settings: limits and keys.

    Attributes:
        generation: changes with each connection that is made when there is none.
    """

    def __init__(self, target: Target, settings: SshConfig) -> None:
        self._target = target
        self._settings = settings
        self._lock = threading.Lock()
        self._connecting = threading.Lock()
        self._connections: list[Connection] = []
        self._limit = _MAX_SESSIONS
        self._closed = False
        self._failed = (-math.inf, "")
        """When the host could last not be reached, and why."""
        self.generation = 0

    def connect(self) -> None:
        """See that there is a connection.

        Raises:
            EnvironmentUnavailable: see ``connect``.
        """
        self._release(self._connection(()))

    def open(self) -> tuple[Any, Connection]:
        """Open a channel; ``release`` gives it back.

        Raises:
            EnvironmentUnavailable: the host cannot be reached, or allows no channel at all.
        """
        paramiko = sdk()
        refused: list[Connection] = []
        failed = 0
        while True:
            connection = self._connection(refused)
            try:
                channel = connection.transport.open_session(timeout=_OPEN_LIMIT)
            except (paramiko.SSHException, EOFError, OSError) as error:
                if connection.alive:
                    # Others have commands on it, so it stays. Of refusals that come at the same time paramiko (5.1)
                    # tells one thread alone what they are: Transport.get_exception empties what all of them share.
                    fresh = self._refused(connection, certain=isinstance(error, paramiko.ChannelException))
                    refused.append(connection)
                    if fresh:
                        raise EnvironmentUnavailable(f"{self._target.name} opens no session: {error}") from error
                    continue
                self._release(connection)
                why = connection.why_lost() or f"{self._target.name} opens no session: {error or 'no answer'}"
                connection.close()
                # Nothing was started on it, so another connection may be asked.
                failed += 1
                if failed > _MOST_FAILURES:
                    raise EnvironmentUnavailable(why) from error
            except BaseException:
                self._release(connection)
                raise
            else:
                connection.served = True
                return channel, connection

    def tunnel(self, port: int) -> tuple[Any, Connection]:
        """Open a channel to a TCP port of the host; ``release`` gives it back.

        Raises:
            Unsupported: the host forbids it.
            EnvironmentUnavailable: nobody listens there, or the host cannot be reached.
        """
        paramiko = sdk()
        connection = self._connection(())
        try:
            to = ("localhost", port)
            channel = connection.transport.open_channel("direct-tcpip", to, ("127.0.0.1", 0), timeout=_OPEN_LIMIT)
        except BaseException as error:
            self._release(connection)
            if isinstance(error, paramiko.ChannelException) and error.code == _PROHIBITED:
                how = "its server forbids it (sshd_config: AllowTcpForwarding, PermitOpen)"
                raise Unsupported(f"expose port {port}", "ssh", how) from error
            if isinstance(error, paramiko.SSHException | EOFError | OSError):
                why = connection.why_lost() or f"port {port} of {self._target.name} cannot be reached: {error}"
                raise EnvironmentUnavailable(why) from error
            raise
        return channel, connection

    def release(self, connection: Connection) -> None:
        """Take back a channel that was closed. A further connection that has none any more is closed."""
        self._release(connection)
        with self._lock:
            idle = [each for each in self._connections if not each.channels and each is not self._connections[0]]
            self._connections = [each for each in self._connections if each not in idle]
        for each in idle:
            each.close()

    def _release(self, connection: Connection) -> None:
        with self._lock:
            connection.channels -= 1

    def _refused(self, connection: Connection, *, certain: bool) -> bool:
        """Note that a connection gave no channel; whether it never had one, so that none is ever to be had.

        Args:
            connection: which.
            certain: the host has said so; else it may only have been slow.
        """
        with self._lock:
            connection.channels -= 1
            connection.refused = time.monotonic()
            if connection.channels and certain:
                self._limit = max(1, min(self._limit, connection.channels))
            return not connection.served and not connection.channels

    def _connection(self, without: "list[Connection] | tuple[()]") -> Connection:
        """Reserve a channel on a connection that has room; make one where none has."""
        if found := self._with_room(without):
            return found
        since = time.monotonic()
        with self._connecting:  # servers turn away those who come in a crowd (MaxStartups)
            if found := self._with_room(without):
                return found
            when, why = self._failed
            if when > since:  # others have tried since: each would wait as long again for the same answer
                raise EnvironmentUnavailable(why)
            try:
                made = connect(self._target, self._settings)
            except EnvironmentUnavailable as error:
                self._failed = (time.monotonic(), str(error))
                raise
            with self._lock:
                if not self._closed:
                    made.channels = 1
                    # Others beside those that live are no new beginning.
                    self.generation += not self._connections
                    self._connections.append(made)
                    return made
        made.close()
        raise EnvironmentUnavailable("the environment was closed")

    def _with_room(self, without: "list[Connection] | tuple[()]") -> Connection | None:
        now = time.monotonic()
        dead: list[Connection] = []
        try:
            with self._lock:
                if self._closed:
                    raise EnvironmentUnavailable("the environment was closed")
                dead += [each for each in self._connections if not each.alive]
                self._connections = [each for each in self._connections if each not in dead]
                for each in self._connections:
                    if each.channels < self._limit and each not in without and now - each.refused > _PAUSE:
                        each.channels += 1
                        return each
        finally:
            for each in dead:
                each.close()
        return None

    def why_lost(self) -> str:
        """Say why a connection has ended; empty: none has."""
        with self._lock:
            whys = [why for each in self._connections if (why := each.why_lost())]
        return whys[0] if whys else ""

    @property
    def count(self) -> int:
        """How many connections are open."""
        with self._lock:
            return len(self._connections)

    @property
    def transports(self) -> list[Any]:
        """Those of the connections that there are now."""
        with self._lock:
            return [each.transport for each in self._connections]

    def close(self) -> None:
        """Close all. Idempotent."""
        with self._lock:
            self._closed = True
            connections, self._connections = self._connections, []
        for each in connections:
            each.close()
