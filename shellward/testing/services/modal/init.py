"""The first process of an emulated sandbox: makes its namespaces and root, starts processes in it, reaps them.

Runs alone (``python -IS init.py SOCKET SPEC``) with the standard library. Its parent is a guard: it dies with the
service and takes the sandbox along. After the root is changed nothing can be imported any more.

Requests and answers are JSON on a socket that keeps messages apart, descriptors beside them:

    {"op": "spawn", "id", "argv", "env", "cwd", "tty"} + stdin, stdout, stderr -> {"id", "pid"} or {"id", "error"};
        with "tty" no descriptors are sent, and the terminal's other end comes with the answer
    {"op": "connect", "id", "port"} -> {"id"} + a connection to that port of the sandbox, or {"id", "error"}
    when a process ends: {"id", "status"}, 128 + n for signal n
"""

import ctypes
import encodings.idna  # noqa: F401  # would be looked for when a host is connected to
import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
import termios
import warnings  # noqa: F401  # os.execvpe would look for it
from collections.abc import Sequence
from typing import Any, NoReturn

NAMESPACES = 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000  # mount, pid, net, ipc, uts
USER = 0x10000000
KEPT = {0, 1, 3, 4, 5, 6, 7, 10}  # CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID NET_BIND_SERVICE
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 4096, 16384, 1 << 18, 2
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
PDEATHSIG, CAPBSET_DROP, NO_NEW_PRIVS = 1, 24, 38
LARGEST = 1 << 18
libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: Any) -> None:
    """Call a function of the C library that answers -1 when it fails."""
    words = [os.fsencode(each) if isinstance(each, str) else each for each in arguments]
    if getattr(libc, name)(*words) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str = "none", flags: int = 0, data: str | None = None) -> None:
    """Put a file system at a place."""
    call("mount", source, target, kind, flags, data)


def make_root(spec: dict[str, Any]) -> None:
    """Mount the sandbox's root file system and make it this process's."""
    root = spec["root"]
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    more = "" if spec["privileged"] else ",userxattr"
    layers = ":".join(spec["layers"])
    data = f"lowerdir={layers},upperdir={spec['upper']},workdir={spec['work']}{more}"
    mount("overlay", root, "overlay", MS_NOSUID | MS_NODEV, data)
    for name in ("proc", "dev", "tmp"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("tmpfs", f"{root}/dev", "tmpfs", MS_NOSUID, "mode=755,size=4m")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        with open(f"{root}/dev/{name}", "wb"):
            pass
        mount(f"/dev/{name}", f"{root}/dev/{name}", flags=MS_BIND)
    for name in ("pts", "shm"):
        os.mkdir(f"{root}/dev/{name}")
    mount("devpts", f"{root}/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    mount("tmpfs", f"{root}/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64m")
    os.symlink("pts/ptmx", f"{root}/dev/ptmx")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{root}/dev/{name}")
    os.symlink("/proc/self/fd", f"{root}/dev/fd")
    for source, target, read_only in spec["volumes"]:
        os.makedirs(root + target, exist_ok=True)
        mount(source, root + target, flags=MS_BIND)
        if read_only:
            mount("none", root + target, flags=MS_BIND | 32 | 1)  # a bind is made read-only by a second call
    os.chdir(root)
    call("syscall", 155, b".", b".")  # pivot_root; glibc has no name for it
    call("umount2", ".", MNT_DETACH)
    os.chdir("/")


def link_up() -> None:
    """Switch the loopback interface on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))


def harden() -> None:
    """Drop what no sandbox has: kernel capabilities, and the ways to new ones."""
    for number in range(64):
        if number not in KEPT and libc.prctl(CAPBSET_DROP, number, 0, 0, 0) == -1:
            break  # past the last one that this kernel knows
    call("prctl", NO_NEW_PRIVS, 1, 0, 0, 0)


class Init:
    """Serves requests until the socket is closed or the entrypoint has ended."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.names: dict[int, int] = {}
        self.wake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.poll = select.poll()
        self.poll.register(connection, select.POLLIN)
        self.poll.register(self.wake, select.POLLIN)

    def say(self, answer: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send an answer."""
        socket.send_fds(self.connection, [json.dumps(answer).encode()], list(descriptors))

    def serve(self) -> None:
        """Carry out requests."""
        while True:
            for descriptor, _ in self.poll.poll():
                if descriptor == self.wake:
                    os.read(self.wake, 4096)
                    self.reap()
                elif not self.take():
                    return

    def take(self) -> bool:
        """Carry out one request; False when there will be no more."""
        data, descriptors, _, _ = socket.recv_fds(self.connection, LARGEST, 3)
        if not data:
            return False
        request = json.loads(data)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        given: list[int] = []
        try:
            if request["op"] == "spawn":
                answer, given = self.spawn(request, descriptors)
            else:
                given = [socket.create_connection(("127.0.0.1", request["port"]), 5).detach()]
                answer = {}
        except OSError as error:
            answer = {"error": error.strerror or str(error), "errno": error.errno}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        self.say({"id": request["id"], **answer}, given)
        for descriptor in given:
            os.close(descriptor)
        return True

    def spawn(self, request: dict[str, Any], descriptors: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Start a process; returns the answer, and descriptors that go with it."""
        given = []
        slave = None
        if request["tty"]:
            master, slave = os.openpty()
            fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *request["tty"], 0, 0))
            descriptors[:0] = [slave]
            given = [master]
        failed, tell = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            begin(request, [slave] * 3 if slave is not None else descriptors, tell)
        os.close(tell)
        with open(failed, "rb") as end:
            why = end.read()
        if why:
            os.waitpid(pid, 0)
            for descriptor in given:
                os.close(descriptor)
            return {"error": why.decode()}, []
        self.names[pid] = request["id"]
        return {"pid": pid}, given

    def reap(self) -> None:
        """Take note of what has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            name = self.names.pop(pid, None)
            if name is not None:
                code = os.waitstatus_to_exitcode(status)
                self.say({"id": name, "status": 128 - code if code < 0 else code})


def begin(request: dict[str, Any], descriptors: list[int], tell: int) -> NoReturn:
    """Become the program, in the child."""
    try:
        os.setsid()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        if request["tty"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # whatever the service was started with
        os.chdir(request["cwd"])
        os.execvpe(request["argv"][0], request["argv"], request["env"])
    except OSError as error:
        what = request["cwd"] if error.filename == request["cwd"] else request["argv"][0]
        os.write(tell, f"{what}: {error.strerror}".encode())
    finally:
        os._exit(127)


def map_user() -> None:
    """Be root of a namespace of users, as an ordinary user of the machine."""
    uid, gid = os.geteuid(), os.getegid()
    call("unshare", USER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def main() -> None:
    """Be the guard, and in its child the first process."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    with open(sys.argv[2]) as file:
        spec = json.load(file)
    connection.set_inheritable(False)
    os.umask(0o022)
    if not spec["privileged"]:
        map_user()  # forgets whom to die with
    call("prctl", PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    call("unshare", NAMESPACES)
    pid = os.fork()
    if pid:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGKILL))
        connection.close()
        os.waitpid(pid, 0)
        return
    call("prctl", PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        call("sethostname", b"modal", 5)
        link_up()
        make_root(spec)
        harden()
    except OSError as error:
        socket.send_fds(connection, [json.dumps({"id": 0, "error": str(error)}).encode()], [])
        os._exit(1)
    os.environ.clear()
    init = Init(connection)
    init.say({"id": 0})
    try:
        init.serve()
    except (BrokenPipeError, ConnectionResetError) as error:
        if error.errno not in (errno.EPIPE, errno.ECONNRESET):
            raise
    os._exit(0)


if __name__ == "__main__":
    main()
