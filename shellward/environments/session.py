"""A session: a warm shell of one's own, with its state."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shellward.core.errors import beside
from shellward.core.interrupts import held
from shellward.core.limits import MAX_OUTPUT, PROCESS_TTL
from shellward.core.types import Result
from shellward.environments.base import PtySize
from shellward.environments.call import Command, Directory, OnOutput, Stdin, make_call
from shellward.environments.session_pty import SessionPty
from shellward.environments.shell import Shell

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.environments.process import Process
    from shellward.environments.stream import Stream


class Session(SessionPty):
    """A warm shell with a state of its own: directory, variables, functions, options.

    Thread-safe; its commands run one after the other. Made by ``Environment.session``.

    Attributes:
        shell: the engine below; not for everyday use.
    """

    def __init__(self, environment: "Environment", shell: Shell) -> None:
        self._environment = environment
        self.shell = shell

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with beside(error):
            self.close()

    @property
    def cwd(self) -> str:
        """The session's working directory, after its last command."""
        return self.shell.cwd

    def run(
        self,
        command: Command,
        *,
        timeout: float | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stdin = None,
        merge_stderr: bool = False,
        on_output: OnOutput | None = None,
        max_output: int | None = MAX_OUTPUT,
        full_output: bool | str | Path | None = None,
        pty: bool | PtySize = False,
    ) -> Result:
        """Run a command in this session; see ``Environment.run``.

        It waits for its turn, ``timeout`` seconds at the most, before its own time begins.

        Raises:
            EnvironmentUnavailable: also when its turn has not come; nothing has run.
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
        with held():
            self.shell.take_turn(call.timeout)
            try:
                if pty is not False:
                    return self._environment.begin_at_terminal(call, pty, like=self.shell).carry_out(on_output)
                return self._environment.run_on(self.shell, call, on_output)
            finally:
                self.shell.release()

    def stream(
        self,
        command: Command,
        *,
        timeout: float | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        stdin: Stdin = None,
        merge_stderr: bool = False,
        max_output: int | None = MAX_OUTPUT,
        full_output: bool | str | Path | None = None,
    ) -> "Stream":
        """Run a command in this session and follow it; see ``Environment.stream``."""
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
        return self._environment.stream_on(self.shell, call)

    def start(
        self,
        command: Command,
        *,
        pty: PtySize | None = None,
        stdin: bytes | str | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        task: str = "",
        ttl: float = PROCESS_TTL,
        name: str | None = None,
    ) -> "Process":
        """Start a command in the background, with what this session knows; see ``Environment.start``."""
        with held():
            self.shell.take_turn(None)
            try:
                return self._environment.start_on(
                    self.shell,
                    command,
                    pty=pty,
                    stdin=stdin,
                    cwd=cwd,
                    env=env,
                    user=None,
                    task=task,
                    ttl=ttl,
                    name=name,
                )
            finally:
                self.shell.lock.release()

    def close(self) -> None:
        """End the session and what still runs in it. Idempotent."""
        self._environment.close_session(self.shell)
