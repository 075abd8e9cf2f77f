"""Hosts as they are: login shells of all kinds, noise, few sessions, full disks; and what is left on them."""

import contextlib
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.environments.base import PtySize
from shellward.environments.keeping import setup
from shellward.environments.ssh.host import ask
from shellward.testing.place import Handle, ssh_left_behind, ssh_processes, ssh_small_disk, sshd_directory
from shellward.testing.trial import eventually

from .conftest import SERVICE, Make


@pytest.mark.parametrize("user", ["shellward-fish", "shellward-tcsh", "shellward-sh", "shellward-noisy"])
def test_any_login_shell_and_its_noise(make: Make, user: str) -> None:
    environment = make(user=user, env={"WITH": "a 'b'\n\"c\" $d \\ !e"})
    result = environment.run('id -un; echo "$WITH"; echo err >&2')
    assert result.stdout == f"{user}\na 'b'\n\"c\" $d \\ !e\n"
    assert result.stderr == "err\n"
    assert environment.run("cat", stdin=b"x" * 500_000).stdout[:10] == "xxxxxxxxxx"
    environment.write_file("shellward file", b"\0\n\xff" * 200_000)
    assert environment.read_file("shellward file") == b"\0\n\xff" * 200_000
    environment.run("rm 'shellward file'").check()
    with environments.attach(environment.handle) as other:
        assert other.run('echo "$WITH"').stdout == "a 'b'\n\"c\" $d \\ !e\n"


def test_secrets_are_on_no_command_line(make: Make) -> None:
    environment = make(env={"TOKEN": "shellward-secret"})
    environment.run("sleep 1 & echo $TOKEN").check()
    assert environment.run("echo $TOKEN").stdout == "shellward-secret\n"
    table = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "shellward-secret" not in table


def _at_once(environment: Any, count: int, command: str) -> tuple[float, list[str]]:
    said: list[str] = []

    def work(number: int) -> None:
        said.append(environment.run(f"{command}; echo {number}").stdout.strip())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - start, sorted(said, key=int)


def test_more_commands_than_sessions_on_a_connection(make: Make) -> None:
    environment = make()
    _at_once(environment, 30, "true")
    _, said = _at_once(environment, 30, "sleep 0.3")
    assert said == [str(number) for number in range(30)]
    assert environment.backend.pool.count > 1


def test_refusals_that_come_at_once_cost_nobody_his_connection(make: Make) -> None:
    """Twelve open their sessions at the same moment, on connections with room for two, beside a command that runs."""
    environment = make(user="shellward-few")
    said: list[str] = []
    running = threading.Thread(target=lambda: said.append(environment.run("sleep 3; echo kept").stdout))
    running.start()
    time.sleep(0.5)
    pool = environment.backend.pool
    start = threading.Barrier(12)
    opened: list[tuple[Any, Any]] = []

    def open_one() -> None:
        start.wait()
        opened.append(pool.open())

    threads = [threading.Thread(target=open_one) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for channel, connection in opened:
        channel.close()
        pool.release(connection)
    running.join()
    assert len(opened) == 12
    assert said == ["kept\n"]


def test_a_server_that_allows_two_sessions(make: Make) -> None:
    environment = make(user="shellward-few")
    for _ in range(2):
        _, said = _at_once(environment, 7, "sleep 0.2")
        assert said == [str(number) for number in range(7)]
    environment.run("cat", stdin=b"x" * 1_000_000).check()


def test_a_full_disk(make: Make) -> None:
    with ssh_small_disk(sshd_directory(), Path("/tmp/shellward-full")) as small:
        environment = make(env={"TMPDIR": small.path})
        environment.run(f"head -c 2000000 /dev/zero >{small.path}/fill; true")
        with pytest.raises(OSError, match="No space left"):
            environment.write_file(f"{small.path}/x", b"x" * 100_000)
        with pytest.raises(OSError, match="No space left"):
            environment.write_file(f"{small.path}/x", b"x" * 3_000_000)
        assert environment.run("echo works").stdout == "works\n"
    Path("/tmp/shellward-full").rmdir()


@pytest.mark.usefixtures("own_servers")
def test_a_host_whose_temporary_directories_are_full(make: Make) -> None:
    within = ["nsenter", "--target", (sshd_directory() / "pid").read_text().strip(), "--mount", "--pid"]
    environment = make()
    for place in ("/tmp", "/var/tmp"):
        subprocess.run([*within, "mount", "-t", "tmpfs", "-o", "size=4k,mode=1777", "tmpfs", place], check=True)
    try:
        for place in ("/tmp", "/var/tmp"):
            subprocess.run([*within, "sh", "-c", f"head -c 4096 /dev/zero >{place}/fill"], check=True)
        # On the connection that is there: the servers' own keys are hidden now.
        pool = environment.backend.pool
        answer = ask(pool, setup("0" * 20, b"{}", None, 60))
        assert answer.status == 3
        assert "no directory can be made in /tmp" in answer.err
    finally:
        for place in ("/var/tmp", "/tmp"):
            subprocess.run([*within, "umount", "-l", place], check=True)


def test_nothing_is_left_on_the_host(make: Make) -> None:
    user = "shellward-ssh"
    home = Path("/home", user)
    before = sorted(path.name for path in home.iterdir())
    there = {row.pid for row in ssh_processes(sshd_directory(), user)(Handle(""))}
    environment = make()
    view = Handle(environment.handle)  # others may use this host meanwhile
    environment.run("cd; exit 3")
    environment.run("cat >/dev/null", stdin=b"x" * 1_000_000)
    environment.write_file("/tmp/shellward-file", b"x" * 600_000)
    environment.run("rm /tmp/shellward-file; sleep 343 & setsid sleep 343 & (env -i setsid sleep 343 &) ; echo")
    environment.session().run("kill -9 $$")
    scratch = environment.backend.scratch
    environment.close()
    assert sorted(path.name for path in home.iterdir()) == before
    assert scratch not in ssh_left_behind(user)()
    seen = ssh_processes(sshd_directory(), user)
    assert eventually(lambda: not {row.pid for row in seen(view)} - there, 3), seen(view)


def test_a_watchdog_that_was_killed_comes_back_with_the_next_connection(make: Make) -> None:
    environment = make(lease=3)
    environment.run("pkill -9 -u \"$(id -u)\" -f 'shellward .*/lease'")
    with pytest.raises(EnvironmentUnavailable):
        environment.run("kill -9 -1")
    assert environment.run("echo back", timeout=10).stdout == "back\n"
    found = environment.run("pgrep -u \"$(id -u)\" -f 'shellward [^ ]*/lease' | wc -l").stdout
    assert int(found) >= 1


def test_an_environment_whose_directory_was_removed_has_ended(make: Make) -> None:
    environment = make()
    environment.run("true").check()
    subprocess.run(["rm", "-rf", environment.backend.scratch], check=True)
    with pytest.raises(EnvironmentUnavailable, match="has ended"):
        environment.session().run("true")


@pytest.mark.usefixtures("own_servers")
def test_servers_that_are_restarted(make: Make) -> None:
    environment = make()
    ends: list[BaseException] = []

    def work() -> None:
        try:
            environment.run("echo begun; sleep 20")
        except ConnectionLost as error:
            ends.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.5)
    subprocess.run([SERVICE, "restart"], check=True, capture_output=True)
    thread.join(10)
    assert ends
    assert environment.run("echo again").stdout == "again\n"


def test_a_terminal(make: Make) -> None:
    environment = make()
    assert environment.capabilities.pty
    channel = environment.backend.open(
        [
            "sh",
            "-c",
            "stty -echo; stty size; tty >/dev/null && echo terminal; read -r x; stty size; echo got $x; exit 7",
        ],
        env={"A": "b"},
        pty=PtySize(rows=31, columns=97),
    )
    said = b""

    def hear(until: bytes) -> None:
        nonlocal said
        end = time.monotonic() + 10
        while until not in said and time.monotonic() < end:
            said += b"".join(piece.data for piece in channel.read(1.0) or ())

    hear(b"terminal")
    assert b"31 97" in said
    channel.resize(PtySize(rows=40, columns=120))
    time.sleep(0.2)
    channel.write(b"hello\n")
    hear(b"got hello")
    assert b"40 120" in said
    assert channel.wait(5) == 7
    assert channel.read(5) is None
    channel.close()
    interrupted = environment.backend.open(["sleep", "30"], pty=PtySize())
    time.sleep(0.3)
    interrupted.write(b"\x03")
    assert interrupted.read(5) is not None
    while interrupted.read(5) is not None:
        pass
    assert interrupted.wait(5) == 130
    interrupted.close()
    plain = environment.backend.open(["sh", "-c", "exit 9"])
    with pytest.raises(Unsupported):
        plain.resize(PtySize())
    assert plain.wait(5) == 9
    plain.close()
    for name, number in (("KILL", 9), ("TERM", 15), ("USR1", 10)):
        ended = environment.backend.open(["sh", "-c", f"kill -{name} $$; sleep 9"])
        assert ended.wait(5) == 128 + number
        ended.close()


def test_processes_are_left_while_attached_elsewhere(make: Make) -> None:
    environment = make(lease=60)
    environment.run("sleep 347 & echo").check()
    handle = environment.handle
    environment.detach()
    with environments.attach(handle) as again:
        assert again.run('pgrep -u "$(id -u)" -f "^sleep 347" | wc -l').stdout.strip() == "1"
    assert environments.remove(handle) is False


def test_attaching_while_the_lease_runs_out_leaves_nothing(make: Make) -> None:
    """Whether it comes just in time or just too late: nothing is left that nobody watches over."""
    for late in (0.0, 0.15, 0.3, 0.45, 0.6):
        environment = make(lease=1)
        handle, scratch = environment.handle, Path(environment.backend.scratch)
        environment.detach()
        time.sleep(1.7 + late)
        with contextlib.suppress(EnvironmentUnavailable), environments.attach(handle) as again:
            again.run("true")
        assert eventually(lambda left=scratch: not list(left.parent.glob(f"{left.name}*")), 20)  # type: ignore[misc]
