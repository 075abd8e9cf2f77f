"""SSH: an environment is a directory on another machine, and the processes that belong to it.

A watchdog there (scripts/lease.sh) ends both when no client renews the lease. Nothing else is left on the host: no
file in the user's home, no program.
"""

import re
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from shellward.core.errors import ConfigError, EnvironmentUnavailable, MissingDependency, Unsupported, beside
from shellward.core.types import EnvironmentInfo, Stats
from shellward.environments import keeping
from shellward.environments.base import Capabilities, Channel, Diagnosis, OnStep, PtySize
from shellward.environments.config import parse_config
from shellward.environments.machine import descriptors
from shellward.environments.shell import within
from shellward.environments.ssh import boot, records, sftp
from shellward.environments.ssh.channel import SshChannel, abandon
from shellward.environments.ssh.config import Kept, SshConfig, check, handle_of, read_handle
from shellward.environments.ssh.forward import Forward
from shellward.environments.ssh.host import ask, call, complaint, end, find, seconds, start
from shellward.environments.ssh.inbox import Inbox
from shellward.environments.ssh.pool import Pool
from shellward.environments.ssh.sdk import sdk
from shellward.environments.ssh.target import resolve

_LOOK_LIMIT = 5.0
_START_LIMIT = 10.0
_CLEAR_LIMIT = 5.0
_TERMINAL = "xterm-256color"
_TICKS = 100
"""Of a second, in /proc/*/stat (see scripts/kill.sh)."""


class SshBackend:
    """See Backend."""

    kind = "ssh"

    def __init__(self, settings: SshConfig, pool: Pool, scratch: str, kept: Kept) -> None:
        self.settings = settings
        self.pool = pool
        self.scratch = scratch
        self.processes = f"{scratch}/processes"
        self.handle = handle_of(settings, scratch)
        self.lease: float | None = kept.lease
        self.shell = kept.shell
        self._kept = kept
        self._destroyed = False
        self._lock = threading.Lock()
        self._generation = pool.generation
        self._reviving = threading.Lock()
        self._forwards: dict[int, Forward] = {}

    @property
    def capabilities(self) -> Capabilities:
        """See Backend."""
        return Capabilities(attach=True, pty=True, expose=True, stats=True)

    def open(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        pty: PtySize | None = None,
    ) -> Channel:
        """See Backend."""
        if user is not None:
            raise Unsupported("run as another user", self.kind, "log in as that one")
        variables = {**self._kept.env, **(env or {})}
        text = boot.start(argv, variables, cwd or self._kept.cwd, self.scratch, stay=pty is not None)
        self._revive()
        if pty is not None:
            return self._terminal(text, pty)
        return start(self.pool, text)

    def put(self, path: str, chunks: Iterable[bytes]) -> bool:
        """See Putting."""
        return sftp.put(self.pool, path, chunks)

    def _terminal(self, text: bytes, size: PtySize) -> Channel:
        """Start a process with a terminal. What would be typed into that is echoed, so the script lies in a file."""
        key = boot.new_key()
        path = f"{self.scratch}/terminal.{key}"
        script = b'rm -f -- "$0"\n' + boot.sync(key, tty=True) + text + b"\n"
        call(self.pool, b"umask 077;cat >" + path.encode() + b" <<'" + key.encode() + b"'\n" + script + key.encode())
        channel, connection = self.pool.open()
        inbox = None
        try:
            with descriptors("open a terminal"):
                inbox = Inbox(channel)
            channel.get_pty(_TERMINAL, size.columns, size.rows)
            channel.exec_command(f"exec sh {path}")
        except BaseException as error:
            abandon(channel)
            if inbox is not None:
                inbox.release()
            self.pool.release(connection)
            if isinstance(error, (sdk().SSHException, EOFError, OSError)):
                raise EnvironmentUnavailable(f"{self.settings.host} gives no terminal: {error}") from error
            raise
        made = SshChannel(
            channel,
            inbox,
            boot.sync_of(key),
            lambda: self.pool.release(connection),
            connection.why_lost,
            tty=True,
        )
        made.await_start(_START_LIMIT)
        return made

    def _revive(self) -> None:
        """After a connection was lost: see that the environment is there still, and somebody watches over it."""
        self.pool.connect()
        if self._generation == self.pool.generation:
            return
        with self._reviving:
            if self._generation == (generation := self.pool.generation):
                return
            find(self.pool, self.scratch, self.handle, self._kept.lease)
            self._generation = generation

    def explain_loss(self) -> str:
        """See Backend."""
        return self.pool.why_lost()

    def destroy(self) -> None:
        """See Backend."""
        with self._lock:
            if self._destroyed:
                return
            self._destroyed = True
        try:
            end(self.pool, self.scratch)
        except EnvironmentUnavailable as error:
            raise EnvironmentUnavailable(
                f"cannot end {self.handle} now, its lease of {self._kept.lease:g} s will ({error})"
            ) from error
        else:
            records.forget(self.handle)
        finally:
            self._end_forwards()
            self.pool.close()

    def detach(self) -> None:
        """See Backend."""
        self._end_forwards()
        self.pool.close()

    def snapshot(self) -> str:
        """See Backend."""
        raise Unsupported("take snapshots", self.kind)

    def restore(self, snapshot: str) -> None:
        """See Backend."""
        raise Unsupported(f"go back to snapshot {snapshot!r}", self.kind)

    def expose(self, port: int) -> str:
        """See Backend. As long as this client is there: through its connections."""
        with self._lock:
            if port not in self._forwards:
                self._revive()
                with suppress(EnvironmentUnavailable):  # nobody listens there yet
                    channel, connection = self.pool.tunnel(port)
                    abandon(channel)
                    self.pool.release(connection)
                self._forwards[port] = Forward(lambda: self._tunnel(port))
            return self._forwards[port].address

    def _tunnel(self, port: int) -> tuple[Any, Callable[[], None]]:
        channel, connection = self.pool.tunnel(port)
        return channel, lambda: self.pool.release(connection)

    def _end_forwards(self) -> None:
        with self._lock:
            forwards, self._forwards = list(self._forwards.values()), {}
        for each in forwards:
            each.close()

    def stats(self) -> Stats:
        """See Backend. Of the processes that live now; the host's own and others' are not among them."""
        ticks, pages, count, page = map(int, call(self.pool, keeping.usage(self.scratch)).split())
        return Stats(cpu_seconds=ticks / _TICKS, memory_bytes=pages * page, pids=count)


def create(config: Mapping[str, object], progress: OnStep | None = None) -> SshBackend:
    """See BackendFactory."""
    sdk()
    settings = parse_config(SshConfig, config, "ssh")
    check(settings)
    target = resolve(settings)
    if progress is not None:
        progress(f"connecting to {target.user}@{target.address} port {target.port}")
    pool = Pool(target, settings)
    name = secrets.token_hex(10)
    may_be_there = False
    try:
        pool.connect()
        kept = Kept(cwd="", env=settings.env, lease=settings.lease, shell=settings.shell)
        text = keeping.setup(name, msgspec.json.encode(kept), settings.cwd, seconds(settings.lease))
        may_be_there = True
        answer = ask(pool, text)
        may_be_there = answer.status in {0, None}
        where = re.search(rf"^(/.*/shellward-{name})\n(/.*)\n\Z", answer.out, re.MULTILINE | re.DOTALL)
        if answer.status != 0 or where is None:
            raise EnvironmentUnavailable(f"{target.user}@{target.name}: {complaint(answer)}")  # noqa: TRY301
        backend = SshBackend(settings, pool, where[1], msgspec.structs.replace(kept, cwd=where[2]))
        records.note(backend.handle, settings.lease)
    except BaseException as error:
        try:
            with beside(error):
                if may_be_there:
                    within(_CLEAR_LIMIT, partial(call, pool, keeping.clear(name)))
        finally:
            pool.close()
        raise
    return backend


def attach(handle: str) -> SshBackend:
    """See BackendFactory."""
    sdk()
    settings, scratch = read_handle(handle)
    pool = Pool(resolve(settings), settings)
    try:
        pool.connect()
        kept = find(pool, scratch, handle)
    except BaseException:
        pool.close()
        raise
    return SshBackend(settings, pool, scratch, kept)


def remove(handle: str) -> bool:
    """See BackendFactory."""
    sdk()
    settings, scratch = read_handle(handle)
    pool = Pool(resolve(settings), settings)
    try:
        ended = end(pool, scratch)
    finally:
        pool.close()
    records.forget(handle)
    return ended


def forget(handle: str) -> bool:
    """See Forgetting."""
    return records.forget(handle)


def list_environments() -> Sequence[EnvironmentInfo]:
    """See BackendFactory. Those that clients of this user on this machine have made; each host is asked."""
    return records.listed(_state)


def _state(handle: str) -> str:
    """Ask a host whether an environment is there: ``running``, ``gone`` or ``unreachable``."""
    try:
        settings, scratch = read_handle(handle)
        pool = Pool(resolve(settings), settings)
    except ConfigError:
        return "unreachable"
    try:
        there = call(pool, b"if [ -O " + boot.quoted(scratch) + b" ];then echo yes;fi", _LOOK_LIMIT)
    except EnvironmentUnavailable:
        return "unreachable"
    finally:
        pool.close()
    return "running" if there else "gone"


def doctor() -> Diagnosis:
    """See BackendFactory. Whether a host answers, only ``create`` can say."""
    try:
        version: Any = sdk().__version__
    except MissingDependency as error:
        return Diagnosis("ssh", works=False, summary="paramiko is not installed", advice=str(error))
    notes = [] if _agent_is_there() else ["no agent answers (SSH_AUTH_SOCK); keys are read from their files"]
    return Diagnosis("ssh", works=True, summary=f"paramiko {version}", notes=tuple(notes))


def _agent_is_there() -> bool:
    paramiko = sdk()
    try:
        agent = paramiko.Agent()
    except paramiko.SSHException:
        return False
    try:
        return bool(agent.get_keys())
    finally:
        agent.close()
