"""Boxes: what a loopback service runs its sandboxes in.

A box has a file system of its own (an overlay over an image's), a process table, a host name and a network that goes
nowhere; its first process is ``box_agent``. Nothing in it can reach this machine's files, processes or network. It is
faster to make than a container (about 60 ms) and starts a process in it in one millisecond, as a cloud's daemon would.
It needs root, or user namespaces.
"""

import asyncio
import ctypes
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

_MOST: Final = 1 << 20
_AGENT: Final = Path(__file__).with_name("box_agent.py")
_DEATH: Final = 10.0
"""Seconds within which a box that is told to end has done so."""


class BoxGone(Exception):  # noqa: N818
    """The box has ended, or was stopped."""


class Mount(NamedTuple):
    """A directory of this machine in a box.

    Attributes:
        source: the directory.
        target: where it is seen inside.
        read_only: it cannot be changed there.
    """

    source: str
    target: str
    read_only: bool = False


class Answer(NamedTuple):
    """What the agent answered.

    Attributes:
        values: see box_agent.
        descriptors: what it opened; the receiver's to close.
    """

    values: dict[str, Any]
    descriptors: list[int]


class Box:
    """One box; all its methods belong to one event loop.

    Args:
        directory: its own, on a file system that overlays can lie on.
        lower: directories of its image, the uppermost first.
        name: host name.
        mounts: see Mount.

    Attributes:
        on_end: is called when it has ended by itself.
    """

    def __init__(self, directory: Path, lower: Sequence[str], name: str, mounts: Sequence[Mount] = ()) -> None:
        self.directory = directory
        self.lower = list(lower)
        self._name = name
        self._mounts = list(mounts)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._ends: dict[int, Callable[[int], None]] = {}
        self._early: dict[int, int] = {}
        self.on_end: Callable[[], None] | None = None

    @property
    def upper(self) -> Path:
        """Where what was changed lies."""
        return self.directory / "upper"

    @property
    def runs(self) -> bool:
        """Whether it is started."""
        return self._socket is not None

    @property
    def pid(self) -> int:
        """Number of its first process in this machine's table; 0: there is none."""
        if self._process is None or not self.runs:
            return 0
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        try:
            return int(children.read_text().split()[0])
        except (OSError, IndexError):
            return 0

    async def start(self) -> None:
        """Start it, with the files that it had when it was stopped.

        Raises:
            BoxGone: it does not start; says why.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            with theirs:
                words = [sys.executable, "-IS", str(_AGENT), str(theirs.fileno()), json.dumps(self._laid_out())]
                self._process = _started(words, theirs.fileno())
            said = await loop.sock_recv(ours, _MOST)
        except BaseException:
            ours.close()
            await self.stop()
            raise
        if said != b'{"ready":true}':
            ours.close()
            await self.stop()
            raise BoxGone(f"a box does not start: {said.decode(errors='replace')}")
        self._socket = ours
        loop.add_reader(ours.fileno(), self._hear)

    def _laid_out(self) -> dict[str, Any]:
        """Make its directories; returns what the agent is told."""
        work, root = self.directory / "work", self.directory / "root"
        _remove(work)
        for each in (work, root):
            each.mkdir(parents=True, exist_ok=True)
        if not self.upper.is_dir():
            self.upper.mkdir()
            self.upper.chmod(0o755)  # that of the root directory inside
        return {
            "root": str(root),
            "lower": self.lower,
            "upper": str(self.upper),
            "work": str(work),
            "name": self._name,
            "mounts": self._mounts,
        }

    def _hear(self) -> None:
        if self._socket is None:
            return
        try:
            data, descriptors, _, _ = socket.recv_fds(self._socket, _MOST, 4)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        if not data:
            self._close()
            if self.on_end is not None:
                self.on_end()
            return
        message = json.loads(data)
        if "ended" in message:
            self._end_of(message["ended"], message["status"])
            return
        waiting = self._waiting.pop(message["id"], None)
        if waiting is None or waiting.done():
            for descriptor in descriptors:
                os.close(descriptor)
            return
        waiting.set_result(Answer(message, list(descriptors)))

    def _end_of(self, pid: int, status: int) -> None:
        call = self._ends.pop(pid, None)
        if call is None:
            self._early[pid] = status
        else:
            call(status)

    async def ask(self, do: str, given: Sequence[int] = (), **request: Any) -> Answer:
        """Have the agent do something.

        Raises:
            OSError: it cannot.
            BoxGone: there is no agent.
        """
        if self._socket is None:
            raise BoxGone("the box does not run")
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            socket.send_fds(self._socket, [json.dumps({"id": number, "do": do, **request}).encode()], list(given))
        except OSError:  # its queue is full, or it is gone
            del self._waiting[number]
            raise
        answer = await self._waiting[number]
        if "errno" in answer.values:
            raise OSError(answer.values["errno"], answer.values["error"], answer.values["path"])
        return answer

    async def spawn(
        self,
        argv: Sequence[str],
        on_end: Callable[[int], None],
        *,
        env: Mapping[str, str],
        cwd: str = "",
        user: str | None = None,
        pty: tuple[int, int] | None = None,
        given: Sequence[int] = (),
    ) -> tuple[int, int]:
        """Start a process; ``on_end`` hears its exit status (-n: by signal n).

        Returns:
            Its number in the box, and the master's side of its terminal (-1: it has none).

        Raises:
            OSError: no such program, directory or user.
        """
        answer = await self.ask("spawn", given, argv=list(argv), env=dict(env), cwd=cwd, user=user, pty=pty)
        pid = int(answer.values["pid"])
        if pid in self._early:
            asyncio.get_running_loop().call_soon(on_end, self._early.pop(pid))
        else:
            self._ends[pid] = on_end
        return pid, answer.descriptors[0] if answer.descriptors else -1

    def _close(self) -> None:
        connection, self._socket = self._socket, None
        if connection is not None:
            asyncio.get_running_loop().remove_reader(connection.fileno())
            connection.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(BoxGone("the box has ended"))
        self._waiting.clear()
        ends, self._ends = self._ends, {}
        for call in ends.values():
            call(-9)

    def save(self, target: str) -> None:
        """Copy what was changed, with all that overlayfs notes in it (whiteouts, attributes), to a directory."""
        subprocess.run(["cp", "-a", "--reflink=auto", str(self.upper), target], check=True, capture_output=True)

    async def stop(self) -> None:
        """End every process in it, and wait for that; its files stay. Idempotent."""
        if (process := self._left()) is not None:
            await asyncio.to_thread(_bury, process)

    def _left(self) -> subprocess.Popen[bytes] | None:
        """Let go of it; returns the process that is to end."""
        self.on_end = None
        self._close()
        process, self._process = self._process, None
        return process

    async def remove(self) -> None:
        """Stop it and remove its files."""
        await self.stop()
        await asyncio.to_thread(_remove, self.directory)

    def discard(self) -> None:
        """As ``remove``, but it does not wait for that; the end of the loop does."""
        asyncio.get_running_loop().run_in_executor(None, _finish, self._left(), self.directory)


def _started(argv: Sequence[str], descriptor: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, pass_fds=[descriptor], stdin=subprocess.DEVNULL, start_new_session=True)


def _bury(process: subprocess.Popen[bytes]) -> None:
    process.terminate()  # the guard ends only when everything in the box has
    try:
        process.wait(_DEATH)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _finish(process: subprocess.Popen[bytes] | None, directory: Path) -> None:
    if process is not None:
        _bury(process)
    _remove(directory)


def _remove(directory: Path) -> None:
    for path in (directory / "work", directory / "work" / "work"):
        with suppress(OSError):
            path.chmod(0o700)  # overlayfs makes it for nobody
    shutil.rmtree(directory, ignore_errors=True)


def tmpfs(place: Path, options: str) -> None:
    """Mount memory as a file system.

    Raises:
        OSError: not as this user.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", ctypes.c_ulong(0), options.encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(place))
