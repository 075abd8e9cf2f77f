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
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shellward.core.errors import ConfigError, EnvironmentUnavailable, Unsupported
from shellward.core.limits import MAX_OUTPUT
from shellward.core.types import Result, Stats
from shellward.environments import lease
from shellward.environments.base import Backend, Capabilities, PtySize
from shellward.environments.call import Call, Command, Directory, OnOutput, Stdin, make_call
from shellward.environments.control import Control, end_execution
from shellward.environments.encoding import quote
from shellward.environments.file_calls import FileCalls
from shellward.environments.pool import CLOSE_PATIENCE, Pool, Start
from shellward.environments.process_calls import ProcessCalls
from shellward.environments.pty_calls import PtyCalls
from shellward.environments.running import Run, drive
from shellward.environments.session import Session
from shellward.environments.shell import Shell
from shellward.environments.stream import Stream

if TYPE_CHECKING:
    from shellward.environments.pty import PtySession

_PORTS = 1 << 16


class Environment(FileCalls, ProcessCalls, PtyCalls):
    """A place to run commands in, made by ``environments.create`` or ``attach``.

    A context manager; ``close`` ends it and everything in it. Thread-safe: commands that overlap run in separate
    shells. They begin with the state that the last finished command left (directory, variables, functions), and
    what they change of it is theirs alone.

    Attributes:
        backend: the engine below; not for everyday use.
        id: with which every mark of its processes begins.
        lock: of what its parts share.
        program: the shell of its sessions, where that is not bash.
    """

    def __init__(self, backend: Backend, *, shell: str = "auto") -> None:
        self.backend = backend
        self.program = "sh" if shell == "auto" else shell
        self.id = secrets.token_hex(6)
        self._closed = False
        self.lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._pool = Pool(backend, self.id, shell)
        self._known: set[int] = set()
        self._prepared = {}
        self._terminals: set[PtySession] = set()
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
        pty: bool | PtySize = False,
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
            pty: run it at a terminal (of this size; True: 24 lines of 80 characters), so that ``isatty`` is true.
                Its output is then the raw stream of the terminal, all of it stdout; ``stdin`` is typed, and Ctrl-D
                after it; what it changes of the session's state is its own. See ``pty()`` for a dialogue.

        Returns:
            The result, whatever the exit status.

        Raises:
            ConnectionLost: the sandbox went away; the command may have run. Carries the output so far.
            EnvironmentUnavailable: the sandbox was gone before; nothing has run.
            FileNotFoundError: ``cwd`` is not a directory there.
            ConfigError: an argument is unusable.
            Unsupported: ``user`` where there can be no other; ``pty``, see ``capabilities.pty``.
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
        if pty is not False:
            return self._run_pty(call, pty, user, on_output)
        self.check_user(user)
        self.alive()
        shell = self._pool.borrow(user)
        try:
            return self.run_on(shell, call, on_output)
        finally:
            self._pool.give_back(shell)

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
        self.alive()
        nameless = name is None
        name = name or f"s{secrets.token_hex(4)}"
        if not (isinstance(name, str) and name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
            raise ConfigError(f"session name: ASCII letters, digits, - and _ only, not {name!r}")
        shell = self._pool.session(name)
        shell.forgotten = nameless
        self.ready(shell)
        return Session(self, shell)

    def interrupt(self) -> int:
        """End every command that runs now, as Ctrl-C does; their results have ``interrupted`` set.

        Returns:
            How many commands that were.
        """
        terminals = sum(terminal.end("interrupt") for terminal in list(self._terminals))
        return terminals + sum(self.end_from_outside(shell, "interrupt", "INT") for shell in self._pool.shells())

    # -- the sandbox ---------------------------------------------------------------------------------------

    def snapshot(self) -> str:
        """Save the file system; returns what ``restore`` takes.

        Raises:
            Unsupported: see ``capabilities.snapshot``.
        """
        self.alive()
        return self.backend.snapshot()

    def restore(self, snapshot: str) -> None:
        """Go back to a snapshot. All processes end; the sessions begin afresh, and the handle may change.

        Raises:
            EnvironmentUnavailable: there is no such snapshot.
            Unsupported: see ``capabilities.snapshot``.
        """
        self.alive()
        self.backend.restore(snapshot)
        if self._exits is not None:
            self._exits.close()
            self._exits = None
        self._pool.renew(self.open)

    def expose(self, port: int) -> str:
        """Return ``host:port`` under which a TCP port of the environment is reachable from here.

        Raises:
            Unsupported: see ``capabilities.expose``.
        """
        self.alive()
        if not 0 < port < _PORTS:
            raise ConfigError(f"port: from 1 to {_PORTS - 1}, not {port!r}")
        return self.backend.expose(port)

    def stats(self) -> Stats:
        """Return what the environment uses now.

        Raises:
            Unsupported: see ``capabilities.stats``.
        """
        self.alive()
        return self.backend.stats()

    def close(self) -> None:
        """End the environment with everything in it. Idempotent; a command that runs ends with ConnectionLost."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
        _open_environments.discard(self)
        self._close_terminals()
        self._pool.end()
        if self._exits is not None:
            self._exits.close()
        lease.drop(self)
        if self.backend.lease is None:
            self.drop_prepared()
            for control in self._pool.controls():
                with suppress(EnvironmentUnavailable):  # gone already, and what it would end too
                    control.end_all()
        try:
            self.backend.destroy()
        finally:
            self._pool.drop()
            self._drop_outputs()

    def detach(self) -> None:
        """Leave the environment to its lease; another process may ``attach`` to its handle.

        Raises:
            Unsupported: it cannot live without this client; see ``capabilities.attach``.
        """
        if not self.backend.capabilities.attach:
            raise Unsupported("outlive their client", self.kind)
        with self.lock:
            if self._closed:
                return
            self._closed = True
        _open_environments.discard(self)
        self._close_terminals()
        self._pool.end()
        if self._exits is not None:
            self._exits.close()
        lease.drop(self)
        self._pool.drop()
        self.backend.detach()
        self._drop_outputs()

    @property
    def _default(self) -> Shell:
        """The default session's shell."""
        return self._pool.default

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
            shell.release()

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
            bash=self.speaks_bash(shell),
        )

    def speaks_bash(self, shell: Shell) -> bool:
        """Whether a shell, open or not, is bash."""
        return (shell.kind or self._default.kind) == "bash"

    def start_of(self, shell: Shell) -> Start:
        """Say which state a command on a shell would begin with now."""
        return self._pool.start_of(shell)

    def set_aside(self, shell: Shell) -> None:
        """Give the default session another shell, when what runs on this one, which is its own, is to go on for long.

        Raises:
            EnvironmentUnavailable: no other shell could be opened; everything is as it was.
        """
        self._pool.set_aside(shell, self.control(None), self.ready)

    def ready(self, shell: Shell) -> None:
        """See that a shell can take a command.

        Raises:
            EnvironmentUnavailable: the sandbox is gone, or this environment is closed.
        """
        if self.is_ready(shell):
            return
        shell.ensure()
        if self._closed:  # meanwhile: whoever closed it has not seen this channel
            shell.close()
            self.alive()
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
        self.alive()
        if shell.closed:
            raise EnvironmentUnavailable("this session was closed; open a new one")
        return shell.warm() and (self.backend.lease is not None or shell.pid in self._known)

    def control(self, user: str | None) -> Control:
        """Return the shell that can signal what ``user`` runs."""
        return self._pool.control(user)

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
        shell.dropped = True
        if shell.lock.acquire(timeout=CLOSE_PATIENCE):
            if shell.forgotten and not self._closed:
                with suppress(EnvironmentUnavailable):  # gone, and its state too
                    shell.forget_state(CLOSE_PATIENCE)
            shell.close()
            shell.lock.release()
        self._pool.discard(shell)
        if shell.forgotten and state and not self._closed:  # nobody can ask for it again
            self.control(None).call(f"rm -f {quote(state.encode()).decode()}.*")

    @contextmanager
    def borrowed(self, user: str | None, purpose: str = "", *, beside: bool = False) -> Iterator[Shell]:
        """Have a shell to oneself: the default session's when it is free, else one of the pool. Does not wait.

        Args:
            user: who it runs as; None: the backend's default.
            purpose: of the room's own work.
            beside: one of the pool, though the default session's be free.
        """
        self.alive()
        with self._pool.borrowed(user, purpose, beside=beside) as shell:
            yield shell

    def check_user(self, user: str | None) -> None:
        """Raise Unsupported when ``user`` is somebody else and that cannot be."""
        if user is not None and not self.backend.capabilities.user:
            raise Unsupported("run as another user", self.kind)

    def alive(self) -> None:
        """Raise EnvironmentUnavailable when this environment is closed."""
        if self._closed:
            raise EnvironmentUnavailable(f"{self.handle} was closed; create a new environment")

    def _close_terminals(self) -> None:
        for terminal in list(self._terminals):
            with suppress(EnvironmentUnavailable):  # gone already, and what runs at it too
                terminal.close()

    def _output_file(self) -> Path:
        with self.lock:
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
    # What an SDK has registered since this module was imported must not run before: nothing could be closed then.
    atexit.unregister(_close_all)
    atexit.register(_close_all)
    try:
        environment.open()
    except BaseException:
        environment.close()
        raise
    return environment
