"""The door: environments in which every command passes the gate before it runs. Nobody above has others.

``environments`` offers one place that every command of a user passes, ``Environment.make_run``, and one that every
program at a terminal does, ``Environment.open_pty``; the door is there.
What the gate asks about a command is in ``judge``.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shellward.approval.gatekeeper import Gate, open_gate
from shellward.config import load
from shellward.core.errors import beside
from shellward.core.interrupts import held, interruptible
from shellward.environments import registry
from shellward.environments.environment import Environment
from shellward.terminal_tool.deeds import copying, writing
from shellward.terminal_tool.judge import Judge
from shellward.terminal_tool.settings import environment_of
from shellward.terminal_tool.surroundings import reach_of_environment

if TYPE_CHECKING:
    from os import PathLike

    from shellward.environments.base import Backend, OnStep, PtySize
    from shellward.environments.call import Call, Directory, OnOutput
    from shellward.environments.files import Progress
    from shellward.environments.pool import Start
    from shellward.environments.process import Process
    from shellward.environments.pty import PtySession
    from shellward.environments.running import Run
    from shellward.environments.shell import Shell


class Terminal(Environment):
    """A guarded place to run commands in: an ``environments.Environment`` with the gate in front of it.

    Same calls, same results; ``run``, ``stream``, ``start``, those of a ``session``, ``write_file``, ``upload`` and
    what is written into a background process raise ApprovalDenied, before anything has run, when the gate says no.
    What is asked of whom, and what may run unasked, is in docs/approval.md. Thread-safe; while a person is asked
    about one command, others go on.

    Args:
        kind: ``local``, ``docker``, ...: just that, with ``config``; a name in ``environments`` of the settings; None:
            what ``terminal.env`` of the settings says. In the latter two ``config`` wins over the settings.
        gate: who decides instead of the gate that the settings describe; it is not closed with this.
        task: id of the task that the commands are for; rules and approvals may be tied to it.
        progress: is called with a line of text for each step, while an image is pulled or built.
        lasting: the sandbox will be left to its lease (``detach``), so what happens inside is not gone with it.
        config: the backend's settings, as ``environments.create`` takes them.

    Raises:
        ConfigError: an unknown kind or key, or a wrong value; also in the gate's own settings.
        MissingDependency: the backend's SDK is not installed.
        EnvironmentUnavailable: no daemon, no image, no permission; says what to do.
    """

    def __init__(
        self,
        kind: str | None = None,
        *,
        gate: Gate | None = None,
        task: str = "",
        lasting: bool = False,
        progress: "OnStep | None" = None,
        **config: object,
    ) -> None:
        kind, made = environment_of(kind, config)
        with held():
            backend = registry.create_backend(kind, made, progress)
            self._open_guarded(backend, str(made.get("shell", "auto")), gate, task=task, lasting=lasting)

    @classmethod
    def attach(cls, handle: str, *, shell: str | None = None, gate: Gate | None = None, task: str = "") -> Self:
        """Find a living environment by its handle, and guard it; see ``environments.attach``.

        Raises:
            EnvironmentUnavailable: it is not there any more.
            ConfigError: that is no handle.
        """
        made = cls.__new__(cls)
        with held():
            found = registry.attach_backend(handle)
            shell = shell or registry.shell_of(found)
            made._open_guarded(found, shell, gate, task=task, lasting=True, attached=True)  # noqa: SLF001  # ours
        return made

    def _open_guarded(
        self, backend: "Backend", shell: str, gate: Gate | None, *, task: str, lasting: bool, attached: bool = False
    ) -> None:
        super().__init__(backend, shell=shell, attached=attached)
        self._own_gate: Gate | None = None
        try:
            if gate is None:
                gate = self._own_gate = open_gate(load(held=True), reach=reach_of_environment(self, lasting=lasting))
            self._judge = Judge(self, gate, task=task)
            self.open()
        except BaseException as error:
            with beside(error):
                self.undo()
            raise

    @property
    def gate(self) -> Gate:
        """Who decides."""
        return self._judge.gate

    @property
    def asking(self) -> bool:
        """Whether somebody is being asked about a command now."""
        return self._judge.asking

    def changes_session(self, command: str, *, cwd: str | None = None) -> bool:
        """Say whether later commands of the default session may be others after this one: ``cd``, a variable, ...

        Args:
            command: the command line.
            cwd: the directory that it will run in; None: the session's.
        """
        return self._judge.changes_session(command, self._default, cwd=cwd)

    def make_run(
        self, shell: "Shell", call: "Call", on_output: "OnOutput | None", start: "Start | None" = None
    ) -> "Run":
        """Prepare a command that the gate lets pass; see ``Environment``.

        Raises:
            ApprovalDenied: it may not run; nothing has run.
            EnvironmentUnavailable: the sandbox is gone, or the environment was closed meanwhile.
        """
        if shell.private:  # the engine's own scripts, which move files
            return super().make_run(shell, call, on_output, start)
        with interruptible():  # somebody may be asked
            passed = self._judge.check(shell, call)
        run = super().make_run(shell, passed.call, on_output, passed.start)
        run.on_end = lambda result: self._judge.record(passed, result)
        return run

    def write_file(
        self, path: "Directory", data: bytes | str, *, mode: int | None = None, parents: bool = False
    ) -> None:
        """Write a file that the gate lets pass; see ``Environment.write_file``.

        Raises:
            ApprovalDenied: it may not be written; the old contents are there still.
        """
        with self._judge.deed(writing(str(path), data, mode, parents=parents)):
            super().write_file(path, data, mode=mode, parents=parents)

    def upload(
        self,
        local: "str | PathLike[str]",
        remote: "Directory",
        *,
        progress: "Progress | None" = None,
        parents: bool = False,
    ) -> None:
        """Copy what the gate lets pass into the environment; see ``Environment.upload``.

        Raises:
            ApprovalDenied: it may not be copied; nothing was.
        """
        with self._judge.deed(copying(Path(local), str(remote), parents=parents)):
            super().upload(local, remote, progress=progress, parents=parents)

    def type_into(self, process: "Process", data: bytes, timeout: float) -> int:
        """Type what the gate lets pass; see ``Process.write``.

        Raises:
            ApprovalDenied: it may not be sent; nothing of it was.
        """
        self._judge.typed(process, data)
        return super().type_into(process, data, timeout)

    def type_by_person(self, process: "Process", data: bytes, timeout: float = 10.0) -> int:
        """Type what a person presses at his own keyboard: nobody asks him about it. See ``Process.write``."""
        return super().type_into(process, data, timeout)

    def open_pty(
        self,
        shell: "Shell",
        call: "Call",
        size: "PtySize",
        start: "Start | None" = None,
        *,
        emulate: bool = True,
    ) -> "PtySession":
        """Open a terminal for a program that the gate lets pass; see ``Environment``.

        What is typed at it is judged line by line where a shell or an interpreter reads it, unless a person types.

        Raises:
            ApprovalDenied: it may not run; nothing has run.
            EnvironmentUnavailable: the sandbox is gone, or the environment was closed meanwhile.
        """
        del start  # the gate says with which state it was judged
        with interruptible():
            passed = self._judge.check(shell, call)
        began = time.monotonic()
        session = super().open_pty(shell, passed.call, size, passed.start, emulate=emulate)
        session.on_end = lambda status: self._judge.record_end(passed, status, time.monotonic() - began)
        return session

    def interrupt(self) -> int:
        """End every command that runs now, and take back every question; see ``Environment.interrupt``.

        Returns:
            How many commands that were.
        """
        return self._judge.withdraw() + super().interrupt()

    def close(self) -> None:
        """End the environment with everything in it; questions are taken back. Idempotent."""
        with held():
            self._withdraw_for_good()
            super().close()
            if self._own_gate is not None:
                self._own_gate.close()

    def detach(self) -> None:
        """Leave the environment to its lease; see ``Environment.detach``."""
        with held():
            self._withdraw_for_good()
            super().detach()
            if self._own_gate is not None:
                self._own_gate.close()

    def _withdraw_for_good(self) -> None:
        if hasattr(self, "_judge"):  # else it was never opened
            self._judge.withdraw(for_good=True)
