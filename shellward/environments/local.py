"""The user's own machine: processes with pipes, or at a terminal (local_pty).

Nothing is isolated here; variables are scrubbed by allow-list.
"""

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from shellward.config.paths import INSIDE, state_dir
from shellward.core.errors import ConfigError, EnvironmentUnavailable, Unsupported
from shellward.core.types import EnvironmentInfo, Stats
from shellward.environments.base import Capabilities, Channel, Diagnosis, OnStep, PtySize
from shellward.environments.config import BaseConfig, parse_config
from shellward.environments.machine import memory_backed, spawn

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


class LocalConfig(BaseConfig, kw_only=True, forbid_unknown_fields=True):
    """Settings of a local environment.

    Attributes:
        isolation: ``none``: commands run as you.
        inherit: further variables of this process to pass on, by name.
    """

    isolation: str = "none"
    inherit: list[str] = msgspec.field(default_factory=list)


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
        self._env[INSIDE] = "local"
        _remove_left()
        self.scratch = tempfile.mkdtemp(prefix="shellward-", dir=memory_backed())
        if os.geteuid() == 0:  # who runs as another user keeps input files here, and sees nobody else's
            os.chmod(self.scratch, 0o1733)  # noqa: PTH101, S103
        self.processes = str(state_dir() / "processes")
        self.handle = f"local:{os.getpid()}.{Path(self.scratch).name.removeprefix('shellward-')}"
        self._since = time.monotonic()

    @property
    def capabilities(self) -> Capabilities:
        """See Backend."""
        return Capabilities(expose=True, user=os.geteuid() == 0, pty=True)

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
        if user is not None and os.geteuid() != 0:
            raise Unsupported("run as another user", self.kind, "that needs root")
        if pty is not None:
            from shellward.environments.local_pty import open_local_pty

            variables = {**self._env, **(env or {})}
            return open_local_pty(argv, pty, env=variables, cwd=cwd or self._cwd, identity=_identity(user))
        try:
            return spawn(
                self.kind, list(argv), env={**self._env, **(env or {})}, cwd=cwd or self._cwd, **_identity(user)
            )
        except OSError as error:
            raise EnvironmentUnavailable(f"cannot start {argv[0]!r}: {error}") from error

    def explain_loss(self) -> str:
        """See Backend."""
        return ""

    def destroy(self) -> None:
        """See Backend. The session above has ended the processes by now."""
        _left.add(self.scratch)
        _remove_left()

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


_left: set[str] = set()
"""Scratch directories of environments that are closed, and that could not be removed: no descriptor, a full disk."""


@atexit.register
def _remove_left() -> None:
    """Remove what is left; what cannot be now is tried again with the next environment, and at the end."""
    for path in list(_left):
        shutil.rmtree(path, ignore_errors=True)
        if not Path(path).exists():
            _left.discard(path)


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


def doctor() -> Diagnosis:
    """See BackendFactory."""
    if not Path("/proc/self/stat").exists():
        return Diagnosis("local", works=False, summary="no /proc", advice="local environments need Linux")
    shell = shutil.which("bash") or shutil.which("sh")
    if shell is None:
        return Diagnosis("local", works=False, summary="no shell", advice="install bash, or a POSIX sh")
    notes = () if shell.endswith("bash") else ("without bash, functions do not survive the loss of the shell",)
    return Diagnosis("local", works=True, summary=f"{os.uname().sysname} {os.uname().release}, {shell}", notes=notes)
