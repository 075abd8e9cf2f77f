"""One emulated sandbox: its namespaces, its processes (init.py starts them), its end."""

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from shellward.testing.services.modal.images import Image, copy_layer

_INIT: Final = Path(__file__).with_name("init.py")
_LARGEST: Final = 1 << 18
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
        volumes: directory of this machine, path inside, read-only.
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
    volumes: list[tuple[str, str, bool]] = field(default_factory=list)
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
        self._directory = Path(tempfile.mkdtemp(prefix=f"shellward-modal-{id[-8:]}-"))
        self._guard: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._numbers = 1
        self._answers: dict[int, asyncio.Future[tuple[dict[str, Any], list[int]]]] = {}
        self._ends: dict[int, asyncio.Future[int]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._used = 0

    @property
    def pid(self) -> int:
        """Number of its first process in this machine's table; 0: there is none."""
        if self._guard is None or self.ended.is_set():
            return 0
        children = Path(f"/proc/{self._guard.pid}/task/{self._guard.pid}/children")
        try:
            return int(children.read_text().split()[0])
        except (OSError, IndexError):
            return 0

    async def start(self) -> None:
        """Make it, and start its entrypoint.

        Raises:
            NotStarted: the machine does not let us, or there is no such program.
        """
        loop = asyncio.get_running_loop()
        try:
            self._launch()
            loop.add_reader(self._socket.fileno(), self._take)
            ready, _ = await self._await(0)
            if "error" in ready:
                raise NotStarted(ready["error"])  # noqa: TRY301
            await self._start_entrypoint()
        except BaseException:
            self.end(TERMINATED)
            raise
        self._timer = loop.call_later(self.wanted.timeout, self.end, TIMEOUT)
        self._rest()

    async def _start_entrypoint(self) -> None:
        null = os.open("/dev/null", os.O_RDWR)
        try:
            number, _ = await self.spawn(self.wanted.argv, self.wanted.env, self.wanted.workdir, [null] * 3)
        finally:
            os.close(null)
        self._ends[number].add_done_callback(self._entrypoint_ended)

    def _entrypoint_ended(self, end: "asyncio.Future[int]") -> None:
        if not end.cancelled():
            self.status = end.result()
            self.end(EXITED)

    def _launch(self) -> None:
        for name in ("upper", "work", "root"):
            (self._directory / name).mkdir()
        (self._directory / "upper").chmod(0o755)
        spec = {
            "privileged": os.geteuid() == 0,
            "layers": self.wanted.image.layers,
            "volumes": self.wanted.volumes,
            **{name: str(self._directory / name) for name in ("upper", "work", "root")},
        }
        (self._directory / "spec").write_text(json.dumps(spec))
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.setblocking(False)
        with theirs:
            self._guard = subprocess.Popen(
                [sys.executable, "-IS", _INIT, str(theirs.fileno()), self._directory / "spec"],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def _socket(self) -> socket.socket:
        if self._connection is None:
            raise NotStarted("the sandbox has ended")
        return self._connection

    async def _await(self, number: int) -> tuple[dict[str, Any], list[int]]:
        future: asyncio.Future[tuple[dict[str, Any], list[int]]] = asyncio.get_running_loop().create_future()
        self._answers[number] = future
        return await future

    def _take(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._socket, _LARGEST, 1)
        except (OSError, NotStarted):
            data, descriptors = b"", []
        if not data:
            self.end(TERMINATED)
            return
        answer = json.loads(data)
        if "status" in answer:
            self._ends[answer["id"]].set_result(answer["status"])
            return
        future = self._answers.pop(answer["id"], None)
        if future is None or future.done():
            for descriptor in descriptors:
                os.close(descriptor)
            return
        future.set_result((answer, list(descriptors)))

    async def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> tuple[int, list[int]]:
        number, self._numbers = self._numbers, self._numbers + 1
        self._ends[number] = asyncio.get_running_loop().create_future()
        text = json.dumps({**request, "id": number}).encode()
        try:
            socket.send_fds(self._socket, [text], list(descriptors))
        except BlockingIOError as error:
            raise NotStarted("the sandbox is too busy to start another process") from error
        except OSError as error:
            raise NotStarted("the sandbox has ended") from error
        answer, given = await self._await(number)
        if "error" in answer:
            raise NotStarted(answer["error"])
        return number, given

    async def spawn(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        descriptors: Sequence[int],
        tty: tuple[int, int] | None = None,
    ) -> tuple[int, int | None]:
        """Start a process; returns its number here and, with a terminal (rows, columns), its other end.

        Raises:
            NotStarted: it cannot be started.
        """
        request = {"op": "spawn", "argv": list(argv), "env": dict(env), "cwd": cwd, "tty": tty}
        number, given = await self._ask(request, descriptors)
        return number, given[0] if given else None

    def end_of(self, number: int) -> "asyncio.Future[int]":
        """The exit status of a process, 128 + n for signal n, when it has ended."""
        return self._ends[number]

    async def connect(self, port: int) -> socket.socket:
        """Connect to a port inside.

        Raises:
            NotStarted: nobody listens there.
        """
        _, given = await self._ask({"op": "connect", "port": port})
        return socket.socket(fileno=given[0])

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
        copy_layer(str(self._directory / "upper"), target)

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
        if self._connection is not None:
            asyncio.get_running_loop().remove_reader(self._connection.fileno())
            self._connection.close()
            self._connection = None
        self._answer_all()
        if self._guard is not None:
            # Its first process is killed by the kernel then, and the namespace with that.
            self._guard.kill()
            self._guard.wait()
        for each in self.execs.values():
            if not isinstance(each, asyncio.Future):
                each.close()
        self._remove()

    def _answer_all(self) -> None:
        """Let nobody wait for what will not come any more."""
        for future in [*self._answers.values()]:
            if not future.done():
                future.set_result(({"error": "the sandbox has ended"}, []))
        for end in self._ends.values():
            if not end.done():
                end.set_result(137)

    def _remove(self) -> None:
        for _ in range(50):  # the last of the namespace may still be dying, and holds its mounts
            with contextlib.suppress(OSError):
                for path in (self._directory / "work").rglob("*"):
                    path.chmod(0o700)
                shutil.rmtree(self._directory)
                return
            time.sleep(0.01)
