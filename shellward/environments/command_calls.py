"""The calls of an environment that run commands, and what sessions and streams share with them.

Every command of a user is prepared here, in ``make_run``; what carries it out is in running.py and stream.py.
"""

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from shellward.core.errors import ConfigError, EnvironmentUnavailable
from shellward.core.interrupts import held
from shellward.core.limits import MAX_OUTPUT
from shellward.core.types import Result
from shellward.environments.base import PtySize
from shellward.environments.call import Call, Command, Directory, OnOutput, Stdin, make_call
from shellward.environments.control import end_execution
from shellward.environments.encoding import quote
from shellward.environments.pool import CLOSE_PATIENCE, Start
from shellward.environments.running import Run, drive
from shellward.environments.session import Session
from shellward.environments.shell import Shell
from shellward.environments.stream import Stream

if TYPE_CHECKING:
    from pathlib import Path

    from shellward.environments.environment import Environment


class CommandCalls:
    """Part of ``Environment``: commands, and the sessions in which they run."""

    def run(  # type: ignore[misc]  # a part of Environment
        self: "Environment",
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
                file of this environment, where there is room for one; True: all of it, in such a file; a path:
                all of it, there; False: nothing. An environment keeps the files of its newest 100 such
                outputs, and 1 GiB of them, until it is closed: a path that is older raises FileNotFoundError.
            pty: run it at a terminal (of this size; True: 24 lines of 80 characters), so that ``isatty`` is true.
                Its output is then the raw stream of the terminal, all of it stdout; ``stdin`` is typed, and Ctrl-D
                after it; what it changes of the session's state is its own. See ``pty()`` for a dialogue.

        Returns:
            The result, whatever the exit status.

        Raises:
            ConnectionLost: the sandbox went away; the command may have run. Carries the output so far.
            EnvironmentUnavailable: the sandbox was gone before; nothing has run.
            FileNotFoundError: ``cwd`` is not a directory there; nothing has run.
            OSError: there is no room for ``stdin`` in the sandbox, or the state of the session, which another command
                holds now, cannot be read there; nothing has run. With the note ``errors.HAD_BEGUN``: the command ran,
                and the file that ``full_output`` asks for, or the source of ``stdin``, failed.
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
            with held():
                return self.begin_at_terminal(call, pty, user=user).carry_out(on_output)
        self.check_user(user)
        with held():
            self.alive()
            shell = self._pool.borrow(user)  # by hand: a context manager of its own costs a twentieth of a short call
            try:
                return self.run_on(shell, call, on_output)
            finally:
                self._pool.give_back(shell)

    def stream(  # type: ignore[misc]
        self: "Environment",
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

        Arguments and errors are those of ``run``; at a terminal, see ``pty``. Leave it early with ``close`` or a
        ``with`` block, and the command is ended inside the sandbox.
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
        with held():
            stack = ExitStack()
            shell = stack.enter_context(self.borrowed(user))
            return self._stream(shell, call, stack.close)

    def session(self: "Environment", name: str | None = None) -> Session:  # type: ignore[misc]
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
        with held():
            shell = self._pool.session(name)
            shell.forgotten = nameless
            self.ready(shell)
            return Session(self, shell)

    def interrupt(self: "Environment") -> int:  # type: ignore[misc]
        """End every command that runs now, as Ctrl-C does; their results have ``interrupted`` set.

        Returns:
            How many commands that were.
        """
        terminals = sum(terminal.end("interrupt") for terminal in list(self._terminals))
        return terminals + sum(self.end_from_outside(shell, "interrupt", "INT") for shell in self._pool.shells())

    # -- for the parts of this room ------------------------------------------------------------------------

    def run_on(self: "Environment", shell: Shell, call: Call, on_output: OnOutput | None) -> Result:  # type: ignore[misc]
        """Carry out a checked call on a shell whose lock is held."""
        return drive(self.make_run(shell, call, on_output), self)

    def stream_on(self: "Environment", shell: Shell, call: Call) -> Stream:  # type: ignore[misc]
        """Follow a checked call on a shell that this waits for."""
        with held():
            shell.take_turn(call.timeout)
            shell.streamed_in = threading.get_ident()

            def release() -> None:
                shell.streamed_in = None
                shell.release()

            return self._stream(shell, call, release)

    def _stream(self: "Environment", shell: Shell, call: Call, release: Callable[[], None]) -> Stream:  # type: ignore[misc]
        return Stream(self, lambda on_output: self.make_run(shell, call, on_output), release)

    def make_run(  # type: ignore[misc]
        self: "Environment", shell: Shell, call: Call, on_output: OnOutput | None, start: Start | None = None
    ) -> Run:
        """Prepare a checked call for a shell whose lock is held. Every command of a user passes here, and once.

        Args:
            shell: where it will run.
            call: what will run.
            on_output: is called with each piece of output.
            start: the state to begin with, and no other: without it, it does not run; None: the newest.
        """
        number = None if start is None else start.number
        start = start or self.start_of(shell)
        if not shell.name:
            self._pool.choose(shell, start)
        return Run(
            call,
            shell,
            pooled=not shell.name,
            saved=start.saved,
            state_number=number,
            base_cwd=start.cwd,
            files=self.outputs,
            on_output=on_output,
            bash=self.speaks_bash(shell),
        )

    def speaks_bash(self: "Environment", shell: Shell) -> bool:  # type: ignore[misc]
        """Whether a shell, open or not, is bash."""
        return (shell.kind or self._default.kind) == "bash"

    def start_of(self: "Environment", shell: Shell) -> Start:  # type: ignore[misc]
        """Say which state a command on a shell would begin with now."""
        return self._pool.start_of(shell)

    def set_aside(self: "Environment", shell: Shell) -> None:  # type: ignore[misc]
        """Give the default session another shell, when what runs on this one, which is its own, is to go on for long.

        Raises:
            EnvironmentUnavailable: no other shell could be opened; everything is as it was.
        """
        self._pool.set_aside(shell, self.control(None), self.ready)

    def end_from_outside(self: "Environment", shell: Shell, reason: str, first: str = "TERM") -> bool:  # type: ignore[misc]
        """End what runs on a shell, from a thread that does not read its channel; False when nothing does."""
        execution = shell.execution
        if execution is None or not execution.end(reason):
            return False
        control = self.control(shell.user)
        end_execution(control, shell, execution, first, time.sleep)
        return True

    def close_session(self: "Environment", shell: Shell) -> None:  # type: ignore[misc]
        """End a session and what runs in it."""
        with held():
            self._close_session(shell)

    def _close_session(self: "Environment", shell: Shell) -> None:  # type: ignore[misc]
        shell.closed = True
        self.close_terminals(shell)
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
