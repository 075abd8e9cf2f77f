"""The user's own machine: processes with pipes. Nothing is isolated here; variables are scrubbed by allow-list."""

import fcntl
import getpass
import os
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from shellward.core.errors import ConfigError, ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.core.types import EnvironmentInfo, Stats, StreamName
from shellward.environments.base import Capabilities, Channel, Diagnosis, OnStep, Piece, PtySize
from shellward.environments.config import BaseConfig, parse_config

# fmt: off
PASSED: Final = frozenset(
    (
        "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "PWD",
        "COLORTERM", "NO_COLOR", "EDITOR", "PAGER", "VISUAL", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "DISPLAY", "WAYLAND_DISPLAY",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
        "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy",
        "ALL_PROXY", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "NVM_DIR",
        "JAVA_HOME", "GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "LD_LIBRARY_PATH",
        "PKG_CONFIG_PATH", "PYTHONPATH", "PYTHONUNBUFFERED", "CI",
    ),
)
# fmt: on
"""Variables that a command sees; all others (tokens, keys, passwords under whatever name) stay outside."""

_PIPE = 1 << 17  # more is slower: it falls out of the second-level cache
_READ = 1 << 16


class LocalConfig(BaseConfig, kw_only=True, forbid_unknown_fields=True):
    """Settings of a local environment.

    Attributes:
        isolation: ``none``: commands run as you.
        inherit: further variables of this process to pass on, by name.
    """

    isolation: str = "none"
    inherit: list[str] = msgspec.field(default_factory=list)


class LocalChannel:
    """A process of this machine, with pipes. Reads wait in epoll, also for the death of the process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        assert process.stdin is not None  # noqa: S101  # opened with pipes, below
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        self._stdin = process.stdin
        self._streams = {process.stdout.fileno(): StreamName.STDOUT, process.stderr.fileno(): StreamName.STDERR}
        self._sizes = dict.fromkeys(self._streams, _READ)
        self._epoll = select.epoll()
        for descriptor in self._streams:
            os.set_blocking(descriptor, False)
            self._epoll.register(descriptor, select.EPOLLIN)
        os.set_blocking(self._stdin.fileno(), False)
        self._pidfd = os.pidfd_open(process.pid)
        self._epoll.register(self._pidfd, select.EPOLLIN)
        self._dead = False

    def fileno(self) -> int:
        """See Channel."""
        return self._epoll.fileno()

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        """See Channel. A process that is dead has no more to say, whoever still holds its pipes."""
        if not self._streams:
            return None
        events = self._epoll.poll(timeout)
        pieces = [piece for descriptor, _ in events if (piece := self._take(descriptor))]
        if pieces or (self._streams and not self._dead):
            return pieces
        last = [piece for descriptor in [*self._streams] if (piece := self._take(descriptor))]
        return last or None

    def _take(self, descriptor: int) -> Piece | None:
        if descriptor == self._pidfd:
            self._epoll.unregister(descriptor)
            self._dead = True
            return None
        if descriptor not in self._streams:
            return None
        size = self._sizes[descriptor]
        try:
            data = os.read(descriptor, size)
        except BlockingIOError:
            return None
        if not data:
            self._epoll.unregister(descriptor)
            del self._streams[descriptor]
            return None
        if len(data) == size < _PIPE:  # a flood: fewer, larger reads; the pipe grows with them
            self._sizes[descriptor] = _PIPE
            _grow(descriptor)
        return Piece(self._streams[descriptor], data)

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """See Channel."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._stdin.fileno(), view) :]
            except BlockingIOError:
                poller = select.poll()
                poller.register(self._stdin.fileno(), select.POLLOUT)
                if not poller.poll(None if timeout is None else timeout * 1000):
                    raise ConnectionLost(f"the process took no input for {timeout} s") from None
            except (BrokenPipeError, ValueError) as error:
                raise ConnectionLost("the process has ended, or was closed") from error

    def close_stdin(self) -> None:
        """See Channel."""
        self._stdin.close()

    def resize(self, size: PtySize) -> None:
        """See Channel."""
        del size
        raise Unsupported("resize a process without a terminal", "local")

    def wait(self, timeout: float | None = None) -> int | None:
        """See Channel."""
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        return status if status >= 0 else 128 - status

    def close(self) -> None:
        """See Channel. The process gets the end of its input, and a second to end by itself."""
        if self._epoll.closed:
            return
        self._stdin.close()
        if self.wait(1.0) is None:
            self._process.kill()
            self._process.wait()
        self._epoll.close()
        os.close(self._pidfd)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _grow(descriptor: int) -> None:
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)
    except OSError:
        # pipe(7): over the user's share (pipe-user-pages-soft) a pipe stays as it is, which is only slower.
        return


class LocalBackend:
    """See Backend. The sandbox is the machine; what is ours in it is the scratch directory."""

    kind = "local"
    lease = None

    def __init__(self, config: LocalConfig) -> None:
        self.config = config
        if config.isolation != "none":
            raise ConfigError(f"isolation: only 'none' is known, not {config.isolation!r}")
        cwd = Path(config.cwd or Path.cwd()).expanduser()
        if not cwd.is_dir():
            raise ConfigError(f"cwd: {str(cwd)!r} is not a directory")
        self._cwd = str(cwd.absolute())
        self._env = {
            name: value
            for name, value in os.environ.items()
            if name in PASSED or name.startswith("LC_") or name in config.inherit
        }
        self._env.update(config.env)
        self.scratch = tempfile.mkdtemp(prefix="shellward-", dir=_memory_backed())
        if os.geteuid() == 0:  # who runs as another user keeps input files here, and sees nobody else's
            os.chmod(self.scratch, 0o1733)  # noqa: PTH101, S103
        self.handle = f"local:{os.getpid()}.{Path(self.scratch).name.removeprefix('shellward-')}"
        self._since = time.monotonic()

    @property
    def capabilities(self) -> Capabilities:
        """See Backend."""
        return Capabilities(expose=True, user=os.geteuid() == 0)

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
        if pty is not None:
            raise Unsupported("give a process a terminal", self.kind)
        if user is not None and os.geteuid() != 0:
            raise Unsupported("run as another user", self.kind, "that needs root")
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={**self._env, **(env or {})},
                cwd=cwd or self._cwd,
                start_new_session=True,
                **_identity(user),
            )
        except OSError as error:
            raise EnvironmentUnavailable(f"cannot start {argv[0]!r}: {error}") from error
        return LocalChannel(process)

    def explain_loss(self) -> str:
        """See Backend."""
        return ""

    def destroy(self) -> None:
        """See Backend. The session above has ended the processes by now."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def detach(self) -> None:
        """See Backend."""
        raise Unsupported("outlive their client", self.kind)

    def snapshot(self) -> str:
        """See Backend."""
        raise Unsupported("take snapshots", self.kind)

    def restore(self, snapshot: str) -> None:
        """See Backend."""
        raise Unsupported(f"go back to snapshot {snapshot!r}", self.kind)

    def expose(self, port: int) -> str:
        """See Backend. What listens here is reachable here."""
        return f"127.0.0.1:{port}"

    def stats(self) -> Stats:
        """See Backend."""
        raise Unsupported("tell what they use", self.kind, "they share the machine with everything else")


def _identity(user: str | None) -> dict[str, Any]:
    if user is None:
        return {}
    import pwd

    try:
        entry = pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except KeyError as error:
        raise EnvironmentUnavailable(f"there is no user {user!r} on this machine") from error
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}


def _memory_backed() -> str | None:
    """Where small files never touch a disk: the user's runtime directory, /dev/shm, else the usual place."""
    for place in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):  # noqa: S108  # a private directory is made in it
        if place and os.access(place, os.W_OK | os.X_OK) and shutil.disk_usage(place).free > _PIPE:
            return place
    return None


def create(config: Mapping[str, object], progress: OnStep | None = None) -> LocalBackend:
    """See BackendFactory. Nothing takes long here."""
    del progress
    return LocalBackend(parse_config(LocalConfig, config, "local"))


def attach(handle: str) -> LocalBackend:
    """See BackendFactory. A local environment ends with its client."""
    raise Unsupported(f"be attached to ({handle})", "local", "they end with the program that made them")


def remove(handle: str) -> bool:
    """See BackendFactory."""
    raise Unsupported(f"be removed from outside ({handle})", "local", "they end with the program that made them")


def list_environments() -> Sequence[EnvironmentInfo]:
    """See BackendFactory."""
    return ()


def owner() -> str:
    """Say who makes environments here: ``user@host:pid``."""
    return f"{getpass.getuser()}@{socket.gethostname()}:{os.getpid()}"


def doctor() -> Diagnosis:
    """See BackendFactory."""
    if not Path("/proc/self/stat").exists():
        return Diagnosis("local", works=False, summary="no /proc", advice="local environments need Linux")
    shell = shutil.which("bash") or shutil.which("sh")
    if shell is None:
        return Diagnosis("local", works=False, summary="no shell", advice="install bash, or a POSIX sh")
    notes = () if shell.endswith("bash") else ("without bash, functions do not survive the loss of the shell",)
    return Diagnosis("local", works=True, summary=f"{os.uname().sysname} {os.uname().release}, {shell}", notes=notes)
