"""One connection: reached, its host key verified, logged in. It fails in time, and says what to do."""

import contextlib
import logging
import math
import random
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.ssh.config import SshConfig
from shellward.environments.ssh.hostkeys import KnownHosts
from shellward.environments.ssh.link import Link, dial, spawn
from shellward.environments.ssh.login import log_in
from shellward.environments.ssh.sdk import sdk
from shellward.environments.ssh.target import Target

_WINDOW: Final = 1 << 23
_PACKET: Final = 1 << 17
"""Sizes that let a flood through at the full rate; what paramiko asks for by itself halves it."""
_REKEY_BYTES: Final = 1 << 35
_REKEY_PACKETS: Final = 1 << 31
"""When keys are changed. OpenSSH does so for AES after 64 GB or 2^31 packets (RFC 4344, section 3)."""
_FALL: Final = 0.1
_MOST_AT_ONCE: Final = 6
_PAUSES: Final = (0.2, 0.5, 1.0)
"""Seconds after which somebody who was turned away comes again, at the most."""
_LOG: Final = "shellward.ssh.paramiko"
_GLOBAL_REQUEST: Final = b"\x50"
"""RFC 4254, section 4."""
_CHANNEL_REQUEST: Final = 98
"""RFC 4254, section 9."""
_entrances: weakref.WeakValueDictionary[tuple[str, int], threading.Semaphore] = weakref.WeakValueDictionary()
_lock: Final = threading.Lock()


class Connection:
    """An open connection.

    Attributes:
        transport: paramiko's.
        target: whose.
        channels: how many are open or being opened; the pool counts.
        served: it has given a channel.
        refused: monotonic time at which it last refused a channel.
    """

    def __init__(self, transport: Any, link: Link, target: Target, before: "Connection | None") -> None:
        self.transport = transport
        self.target = target
        self.channels = 0
        self.served = False
        self.refused = 0.0
        self._link = link
        self._before = before

    @property
    def alive(self) -> bool:
        """Whether it can take a channel, as far as is known."""
        return bool(self.transport.is_active())

    @property
    def heard(self) -> float:
        """Monotonic time at which the host was last heard of."""
        return self._link.heard

    def ask(self) -> None:
        """Ask the host for a sign of life, without waiting for it."""
        self._link.ask()

    def why_lost(self) -> str:
        """Say why it has ended; empty: it has not."""
        if not self._link.lost:
            self.transport.join(_FALL)  # its channels end a moment before it says so itself
            if self.alive:
                return ""
        why = self._link.lost or str(self.transport.saved_exception or "") or "it was closed by the other side"
        return f"the connection to {self.target.name} is lost: {why}"

    def close(self) -> None:
        """Close it and those below. Idempotent."""
        self._link.probe = None
        self._link.close()
        self.transport.close()
        self.transport.join(1.0)
        if self._before is not None:
            self._before.close()


class _TurnedAway(EnvironmentUnavailable):
    """The host has hung up before it said anything."""


def connect(target: Target, settings: SshConfig, deadline: float | None = None) -> Connection:
    """Connect and log in.

    A server drops some of those who come while many others are on their way in (sshd_config, MaxStartups: from ten
    on). So this process sends fewer than that at once, and who is turned away comes again: nothing has run.

    Args:
        target: where.
        settings: limits, and the passphrases' callback.
        deadline: monotonic time by which it has to be there; None: as the settings say.

    Raises:
        EnvironmentUnavailable: nobody answers there, it is not who it should be, or it does not let us in.
    """
    with contextlib.ExitStack() as stack:
        before = None
        if target.jump is not None and target.command is None:
            before = connect(target.jump, settings, deadline)
            stack.callback(before.close)
        made = _let_in(target, settings, before, deadline)
        stack.pop_all()
    return made


def _let_in(target: Target, settings: SshConfig, before: Connection | None, deadline: float | None) -> Connection:
    until = deadline or math.inf
    for pause in _PAUSES:
        try:
            with _entrance(target):
                until = min(until, time.monotonic() + settings.connect_timeout)
                return _enter(target, settings, before, until)
        except _TurnedAway:
            if time.monotonic() + pause > until:
                raise
            time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  # so that those who were turned away part
    with _entrance(target):
        return _enter(target, settings, before, until)


def _enter(target: Target, settings: SshConfig, before: Connection | None, deadline: float) -> Connection:
    with contextlib.ExitStack() as stack:
        link = _reach(target, settings, before, deadline)
        stack.callback(link.close)
        transport = _transport(target, link)
        stack.callback(transport.packetizer.complete_handshake)  # else its timer's thread stays until the time is up
        stack.callback(transport.close)
        with _explained(target, transport, link):
            _shake_hands(target, transport, deadline)
            log_in(target, transport, settings, deadline)
        link.probe = lambda: _probe(transport)
        stack.pop_all()
    return Connection(transport, link, target, before)


def _entrance(target: Target) -> threading.Semaphore:
    """Return what all connections to a server have in common while they are made."""
    with _lock:
        return _entrances.setdefault((target.address, target.port), threading.Semaphore(_MOST_AT_ONCE))


def _left(deadline: float) -> float:
    return max(0.1, deadline - time.monotonic())


def _reach(target: Target, settings: SshConfig, before: Connection | None, deadline: float) -> Link:
    where = f"{target.address} port {target.port}"
    paramiko = sdk()
    try:
        if target.command is not None:
            stream, process = spawn(target.command)
            return Link(stream, settings.keepalive, process)
        if before is None:
            return Link(dial(target.address, target.port, _left(deadline)), settings.keepalive)
        channel = before.transport.open_channel(
            "direct-tcpip", (target.address, target.port), ("127.0.0.1", 0), timeout=_left(deadline)
        )
        return Link(channel, settings.keepalive)
    except socket.gaierror as error:
        raise EnvironmentUnavailable(
            f"there is no host {target.address!r} ({error.strerror}); see ssh: host"
        ) from error
    except TimeoutError as error:
        raise EnvironmentUnavailable(
            f"{where} does not answer within {settings.connect_timeout:g} s; is the host up, is a firewall between?"
        ) from error
    except ConnectionRefusedError as error:
        raise EnvironmentUnavailable(f"{where} refuses connections; does an SSH server run there?") from error
    except (OSError, paramiko.SSHException) as error:
        through = f" through {before.target.name}" if before is not None else ""
        raise EnvironmentUnavailable(f"{where} cannot be reached{through}: {error}") from error


def _transport(target: Target, link: Link) -> Any:
    paramiko = sdk()
    transport = paramiko.Transport(link, default_window_size=_WINDOW, default_max_packet_size=_PACKET)
    # Errors are raised; what it logs of them is for those who ask for this logger.
    logger = logging.getLogger(_LOG)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    transport.set_log_channel(_LOG)
    options = transport.get_security_options()
    # One pass of hardware instead of two over each packet: three times as fast as the cipher paramiko takes first.
    quick = [name for name in ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com") if name in options.ciphers]
    options.ciphers = tuple(quick + [name for name in options.ciphers if name not in quick])
    KnownHosts(target).prefer(transport)
    handlers = transport._channel_handler_table  # noqa: SLF001  # there is no other way in
    usual = handlers[_CHANNEL_REQUEST]
    transport._channel_handler_table = {**handlers, _CHANNEL_REQUEST: partial(_channel_request, usual)}  # noqa: SLF001
    return transport


def _channel_request(usual: Callable[[Any, Any], None], channel: Any, message: Any) -> None:
    """Take the signal that has ended a process (RFC 4254, section 6.10), which paramiko drops, as a shell would."""
    begin = message.packet.tell()
    if message.get_text() == "exit-signal":
        message.get_boolean()
        name = f"SIG{message.get_text()}"
        if name in signal.Signals.__members__:
            channel.exit_status = 128 + signal.Signals[name]
            channel.status_event.set()
        return
    message.packet.seek(begin)
    usual(channel, message)


def _shake_hands(target: Target, transport: Any, deadline: float) -> None:
    transport.banner_timeout = transport.handshake_timeout = _left(deadline)
    transport.start_client(timeout=_left(deadline))
    KnownHosts(target).verify(transport.get_remote_server_key())
    if str(transport.local_cipher).startswith("aes"):
        transport.packetizer.REKEY_BYTES = _REKEY_BYTES
        transport.packetizer.REKEY_PACKETS = _REKEY_PACKETS


@contextlib.contextmanager
def _explained(target: Target, transport: Any, link: Link) -> Iterator[None]:
    paramiko = sdk()
    name = f"{target.name} ({target.address} port {target.port})"
    try:
        yield
    except (paramiko.SSHException, EOFError, OSError) as error:
        cause = transport.saved_exception or error
        detail = link.lost or " ".join(str(cause).split())[:200] or type(cause).__name__
        closed = any(isinstance(each, EOFError | ConnectionError) for each in (cause, cause.__context__))
        if closed and not transport.initial_kex_done and not link.lost:
            said = "it has agreed on keys" if transport.remote_version else "it speaks SSH"
            raise _TurnedAway(
                f"{name} accepts connections and closes them before {said}; "
                "is that an SSH server, and has it room for one more (MaxStartups)?"
            ) from error
        if "banner" in detail or "timed out" in detail.lower() or isinstance(cause, EOFError | TimeoutError):
            raise EnvironmentUnavailable(
                f"{name} accepts connections but does not speak SSH in time: {detail}; is that an SSH server?"
            ) from error
        raise EnvironmentUnavailable(f"no agreement with the SSH server of {name}: {detail}") from error


def _probe(transport: Any) -> None:
    """Ask for a sign of life: a request that nobody knows has to be refused (RFC 4254, section 4)."""
    if not transport.clear_to_send.is_set():
        return  # keys are being changed, which the other side has to answer, too
    message = sdk().Message()
    message.add_byte(_GLOBAL_REQUEST)
    message.add_string("keepalive@openssh.com")
    message.add_boolean(True)
    transport._send_user_message(message)  # noqa: SLF001  # global_request() waits, and this is the thread that reads
