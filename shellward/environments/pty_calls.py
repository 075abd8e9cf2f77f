"""The calls of an environment that have to do with terminals: ``pty``, and ``run`` with one."""

import errno
import itertools
import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shellward.core.errors import ConfigError, ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.core.types import Chunk, Result, StreamName, signal_name
from shellward.environments.base import PtySize
from shellward.environments.call import Call, Command, Directory, OnOutput, make_call
from shellward.environments.control import Control, Target, kill_tree
from shellward.environments.encoding import encode_text, quote
from shellward.environments.output import Collector, Decoder
from shellward.environments.pty import PtySession
from shellward.environments.pty_script import AtTerminal, argv_of
from shellward.environments.running import INTERRUPTED, TIMED_OUT

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.environments.pool import Start
    from shellward.environments.shell import Shell

_AFTER_KILL: Final = 1.0
_END: Final = b"\x04"
_numbers = itertools.count(1)


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
            EnvironmentUnavailable: the sandbox is gone.
            FileNotFoundError, NotADirectoryError, PermissionError: of ``cwd``.
            Unsupported: see ``capabilities.pty``.
            ConfigError: an argument is unusable.
        """
        self._can_pty()
        if command is None:
            command = [*self._shell_at_terminal().split(), "-i"]
        call = make_call(command, cwd=cwd, env=env)
        call = replace(call, stdin=iter(()), at_terminal=True, by_person=by_person)
        return self._open_at_terminal(call, size_of(size or True), user, emulate=emulate)

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
        mark = f"{self.id}.pty-{secrets.token_hex(4)}.{next(_numbers)};"
        cwd = call.cwd or start.cwd
        if not cwd.startswith("/"):
            cwd = f"{start.cwd.rstrip('/')}/{cwd}"
        control = self.control(shell.user)
        _see_directory(control, cwd)
        since = int(control.call("sw_uptime")) - 1
        wanted = AtTerminal(
            text=call.text,
            cwd=cwd,
            env=call.env or {},
            mark=mark,
            shell=self._shell_at_terminal(),
            saved=start.saved,
            number=number,
        )
        channel = self.backend.open(argv_of(wanted), env={"SHELLWARD_COMMAND": mark}, user=shell.user, pty=size)
        target = Target(f"SHELLWARD_COMMAND={mark}", -1, -1, since, "")
        return PtySession(
            channel,
            command=call.shown,
            size=size,
            kill=lambda first: kill_tree(control, target, first),
            gate=call.screen,
            emulate=emulate,
        )

    def _shell_at_terminal(self: "Environment") -> str:  # type: ignore[misc]
        return self.program if self.program not in ("", "sh") else self.capabilities.shell or "sh"

    def _can_pty(self: "Environment") -> None:  # type: ignore[misc]
        if not self.backend.capabilities.pty:
            raise Unsupported("give a program a terminal", self.kind)

    def _open_at_terminal(  # type: ignore[misc]
        self: "Environment", call: Call, size: PtySize, user: str | None, *, emulate: bool
    ) -> PtySession:
        self.check_user(user)
        with self.borrowed(user, beside=True) as shell:
            session = self.open_pty(shell, call, size, emulate=emulate)
        session.on_close = lambda: self._terminals.discard(session)
        self._terminals.add(session)
        return session

    def _run_pty(  # type: ignore[misc]
        self: "Environment",
        call: Call,
        pty: bool | PtySize,
        user: str | None,
        on_output: OnOutput | None,
    ) -> Result:
        """See ``Environment.run``."""
        size = size_of(pty)
        self._can_pty()
        typed = call.stdin.encode() if isinstance(call.stdin, str) else call.stdin
        if not (typed is None or isinstance(typed, bytes | bytearray | memoryview)):
            raise ConfigError("stdin: at a terminal it is typed, so it has to be text or bytes; see Environment.pty")
        call = replace(call, at_terminal=True)
        session = self._open_at_terminal(call, size, user, emulate=False)
        run = _Run(call, session, on_output, _collector(call, self._output_file))
        try:
            return run.carry_out(bytes(typed or b""), self.cwd)
        except BaseException as error:
            with suppress(EnvironmentUnavailable):  # gone, and the command with it
                session.close()
            if isinstance(error, ConnectionLost):
                raise ConnectionLost(self.why_lost(str(error)), run.partial()) from error
            raise
        finally:
            run.collector.close()


def _collector(call: Call, spool: Callable[[], Path]) -> Collector:
    wanted = call.full_output
    place: Callable[[], Path] | None = spool
    if wanted is False:
        place = None
    elif isinstance(wanted, str | Path):
        place = Path(wanted).absolute
    return Collector(call.max_output, keep_file=place, everything=wanted is not None and wanted is not False)


class _Run:
    """One command at a terminal, from its start to its result."""

    def __init__(self, call: Call, session: PtySession, on_output: OnOutput | None, collector: Collector) -> None:
        self.collector = collector
        self._call = call
        self._session = session
        self._on_output = on_output
        self._decoder = Decoder()
        self._began = time.monotonic()

    def carry_out(self, typed: bytes, cwd: str) -> Result:
        session, limit = self._session, self._call.timeout
        deadline = None if limit is None else self._began + limit
        with suppress(ConnectionLost):  # it has ended without reading
            # As a person would who has nothing (more) to say.
            session.write(typed + (_END if typed.endswith(b"\n") or not typed else _END + _END))
        timed_out = False
        while not session.ended:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                timed_out = True
                session.kill()
                self._rest()
                break
            self._output(session.read(left))
        self._output(session.read(0))
        status = session.wait(_AFTER_KILL if timed_out else None)
        session.close()
        interrupted = session.interrupted
        code = TIMED_OUT if timed_out else INTERRUPTED if interrupted else -1 if status is None else status
        return Result(
            command=self._call.shown,
            exit_code=code,
            duration=time.monotonic() - self._began,
            cwd=cwd,
            timed_out=timed_out,
            interrupted=interrupted,
            signal=None if timed_out or interrupted else signal_name(code),
            **self.collector.finish(),  # type: ignore[arg-type]
        )

    def _rest(self) -> None:
        until = time.monotonic() + _AFTER_KILL
        while not self._session.ended and (left := until - time.monotonic()) > 0:
            self._output(self._session.read(left))

    def partial(self) -> Result:
        duration = time.monotonic() - self._began
        return Result(command=self._call.shown, exit_code=-1, duration=duration, **self.collector.finish())  # type: ignore[arg-type]

    def _output(self, data: bytes) -> None:
        if not data:
            return
        self.collector.add(StreamName.STDOUT, data)
        if self._on_output is not None:
            self._on_output(Chunk(StreamName.STDOUT, data, self._decoder.text(data)))
