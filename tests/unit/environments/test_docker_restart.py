"""A Docker Engine that ends and comes back while processes and terminals run in its containers.

Not the one of the other tests: an engine of its own, with its own socket, data and containers.
"""

import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.core.types import ProcessState
from shellward.environments.base import PtySize
from shellward.environments.environment import Environment
from shellward.environments.process import Process
from shellward.process_registry import ProcessRegistry
from shellward.testing.trial import eventually

docker = pytest.importorskip("docker")
pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may run an engine"),
]
IMAGE = "shellward/sandbox"
READY = 60.0


class Engine:
    """An engine of this test alone, and what of it is to be seen on this machine."""

    def __init__(self, root: Path, *options: str) -> None:
        self.address = f"unix://{root}/socket"
        self._root = root
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._root / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    # In a network of its own: an engine without a bridge removes docker0, whoever's that is.
                    *("unshare", "--net", "dockerd"),
                    *(f"--host={self.address}", f"--pidfile={self._root}/pid"),
                    *(f"--data-root={self._root}/data", f"--exec-root={self._root}/exec"),
                    *("--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"),
                    *self._options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        assert eventually(self._answers, READY), (self._root / "log").read_text()[-3000:]

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)
        (self._root / "pid").unlink(missing_ok=True)

    def spare_containers(self) -> None:
        """Have it keep its containers when it comes back, as ``--live-restore`` says; call it while it is away.

        Before 24.0.8 and 25.0 it removes all that are to be removed at their end, though they run
        (https://github.com/moby/moby/issues/46308). What it would read is changed; newer ones do not heed it then.
        """
        for path in (self._root / "data" / "containers").glob("*/hostconfig.json"):
            path.write_text(json.dumps({**json.loads(path.read_text()), "AutoRemove": False}))

    def containers(self) -> list[str]:
        with contextlib.closing(docker.DockerClient(base_url=self.address)) as client:
            return [container.id for container in client.containers.list(all=True)]

    def drop(self) -> None:
        """End it with all its containers, and see that nothing of it is left before its files go."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.closing(docker.DockerClient(base_url=self.address)) as client:
                for container in client.containers.list(all=True):
                    container.remove(force=True, v=True)
            self.stop()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if f"{self._root}/exec/".encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)
        assert eventually(lambda: not self._mounts(unmount=True), 10), self._mounts()
        shutil.rmtree(self._root)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(60)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._root / "log").read_text()[-3000:]
        try:
            with socket.socket(socket.AF_UNIX) as trial:  # in vain, the SDK forgets a descriptor
                trial.connect(f"{self._root}/socket")
            with contextlib.closing(docker.DockerClient(base_url=self.address, version="1.41")) as client:
                return bool(client.ping())
        except (docker.errors.DockerException, OSError):
            return False

    def _mounts(self, *, unmount: bool = False) -> list[str]:
        table = Path("/proc/self/mountinfo").read_text().splitlines()
        found = [place for line in table if (place := line.split()[4]).startswith(f"{self._root}/")]
        for place in reversed(found if unmount else []):
            subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
        return found


@pytest.fixture
def engine_with(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Engine]]:
    with contextlib.ExitStack() as stack:

        def make(*options: str) -> Engine:
            # Not below pytest's own directory: the path of a socket has 107 bytes at the most (unix(7)).
            made = Engine(Path(tempfile.mkdtemp(prefix="shellward-engine-", dir="/var/tmp")), *options)
            stack.callback(made.drop)
            made.start()
            with subprocess.Popen(["docker", "save", IMAGE], stdout=subprocess.PIPE) as saved:
                subprocess.run(
                    ["docker", "--host", made.address, "load"], stdin=saved.stdout, check=True, capture_output=True
                )
            monkeypatch.setenv("DOCKER_HOST", made.address)
            return made

        yield make
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of an engine that is away, the SDK forgets the socket
        gc.collect()


def create() -> Environment:
    return environments.create("docker", image=IMAGE, pull="never", network="none", lease=300)


class Follower(threading.Thread):
    """Follows a process's output, from where it was each time that the connection is lost."""

    def __init__(self, process: Process) -> None:
        super().__init__(name="test-follower", daemon=True)
        self.came = b""
        self.lost = 0
        self._process = process
        self.start()

    def run(self) -> None:
        while True:
            try:
                for piece in self._process.follow(len(self.came)):
                    self.came += piece
            except EnvironmentUnavailable:
                self.lost += 1
                time.sleep(0.2)
            else:
                return


def numbers(data: bytes) -> list[int]:
    return [int(line) for line in data.split()]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_what_runs_outlives_its_engine(how: str, engine_with: Callable[..., Engine], tmp_path: Path) -> None:
    """Stopped or killed, and started again: no process, byte, end or screen is lost, and nothing is there twice."""
    engine = engine_with("--live-restore")
    with create() as env, ProcessRegistry(environments.attach, path=tmp_path / "db") as registry:
        counter = env.start("i=0; while :; do echo $i; i=$((i+1)); sleep 0.01; done")
        asker = env.start("read x; echo got $x; exit 3")
        brief = registry.start("sleep 3; exit 7", environment=env, notify=True)
        terminal = env.start("stty size; while read x; do echo seen-$x; done", pty=PtySize(rows=20, columns=70))
        known = {counter.id, asker.id, brief.id, terminal.id}
        follower = Follower(counter)
        assert eventually(lambda: len(follower.came) > 500, 20)
        assert eventually(lambda: "20 70" in terminal.screen().text, 20)
        before = len(follower.came)

        getattr(engine, how)()
        time.sleep(4)  # in which a process ends
        with pytest.raises(EnvironmentUnavailable):
            environments.attach(env.handle)
        engine.spare_containers()
        engine.start()

        notice = registry.notice(60)
        assert notice is not None
        assert (notice.id, registry.poll(brief.id).info.exit_code) == (brief.id, 7)
        assert registry.notice(3) is None
        again = environments.attach(env.handle)
        try:
            assert {info.id for info in again.processes()} == known
            assert all(again.process(name).poll().running for name in known - {brief.id})
            asked = again.process(asker.id)
            asked.submit("it")
            assert asked.wait(20).exit_code == 3
            assert asked.log().text == "got it\n"
            shown = again.process(terminal.id)
            assert shown.screen().text.split() == ["20", "70"]
            shown.submit("typed")
            assert eventually(lambda: "seen-typed" in shown.screen().text, 20)
            shown.resize(PtySize(rows=30, columns=90))
            again.process(counter.id).kill()
            log = again.process(counter.id).log(0, None).data
        finally:
            again.detach()
        follower.join(20)
        assert numbers(log) == list(range(len(numbers(log))))
        assert len(log) > before + 1000, "it stood still while the engine was away"
        assert follower.came == log
        # The client from before goes on, too, without having attached again.
        assert {info.id for info in env.processes()} == known
        assert env.run("echo works", timeout=20).stdout == "works\n"
        assert terminal.screen().rows == 30
        assert terminal.kill().reason == "killed"
    assert engine.containers() == []


def test_an_engine_that_takes_its_containers_along(engine_with: Callable[..., Engine], tmp_path: Path) -> None:
    """As it is by default: who waits, follows or looks is told soon, the registry knows it is lost, nothing is left."""
    engine = engine_with()
    with create() as env, ProcessRegistry(environments.attach, path=tmp_path / "db") as registry:
        entry = registry.start("echo begun; sleep 600", environment=env, notify=True)
        process = env.process(entry.id)
        follower = process.follow()
        assert next(follower) == b"begun\n"
        ended: list[BaseException | object] = []

        def wait() -> None:
            try:
                ended.append(process.wait(100))
            except EnvironmentUnavailable as error:
                ended.append(error)

        waiter = threading.Thread(target=wait, daemon=True)
        waiter.start()
        engine.stop()
        with pytest.raises(EnvironmentUnavailable):
            list(follower)
        waiter.join(30)
        assert isinstance(ended[0], EnvironmentUnavailable), ended
        engine.start()
        with pytest.raises(EnvironmentUnavailable):
            process.poll()
        with pytest.raises(EnvironmentUnavailable):
            environments.attach(env.handle)
        registry.release(env)
        assert registry.list()[0].info.state is ProcessState.LOST
    assert engine.containers() == []
