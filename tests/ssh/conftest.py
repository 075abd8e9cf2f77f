"""What the tests of SSH share: real servers (tests/services/sshd), and a proxy before them that can break."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shellward import environments
from shellward.environments.environment import Environment
from shellward.testing.leaks import assert_nothing_new, holdings
from shellward.testing.place import sshd_directory

from .proxy import Proxy

SERVICE = Path(__file__).parents[1] / "services" / "sshd"
PORT = int(os.environ.get("SHELLWARD_SSHD_PORT", "22822"))
Make = Callable[..., Environment]


@pytest.fixture(scope="session", autouse=True)
def _servers() -> None:
    done = subprocess.run([SERVICE, "status"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    if "ssh" in os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(","):
        pytest.fail(f"ssh was promised and is not there: {done.stdout}")
    pytest.skip(f"tests/services/sshd: {done.stdout.strip()}")


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path / "shellward"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


@pytest.fixture
def keys(request: pytest.FixtureRequest) -> Path:
    """Where the servers' keys and the client's configuration are."""
    if "own_servers" in request.fixturenames:
        request.getfixturevalue("own_servers")
    return sshd_directory()


@pytest.fixture
def make(keys: Path, proxy: Proxy) -> Iterator[Make]:
    """Make environments that are closed afterwards, and look whether anything of them is left here."""
    del proxy  # it stands until they are closed
    made: list[Environment] = []
    before = holdings()

    def create(**changes: Any) -> Environment:
        config: dict[str, Any] = {"host": "shellward-target", "config_file": str(keys / "config")}
        environment = environments.create("ssh", **{**config, **changes})
        made.append(environment)
        return environment

    yield create
    for each in made:
        each.close()
    assert_nothing_new(before)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A way to the target that can break."""
    with Proxy(PORT) as between:
        yield between


@pytest.fixture
def through(proxy: Proxy, keys: Path, tmp_path: Path) -> dict[str, Any]:
    """Settings that go through the proxy."""
    known = tmp_path / "known_hosts"
    known.write_text((keys / "known_hosts").read_text().replace(f"]:{PORT} ", f"]:{proxy.port} "))
    return {"port": proxy.port, "known_hosts": str(known), "keepalive": 0.5}


@pytest.fixture
def own_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Servers of this test's own, which it may break; where their keys and the client's configuration are."""
    # Not in pytest's directory, which every run of it closes to others: the servers read their authorized keys as the
    # user who logs in.
    directory = Path(tempfile.mkdtemp(prefix="shellward-servers-"))
    directory.chmod(0o755)
    monkeypatch.setenv("SHELLWARD_SSHD_DIR", str(directory))
    monkeypatch.setenv("SHELLWARD_SSHD_PORT", str(_two_free_ports()))
    try:
        started = subprocess.run([SERVICE, "start"], capture_output=True, text=True, check=False)
        assert started.returncode == 0, started.stderr
        yield directory
    finally:
        subprocess.run([SERVICE, "stop"], check=True, capture_output=True)
        shutil.rmtree(directory)


def _two_free_ports() -> int:
    """The first of two ports, one after the other, that nobody listens at: another run may be on this machine."""
    for port in range(PORT + 100, PORT + 1000, 2):
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    pytest.fail("no two free ports")
