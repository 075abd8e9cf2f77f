"""The first process of a box: makes its namespaces and its file system, then starts what it is asked to start.

Runs alone (``python -IS box_agent.py SOCKET CONFIG``) with the standard library, in one thread. Its parent is a guard,
which dies with the service and takes the box along. Once the root is changed nothing can be imported any more.

Requests and answers are JSON, one per packet, descriptors beside them. A request has an ``id`` and what to ``do``:

    spawn    argv, env, cwd, user, pty (rows and columns) + standard streams -> pid + a terminal's other end
    open     path, flags, mode, user -> size + the file
    replace  path, mode, target, user    a file takes the place of another
    remove   path
    connect  port -> + a connection
    kill     pid -> killed: it and what descends from it
    table    -> rows: number, state and words of each process

An answer has the ``id``; one that says no has ``errno``, ``error`` and ``path``. What has ended is told without being
asked: ``ended``, its number, and ``status``, -n for signal n. When the socket closes, everything in the box ends.
"""

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
import warnings  # noqa: F401  # os.execvpe would look for it
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

_MOST = 1 << 20
_NAMESPACES = 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000  # mount, pid, net, ipc, uts
_USERS = 0x10000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE, _MNT_DETACH = 1, 32, 4096, 16384, 1 << 18, 2
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_KEPT = {0, 1, 3, 4, 5, 6, 7, 10}
"""Kernel capabilities that commands may have, by number (linux/capability.h): those of a usual container, without
making device files, changing the root directory and mounting, so that root in a box cannot leave it."""
_CAPABILITIES = 64
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_CONNECT = 5.0
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the C library that answers -1 when it fails."""
    words = [os.fsencode(each) if isinstance(each, str) else each for each in arguments]
    if getattr(_libc, name)(*words) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str = "none", flags: int = 0, data: str | None = None) -> None:
    _call("mount", source, target, kind, ctypes.c_ulong(flags), data)


def _file_system(config: dict[str, Any]) -> None:
    """Make the box's root directory out of layers, and go there."""
    root = config["root"]
    as_root = config["as_root"]
    _mount("none", "/", flags=_MS_REC | _MS_PRIVATE)
    layers = f"lowerdir={':'.join(config['lower'])},upperdir={config['upper']},workdir={config['work']}"
    _mount("overlay", root, "overlay", _MS_NOSUID | _MS_NODEV, layers if as_root else f"{layers},userxattr")
    for name in ("proc", "dev", "tmp", "run", "sys"):
        Path(root, name).mkdir(exist_ok=True)
    _mount("proc", f"{root}/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _devices(f"{root}/dev", "mode=620,gid=5" if as_root else "mode=620")
    for source, target, read_only in config["mounts"]:
        Path(root + target).mkdir(parents=True, exist_ok=True)
        _mount(source, root + target, flags=_MS_BIND)
        if read_only:  # a bind is made so by a second call
            _mount("none", root + target, flags=_MS_BIND | _MS_REMOUNT | _MS_RDONLY)
    os.chdir(root)
    if _libc.pivot_root(b".", b".") == 0:  # the old root lies below the new one then
        _call("umount2", ".", _MNT_DETACH)
    else:
        os.chroot(root)
    os.chdir("/")


def _devices(directory: str, terminals: str) -> None:
    _mount("tmpfs", directory, "tmpfs", _MS_NOSUID, "mode=755,size=4m")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        Path(directory, name).touch()
        _mount(f"/dev/{name}", f"{directory}/{name}", flags=_MS_BIND)
    for name in ("pts", "shm"):
        Path(directory, name).mkdir()
    _mount("devpts", f"{directory}/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, f"newinstance,ptmxmode=0666,{terminals}")
    _mount("tmpfs", f"{directory}/shm", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777,size=64m")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    for name, to in links.items():
        Path(directory, name).symlink_to(to)


def _limit() -> None:
    """Drop what no box has: kernel capabilities, and the ways to new ones."""
    for number in range(_CAPABILITIES):
        if number not in _KEPT and _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == -1:
            break  # past the last one that this kernel knows
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


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


@contextmanager
def _as_user(name: str | None) -> Iterator[None]:
    """Open and change files with the rights of a user of the box."""
    uid, gid, _ = _user(name)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


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
        data, given, _, _ = socket.recv_fds(self._socket, _MOST, 4)
        if not data:
            return False
        for descriptor in given:
            os.set_inheritable(descriptor, False)  # recv_fds takes flags and does not use them (3.11)
        request = json.loads(data)
        opened: list[int] = []
        try:
            answer, opened = getattr(self, f"do_{request['do']}")(request, given)
        except OSError as error:
            answer = {"errno": error.errno or errno.EIO, "error": error.strerror or str(error), "path": error.filename}
        finally:
            for descriptor in given:
                os.close(descriptor)
        self._send({"id": request["id"], **answer}, opened)
        for descriptor in opened:
            os.close(descriptor)
        return True

    def _send(self, message: dict[str, Any], descriptors: list[int]) -> None:
        socket.send_fds(self._socket, [json.dumps(message).encode()], descriptors)

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
        """Start a process with the given standard streams, with none, or at a new terminal, which is handed back."""
        master = slave = -1
        if size := request.get("pty"):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        # A place, program or user that is not there is told by the child, through a pipe that its program closes.
        failed, failing = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            _become(request, given if slave < 0 else [slave] * 3, failing, terminal=slave >= 0)
        os.close(failing)
        if slave >= 0:
            os.close(slave)
        said = os.read(failed, 4096)
        os.close(failed)
        if said:
            if master >= 0:
                os.close(master)
            number, _, what = said.decode(errors="replace").partition(" ")
            raise OSError(int(number), os.strerror(int(number)), what)
        self._watched.add(pid)
        return {"pid": pid}, [master] if master >= 0 else []

    def do_open(self, request: dict[str, Any], _given: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Open a file of the box."""
        flags = request["flags"] | os.O_CLOEXEC | os.O_NONBLOCK
        with _as_user(request.get("user")):
            descriptor = os.open(request["path"], flags, request.get("mode", 0o644))
        return {"size": os.fstat(descriptor).st_size}, [descriptor]

    def do_replace(self, request: dict[str, Any], _given: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Give a file its mode, and the place of another."""
        with _as_user(request.get("user")):
            Path(request["path"]).chmod(request["mode"])
            Path(request["path"]).replace(request["target"])
        return {}, []

    def do_remove(self, request: dict[str, Any], _given: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Remove a file."""
        Path(request["path"]).unlink()
        return {}, []

    def do_connect(self, request: dict[str, Any], _given: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Connect to a port of the box."""
        # Not by create_connection: that would import a codec, from files that cannot be seen from here any more.
        with socket.socket() as connection:
            connection.settimeout(_CONNECT)
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


def _become(request: dict[str, Any], streams: list[int], failing: int, *, terminal: bool) -> NoReturn:
    """Become the program, in the child."""
    what = request["argv"][0]
    try:
        uid, gid, home = _user(request.get("user"))
        os.setsid()
        for number, descriptor in enumerate(streams or [os.open("/dev/null", os.O_RDWR)] * 3):
            os.dup2(descriptor, number)
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.set_wakeup_fd(-1)
        for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(each, signal.SIG_DFL)  # whatever the service was started with
        what = request.get("cwd") or "/"
        os.chdir(what)
        what = request["argv"][0]
        if uid:
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)
        variables = {"HOME": home, **request["env"]}
        os.execvpe(what, request["argv"], variables)  # noqa: S606  # the words are to be taken as they are
    except OSError as error:
        os.write(failing, f"{error.errno or errno.EIO} {what}".encode())
    finally:
        os._exit(127)


def _map_user() -> None:
    """Be root of a namespace of users, as an ordinary user of the machine."""
    uid, gid = os.geteuid(), os.getegid()
    _call("unshare", _USERS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        Path("/proc/self", name).write_text(text)


def _guard(pid: int) -> None:
    """Wait for the first process of the box; take it along, and with it all that is in the box, when told to end."""

    def end(*_: object) -> None:
        with suppress(ProcessLookupError):  # it ends by itself just now
            os.kill(pid, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end)
    os.waitpid(pid, 0)


def main() -> None:
    """Be the guard, and in its child the first process of the box; see the module for the arguments."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    config = json.loads(sys.argv[2])
    os.umask(0o022)
    config["as_root"] = os.geteuid() == 0
    if not config["as_root"]:
        _map_user()  # forgets whom to die with
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    _call("unshare", _NAMESPACES)
    pid = os.fork()
    if pid:
        connection.close()
        _guard(pid)
        return
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        _file_system(config)
        socket.sethostname(config["name"])
        _loopback()
        _limit()
    except OSError as error:
        connection.send(json.dumps({"failed": str(error)}).encode())
        os._exit(1)
    os.environ.clear()
    connection.send(b'{"ready":true}')
    with suppress(BrokenPipeError, ConnectionResetError):  # who asked is gone
        Agent(connection).serve()
    os._exit(0)


if __name__ == "__main__":
    main()
