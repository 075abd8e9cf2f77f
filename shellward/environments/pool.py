"""The shells of an environment: the default session's, those of other sessions, and a pool for what overlaps.

Also the state that a command on one of them begins with. What is run on them is decided elsewhere.
"""

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.base import Backend
from shellward.environments.control import Control
from shellward.environments.encoding import quote
from shellward.environments.shell import Shell, Version

CLOSE_PATIENCE = 3.0
"""Seconds to wait for a shell whose reader is about to find out that it is over."""
_MOST_IDLE = 64
_WORTH = 4
"""So many commands have begun with one state when a shell takes it over: that costs more than reading it, where
the next one begins with another."""


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


class Pool:
    """Makes shells and remembers them. Thread-safe.

    Args:
        backend: where.
        environment: the environment's id, with which every mark of its processes begins.
        program: ``auto``, or the shell to use.

    Attributes:
        default: the default session's shell.
    """

    def __init__(self, backend: Backend, environment: str, program: str) -> None:
        self._backend = backend
        self._environment = environment
        self._program = program
        self._closed = False
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._idle: dict[tuple[str | None, str], list[Shell]] = {}
        self._controls: dict[str | None, Control] = {}
        self._like: dict[Shell, Shell] = {}
        self._newest: Version | None = None
        self._asked = 0
        self.default = self._shell("main", state="default")
        self._shells: set[Shell] = {self.default}

    def shells(self) -> list[Shell]:
        """Return all shells there are now."""
        with self._lock:
            return list(self._shells)

    def controls(self) -> list[Control]:
        """Return all control shells there are now."""
        with self._lock:
            return list(self._controls.values())

    def session(self, name: str) -> Shell:
        """Make the shell of a session."""
        shell = self._shell(f"session-{name}", state=name)
        with self._lock:
            self._shells.add(shell)
        return shell

    def discard(self, shell: Shell) -> None:
        """Forget a shell that was closed."""
        with self._lock:
            self._shells.discard(shell)

    def control(self, user: str | None) -> Control:
        """Return the shell that can signal what ``user`` runs.

        Raises:
            EnvironmentUnavailable: there is none, and nobody would close it.
        """
        with self._lock:
            control = self._controls.get(user)
            if control is None:
                if self._closed:
                    raise EnvironmentUnavailable("this environment was closed; create a new one")
                sweep = self._backend.scratch if self._backend.lease is None and user is None else None
                control = Control(self._backend, environment=self._environment, user=user, sweep=sweep)
                self._controls[user] = control
            return control

    def start_of(self, shell: Shell) -> Start:
        """Say which state a command on a shell would begin with now."""
        if shell.name:
            return Start(shell, shell.cwd, number=shell.saved)
        if shell.user is not None or shell.private:
            return Start(None, self.default.cwd)
        like = self._like.get(shell, self.default)
        if not (number := like.saved):
            return Start(None, like.cwd)
        return Start(like, like.cwd, like.state_path, number)

    def choose(self, shell: Shell, start: Start) -> None:
        """Say to a shell of the pool, whose lock is held, which state its next command begins with."""
        like = start.shell
        if like is None or not start.saved or like.kind != "bash":
            shell.wanted, shell.takes = None, False
            return
        wanted = Version(start.saved, like.pid, start.number or 0)
        with self._lock:
            if wanted != self._newest:
                self._newest, self._asked = wanted, 0
            self._asked += 1
            shell.takes = self._asked >= _WORTH
        shell.wanted = wanted

    def _see_held(self, shell: Shell) -> None:
        """Have no shell take over what this one could not, or found to be another: a second client saves there, too."""
        if shell.held is None or shell.held == shell.wanted:
            return
        with self._lock:
            if shell.wanted == self._newest:
                self._asked = -sys.maxsize
        if shell.held.number:
            shell.wanted = shell.held

    def borrow(self, user: str | None = None, purpose: str = "", *, beside: bool = False) -> Shell:
        """Have a shell to oneself: the default session's when it is free, else one of the pool. Does not wait.

        It goes back with ``give_back``.

        Args:
            user: who it runs as; None: the backend's default.
            purpose: of the room's own work.
            beside: one of the pool, though the default session's be free.
        """
        default = self.default
        if user is None and not purpose and not beside and default.lock.acquire(blocking=False):
            return default
        with self._lock:
            idle = self._idle.setdefault((user, purpose), [])
            shell = self._fittest(idle) if idle else None
            if shell is None:
                place = f"user-{user}" if user else "main"
                shell = self._shell(f"{purpose or 'pool'}{next(self._numbers)}", state="", place=place, user=user)
                shell.private = bool(purpose)
                shell.pooled = (user, purpose)
                self._shells.add(shell)
        shell.lock.acquire()
        return shell

    def _fittest(self, idle: list[Shell]) -> Shell:
        """Take one that holds the default session's state, or none at all; one that holds another has to begin anew."""
        now = (self.default.state_path, self.default.pid, self.default.saved)
        best = -1
        for place in range(len(idle) - 1, -1, -1):
            held = idle[place].held
            if held == now:
                return idle.pop(place)
            if held is None and best < 0:
                best = place
        return idle.pop(best)

    def give_back(self, shell: Shell) -> None:
        """End what ``borrow`` began."""
        self._see_held(shell)
        if shell.pooled is not None:
            self._keep(shell.pooled, shell)
        shell.release()
        if shell.pooled is None and shell is not self.default:  # it was set aside
            self.discard(shell)

    @contextmanager
    def borrowed(
        self, user: str | None, purpose: str = "", *, beside: bool = False, like: Shell | None = None
    ) -> Iterator[Shell]:
        """Borrow a shell for a block.

        Args:
            user: see ``borrow``.
            purpose: see ``borrow``.
            beside: see ``borrow``.
            like: with ``beside``: begin with the state of this session's shell, not the default one's.
        """
        shell = self.borrow(user, purpose, beside=beside)
        try:
            if like is not None:
                self._like[shell] = like
            yield shell
        finally:
            self._like.pop(shell, None)
            self.give_back(shell)

    def _keep(self, key: tuple[str | None, str], shell: Shell) -> None:
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
            self._backend,
            mark=f"{self._environment}.{name}",
            directory=f"{self._backend.scratch}/{place}",
            name=state,
            program=self._program,
            user=user,
        )

    def set_aside(self, shell: Shell, control: Control, ready: Callable[[Shell], None]) -> None:
        """Put another shell in the place of the default session's, with the state that is saved of that.

        The command that runs on the old one goes on; what it changes of the state is its own. The old shell is closed
        when that ends.

        Raises:
            EnvironmentUnavailable: no other shell could be opened; everything is as it was.
        """
        if shell is not self.default:
            return
        name = f"default{next(self._numbers)}"
        successor = self._shell(name, state=name)
        if shell.saved:
            path = shell.state_path
            dialect = path.removeprefix(f"{shell.directory}/{shell.name}")
            old, new = (quote(each.encode()).decode() for each in (path, f"{shell.directory}/{name}{dialect}"))
            copy = f'if [ -e "$p" ];then command -p cp -p -- "$p" {new}."${{p##*.}}";fi'
            control.call(f"for p in {old}.0 {old}.1 {old}.2 {old}.3 {old}.alias;do {copy};done")
        try:
            ready(successor)
        except EnvironmentUnavailable:
            successor.close()
            raise
        with self._lock:
            self._shells.add(successor)
            self.default = successor
        shell.dropped = True

    def renew(self, afterwards: Callable[[], None]) -> None:
        """Drop all shells, for a sandbox that was replaced; a new default session begins afresh."""
        self.drop()
        self.default = self._shell("main", state="default")
        with self._lock:
            self._shells = {self.default}
        afterwards()

    def end(self) -> None:
        """Keep no shell from now on."""
        with self._lock:
            self._closed = True

    def drop(self) -> None:
        """Close the channels of all shells."""
        with self._lock:
            shells, controls = [*self._shells], [*self._controls.values()]
            self._idle.clear()
            self._controls.clear()
        for shell in shells:
            # Its reader is about to find out that the sandbox is gone, and lets go of it then.
            shell.drop(CLOSE_PATIENCE)
        for control in controls:
            control.close()
