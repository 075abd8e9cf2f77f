"""The door into a container on this machine, in a real one: what it lets in, what it keeps out, what is left of it."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
import requests
from docker.api.client import APIClient

from shellward import Terminal, aio, environments
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.environments import door
from shellward.environments.docker import backend
from shellward.environments.docker.backend import DockerBackend
from shellward.environments.docker.channel import DockerChannel
from shellward.environments.door import INSIDE
from shellward.environments.environment import Environment
from shellward.environments.machine import memory_backed
from shellward.environments.pipes import PipeChannel
from shellward.terminal_tool.aio import Terminal as AsyncTerminal
from shellward.testing.place import docker_drops, docker_labelled

pytestmark = pytest.mark.docker
IMAGE = "shellward/sandbox"


def make(**config: Any) -> Environment:
    return environments.create("docker", image=IMAGE, network="none", **config)


@pytest.fixture(scope="module")
def env() -> Iterator[Environment]:
    with make() as made:
        yield made


def of(env: Environment) -> DockerBackend:
    return cast("DockerBackend", env.backend)


def shared(env: Environment) -> Path:
    here = of(env).door
    assert here is not None
    return here.shared


def opened(env: Environment) -> type:
    """How a new process comes in."""
    channel = env.backend.open(["sh", "-c", "echo in"])
    try:
        pieces = channel.read(10)
        assert pieces
        assert pieces[0].data == b"in\n"
        assert channel.wait(10) == 0
        return type(channel)
    finally:
        channel.close()


def test_processes_come_in_through_the_door(env: Environment) -> None:
    assert opened(env) is PipeChannel
    assert sorted(path.name for path in shared(env).iterdir()) == ["ask", "up"]


def test_what_a_process_gets_is_what_was_asked_for(env: Environment) -> None:
    text = "a'b\n$HOME \udcff"
    with contextlib.closing(
        env.backend.open(["printf", "%s|", text, "", "-n"], env={"X": text}, cwd="/usr/share")
    ) as channel:
        assert channel.read(10)[0].data == f"{text}||-n|".encode(errors="surrogateescape")  # type: ignore[index]
        assert channel.wait(10) == 0
    with contextlib.closing(
        env.backend.open(["sh", "-c", 'printf %s "$PWD $X" >&2; exit 7'], env={"X": text}, cwd="/usr")
    ) as channel:
        (piece,) = channel.read(10) or ()
        assert (piece.stream.value, piece.data) == ("stderr", f"/usr {text}".encode(errors="surrogateescape"))
        assert channel.wait(10) == 7


@pytest.mark.parametrize(
    ("argv", "cwd", "status", "says"),
    [(["no-such-program"], None, 127, b"no-such-program"), (["true"], "/no/such", 126, b"/no/such")],
)
def test_what_cannot_be_started_says_why(
    env: Environment, argv: list[str], cwd: str | None, status: int, says: bytes
) -> None:
    with contextlib.closing(env.backend.open(argv, cwd=cwd)) as channel:
        said = b""
        while pieces := channel.read(10):
            said += b"".join(piece.data for piece in pieces)
        assert says in said
        assert channel.wait(10) == status


def test_a_signal_ends_it_and_interrupts_are_not_ignored(env: Environment) -> None:
    with contextlib.closing(env.backend.open(["sh", "-c", "kill -INT $$; echo ignored"])) as channel:
        assert channel.wait(10) == 128 + signal.SIGINT


def test_a_process_that_is_gone_is_gone_whoever_holds_its_output(env: Environment) -> None:
    with contextlib.closing(env.backend.open(["sh", "-c", "sleep 1000 & echo $!"])) as channel:
        printed = b"".join(piece.data for piece in channel.read(10) or ())
        while channel.read(10):
            pass
        assert channel.wait(0) == 0
    assert env.run(f"kill {int(printed)}").exit_code == 0


def test_nothing_inside_can_change_it(env: Environment) -> None:
    for attempt in ("touch x", "rm ask", "mv ask up", "ln -s /etc/passwd y", "chmod 777 .", "mkfifo z"):
        assert "Read-only" in env.run(f"cd {INSIDE} && {attempt}").stderr, attempt


def test_nonsense_for_the_doorkeeper(env: Environment) -> None:
    env.run("printf 'echo hacked >/tmp/hacked' >/tmp/evil.sh")
    words = ["../../tmp/evil", "/tmp/evil", "..", "", "$(touch /tmp/hacked)", "a;touch /tmp/hacked", "abc", "x" * 3000]
    for word in words:
        env.run([*["sh", "-c"], f'printf "%s\\n" "$1" >{INSIDE}/ask', "sh", word], timeout=10).check()
    assert opened(env) is PipeChannel
    assert env.run("cat /tmp/hacked").exit_code == 1


def test_a_full_door_is_passed_by() -> None:
    with make() as env:
        # The doorkeeper waits for the end of a line that never comes to one.
        env.run(f'timeout 3 sh -c \'kill -STOP $(pgrep -f "^sh -c d="); yes | tr -d "\\n" >{INSIDE}/ask\'', timeout=10)
        assert opened(env) is DockerChannel
        assert env.run("echo works").stdout == "works\n"


def test_a_doorkeeper_that_was_killed() -> None:
    with make() as env:
        env.run("pkill -9 -f '^sh -c d='").check()
        assert opened(env) is DockerChannel
        with env.session() as session:
            assert session.run("echo works").stdout == "works\n"


def test_a_doorkeeper_that_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_START_LIMIT", 0.2)
    with make() as env:
        env.run("pkill -STOP -f '^sh -c d='").check()
        assert opened(env) is DockerChannel
        env.run("pkill -CONT -f '^sh -c d='").check()
        assert opened(env) is DockerChannel  # it costs its limit once only
        assert sorted(path.name for path in shared(env).iterdir()) == ["ask", "up"]


def test_an_image_without_setsid() -> None:
    with make(mounts=[{"source": "/dev/null", "target": "/usr/bin/setsid", "read_only": True}]) as env:
        assert env.run("echo works").stdout == "works\n"
        assert opened(env) is DockerChannel


def test_another_user_inside() -> None:
    with make(user="sandbox") as env:
        assert opened(env) is PipeChannel
        assert env.run("id -un").stdout == "sandbox\n"
        assert "Permission denied" in env.run(f"ls {INSIDE}").stderr
    with make() as env:
        assert env.run(f"ls {INSIDE}; echo x >{INSIDE}/ask", user="sandbox").stderr.count("denied") == 2


def test_read_only_containers_and_restored_ones() -> None:
    with make(read_only=True) as env:
        assert opened(env) is PipeChannel
    with make() as env:
        env.run("echo kept >/kept").check()
        before = shared(env)
        snapshot = env.snapshot()
        try:
            env.restore(snapshot)
            assert env.run("cat /kept").stdout == "kept\n"
            assert opened(env) is PipeChannel
            assert not before.exists()
        finally:
            env.close()  # what is in use cannot be removed
            docker_drops(snapshot)


def test_another_client_finds_it(env: Environment) -> None:
    code = (
        "import os, sys; from shellward import environments as e;"
        " a = e.attach(sys.argv[1]); print(type(a._default.channel).__name__, flush=True); os._exit(0)"
    )
    seen = subprocess.run([sys.executable, "-c", code, env.handle], capture_output=True, text=True, check=True)
    assert seen.stdout == "PipeChannel\n"


def test_nothing_is_left(env: Environment) -> None:
    gc.collect()
    descriptors = len([*Path("/proc/self/fd").iterdir()])
    with make() as other:
        root = shared(other).parent
        with ThreadPoolExecutor(20) as pool:
            assert len({*pool.map(lambda n: other.run(f"echo {n}; sleep 0.2").stdout, range(20))}) == 20
        assert root.stat().st_mode & 0o777 == 0o700
    assert not root.exists()
    assert len([*Path("/proc/self/fd").iterdir()]) <= descriptors
    assert opened(env) is PipeChannel


def test_what_a_killed_client_left_is_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import os, sys; from shellward import environments as e;"
        f" a = e.create('docker', image='{IMAGE}', network='none', lease=1.0);"
        " print(a.handle, a.backend.door.root, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as client:
        assert client.stdout is not None
        handle, root = client.stdout.readline().split()
        client.kill()
    monkeypatch.setattr(door, "_LOCKING", -1.0)
    with make():
        assert Path(root).exists(), "it belongs to a container that lives, and may be attached to"
    environments.remove(handle)
    with make():
        assert not Path(root).exists()


def test_a_door_of_somebody_else_is_not_gone_through(tmp_path: Path) -> None:
    assert door.Door.find(str(tmp_path / "shared")) is None
    strange = tmp_path / "shellward-door-x"
    strange.mkdir()
    assert door.Door.find(str(strange / "shared")) is None
    link = Path(memory_backed() or "/tmp") / "shellward-door-link"
    link.symlink_to(tmp_path)
    try:
        assert door.Door.find(str(link / "shared")) is None
    finally:
        link.unlink()


def test_an_engine_that_cannot_see_our_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in a machine of its own says that there is no such directory; the container is made without."""
    real = door.Door.make

    def elsewhere() -> door.Door:
        made = real()
        made.shared.rename(made.shared.with_name("gone"))
        return made

    monkeypatch.setattr(backend.start.__globals__["Door"], "make", elsewhere)
    with make() as env:
        assert of(env).door is None
        assert opened(env) is DockerChannel


def test_a_doorkeeper_that_ends_while_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with make() as env:
        write = os.write

        def broken(descriptor: int, data: bytes) -> int:
            if len(data) == 33:  # a name
                raise BrokenPipeError
            return write(descriptor, data)

        monkeypatch.setattr(os, "write", broken)
        assert opened(env) is DockerChannel


def test_a_door_of_another_engine_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine knows its own containers only; whether another's keeps a door, the door tells."""
    monkeypatch.setattr(door, "memory_backed", lambda: str(tmp_path))
    made = door.Door.make()
    made.hang("root")
    made.close()
    os.utime(made.root, (0, 0))
    keeper = os.open(made.shared / "ask", os.O_RDWR | os.O_NONBLOCK)
    door.sweep(tuple)
    os.close(keeper)
    assert (made.shared / "ask").is_fifo()
    door.sweep(tuple)
    assert not made.root.exists()


def test_only_what_is_being_made_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "memory_backed", lambda: str(tmp_path))
    held, left, unlocked = door.Door.make(), door.Door.make(), tmp_path / "shellward-door-unlocked"
    left.close()
    unlocked.mkdir()
    door.sweep(tuple)
    assert left.root.exists()
    assert unlocked.exists()
    now = time.time()
    for root in (held.root, left.root, unlocked):
        os.utime(root, (now - 5, now - 5))
    door.sweep(tuple)
    assert [path for path in (held.root, left.root, unlocked) if path.exists()] == [held.root, unlocked]
    held.remove()
    os.utime(unlocked, (now - 100, now - 100))
    door.sweep(tuple)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("how", ["create", "attach", "list", "close", "remove"])
def test_whoever_comes_next_removes_what_a_killed_client_has_left(how: str) -> None:
    other = make(lease=60)
    left = door.Door.make()
    left.close()
    os.utime(left.root, (0, 0))
    deeds = {
        "create": lambda: make().close(),
        "attach": lambda: environments.attach(other.handle).detach(),
        "list": lambda: environments.list_environments("docker"),
        "close": other.close,
        "remove": lambda: environments.remove("docker:0123456789ab"),
    }
    try:
        deeds[how]()
        assert not left.root.exists()
    finally:
        other.close()


def test_what_the_engine_could_not_start_at_a_terminal_has_no_exit_status(env: Environment) -> None:
    """As in a container that has just ended: 126 would be taken for the program's own."""
    api = of(env).client.api
    made = api.exec_create(of(env).container.id, ["no-such-program"], stdin=True, tty=True)
    wrapped = api.exec_start(made["Id"], socket=True, tty=True)
    with contextlib.closing(DockerChannel(wrapped, api, made["Id"], tty=True)) as channel:
        said = b""
        while pieces := channel.read(10):
            said += b"".join(piece.data for piece in pieces)
        assert b"no-such-program" in said
        with pytest.raises(ConnectionLost, match="no-such-program"):
            channel.wait(10)
    assert env.run("exit 126", pty=True).exit_code == 126


@pytest.mark.parametrize(
    ("number", "running", "said", "status"),
    [
        (0, True, "cannot exec in a stopped state: unknown", None),
        (0, False, "", None),
        (0, True, "of the program's own", 126),
        (12, False, "cannot exec in a stopped state: unknown", 126),
    ],
)
def test_an_exit_status_of_126_is_the_programs_own_where_there_was_one(
    number: int, running: bool, said: str, status: int | None
) -> None:
    """As engines say it: Podman has forgotten the number of a process that has ended."""

    class Api:
        def exec_inspect(self, _: str) -> dict[str, Any]:
            return {"ExitCode": 126, "Pid": number, "ContainerID": "x"}

        def inspect_container(self, _: str) -> dict[str, Any]:
            return {"State": {"Running": running}}

    ours, theirs = socket.socketpair()
    with theirs, contextlib.closing(DockerChannel(ours, Api(), "x", tty=True)) as channel:
        theirs.sendall(said.encode())
        theirs.shutdown(socket.SHUT_WR)
        if status is not None:
            assert channel.wait(10) == status
            return
        with pytest.raises(ConnectionLost, match="could not start it"):
            channel.wait(10)


def attach_from_asyncio(handle: str) -> None:
    async def attach() -> None:
        async with await aio.attach(handle):
            pass

    asyncio.run(attach())


@pytest.mark.parametrize("attach", [environments.attach, Terminal.attach, attach_from_asyncio])
def test_what_cannot_be_attached_to_lives_on(
    env: Environment, monkeypatch: pytest.MonkeyPatch, attach: Callable[[str], Any]
) -> None:
    def no_descriptor(_: Environment) -> None:
        raise EnvironmentUnavailable("too many files are open")

    env.run("X=kept").check()
    with monkeypatch.context() as patch:
        patch.setattr(Environment, "open", no_descriptor)
        with pytest.raises(EnvironmentUnavailable, match="too many files"):
            attach(env.handle)
    assert env.run("echo $X").stdout == "kept\n"


@pytest.mark.parametrize("asynchronous", [aio, AsyncTerminal])
def test_an_attach_that_nobody_waits_for_ends_nothing(
    env: Environment, monkeypatch: pytest.MonkeyPatch, asynchronous: Any
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    opens = Environment.open

    def slow(self: Environment) -> None:
        begun.set()
        go_on.wait(30)
        opens(self)

    async def give_up() -> None:
        task = asyncio.create_task(asynchronous.attach(env.handle))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        asyncio.get_running_loop().call_later(0.1, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task

    env.run("X=kept").check()
    with monkeypatch.context() as patch:
        patch.setattr(Environment, "open", slow)
        asyncio.run(give_up())
    assert env.run("echo $X").stdout == "kept\n"


@pytest.mark.parametrize("cut", ["create_container_from_config", "start"])
def test_nothing_is_left_of_a_container_whose_making_was_cut_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cut: str
) -> None:
    name = uuid.uuid4().hex
    done = getattr(APIClient, cut)

    def unanswered(*args: Any, **options: Any) -> None:
        done(*args, **options)
        raise requests.ConnectionError("cut off")

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(APIClient, cut, unanswered)
    with pytest.raises(EnvironmentUnavailable, match="cut off"):
        make(labels={"unanswered": name})
    assert docker_labelled(f"unanswered={name}") == []
    assert list(tmp_path.iterdir()) == []


def test_no_door_is_left_when_the_container_cannot_be_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = uuid.uuid4().hex

    def away(*_: Any, **__: Any) -> None:
        raise requests.ConnectionError("cut off")

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with monkeypatch.context() as patch:
        for call in ("start", "containers", "remove_container"):
            patch.setattr(APIClient, call, away)
        with pytest.raises(EnvironmentUnavailable, match="cut off") as caught:
            make(labels={"unanswered": name})
    for row in docker_labelled(f"unanswered={name}"):
        subprocess.run(["docker", "rm", "-f", row.split()[0]], check=True, capture_output=True)
    assert list(tmp_path.iterdir()) == []
    assert "cannot clean up" in "".join(caught.value.__notes__)
