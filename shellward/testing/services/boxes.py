"""Boxes: what a loopback service runs its sandboxes in.

A box has a file system of its own (an overlay over an image's), a process table, a host name and a network that goes
nowhere; its first process is ``box_agent``. Nothing in it can reach this machine's files, processes or network. It is
faster to make than a container (about 60 ms) and starts a process in it in one millisecond, as a cloud's daemon would.
"""

import array
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
from pathlib import Path
from typing import Any, NamedTuple

_MOST = 1 << 20
_AGENT = Path(__file__).with_name("box_agent.py")


class BoxGone(Exception):  # noqa: N818
    """The box has ended, or was stopped."""


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
        directory: its own, on a file system that overlays can lie on (tmpfs).
        lower: directories of its image, the uppermost first.
        name: host name.
        mounts: directories of this machine and where they are seen inside.
    """

    def __init__(
        self, directory: Path, lower: Sequence[str], name: str, mounts: Sequence[tuple[str, str]] = ()
    ) -> None:
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

    async def start(self) -> None:
        """Start it, with the files that it had when it was stopped."""
        work, root = self.directory / "work", self.directory / "root"
        shutil.rmtree(work, ignore_errors=True)
        for each in (self.upper, work, root):
            each.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        config = {
            "root": str(root),
            "lower": self.lower,
            "upper": str(self.upper),
            "work": str(work),
            "name": self._name,
            "mounts": self._mounts,
        }
        words = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--fork", "--kill-child"]
        with theirs:
            os.set_inheritable(theirs.fileno(), True)
            agent = [sys.executable, "-S", "-E", str(_AGENT), str(theirs.fileno()), json.dumps(config)]
            self._process = _started([*words, *agent], theirs.fileno())
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        said = await loop.sock_recv(ours, _MOST)
        if said != b'{"ready":true}':
            ours.close()
            await self._bury()
            raise BoxGone(f"a box does not start: {said.decode(errors='replace')}")
        self._socket = ours
        loop.add_reader(ours.fileno(), self._hear)

    def _hear(self) -> None:
        connection = self._socket
        if connection is None:
            return
        try:
            data, ancillary, _, _ = connection.recvmsg(_MOST, socket.CMSG_SPACE(4 * 4), socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        if not data:
            self._close()
            if self.on_end is not None:
                self.on_end()
            return
        descriptors = array.array("i")
        for _, _, body in ancillary:
            descriptors.frombytes(body[: len(body) - len(body) % 4])
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
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", given))] if given else []
        self._socket.sendmsg([json.dumps({"id": number, "do": do, **request}).encode()], beside)
        answer = await self._waiting[number]
        if "errno" in answer.values:
            raise OSError(answer.values["errno"], answer.values["error"])
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

    async def stop(self) -> None:
        """End every process in it; its files stay."""
        self.on_end = None
        self._close()
        await self._bury()

    async def _bury(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await asyncio.to_thread(process.wait)

    async def remove(self) -> None:
        """Stop it and remove its files."""
        await self.stop()
        await asyncio.to_thread(shutil.rmtree, self.directory, ignore_errors=True)

    @property
    def runs(self) -> bool:
        """Whether it is started."""
        return self._socket is not None


def _started(argv: Sequence[str], descriptor: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, pass_fds=[descriptor], stdin=subprocess.DEVNULL, start_new_session=True)


def rootfs(image: str, cache: Path) -> Path:
    """Lay out an image of this machine's Docker Engine as a directory, once for each version of it.

    Raises:
        RuntimeError: there is no engine, or no such image.
    """
    found = _docker("image", "inspect", "--format", "{{.Id}}", image).decode().strip()
    place = cache / f"rootfs-{found.rpartition(':')[2][:16]}"
    if place.is_dir():
        return place
    cache.mkdir(parents=True, exist_ok=True)
    part = cache / f"{place.name}.{os.getpid()}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    container = _docker("create", image, "true").decode().strip()
    try:
        with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as export:
            subprocess.run(["tar", "-x", "-C", str(part)], stdin=export.stdout, check=True)
    finally:
        _docker("rm", "-f", container)
    try:
        part.rename(place)
    except OSError:  # another one was quicker
        shutil.rmtree(part, ignore_errors=True)
    return place


def _docker(*words: str) -> bytes:
    try:
        done = subprocess.run(["docker", *words], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise RuntimeError("no docker command, which images are taken from; give a directory instead") from error
    if done.returncode:
        raise RuntimeError(f"docker {' '.join(words[:2])}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def tmpfs(place: Path, options: str) -> None:
    """Mount memory as a file system.

    Raises:
        OSError: not as this user.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", ctypes.c_ulong(0), options.encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(place))
