"""The first process of a box: makes its file system and its devices, then starts what it is asked to start.

It runs alone in new namespaces (see ``boxes``), in one thread. Requests and answers are JSON, one per packet, with
descriptors beside them; what has ended is told without being asked. When the socket closes, everything in the box ends.
"""

import array
import ctypes
import errno
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import sys
import termios
from pathlib import Path
from typing import Any

_MOST = 1 << 20
_MS_BIND, _MS_REC, _MS_PRIVATE, _MS_NOSUID, _MS_NOEXEC, _MNT_DETACH = 4096, 16384, 1 << 18, 2, 8, 2
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_KEPT = {0, 1, 3, 4, 5, 6, 7, 10}
"""Kernel capabilities that commands may have, by number (linux/capability.h): those of a usual container, without
making device files, changing the root directory and mounting, so that root in a box cannot leave it."""
_CAPABILITIES = 41
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    done = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    if done:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def _file_system(config: dict[str, Any]) -> None:
    """Make the box's root directory out of layers, and go there."""
    root = config["root"]
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    layers = f"lowerdir={':'.join(config['lower'])},upperdir={config['upper']},workdir={config['work']}"
    _mount("overlay", root, "overlay", 0, layers)
    for name in ("proc", "dev", "tmp", "run", "sys"):
        Path(root, name).mkdir(exist_ok=True)
    _mount("proc", f"{root}/proc", "proc", _MS_NOSUID | _MS_NOEXEC)
    _mount("tmpfs", f"{root}/dev", "tmpfs", _MS_NOSUID, "mode=755,size=1m")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        where = f"{root}/dev/{name}"
        Path(where).touch()
        _mount(f"/dev/{name}", where, "", _MS_BIND)
    for name in ("pts", "shm"):
        Path(root, "dev", name).mkdir()
    _mount("devpts", f"{root}/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5")
    _mount("tmpfs", f"{root}/dev/shm", "tmpfs", _MS_NOSUID, "mode=1777,size=64m")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    for name, to in links.items():
        Path(root, "dev", name).symlink_to(to)
    for source, target in config["mounts"]:
        Path(root + target).mkdir(parents=True, exist_ok=True)
        _mount(source, root + target, "", _MS_BIND)
    os.chdir(root)
    if _libc.pivot_root(b".", b".") == 0:  # the old root lies below the new one then
        _libc.umount2(b".", _MNT_DETACH)
    else:
        os.chroot(root)
    os.chdir("/")


def _limit() -> None:
    for number in range(_CAPABILITIES):
        if number not in _KEPT:
            _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _loopback() -> None:
    with socket.socket() as link:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(link, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(link, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | 1))


def _user(name: str | None) -> tuple[int, int, str]:
    """Numbers and home directory of a user of the box; root where nobody was named."""
    for line in Path("/etc/passwd").read_text(errors="replace").splitlines() if name else ():
        fields = line.split(":")
        if len(fields) > 5 and name in (fields[0], fields[2]):
            return int(fields[2]), int(fields[3]), fields[5]
    if name not in (None, "", "root", "0", "daytona"):
        raise OSError(errno.ENOENT, f"no user {name!r}")
    return 0, 0, "/root"


class Agent:
    """Serves one socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._watched: set[int] = set()

    def serve(self) -> None:
        """Answer requests until the socket closes."""
        waker, bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        poller.register(waker, select.POLLIN)
        while True:
            ready = [number for number, _ in poller.poll()]
            if waker in ready:
                os.read(waker, 4096)
                self._reap()
            if self._socket.fileno() in ready and not self._one():
                return

    def _one(self) -> bool:
        data, ancillary, _, _ = self._socket.recvmsg(_MOST, socket.CMSG_SPACE(4 * 4), socket.MSG_CMSG_CLOEXEC)
        if not data:
            return False
        given = array.array("i")
        for level, kind, body in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                given.frombytes(body[: len(body) - len(body) % 4])
        request = json.loads(data)
        opened: list[int] = []
        try:
            answer, opened = getattr(self, f"do_{request['do']}")(request, list(given))
        except OSError as error:
            answer = {"errno": error.errno or errno.EIO, "error": str(error)}
        finally:
            for descriptor in given:
                os.close(descriptor)
        self._send({"id": request["id"], **answer}, opened)
        for descriptor in opened:
            os.close(descriptor)
        return True

    def _send(self, message: dict[str, Any], descriptors: list[int]) -> None:
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self._socket.sendmsg([json.dumps(message).encode()], beside)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._watched:
                self._watched.discard(pid)
                self._send({"ended": pid, "status": os.waitstatus_to_exitcode(status)}, [])

    def do_spawn(self, request: dict[str, Any], given: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Start a process with the given standard streams, or at a new terminal, which is handed back."""
        master = slave = -1
        if size := request.get("pty"):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        # A place, program or user that is not there is told by the child, through a pipe that its program closes.
        failed, failing = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            try:
                self._become(request, given if slave < 0 else [slave] * 3, terminal=slave >= 0)
            except OSError as error:
                os.write(failing, f"{error.errno or errno.EIO}".encode())
            finally:
                os._exit(127)
        os.close(failing)
        if slave >= 0:
            os.close(slave)
        number = os.read(failed, 16)
        os.close(failed)
        if number:
            if master >= 0:
                os.close(master)
            raise OSError(int(number), os.strerror(int(number)))
        self._watched.add(pid)
        return {"pid": pid}, [master] if master >= 0 else []

    def _become(self, request: dict[str, Any], streams: list[int], *, terminal: bool) -> None:
        uid, gid, home = _user(request.get("user"))
        os.setsid()
        if terminal:
            fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
        signal.set_wakeup_fd(-1)
        for each in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(each, signal.SIG_DFL)
        os.chdir(request.get("cwd") or "/")
        if uid:
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)
        variables = {"HOME": home, **request["env"]}
        os.execvpe(request["argv"][0], request["argv"], variables)  # noqa: S606  # the words are to be taken as they are

    def do_open(self, request: dict[str, Any], _given: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Open a file of the box."""
        descriptor = os.open(
            request["path"], request["flags"] | os.O_CLOEXEC | os.O_NONBLOCK, request.get("mode", 0o644)
        )
        return {"size": os.fstat(descriptor).st_size}, [descriptor]

    def do_connect(self, request: dict[str, Any], _given: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Connect to a port of the box."""
        # Not by create_connection: that would import a codec, from files that cannot be seen from here any more.
        with socket.socket() as connection:
            connection.connect(("127.0.0.1", request["port"]))
            return {}, [os.dup(connection.fileno())]

    def do_kill(self, request: dict[str, Any], _given: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Kill a process and what descends from it, as the daemon of a sandbox does."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                except (OSError, IndexError, ValueError):
                    continue
                children.setdefault(parent, []).append(int(entry.name))
        doomed = [request["pid"]]
        for pid in doomed:
            doomed += children.get(pid, [])
        for pid in reversed(doomed):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return {"killed": doomed}, []

    def do_table(self, _request: dict[str, Any], _given: list[int]) -> tuple[dict[str, Any], list[int]]:
        """List the processes of the box but this one."""
        rows = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or entry.name == "1":
                continue
            try:
                state = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                words = (entry / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
            except (OSError, IndexError):
                continue
            rows.append([int(entry.name), state, words])
        return {"rows": rows}, []


def main() -> None:
    """Serve the socket whose number is the first argument, in the box that the second one describes."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    config = json.loads(sys.argv[2])
    try:
        _file_system(config)
        socket.sethostname(config["name"])
        _loopback()
        _limit()
    except OSError as error:
        connection.send(json.dumps({"failed": str(error)}).encode())
        raise
    connection.send(b'{"ready":true}')
    Agent(connection).serve()


if __name__ == "__main__":
    main()
