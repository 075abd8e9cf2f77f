"""What users hold: one class for every backend."""

import atexit
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from shellward.core.errors import EnvironmentUnavailable, Unsupported, beside
from shellward.core.interrupts import held
from shellward.environments import lease, lease_notes, registry
from shellward.environments.base import Backend, Capabilities
from shellward.environments.command_calls import CommandCalls
from shellward.environments.control import Control
from shellward.environments.file_calls import FileCalls
from shellward.environments.foreign import foreign
from shellward.environments.output import OutputFiles
from shellward.environments.pool import Pool
from shellward.environments.process_calls import ProcessCalls
from shellward.environments.pty_calls import PtyCalls
from shellward.environments.sandbox_calls import SandboxCalls
from shellward.environments.shell import Shell, Silent

if TYPE_CHECKING:
    from shellward.environments.pty import PtySession


class Environment(CommandCalls, SandboxCalls, FileCalls, ProcessCalls, PtyCalls):
    """A place to run commands in, made by ``environments.create`` or ``attach``.

    A context manager; ``close`` ends it and everything in it. Thread-safe: commands that overlap run in separate
    shells. They begin with the state that the last finished command left (directory, variables, functions), and
    what they change of it is theirs alone.

    Attributes:
        backend: the engine below; not for everyday use.
        id: with which every mark of its processes begins.
        lock: of what its parts share.
        program: the shell of its sessions, where that is not bash.
        outputs: the files with outputs that were too long.
    """

    def __init__(self, backend: Backend, *, shell: str = "auto", attached: bool = False) -> None:
        self.backend = backend
        self._attached = attached
        """It was there before this client, and somebody else may use it."""
        self.program = "sh" if shell == "auto" else shell
        self.id = secrets.token_hex(6)
        self._closed = False
        self._left = False
        """It was closed, and its sandbox could not be ended."""
        self.lock = threading.Lock()
        self._pool = Pool(backend, self.id, shell)
        self._known: set[int] = set()
        self._prepared = {}
        self._holders = {}
        self._terminals: dict[PtySession, Shell | None] = {}
        self.outputs = OutputFiles()
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
        held = bool(shell) and self._holds_terminals()
        return replace(self.backend.capabilities, shell=shell, functions=shell == "bash", held_pty=held)

    @property
    def cwd(self) -> str:
        """Working directory of the default session, after its last command."""
        return self._default.cwd

    def __repr__(self) -> str:
        return f"<Environment {self.handle}{' closed' if self._closed else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with beside(error):
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

    # -- its end -------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the environment with everything in it. Idempotent; a command that runs ends with ConnectionLost.

        Ctrl-C meanwhile is raised when it is over.

        Raises:
            EnvironmentUnavailable: the sandbox cannot be ended now. Its lease will, or another ``close``.
        """
        with held():
            self._close()

    def _close(self) -> None:
        with self.lock:
            closed, self._closed = self._closed, True
            left, self._left = self._left, False
        if left:
            self._end_what_is_left()
        if closed:
            return
        _open_environments.discard(self)
        self.close_terminals()
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
            with foreign(self.kind, "the environment could not be ended"):
                self.backend.destroy()
        except BaseException:
            self._left = self.backend.lease is not None
            raise
        finally:
            self._pool.drop()
            self.outputs.close()
            if self.backend.lease is not None:
                with suppress(OSError):  # it is dropped with time
                    lease_notes.forget(self.backend.handle)

    def _end_what_is_left(self) -> None:
        """End a sandbox that could not be ended before, as another client would: this one has let go of it."""
        try:
            registry.remove(self.handle)
        except BaseException:
            self._left = True
            raise

    def detach(self) -> None:
        """Leave the environment to its lease; another process may ``attach`` to its handle.

        Raises:
            Unsupported: it cannot live without this client; see ``capabilities.attach``.
        """
        if not self.backend.capabilities.attach:
            raise Unsupported("outlive their client", self.kind)
        with held():
            self._detach()

    def _detach(self) -> None:
        with self.lock:
            if self._closed:
                return
            self._closed = True
        _open_environments.discard(self)
        self.close_terminals()
        self._pool.end()
        if self._exits is not None:
            self._exits.close()
        lease.drop(self)
        self._pool.drop()
        with foreign(self.kind, "the environment could not be left"):
            self.backend.detach()
        self.outputs.close()

    def undo(self) -> None:
        """Undo a ``create`` or an ``attach`` that has failed, or that nobody waits for: what was there before stays."""
        if self._attached:
            self.detach()
        else:
            self.close()

    @property
    def _default(self) -> Shell:
        """The default session's shell."""
        return self._pool.default

    # -- for the parts of this room ------------------------------------------------------------------------

    def ready(self, shell: Shell, limit: float | None = None) -> None:
        """See that a shell can take a command.

        Args:
            shell: which.
            limit: seconds that the shell may take to answer; None: as many as it takes, within reason.

        Raises:
            EnvironmentUnavailable: the sandbox is gone, or this environment is closed.
        """
        if self.is_ready(shell):
            return
        try:
            shell.ensure(limit)
        except Silent as error:
            raise EnvironmentUnavailable(f"{error}; nothing has run") from error
        if self._closed:  # meanwhile: whoever closed it has not seen this channel
            shell.close()
            self.alive()
        if self.backend.lease is None and shell.pid not in self._known:
            self.control(shell.user).know(shell)
            self._known.add(shell.pid)

    def begin_afresh(self) -> None:
        """Open everything again, in a sandbox that has taken the place of another.

        Raises:
            EnvironmentUnavailable: it is gone, or no shell starts in it.
        """
        if self._exits is not None:
            self._exits.close()
            self._exits = None
        self._pool.renew(self.open)

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

    @contextmanager
    def borrowed(
        self, user: str | None, purpose: str = "", *, beside: bool = False, like: Shell | None = None
    ) -> Iterator[Shell]:
        """Have a shell to oneself; see ``Pool.borrowed``. Does not wait."""
        self.alive()
        with self._pool.borrowed(user, purpose, beside=beside, like=like) as shell:
            yield shell

    def check_user(self, user: str | None) -> None:
        """Raise Unsupported when ``user`` is somebody else and that cannot be."""
        if user is not None and not self.backend.capabilities.user:
            raise Unsupported("run as another user", self.kind)

    def alive(self) -> None:
        """Raise EnvironmentUnavailable when this environment is closed."""
        if self._closed:
            raise EnvironmentUnavailable(f"{self.handle} was closed; create a new environment")


_open_environments: set[Environment] = set()
"""Held here until they are closed: one that nobody else holds any more still has a sandbox, or processes."""


@atexit.register
def _close_all() -> None:
    """What a program forgot to close ends with it, not a lease later; one that cannot be ended keeps up no other."""
    first: BaseException | None = None
    with held():
        for environment in list(_open_environments):
            try:
                with beside(first):
                    environment.close()
            except EnvironmentUnavailable as error:
                first = error
    if first is not None:
        raise first


def of(backend: Backend, shell: str, *, attached: bool = False) -> Environment:
    """Open an environment on a backend that is there; one that was made for it ends when that fails."""
    environment = Environment(backend, shell=shell, attached=attached)
    # What an SDK has registered since this module was imported must not run before: nothing could be closed then.
    atexit.unregister(_close_all)
    atexit.register(_close_all)
    try:
        environment.open()
    except BaseException as error:
        with beside(error):
            environment.undo()
        raise
    return environment
