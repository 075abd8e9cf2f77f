"""Ways to a host and into it: OpenSSH's configuration, jumps, keys, certificates, an agent, host keys."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shellward import environments
from shellward.core.errors import ConfigError, EnvironmentUnavailable

from .conftest import PORT, Make


@pytest.mark.parametrize("host", ["shellward-target", "shellward-hop", "shellward-command"])
def test_the_ways_of_the_configuration(make: Make, host: str) -> None:
    environment = make(host=host)
    assert environment.run("id -un").stdout == "shellward-ssh\n"
    assert environment.run("cat | wc -c", stdin=b"x" * 1_000_000).stdout.strip() == "1000000"


def test_a_chain_of_jumps(make: Make, keys: Path, tmp_path: Path) -> None:
    more = tmp_path / "config"
    text = (keys / "config").read_text()
    more.write_text(
        text + "Host far\n  HostName 127.0.0.1\n  Port 1\n  ProxyJump shellward-jump,shellward-sh@shellward-jump\n"
    )
    environment = make(
        host="far",
        config_file=str(more),
        port=PORT,
        user="shellward-ssh",
        identity_file=str(keys / "client"),
        known_hosts=str(keys / "known_hosts"),
    )
    assert environment.run("id -un").stdout == "shellward-ssh\n"


def test_no_configuration_at_all(make: Make, keys: Path) -> None:
    environment = make(
        host="127.0.0.1",
        port=PORT,
        user="root",
        config_file="",
        identity_file=str(keys / "client"),
        known_hosts=str(keys / "known_hosts"),
    )
    assert environment.run("id -un").stdout == "root\n"
    with environments.attach(environment.handle) as other:
        assert other.run("id -un").stdout == "root\n"


def test_a_locked_key_asks_for_its_passphrase(make: Make, keys: Path) -> None:
    asked: list[str] = []

    def passphrase(path: str) -> str:
        asked.append(path)
        return "open sesame"

    locked = str(keys / "locked")
    assert make(identity_file=locked, passphrase=passphrase).run("echo in").stdout == "in\n"
    assert set(asked) == {locked}
    for wrong in (None, lambda _path: None, lambda _path: "wrong"):
        with pytest.raises(EnvironmentUnavailable, match=r"locked by a passphrase: .*locked"):
            make(identity_file=locked, passphrase=wrong)


def test_a_certificate_lets_in(make: Make, keys: Path, tmp_path: Path) -> None:
    assert make(identity_file=str(keys / "certified")).run("echo in").stdout == "in\n"
    bare = tmp_path / "bare"
    bare.write_bytes((keys / "certified").read_bytes())
    with pytest.raises(EnvironmentUnavailable, match="does not let us in"):
        make(identity_file=str(bare))


def test_a_certificate_that_the_configuration_names(make: Make, keys: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_bytes((keys / "certified").read_bytes())
    (tmp_path / "anywhere.pub").write_bytes((keys / "certified-cert.pub").read_bytes())
    config = tmp_path / "config"
    config.write_text(
        f"Host shellward-target\n  IdentityFile {bare}\n  CertificateFile {tmp_path}/anywhere.pub\n"
        + (keys / "config").read_text().replace(f"  IdentityFile {keys}/client\n", "")
    )
    assert make(config_file=str(config)).run("echo in").stdout == "in\n"


@pytest.fixture
def agent(keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    address = tmp_path / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(address)], stdout=subprocess.DEVNULL) as process:
        while not address.exists():
            time.sleep(0.01)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(address))
        subprocess.run(["ssh-add", "-q", keys / "client"], check=True, capture_output=True)
        yield
        process.send_signal(signal.SIGTERM)


@pytest.mark.usefixtures("agent")
def test_a_key_of_an_agent(make: Make, keys: Path, tmp_path: Path) -> None:
    plain = {"host": "127.0.0.1", "port": PORT, "user": "shellward-ssh", "config_file": ""}
    known = {"known_hosts": str(keys / "known_hosts")}
    assert make(**plain, **known).run("echo in").stdout == "in\n"
    # A key of which only the public half is here.
    public = tmp_path / "client"
    public.write_text("locked away")
    (tmp_path / "client.pub").write_bytes((keys / "client.pub").read_bytes())
    assert make(**plain, **known, identity_file=str(public)).run("echo in").stdout == "in\n"


@pytest.mark.usefixtures("agent")
def test_an_agent_that_the_configuration_names(
    make: Make, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK")
    text = (keys / "config").read_text().replace(f"  IdentityFile {keys}/client\n  IdentitiesOnly yes\n", "")
    config = tmp_path / "config"
    for line, is_in in ((f"IdentityAgent {tmp_path}/agent", True), (f"IdentityAgent {tmp_path}/nobody", False)):
        config.write_text(f"Host *\n  {line}\n  IdentityFile none\n{text}")
        if is_in:
            assert make(config_file=str(config)).run("echo in").stdout == "in\n"
            continue
        with pytest.raises(EnvironmentUnavailable, match="does not let us in"):
            make(config_file=str(config))


@pytest.mark.usefixtures("agent")
def test_a_certificate_of_an_agent(make: Make, keys: Path) -> None:
    subprocess.run(["ssh-add", "-q", "-D"], check=True, capture_output=True)
    subprocess.run(["ssh-add", "-q", keys / "certified"], check=True, capture_output=True)
    listed = subprocess.run(["ssh-add", "-L"], check=True, capture_output=True, text=True).stdout
    assert "ssh-ed25519-cert-v01@openssh.com" in listed
    plain = {"host": "127.0.0.1", "port": PORT, "user": "shellward-ssh", "config_file": ""}
    assert make(**plain, known_hosts=str(keys / "known_hosts")).run("echo in").stdout == "in\n"


def test_small_packets_are_sent_at_once(make: Make) -> None:
    """Nagle's algorithm would hold each command back for as long as 40 ms."""
    connection = make().backend.pool.transports[0].sock._stream
    assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_unknown_host_is_refused_with_what_would_accept_it(make: Make, keys: Path, tmp_path: Path) -> None:
    known = tmp_path / "known"
    with pytest.raises(EnvironmentUnavailable) as caught:
        make(known_hosts=str(known))
    message = str(caught.value)
    fingerprint = subprocess.run(["ssh-keygen", "-lf", keys / "host.pub"], capture_output=True, text=True, check=True)
    assert fingerprint.stdout.split()[1] in message
    line = message.rpartition(": ")[2]
    assert not known.exists()
    known.write_text(f"{line}\n")
    assert make(known_hosts=str(known)).run("echo in").stdout == "in\n"


def test_accept_new_remembers_and_refuses_another_key(make: Make, keys: Path, tmp_path: Path) -> None:
    known = tmp_path / "dir" / "known"
    assert make(known_hosts=str(known), host_keys="accept-new").run("echo in").stdout == "in\n"
    assert len(known.read_text().splitlines()) == 1
    assert known.stat().st_mode & 0o777 == 0o600
    make(known_hosts=str(known)).run("true").check()
    other = (keys / "jump.pub").read_text().split()
    known.write_text(f"[127.0.0.1]:{PORT} {other[0]} {other[1]}")
    for policy in ("strict", "accept-new"):
        with pytest.raises(EnvironmentUnavailable, match="is not the one that is known") as caught:
            make(known_hosts=str(known), host_keys=policy)
        assert "ssh-keygen -R" in str(caught.value)
        assert str(caught.value).count("SHA256:") == 2


def test_a_key_of_several_and_a_revoked_one(make: Make, keys: Path, tmp_path: Path) -> None:
    known = tmp_path / "known"
    lines = [f"[127.*]:{PORT} {(keys / name).read_text()}" for name in ("jump.pub", "host.pub")]
    known.write_text("".join(lines))
    assert make(known_hosts=str(known)).run("echo in").stdout == "in\n"
    known.write_text("".join(lines) + f"@revoked * {(keys / 'host.pub').read_text()}")
    for policy in ("strict", "accept-new"):
        with pytest.raises(EnvironmentUnavailable, match="is revoked"):
            make(known_hosts=str(known), host_keys=policy)


def test_the_files_of_ones_own_home(keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is named: the configuration, what it includes, known hosts and key are where OpenSSH has them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh" / "config.d").mkdir(parents=True)
    (tmp_path / ".ssh" / "config").write_text("Include config.d/*\nHost *\n  User shellward-ssh\n")
    (tmp_path / ".ssh" / "config.d" / "box").write_text(f"Host box\n  HostName 127.0.0.1\n  Port {PORT}\n")
    for name, source in (("known_hosts", "known_hosts"), ("id_ed25519", "client")):
        (tmp_path / ".ssh" / name).write_bytes((keys / source).read_bytes())
    environment = environments.create("ssh", host="box")
    try:
        assert environment.run("id -un").stdout == "shellward-ssh\n"
    finally:
        environment.close()


def test_hashed_names_of_known_hosts(make: Make, keys: Path, tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_bytes((keys / "known_hosts").read_bytes())
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
    assert "127.0.0.1" not in known.read_text()
    assert make(known_hosts=str(known)).run("echo in").stdout == "in\n"


def _refused(make: Make, within: float, **changes: Any) -> str:
    start = time.monotonic()
    with pytest.raises(EnvironmentUnavailable) as caught:
        make(**changes)
    assert time.monotonic() - start < within
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_what_is_refused_says_why(make: Make, keys: Path) -> None:
    assert "refuses connections" in _refused(make, 3, port=9)
    assert "there is no host 'no-such.invalid'" in _refused(make, 8, host="no-such.invalid")
    assert str(keys / "other") in _refused(make, 8, identity_file=str(keys / "other"))
    assert "takes password only" in _refused(make, 8, user="shellward-password")
    assert "currently not available" in _refused(make, 8, user="shellward-nologin")
    assert "no such file" in _refused(make, 8, identity_file="/no/such/key")
    assert "unusable" in _refused(make, 8, identity_file=str(keys / "known_hosts"))
    assert "/no/such/place" in _refused(make, 8, cwd="/no/such/place")


@contextlib.contextmanager
def _server(answer: bytes, *, close: bool = False) -> Iterator[int]:
    """Accept connections, say something, and nothing else."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connection.sendall(answer)
                    if close:
                        connection.close()
                    else:
                        kept.append(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for each in kept:
                each.close()


@pytest.mark.parametrize(
    ("answer", "close"),
    [(b"", False), (b"", True), (b"HTTP/1.1 400 Bad Request\r\n\r\n", True), (b"SSH-2.0-Silent\r\n", False)],
)
def test_servers_that_say_nothing_or_something_else(make: Make, answer: bytes, close: bool) -> None:
    with _server(answer, close=close) as port:
        message = _refused(make, 5, port=port, connect_timeout=2)
        assert "SSH" in message, message
        assert f"port {port}" in message


def test_a_jump_host_that_cannot_get_there(make: Make) -> None:
    message = _refused(make, 8, host="shellward-hop", port=9)
    assert "port 9" in message
    assert "through" in message


def test_a_proxy_command_that_fails(make: Make, tmp_path: Path) -> None:
    more = tmp_path / "config"
    more.write_text("Host broken\n  ProxyCommand exit 3\n")
    assert "SSH" in _refused(make, 8, host="broken", config_file=str(more))


def test_settings_that_are_none(make: Make, tmp_path: Path) -> None:
    loop = tmp_path / "config"
    loop.write_text("Host a\n  ProxyJump b\nHost b\n  ProxyJump a\n")
    for changes, key in (
        ({"host": "a", "config_file": str(loop)}, "ProxyJump"),
        ({"config_file": str(tmp_path / "missing")}, "config_file"),
        ({"host": "-oProxyCommand=x"}, "host"),
        ({"port": 70_000}, "port"),
        ({"host_keys": "off"}, "host_keys"),
    ):
        with pytest.raises(ConfigError, match=key):
            make(**changes)


def test_it_prints_nothing_itself(keys: Path) -> None:
    """The library below logs failures; that is not for standard error."""
    code = (
        "from shellward import environments\nfrom shellward.core.errors import ShellwardError\n"
        f"for more in (dict(port=9), dict(user='shellward-password'), dict(known_hosts='/dev/null')):\n"
        f"    try: environments.create('ssh', host='shellward-target', config_file={str(keys / 'config')!r}, **more)\n"
        "    except ShellwardError as error: pass\n    else: raise SystemExit(1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


@pytest.fixture
def few_startups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a server turn away whoever comes while eight others are on their way in."""
    monkeypatch.setenv("SHELLWARD_SSHD_STARTUPS", "8:100:8")


@pytest.mark.usefixtures("few_startups", "own_servers")
def test_many_environments_at_once(make: Make) -> None:
    failed: list[BaseException] = []

    def one() -> None:
        try:
            make().run("true").check()
        except BaseException as error:  # noqa: BLE001  # is shown below
            failed.append(error)

    threads = [threading.Thread(target=one) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.usefixtures("few_startups", "own_servers")
def test_who_is_turned_away_comes_again(make: Make) -> None:
    """Others hold all places of the server for a moment; and one that turns everybody away is told of."""
    held = [socket.create_connection(("127.0.0.1", int(os.environ["SHELLWARD_SSHD_PORT"]))) for _ in range(8)]
    for each in held:
        assert each.recv(4) == b"SSH-"
    threading.Timer(0.3, lambda: [each.close() for each in held]).start()
    assert make().run("echo in").stdout == "in\n"
    held = [socket.create_connection(("127.0.0.1", int(os.environ["SHELLWARD_SSHD_PORT"]))) for _ in range(8)]
    for each in held:
        assert each.recv(4) == b"SSH-"
    with pytest.raises(EnvironmentUnavailable, match="closes them before it speaks SSH"):
        make()
    for each in held:
        each.close()
