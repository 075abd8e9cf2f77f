"""What users hold: one class for every backend."""

import atexit
import itertools
import secrets
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shellward.core.errors import ConfigError, EnvironmentUnavailable, Unsupported
from shellward.core.limits import MAX_OUTPUT
from shellward.core.types import FileInfo, Result, Stats
from shellward.environments import files, lease
from shellward.environments.base import Backend, Capabilities
from shellward.environments.control import Control, end_execution
from shellward.environments.encoding import quote
from shellward.environments.running import Call, Command, Directory, OnOutput, Run, Stdin, drive, make_call, path_text
from shellward.environments.session import Session
from shellward.environments.shell import Shell
from shellward.environments.stream import Stream

if TYPE_CHECKING:
    from os import PathLike

_MOST_IDLE = 64
_PORTS = 1 << 16
_CLOSE_PATIENCE = 3.0


@dataclass(frozen=True, slots=True)
class Start:
    """The state that a command begins with.

    Attributes:
        shell: whose state it is; None: of nobody, it begins afresh.
        cwd: its directory.
        saved: where the state is saved, without the number at its end, when the command runs elsewhere.
        number: of the command after which it was saved; 0: it is new.
    """

    shell: Shell | None
    cwd: str
    saved: str | None = None
    number: int | None = None


class Environment:
    """A place to run commands in, made by ``environments.create`` or ``attach``.

    A context manager; ``close`` ends it and everything in it. Thread-safe: commands that overlap run in separate
    shells. They begin with the state that the last finished command left (directory, variables, functions), and
    what they change of it is theirs alone.

    Attributes:
        backend: the engine below; not for everyday use.
    """

    def __init__(self, backend: Backend, *, shell: str = "auto") -> None:
        self.backend = backend
        self._program = shell
        self._id = secrets.token_hex(6)
        self._closed = False
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._default = self._shell("main", state="default")
        self._shells: set[Shell] = {self._default}
        self._idle: dict[tuple[str | None, str], list[Shell]] = {}
        self._controls: dict[str | None, Control] = {}
        self._known: set[int] = set()
        self._outputs: tempfile.TemporaryDirectory[str] | None = None
        _open_environments.add(self)

    # -- what it is ----------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """The backend's name."""
        return self.backend.kind

    @property
    def handle(self) -> str:
        """What ``environments.attach`` takes in another process."""
        return self.backend.handle

    @property
    def capabilities(self) -> Capabilities:
        """What can be done here; the shell is known once the first command ran."""
        from dataclasses import replace

        shell = self._default.kind
        return replace(self.backend.capabilities, shell=shell, functions=shell == "bash")

    @property
    def cwd(self) -> str:
        """Working directory of the default session, after its last command."""
        return self._default.cwd

    def __repr__(self) -> str:
        return f"<Environment {self.handle}{' closed' if self._closed else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def open(self) -> None:
        """Open the default session and what guards it; ``create`` and ``attach`` have done so.

        Raises:
            EnvironmentUnavailable: the sandbox is gone, or no shell starts in it.
        """
        # The control shell comes before the first command: what that does may leave no room for another process.
        failed: list[EnvironmentUnavailable] = []

        def open_control() -> None:
            try:
                self.control(None).open()
            except EnvironmentUnavailable as error:
                failed.append(error)

        beside = threading.Thread(target=open_control, name="shellward-open")
        beside.start()
        try:
            self._default.ensure()
        finally:
            beside.join()
        if failed:
            raise failed[0]
        if self.backend.lease is not None:
            lease.keep(self)
        self.ready(self._default)

    # -- commands ------------------------------------------------------------------------------------------

    def run(
        self,
        command: Command,
        *,
        timeout: float | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stdin = None,
        merge_stderr: bool = False,
        user: str | None = None,
        on_output: OnOutput | None = None,
        max_output: int | None = MAX_OUTPUT,
        full_output: "bool | str | Path | None" = None,
    ) -> Result:
        """Run a command and wait for its end, not for that of what it left in the background.

        Args:
            command: a shell line (any number of lines), or a list of words that is run as it stands.
            timeout: seconds; then the command's whole process tree is ended, and the result says so.
            cwd: directory for this command; relative to the session's, which stays as it is.
            env: variables for this command.
            stdin: bytes, text, a binary file or an iterable of bytes; None: empty.
            merge_stderr: standard error goes into standard output, in exact order.
            user: run as another user, without the session's state.
            on_output: called with each Chunk as it comes, in this thread. If it raises, the command is ended.
            max_output: characters returned per stream: its beginning and its end; None: all.
            full_output: what of a longer output is kept in ``Result.full_output``. None: up to 16 MiB, in a
                file that lives as long as this environment; True: all of it; a path: all of it, there; False:
                nothing.

        Returns:
            The result, whatever the exit status.

        Raises:
            ConnectionLost: the sandbox went away; the command may have run. Carries the output so far.
            EnvironmentUnavailable: the sandbox was gone before; nothing has run.
            FileNotFoundError: ``cwd`` is not a directory there.
            ConfigError: an argument is unusable.
            Unsupported: ``user`` where there can be no other.
        """
        call = make_call(
            command,
            timeout=timeout,
            cwd=cwd,
            env=env,
            stdin=stdin,
            merge_stderr=merge_stderr,
            max_output=max_output,
            full_output=full_output,
        )
        self.check_user(user)
        with self.borrowed(user) as shell:
            return self.run_on(shell, call, on_output)

    def stream(
        self,
        command: Command,
        *,
        timeout: float | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stdin = None,
        merge_stderr: bool = False,
        user: str | None = None,
        max_output: int | None = MAX_OUTPUT,
        full_output: "bool | str | Path | None" = None,
    ) -> Stream:
        """Run a command and follow it: iterate over ``Chunk``s as they come, and at last its ``Result``.

        Arguments and errors are those of ``run``. Leave it early with ``close`` or a ``with`` block, and the
        command is ended inside the sandbox.
        """
        call = make_call(
            command,
            timeout=timeout,
            cwd=cwd,
            env=env,
            stdin=stdin,
            merge_stderr=merge_stderr,
            max_output=max_output,
            full_output=full_output,
        )
        self.check_user(user)
        stack = ExitStack()
        shell = stack.enter_context(self.borrowed(user))
        return self._stream(shell, call, stack.close)

    def session(self, name: str | None = None) -> Session:
        """Open another warm shell with a state of its own.

        Args:
            name: a session that was opened under this name before, by whatever client, gives its state to
                this one. None: a new name.
        """
        self._alive()
        nameless = name is None
        name = name or f"s{secrets.token_hex(4)}"
        if not (isinstance(name, str) and name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
            raise ConfigError(f"session name: ASCII letters, digits, - and _ only, not {name!r}")
        shell = self._shell(f"session-{name}", state=name)
        shell.forgotten = nameless
        with self._lock:
            self._shells.add(shell)
        self.ready(shell)
        return Session(self, shell)

    def interrupt(self) -> int:
        """End every command that runs now, as Ctrl-C does; their results have ``interrupted`` set.

        Returns:
            How many commands that were.
        """
        with self._lock:
            shells = list(self._shells)
        return sum(self.end_from_outside(shell, "interrupt", "INT") for shell in shells)

    # -- files ---------------------------------------------------------------------------------------------

    def read_file(self, path: Directory) -> bytes:
        """Return the contents of a file.

        Raises:
            FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, OSError: as of open(2).
        """
        return files.read(self, path_text(path, "path"))

    def write_file(self, path: Directory, data: bytes | str, *, mode: int | None = None) -> None:
        """Write a file at once: a reader sees the old contents or the new, never a part.

        Args:
            path: relative to ``cwd``. Links are followed.
            data: text is written as UTF-8.
            mode: permission bits; None: those of the file that was there, else 0o644.

        Raises:
            OSError: as of open(2) and write(2); the old contents are there still.
        """
        files.write(self, path_text(path, "path"), data.encode() if isinstance(data, str) else data, mode=mode)

    def list_dir(self, path: Directory = ".") -> list[FileInfo]:
        """Return the entries of a directory, sorted by name.

        Raises:
            FileNotFoundError, NotADirectoryError, PermissionError: as of opendir(3).
        """
        return files.list_dir(self, path_text(path, "path"))

    def stat(self, path: Directory) -> FileInfo:
        """Return what a path is; links are not followed.

        Raises:
            FileNotFoundError, NotADirectoryError, PermissionError: as of lstat(2).
        """
        return files.stat(self, path_text(path, "path"))

    def upload(
        self,
        local: "str | PathLike[str]",
        remote: Directory,
        *,
        progress: files.Progress | None = None,
    ) -> None:
        """Copy a file or a tree into the environment; permissions and times are kept.

        Args:
            local: file or directory on this machine.
            remote: path of the copy itself. A directory that is there already is added to.
            progress: called with bytes done and, where known, bytes in all.

        Raises:
            OSError: as of either side.
        """
        files.upload(self, Path(local), path_text(remote, "remote"), progress)

    def download(
        self,
        remote: Directory,
        local: "str | PathLike[str]",
        *,
        progress: files.Progress | None = None,
    ) -> None:
        """Copy a file or a tree out of the environment; see ``upload``."""
        files.download(self, path_text(remote, "remote"), Path(local), progress)

    # -- the sandbox ---------------------------------------------------------------------------------------

    def snapshot(self) -> str:
        """Save the file system; returns what ``restore`` takes.

        Raises:
            Unsupported: see ``capabilities.snapshot``.
        """
        self._alive()
        return self.backend.snapshot()

    def restore(self, snapshot: str) -> None:
        """Go back to a snapshot. All processes end; the sessions begin afresh, and the handle may change.

        Raises:
            EnvironmentUnavailable: there is no such snapshot.
            Unsupported: see ``capabilities.snapshot``.
        """
        self._alive()
        self.backend.restore(snapshot)
        self._drop_channels()
        self._default = self._shell("main", state="default")
        with self._lock:
            self._shells = {self._default}
        self.open()

    def expose(self, port: int) -> str:
        """Return ``host:port`` under which a TCP port of the environment is reachable from here.

        Raises:
            Unsupported: see ``capabilities.expose``.
        """
        self._alive()
        if not 0 < port < _PORTS:
            raise ConfigError(f"port: from 1 to {_PORTS - 1}, not {port!r}")
        return self.backend.expose(port)

    def stats(self) -> Stats:
        """Return what the environment uses now.

        Raises:
            Unsupported: see ``capabilities.stats``.
        """
        self._alive()
        return self.backend.stats()

    def close(self) -> None:
        """End the environment with everything in it. Idempotent; a command that runs ends with ConnectionLost."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        _open_environments.discard(self)
        lease.drop(self)
        if self.backend.lease is None:
            for control in self._controls.values():
                with suppress(EnvironmentUnavailable):  # gone already, and what it would end too
                    control.end_all()
        try:
            self.backend.destroy()
        finally:
            self._drop_channels()
            self._drop_outputs()

    def detach(self) -> None:
        """Leave the environment to its lease; another process may ``attach`` to its handle.

        Raises:
            Unsupported: it cannot live without this client; see ``capabilities.attach``.
        """
        if not self.backend.capabilities.attach:
            raise Unsupported("outlive their client", self.kind)
        with self._lock:
            if self._closed:
                return
            self._closed = True
        _open_environments.discard(self)
        lease.drop(self)
        self._drop_channels()
        self.backend.detach()
        self._drop_outputs()

    # -- for the parts of this room ------------------------------------------------------------------------

    def run_on(self, shell: Shell, call: Call, on_output: OnOutput | None) -> Result:
        """Carry out a checked call on a shell whose lock is held."""
        return drive(self.make_run(shell, call, on_output), self)

    def stream_on(self, shell: Shell, call: Call) -> Stream:
        """Follow a checked call on a shell that this waits for."""
        shell.take_turn(call.timeout)
        shell.streamed_in = threading.get_ident()

        def release() -> None:
            shell.streamed_in = None
            shell.lock.release()

        return self._stream(shell, call, release)

    def _stream(self, shell: Shell, call: Call, release: Callable[[], None]) -> Stream:
        return Stream(self, lambda on_output: self.make_run(shell, call, on_output), release)

    def make_run(self, shell: Shell, call: Call, on_output: OnOutput | None, start: "Start | None" = None) -> Run:
        """Prepare a checked call for a shell whose lock is held. Every command of a user passes here, and once.

        Args:
            shell: where it will run.
            call: what will run.
            on_output: is called with each piece of output.
            start: the state to begin with, and no other: without it, it does not run; None: the newest.
        """
        number = None if start is None else start.number
        start = start or self.start_of(shell)
        return Run(
            call,
            shell,
            pooled=not shell.name,
            saved=start.saved,
            state_number=number,
            base_cwd=start.cwd,
            spool=self._output_file,
            on_output=on_output,
        )

    def start_of(self, shell: Shell) -> Start:
        """Say which state a command on a shell would begin with now."""
        if shell.name:
            return Start(shell, shell.cwd, number=shell.saved)
        default = self._default
        if shell.user is not None or shell.private:
            return Start(None, default.cwd)
        if not (number := default.saved):
            return Start(None, default.cwd)
        return Start(default, default.cwd, default.state_path, number)

    def ready(self, shell: Shell) -> None:
        """See that a shell can take a command.

        Raises:
            EnvironmentUnavailable: the sandbox is gone, or this environment is closed.
        """
        if self.is_ready(shell):
            return
        shell.ensure()
        if self.backend.lease is None and shell.pid not in self._known:
            self.control(shell.user).know(shell)
            self._known.add(shell.pid)

    def end_from_outside(self, shell: Shell, reason: str, first: str = "TERM") -> bool:
        """End what runs on a shell, from a thread that does not read its channel; False when nothing does."""
        execution = shell.execution
        if execution is None or not execution.end(reason):
            return False
        control = self.control(shell.user)
        end_execution(control, shell, execution, first, time.sleep)
        return True

    def is_ready(self, shell: Shell) -> bool:
        """Whether a shell can take a command at once; never waits.

        Raises:
            EnvironmentUnavailable: this environment is closed, or no shell starts in it.
        """
        self._alive()
        if shell.closed:
            raise EnvironmentUnavailable("this session was closed; open a new one")
        return shell.warm() and (self.backend.lease is not None or shell.pid in self._known)

    def control(self, user: str | None) -> Control:
        """Return the shell that can signal what ``user`` runs."""
        with self._lock:
            control = self._controls.get(user)
            if control is None:
                sweep = self.backend.scratch if self.backend.lease is None and user is None else None
                control = Control(
                    self.backend,
                    environment=self._id,
                    user=user,
                    sweep=sweep,
                )
                self._controls[user] = control
            return control

    def why_lost(self, detail: str) -> str:
        """Say why a connection ended."""
        if self._closed:
            return "the environment was closed"
        return self.backend.explain_loss() or detail

    @contextmanager
    def helper(self) -> Iterator[Shell]:
        """Borrow a shell for the room's own work (files), which users' commands never see."""
        with self.borrowed(None, purpose="files") as shell:
            yield shell

    def close_session(self, shell: Shell) -> None:
        """End a session and what runs in it."""
        shell.closed = True
        self.end_from_outside(shell, "interrupt")
        state = shell.state_path
        # An unfinished Stream of this very thread holds the lock, and lets go of the shell when it is closed.
        if shell.lock.acquire(timeout=_CLOSE_PATIENCE):
            if shell.forgotten and not self._closed:
                with suppress(EnvironmentUnavailable):  # gone, and its state too
                    shell.forget_state(_CLOSE_PATIENCE)
            shell.close()
            shell.lock.release()
        with self._lock:
            self._shells.discard(shell)
        if shell.forgotten and state and not self._closed:  # nobody can ask for it again
            self.control(None).call(f"rm -f {quote(state.encode()).decode()}.*")

    @contextmanager
    def borrowed(self, user: str | None, purpose: str = "") -> Iterator[Shell]:
        """Have a shell to oneself: the default session's when it is free, else one of the pool. Does not wait."""
        self._alive()
        if user is None and not purpose and self._default.lock.acquire(blocking=False):
            default = self._default
            try:
                yield default
            finally:
                default.lock.release()
            return
        key = (user, purpose)
        with self._lock:
            idle = self._idle.setdefault(key, [])
            shell = idle.pop() if idle else None
            if shell is None:
                place = f"user-{user}" if user else "main"
                shell = self._shell(f"{purpose or 'pool'}{next(self._numbers)}", state="", place=place, user=user)
                shell.private = bool(purpose)
                self._shells.add(shell)
        with shell.lock:
            try:
                yield shell
            finally:
                self._give_back(key, shell)

    def _give_back(self, key: tuple[str | None, str], shell: Shell) -> None:
        with self._lock:
            idle = self._idle.setdefault(key, [])
            keep = not self._closed and len(idle) < _MOST_IDLE
            if keep:
                idle.append(shell)
            else:
                self._shells.discard(shell)
        if not keep:
            shell.close()

    def _shell(self, name: str, *, state: str, place: str = "main", user: str | None = None) -> Shell:
        return Shell(
            self.backend,
            mark=f"{self._id}.{name}",
            directory=f"{self.backend.scratch}/{place}",
            name=state,
            program=self._program,
            user=user,
        )

    def check_user(self, user: str | None) -> None:
        """Raise Unsupported when ``user`` is somebody else and that cannot be."""
        if user is not None and not self.backend.capabilities.user:
            raise Unsupported("run as another user", self.kind)

    def _alive(self) -> None:
        if self._closed:
            raise EnvironmentUnavailable(f"{self.handle} was closed; create a new environment")

    def _drop_channels(self) -> None:
        with self._lock:
            shells, controls = [*self._shells], [*self._controls.values()]
            self._idle.clear()
            self._controls.clear()
        for shell in shells:
            # Its reader is about to find out that the sandbox is gone, and lets go of it then.
            if shell.lock.acquire(timeout=_CLOSE_PATIENCE):
                shell.close()
                shell.lock.release()
        for control in controls:
            control.close()

    def _output_file(self) -> Path:
        with self._lock:
            if self._outputs is None:
                self._outputs = tempfile.TemporaryDirectory(prefix="shellward-output-")
        return Path(self._outputs.name) / f"{next(self._numbers)}.txt"

    def _drop_outputs(self) -> None:
        if self._outputs is not None:
            self._outputs.cleanup()


_open_environments: weakref.WeakSet[Environment] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """What a program forgot to close ends with it, not a lease later."""
    for environment in list(_open_environments):
        environment.close()


def of(backend: Backend, shell: str) -> Environment:
    """Open an environment on a backend that is there; the backend ends when that fails."""
    environment = Environment(backend, shell=shell)
    try:
        environment.open()
    except BaseException:
        environment.close()
        raise
    return environment
