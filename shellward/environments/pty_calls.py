"""The calls of an environment that have to do with terminals: ``pty``, and ``run`` with one."""

import errno
import itertools
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shellward.core.errors import ConfigError, ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.core.interrupts import held
from shellward.environments.base import PtySize
from shellward.environments.call import Call, Command, Directory, make_call
from shellward.environments.control import Control, Target, kill_tree
from shellward.environments.encoding import encode_text, quote, unread
from shellward.environments.foreground import Foreground
from shellward.environments.foreign import foreign
from shellward.environments.pty import PtySession
from shellward.environments.pty_run import PtyRun
from shellward.environments.pty_script import AtTerminal, argv_of

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.environments.pool import Start
    from shellward.environments.shell import Shell

_START_LIMIT: Final = 5.0
_LOOK: Final = 0.02
_numbers = itertools.count(1)


def new_mark(environment: str) -> str:
    """Make the mark of what will run at a terminal.

    Args:
        environment: its id.
    """
    return f"{environment}.pty-{secrets.token_hex(4)}.{next(_numbers)};"


def size_of(pty: bool | PtySize) -> PtySize:
    """Return the size that ``pty=True`` stands for, or that was given.

    Raises:
        ConfigError: it is none.
    """
    size = PtySize() if pty is True else pty
    if not isinstance(size, PtySize):
        raise ConfigError(f"pty: True or a PtySize, not {pty!r}")
    for name, value in (("rows", size.rows), ("columns", size.columns)):
        if not (isinstance(value, int) and 0 < value < 1 << 15):
            raise ConfigError(f"pty: {name}: a number from 1 to 32767, not {value!r}")
    return size


def _see_directory(control: Control, cwd: str) -> None:
    """Raise what open(2) would when a directory cannot be entered."""
    place = quote(encode_text(cwd, "cwd")).decode("utf-8", "surrogateescape")
    answer = control.call(
        f"if [ ! -e {place} ];then echo {errno.ENOENT};elif [ ! -d {place} ];then echo {errno.ENOTDIR};"
        f"elif [ ! -x {place} ];then echo {errno.EACCES};fi"
    ).strip()
    if answer:
        raise OSError(int(answer), os.strerror(int(answer)), cwd)


def _await_start(session: PtySession, control: Control, target: Target) -> None:
    """Wait for a program that an engine was asked to start, and has not yet: nothing of it could be ended before."""
    until = time.monotonic() + _START_LIMIT
    while not session.begun() and not control.round(target, "0")[0] and time.monotonic() < until:
        time.sleep(_LOOK)


class PtyCalls:
    """Part of Environment: see the module."""

    def pty(  # type: ignore[misc]  # a part of Environment
        self: "Environment",
        command: Command | None = None,
        *,
        size: PtySize | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        by_person: bool = False,
        emulate: bool = True,
    ) -> PtySession:
        """Run a program at a terminal, to type at it and to look at its screen.

        It begins with the state of the default session (directory, variables, functions); what it changes of that
        is its own.

        Args:
            command: a shell line, or a list of words that is run as it stands; None: an interactive shell.
            size: of the terminal; None: 24 lines of 80 characters.
            cwd: directory; relative to the session's.
            env: variables; TERM is xterm-256color unless it is given here.
            user: run as another user, without the session's state.
            by_person: a person types, at his own terminal. Behind a gate, what programs type passes it.
            emulate: see PtySession.

        Raises:
            EnvironmentUnavailable: the sandbox is gone; as ConnectionLost where the program may have begun.
            FileNotFoundError, NotADirectoryError, PermissionError: of ``cwd``.
            Unsupported: see ``capabilities.pty``.
            ConfigError: an argument is unusable.
        """
        call = self.dialogue(command, cwd=cwd, env=env, by_person=by_person)
        with held():
            return self.open_at_terminal(call, size_of(size or True), user=user, emulate=emulate)

    def dialogue(  # type: ignore[misc]
        self: "Environment",
        command: Command | None,
        *,
        cwd: Directory | None,
        env: Mapping[str, str] | None,
        by_person: bool,
    ) -> Call:
        """Check the arguments of a ``pty``; see there."""
        self.can_pty()
        if command is None:
            command = [*self._shell_at_terminal().split(), "-i"]
        call = make_call(command, cwd=cwd, env=env)
        return replace(call, stdin=iter(()), at_terminal=True, by_person=by_person)

    def open_pty(  # type: ignore[misc]
        self: "Environment",
        shell: "Shell",
        call: Call,
        size: PtySize,
        start: "Start | None" = None,
        *,
        emulate: bool = True,
    ) -> PtySession:
        """Open a terminal for a checked call, with the state that a command on ``shell`` would have.

        Every program at a terminal that a user starts passes here, and once.

        Args:
            shell: one of the pool, whose lock is held.
            call: what will run.
            size: of the terminal.
            start: the state to begin with, and no other; None: the newest.
            emulate: see PtySession.
        """
        self.ready(shell)
        number = None if start is None else start.number
        start = start or self.start_of(shell)
        mark = call.mark or new_mark(self.id)
        cwd = call.cwd or start.cwd
        if not cwd.startswith("/"):
            cwd = f"{start.cwd.rstrip('/')}/{cwd}"
        control = self.control(shell.user)
        _see_directory(control, cwd)
        since = int(control.call("sw_uptime; echo $sw_now")) - 1
        wanted = AtTerminal(
            text=call.text,
            cwd=cwd,
            env=call.env or {},
            mark=mark,
            shell=self._shell_at_terminal(),
            saved=start.saved,
            number=number,
        )
        argv = argv_of(wanted)
        with foreign(self.kind, "no program could be started at a terminal"):
            channel = self.backend.open(argv, env={"SHELLWARD_COMMAND": mark}, user=shell.user, pty=size)
        target = Target(f"SHELLWARD_COMMAND={mark}", -1, -1, since)

        def kill(first: str) -> None:
            _await_start(session, control, target)
            kill_tree(control, target, first)

        def ask(text: str) -> str:
            _await_start(session, control, target)
            return control.ask("foreground.sh", text, once=True)

        foreground = Foreground(ask, target.mark, since, self.kind, call.shown)
        session = PtySession(
            channel,
            command=call.shown,
            size=size,
            kill=kill,
            foreground=foreground,
            gate=call.screen,
            emulate=emulate,
        )
        session.refusal = unread(mark) if start.saved else b""
        return session

    def _shell_at_terminal(self: "Environment") -> str:  # type: ignore[misc]
        return self.program if self.program not in ("", "sh") else self.capabilities.shell or "sh"

    def can_pty(self: "Environment") -> None:  # type: ignore[misc]
        """Raise Unsupported where there are no terminals."""
        if not self.backend.capabilities.pty:
            raise Unsupported("give a program a terminal", self.kind)

    def open_at_terminal(  # type: ignore[misc]
        self: "Environment",
        call: Call,
        size: PtySize,
        *,
        user: str | None = None,
        like: "Shell | None" = None,
        emulate: bool = True,
    ) -> PtySession:
        """Open a terminal for a checked call; it ends with this environment.

        Args:
            call: what will run.
            size: of the terminal.
            user: who it runs as.
            like: the shell of the session with whose state it begins; its lock is held. None: the default session's.
            emulate: see PtySession.
        """
        self.check_user(user)
        if like is not None:
            self.ready(like)
        with self.borrowed(user, beside=True, like=like) as shell:
            session = self.open_pty(shell, call, size, emulate=emulate)
        session.on_close = partial(self._terminals.pop, session, None)
        self._terminals[session] = like
        if self._closed or (like is not None and like.closed):  # meanwhile: whoever closed it has not seen this
            with suppress(EnvironmentUnavailable):  # gone already, and what runs at it too
                session.close()
            what = "environment" if self._closed else "session"
            raise ConnectionLost(f"the {what} was closed while a program began at a terminal; it may have run")
        return session

    def begin_at_terminal(  # type: ignore[misc]
        self: "Environment",
        call: Call,
        pty: bool | PtySize,
        *,
        user: str | None = None,
        like: "Shell | None" = None,
    ) -> PtyRun:
        """Start a checked call as ``run(pty=...)`` does; see ``open_at_terminal``."""
        size = size_of(pty)
        self.can_pty()
        typed = call.stdin.encode() if isinstance(call.stdin, str) else call.stdin
        if not (typed is None or isinstance(typed, bytes | bytearray | memoryview)):
            raise ConfigError("stdin: at a terminal it is typed, so it has to be text or bytes; see Environment.pty")
        call = replace(call, at_terminal=True)
        session = self.open_at_terminal(call, size, user=user, like=like, emulate=False)
        cwd = self.cwd if like is None else like.cwd
        return PtyRun(call, session, typed=bytes(typed or b""), cwd=cwd, files=self.outputs, why=self.why_lost)

    def close_terminals(self: "Environment", like: "Shell | None" = None) -> None:  # type: ignore[misc]
        """End what runs at terminals of this environment: all of it, or what began with one session's state."""
        for terminal, its in list(self._terminals.items()):
            if like is None or its is like:
                with suppress(EnvironmentUnavailable):  # gone already, and what runs at it too
                    terminal.close()
