"""The door for asyncio: ``shellward.aio.Terminal``. While somebody is asked, the event loop goes on."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING, Self, TypeVar

from shellward.aio.environment import Environment
from shellward.aio.loop import in_thread
from shellward.approval.withdrawal import CALLER, Withdrawal
from shellward.core.errors import ApprovalDenied, EnvironmentUnavailable
from shellward.terminal_tool.guard import Terminal as Guarded

if TYPE_CHECKING:
    from shellward.approval.gatekeeper import Gate
    from shellward.environments.base import OnStep
    from shellward.environments.call import Call, Directory, OnOutput
    from shellward.environments.files import Progress
    from shellward.environments.running import Run
    from shellward.environments.shell import Shell

T = TypeVar("T")


class Terminal(Environment):
    """A guarded place to run commands in, over asyncio: an ``aio.Environment`` with the gate in front of it.

    Made by ``create`` or ``attach``. Same calls, same results; what is refused raises ApprovalDenied before
    anything has run. A task that is cancelled while somebody is asked takes its question back, and no other.
    Callbacks of the task's context are asked, plain or async.

    Attributes:
        blocking: the same terminal for threads; both may be used at once.
    """

    blocking: Guarded

    @classmethod
    async def create(
        cls,
        kind: str | None = None,
        *,
        gate: "Gate | None" = None,
        task: str = "",
        progress: "OnStep | None" = None,
        lasting: bool = False,
        **config: object,
    ) -> Self:
        """Make a guarded environment; arguments and errors are those of ``shellward.Terminal``."""
        return await cls._made(
            lambda: Guarded(kind, gate=gate, task=task, progress=progress, lasting=lasting, **config)
        )

    @classmethod
    async def attach(cls, handle: str, *, shell: str | None = None, gate: "Gate | None" = None, task: str = "") -> Self:
        """Find a living environment by its handle, and guard it; see ``shellward.Terminal.attach``."""
        return await cls._made(lambda: Guarded.attach(handle, shell=shell, gate=gate, task=task))

    @classmethod
    async def _made(cls, make: Callable[[], Guarded]) -> Self:
        made: list[Guarded] = []
        try:
            await in_thread(lambda: made.append(make()))
        except BaseException:
            for terminal in made:  # cancelled meanwhile: nobody would ever close it
                await in_thread(terminal.undo)
            raise
        return cls(made[0])

    @property
    def gate(self) -> "Gate":
        """Who decides."""
        return self.blocking.gate

    @property
    def asking(self) -> bool:
        """Whether somebody is being asked about a command now."""
        return self.blocking.asking

    async def prepare(self, shell: "Shell", call: "Call", on_output: "OnOutput | None") -> "Run":
        """Prepare a command that the gate lets pass.

        Raises:
            ApprovalDenied: it may not run; nothing has run.
        """
        return await _withdrawable(lambda: self.blocking.make_run(shell, call, on_output))

    async def asked(self, work: Callable[[], T]) -> T:
        """Do in a thread what somebody may be asked about; see ``Environment.asked``."""
        return await _withdrawable(work)

    async def write_file(
        self, path: "Directory", data: bytes | str, *, mode: int | None = None, parents: bool = False
    ) -> None:
        """Write a file that the gate lets pass; see ``shellward.Terminal.write_file``."""
        await _withdrawable(lambda: self.blocking.write_file(path, data, mode=mode, parents=parents))

    async def upload(
        self,
        local: str | PathLike[str],
        remote: "Directory",
        *,
        progress: "Progress | None" = None,
        parents: bool = False,
    ) -> None:
        """Copy what the gate lets pass into the environment; see ``shellward.Terminal.upload``."""
        await _withdrawable(lambda: self.blocking.upload(local, remote, progress=progress, parents=parents))


async def _withdrawable(work: Callable[[], T]) -> T:
    """Do in a thread what may ask somebody; when this is cancelled, the question is taken back."""
    caller = Withdrawal()
    before = CALLER.set(caller)
    try:
        task = asyncio.ensure_future(in_thread(work))
    finally:
        CALLER.reset(before)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        caller.withdraw()
        with suppress(ApprovalDenied, EnvironmentUnavailable, OSError):
            await task
        raise
