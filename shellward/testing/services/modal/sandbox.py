"""One emulated sandbox: its namespaces, its processes (in a box), its end."""

import asyncio
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from shellward.testing.services.boxes import Box, BoxGone, Mount
from shellward.testing.services.modal.images import Image

TERMINATED: Final = "terminated"
TIMEOUT: Final = "timeout"
EXITED: Final = "exited"


class NotStarted(Exception):  # noqa: N818  # what a start answers with
    """A sandbox or a process in it could not be started; says why."""


@dataclass(kw_only=True)
class Wanted:
    """What a sandbox was asked for with, as far as it is emulated.

    Attributes:
        app: id of its app.
        argv: the entrypoint.
        image: what it begins with.
        env: variables of the entrypoint, and of all that is started later.
        workdir: where they begin.
        timeout: seconds after which it ends.
        idle_timeout: seconds without a client after which it ends; None: never.
        ports: those with a tunnel, and whether that is without TLS.
        volumes: what of this machine is seen inside.
        name: unique in its app while it runs; empty: none.
        tags: of its owner's.
        definition: all that was asked for, for tests to look at.
    """

    app: str
    argv: list[str]
    image: Image
    env: dict[str, str]
    workdir: str
    timeout: float
    idle_timeout: float | None = None
    ports: dict[int, bool] = field(default_factory=dict)
    volumes: list[Mount] = field(default_factory=list)
    name: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    definition: Any = None


class Sandbox:
    """See above. All of it happens in one event loop.

    Args:
        id: as the protocol names it.
        wanted: how it is to be.

    Attributes:
        ended: set when it has ended, for whatever reason.
        why: ``terminated``, ``timeout`` or ``exited``; empty while it runs.
        status: exit status of its entrypoint.
    """

    def __init__(self, id: str, wanted: Wanted) -> None:  # noqa: A002  # the protocol's word
        self.id = id
        self.wanted = wanted
        self.task_id = f"ta-{id.removeprefix('sb-')}V"
        self.created = time.time()
        self.ended = asyncio.Event()
        self.why = ""
        self.status = 0
        self.tunnels: dict[int, asyncio.Server] = {}
        self.execs: dict[str, Any] = {}
        directory = Path(tempfile.mkdtemp(prefix=f"shellward-modal-{id[-8:]}-"))
        self._box = Box(directory, wanted.image.layers, "modal", wanted.volumes)
        self._ends: dict[int, asyncio.Future[int]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._used = 0

    @property
    def pid(self) -> int:
        """Number of its first process in this machine's table; 0: there is none."""
        return self._box.pid

    async def start(self) -> None:
        """Make it, and start its entrypoint.

        Raises:
            NotStarted: the machine does not let us, or there is no such program.
        """
        try:
            await self._box.start()
            self._box.on_end = lambda: self.end(TERMINATED)
            number, _ = await self.spawn(self.wanted.argv, self.wanted.env, self.wanted.workdir, [])
        except BoxGone as error:
            self.end(TERMINATED)
            raise NotStarted(str(error)) from error
        except BaseException:
            self.end(TERMINATED)
            raise
        self._ends[number].add_done_callback(self._entrypoint_ended)
        self._timer = asyncio.get_running_loop().call_later(self.wanted.timeout, self.end, TIMEOUT)
        self._rest()

    def _entrypoint_ended(self, end: "asyncio.Future[int]") -> None:
        if not end.cancelled():
            self.status = end.result()
            self.end(EXITED)

    async def spawn(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        descriptors: Sequence[int],
        tty: tuple[int, int] | None = None,
    ) -> tuple[int, int]:
        """Start a process; returns its number here and, with a terminal (rows, columns), its other end, else -1.

        Without descriptors its streams are empty, and lead nowhere.

        Raises:
            NotStarted: it cannot be started.
        """
        end: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def ended(status: int) -> None:
            if not end.done():
                end.set_result(128 - status if status < 0 else status)

        try:
            number, master = await self._box.spawn(argv, ended, env=env, cwd=cwd, pty=tty, given=descriptors)
        except BoxGone as error:
            raise NotStarted("the sandbox has ended") from error
        except BlockingIOError as error:
            raise NotStarted("the sandbox is too busy to start another process") from error
        except OSError as error:
            raise NotStarted(f"{error.filename or argv[0]}: {error.strerror}") from error
        self._ends[number] = end
        return number, master

    def end_of(self, number: int) -> "asyncio.Future[int]":
        """The exit status of a process, 128 + n for signal n, when it has ended."""
        return self._ends[number]

    async def connect(self, port: int) -> socket.socket:
        """Connect to a port inside.

        Raises:
            NotStarted: nobody listens there.
        """
        try:
            answer = await self._box.ask("connect", port=port)
        except (BoxGone, OSError) as error:
            raise NotStarted(f"port {port}: {error}") from error
        return socket.socket(fileno=answer.descriptors[0])

    def use(self) -> None:
        """A client does something here: it is not idle."""
        self._used += 1
        if self._idle is not None:
            self._idle.cancel()

    def leave(self) -> None:
        """That is over."""
        self._used -= 1
        self._rest()

    def _rest(self) -> None:
        if self._used == 0 and self.wanted.idle_timeout and not self.ended.is_set():
            self._idle = asyncio.get_running_loop().call_later(self.wanted.idle_timeout, self.end, TIMEOUT)

    def save(self, target: str) -> None:
        """Copy what was changed in its file system."""
        self._box.save(target)

    def end(self, why: str) -> None:
        """End it with all that is in it. Idempotent."""
        if self.ended.is_set():
            return
        self.ended.set()
        self.why = why
        for closing in (
            *(each.close for each in self.tunnels.values()),
            *(each.cancel for each in (self._timer, self._idle) if each),
        ):
            closing()
        self._box.discard()
        for each in self.execs.values():
            if not isinstance(each, asyncio.Future):
                each.close()
