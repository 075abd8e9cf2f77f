"""A door into a container on this very machine: FIFOs in a directory that both sides see.

A process that a container's own tool opens (``docker exec``, ``apptainer exec``) is a tenth of a second away, and with
Docker all it prints is copied by three programs. Where client and container share a kernel, neither is needed: the
container has a directory of the client's, read-only, and FIFOs work there all the same, since opening one for writing
changes no file system (open(2), EROFS). A doorkeeper in the container (scripts/door.sh) starts what is asked for with
FIFOs for its standard streams. The client has removed them by the time the process runs, so that nobody else finds
them.

It is a short cut and never the only way: what does not come in through the door is opened by that tool, as always.
"""

import contextlib
import fcntl
import os
import select
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from shellward.core.errors import ConnectionLost
from shellward.environments.machine import descriptors, memory_backed, own, too_many_files
from shellward.environments.pipes import PipeChannel

INSIDE: Final = "/run/shellward-door"
"""Where the container has the directory."""
_PREFIX: Final = "shellward-door-"
_UP_LIMIT: Final = 2.0
"""Seconds that the first ones wait for the doorkeeper, which says so if there can be none. On a busy machine it comes
late, and a shell that did not wait for it would be a slow one for as long as it lives."""
_START_LIMIT: Final = 5.0
_NEW: Final = 60.0
"""Seconds in which a door is being made, and may have no lock yet."""
_LOCKING: Final = 1.0
"""Seconds in which a lock is there, and may not be held yet."""
_ROOTS: Final = frozenset(("", "0", "root"))


class Door:
    """The client's side of a door. Thread-safe.

    Args:
        root: its directory on this machine; ``shared`` in it is what the container sees.
        kind: of the backend, for what is said.
        patience: seconds that the first ones wait for the doorkeeper.
    """

    def __init__(self, root: Path, kind: str = "docker", patience: float = _UP_LIMIT) -> None:
        self.root = root
        self._kind = kind
        self._patience = patience
        self.shared = root / "shared"
        with contextlib.ExitStack() as held:
            self._lock = own(held, os.open(root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            held.pop_all()
        self._up: int | None = None
        self._coming = threading.Lock()
        self._mode = 0o600
        self._shut = False

    @classmethod
    def make(cls) -> Self:
        """Make the directory; ``hang`` comes when the container is known, and before it starts."""
        root = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=memory_backed()))
        try:
            (root / "shared").mkdir()
            # Nobody but its owner can list it: a name in it is known to him who was told. Above it nobody can pass.
            (root / "shared").chmod(0o711)
            return cls(root)
        except BaseException:
            shutil.rmtree(root, ignore_errors=True)
            raise

    @classmethod
    def find(cls, shared: str) -> Self | None:
        """Return the door that another client of this user's has left; None when there is none."""
        root = Path(shared).parent
        try:
            seen = root.lstat()
            if seen.st_uid != os.geteuid() or not root.name.startswith(_PREFIX):
                return None
            door = cls(root)
            door._mode = (root / "shared" / "ask").lstat().st_mode & 0o777
        except OSError:
            return None
        return door

    def hang(self, user: str) -> None:
        """Make the FIFOs that the doorkeeper finds.

        Args:
            user: who runs in the container. root may open what is this user's; others get to by its name alone.
        """
        self._mode = 0o600 if user.partition(":")[0] in _ROOTS else 0o666
        for name in ("ask", "up"):
            _make_fifo(self.shared / name, self._mode)
        self._up = os.open(self.shared / "up", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def open(self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> PipeChannel | None:
        """Start a process; None when nobody keeps the door, or there is no room for its files.

        A doorkeeper that comes too late finds no request; a process that was slower finds its input at its end.

        Raises:
            EnvironmentUnavailable: this process has no descriptor left for it.
        """
        if self._shut:
            return None
        # The other way needs descriptors, too, and a shell that came that way would be a slow one for good.
        with descriptors(f"start {argv[0]!r}"), contextlib.ExitStack() as held:
            try:
                self._await_keeper()
                ask = own(held, os.open(self.shared / "ask", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
                channel = self._open(ask, start_script(argv, env, cwd))
            except OSError as error:  # ENXIO: nobody reads there
                if too_many_files(error):
                    raise
                return None
        self._shut = channel is None  # what was asked for in vain once costs its limit each time
        return channel

    def _await_keeper(self) -> None:
        with self._coming:  # who comes meanwhile waits, too
            up, self._up = self._up, None
            if up is not None:
                try:
                    _readable(up, self._patience)
                finally:
                    os.close(up)

    def _open(self, ask: int, script: str) -> PipeChannel | None:
        name = os.urandom(16).hex()
        paths = [self.shared / f"{name}.{end}" for end in range(4)]
        request = self.shared / f"{name}.sh"
        with contextlib.ExitStack() as held, contextlib.ExitStack() as files:
            for path in paths:
                files.callback(path.unlink, missing_ok=True)
                _make_fifo(path, self._mode)
            files.callback(request.unlink, missing_ok=True)
            request.write_bytes(os.fsencode(script))
            request.chmod(self._mode)
            # A FIFO can be opened for writing when somebody reads: we ourselves, until the process does.
            _opened(paths[0], os.O_RDONLY, files)
            stdin = _opened(paths[0], os.O_WRONLY, held)
            stdout, stderr, report = (_opened(path, os.O_RDONLY, held) for path in paths[1:])
            # Before it is asked for: once it runs, nothing must be wanting here.
            channel = PipeChannel(self._kind, stdin, stdout, stderr, _Reported(report))
            held.pop_all()
            held.callback(channel.close)
            try:
                os.write(ask, f"{name}\n".encode())
            except (BlockingIOError, BrokenPipeError):  # somebody in there has filled it; or it has just ended
                return None
            if not _readable(report, _START_LIMIT) or os.read(report, 1) != b"\n":
                return None
            held.pop_all()
        return channel

    def close(self) -> None:
        """Release this side and leave the door for others. Idempotent."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)
        up, self._up = self._up, None
        if up is not None:
            os.close(up)

    def remove(self) -> None:
        """Close it for everybody."""
        self.close()
        shutil.rmtree(self.root, ignore_errors=True)


class _Reported:
    """The life of a process that its parent in the container reports about; see ``pipes.Life``."""

    def __init__(self, report: int) -> None:
        self._report = report
        self._status: int | None = None

    def fileno(self) -> int:
        return self._report

    def wait(self, timeout: float | None = None) -> int | None:
        if self._status is None and _readable(self._report, timeout):
            said = os.read(self._report, 16).strip()
            if not said.isdigit():
                raise ConnectionLost("the process has ended with the container, or was killed with its parent")
            self._status = int(said)
        return self._status

    def close(self) -> None:
        os.close(self._report)


def start_script(argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> str:
    """What the doorkeeper runs, with the path of the FIFOs without their numbers as ``$1``."""
    lines = [
        'exec 3>"$1.3" || exit',
        "(",
        'exec <"$1.0" >"$1.1" 2>"$1.2" || exit 126',
        "echo >&3",
        "exec 3>&-",
        *([f"cd -- {shlex.quote(cwd)} || exit 126"] if cwd else []),
        *(f"export {name}={shlex.quote(value)}" for name, value in env.items()),
        f"exec setsid {shlex.join(argv)}",
        ")",
        'echo "$?" >&3',
    ]
    return "\n".join(lines) + "\n"


def _make_fifo(path: Path, mode: int) -> None:
    os.mkfifo(path, mode)
    path.chmod(mode)  # whatever the umask


def _opened(path: Path, how: int, held: contextlib.ExitStack) -> int:
    return own(held, os.open(path, how | os.O_NONBLOCK | os.O_CLOEXEC))


def _readable(descriptor: int, timeout: float | None) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(None if timeout is None else timeout * 1000))


def sweep(used: Callable[[], Container[str]]) -> None:
    """Remove what clients that were killed have left of doors whose container is gone.

    Args:
        used: says which directories containers have mounted; asked only when there is something to remove.
    """
    left: list[Path] = []
    for root in Path(memory_backed() or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, or gone
            seen = root.lstat()
            if seen.st_uid == os.geteuid() and _unused(root, time.time() - seen.st_mtime):
                left.append(root)
    containers = used() if left else ()
    for root in left:
        if str(root / "shared") not in containers:
            shutil.rmtree(root, ignore_errors=True)


def _unused(root: Path, age: float) -> bool:
    """Whether no client holds a door, and no container keeps it: ``used`` knows those of one engine only."""
    if not (root / "lock").exists():
        return age > _NEW
    if age < _LOCKING:
        return False
    lock = os.open(root / "lock", os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    try:
        os.close(os.open(root / "shared" / "ask", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:  # nobody reads there, or it was never hung
        return True
    return False
