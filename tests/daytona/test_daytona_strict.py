"""Daytona as it really is: words that overtake others, refusals in the middle, late lists, lost answers."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.base import PtySize
from shellward.environments.daytona import client
from shellward.environments.environment import Environment
from shellward.testing.services.launch import Launched
from shellward.testing.trial import eventually

ONE = "GET /api/sandbox/"


def left(service: Launched) -> list[str]:
    return [each["id"] for each in service.call("GET", "sandboxes")["sandboxes"]]


def made(service: Launched) -> int:
    return service.calls().count("POST /api/sandbox")


# The end of a terminal


@pytest.mark.parametrize("lag", [0.0, 0.2])
def test_all_that_a_program_has_printed_at_a_terminal_arrives(service: Launched, env: Environment, lag: float) -> None:
    env.run("true").check()
    for _ in range(3):
        with env.pty(["sh", "-c", "stty -opost; seq 1 500; echo THEEND; exit 6"]) as terminal:
            service.faults(lag=lag)
            heard = b"".join(iter(lambda: terminal.read(20), b""))
            assert terminal.wait(20) == 6
        service.faults()
        assert heard == b"".join(b"%d\n" % number for number in range(1, 501)) + b"THEEND\n"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("kill -9 $$", 137),
        ("stty raw -echo; trap '' HUP INT; exit 3", 3),
        ("unset PATH; exit 4", 4),
        ("exec bash --norc -ic 'exit 5'", 5),
    ],
)
def test_a_terminals_exit_status_whatever_the_program_does(
    service: Launched, env: Environment, words: str, status: int
) -> None:
    with env.pty(["sh", "-c", f"echo begun; {words}"]) as terminal:
        service.faults(lag=0.1)
        terminal.write(b"typed ahead\n\x04\n")
        heard = b"".join(iter(lambda: terminal.read(20), b""))
        assert terminal.wait(20) == status
    assert b"begun" in heard


def test_a_terminal_that_has_ended_leaves_nothing(service: Launched, env: Environment) -> None:
    def shells() -> int:
        rows = service.call("GET", f"table/{env.handle.partition(':')[2]}")["rows"]
        return sum("stty raw -echo" in words for _, _, words in rows)

    def one() -> None:
        with env.pty(["true"]) as terminal:
            assert terminal.wait(20) == 0

    one()  # it may open channels that stay
    before = shells()
    for _ in range(5):
        one()
    assert eventually(lambda: shells() <= before, 20)


def test_a_terminal_has_the_size_that_was_asked_for(env: Environment) -> None:
    with env.pty(["sh", "-c", "stty size; read x; stty size"], size=PtySize(rows=24, columns=3000)) as terminal:
        heard = b""
        while b"\n" not in heard:
            heard += terminal.read(20)
        terminal.resize(1500, 2000)
        terminal.write(b"\n")
        heard += b"".join(iter(lambda: terminal.read(20), b""))
    assert heard.split() == [b"24", b"3000", b"1500", b"2000"]


# Refusals in the middle


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_question_that_is_refused_once_makes_no_second_sandbox(service: Launched, status: int) -> None:
    before = made(service)
    service.faults(status=status, times=1, match=ONE)
    with environments.create("daytona", auto_stop=60) as env:
        assert env.run("echo there").stdout == "there\n"
        assert left(service) == [env.handle.partition(":")[2]]
    assert left(service) == []
    assert made(service) == before + 1


@pytest.mark.parametrize("status", [429, 500, 502, 503])
@pytest.mark.parametrize("call", ["POST /api/sandbox", "process/execute", "process/pty", "DELETE /api/sandbox/"])
def test_a_call_that_is_refused_twice_is_not_noticed(service: Launched, call: str, status: int) -> None:
    service.faults(status=status, times=2, match=call)
    env = environments.create("daytona", auto_stop=60)
    assert env.run("echo there").stdout == "there\n"
    env.close()
    assert left(service) == []


def test_a_creation_whose_answer_is_lost_is_the_same_sandbox(service: Launched) -> None:
    service.faults(lost=1, match="POST /api/sandbox")
    with environments.create("daytona", auto_stop=60) as env:
        assert env.run("echo there").stdout == "there\n"
        assert left(service) == [env.handle.partition(":")[2]]
    assert left(service) == []


def test_a_set_up_whose_answer_is_lost_leaves_one_environment(service: Launched) -> None:
    service.faults(lost=1, match="process/execute")
    with environments.create("daytona", auto_stop=60) as env:
        found = env.run("ls -d /tmp/shellward-* /var/tmp/shellward-* 2>/dev/null").stdout.split()
        assert len(found) == 1
        rows = service.call("GET", f"table/{env.handle.partition(':')[2]}")["rows"]
        assert sum("shellward" in words and "/lease" in words for _, _, words in rows) == 1
        assert service.calls().count(f"POST /toolbox/{env.handle.partition(':')[2]}/process/execute") == 2


@pytest.mark.parametrize("call", ["process/execute", "GET /api/sandbox/"])
@pytest.mark.parametrize("status", [500, 502])
def test_what_is_refused_for_good_leaves_nothing(service: Launched, call: str, status: int) -> None:
    service.faults(status=status, times=20, match=call)
    with pytest.raises(EnvironmentUnavailable, match="does not work just now"):
        environments.create("daytona", create_timeout=8)
    service.faults()
    assert eventually(lambda: not left(service), 30)


@pytest.mark.parametrize("late", [0.0, 30.0])
def test_a_creation_that_takes_too_long_is_removed_when_it_can_be(service: Launched, late: float) -> None:
    service.faults(slow=4, late=late)
    with pytest.raises(EnvironmentUnavailable, match="in time"):
        environments.create("daytona", create_timeout=1)
    assert eventually(lambda: not left(service), 30)


def test_a_large_file_whose_upload_is_refused(service: Launched, env: Environment) -> None:
    data = bytes(range(256)) * 20_000
    for status in (429, 502):
        service.faults(status=status, times=2, match="bulk-upload")
        env.write_file("/tmp/large", data)
        assert env.read_file("/tmp/large") == data
        env.run("rm /tmp/large").check()


# Where things are


def test_who_attaches_finds_the_directory_where_set_up_made_it(service: Launched) -> None:
    del service
    env = environments.create("daytona", env={"TMPDIR": "/var/tmp"}, auto_stop=60)
    try:
        assert env.run("ls -d /tmp/shellward-* /var/tmp/shellward-*").stdout.startswith("/var/tmp/shellward-")
        program = (
            f"from shellward import environments as x; e = x.attach({env.handle!r}); print(e.run('echo at').stdout)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (done.stdout.strip(), done.returncode) == ("at", 0), done.stderr[-500:]
    finally:
        env.close()


def test_an_input_that_nobody_reads_costs_nothing(env: Environment) -> None:
    """Ticks of all processes in the sandbox, while a program leaves its input unread."""
    ticks = "cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | awk '{sum += $12 + $13} END {print sum + 0}'"
    look = env.session("look")
    look.run("true").check()
    thread = threading.Thread(target=lambda: env.run("touch /tmp/begun; sleep 8", stdin=b"x" * 3_000_000))
    thread.start()
    assert eventually(lambda: look.run("test -e /tmp/begun").exit_code == 0, 20)
    before = int(look.run(ticks).stdout)
    time.sleep(3)
    spent = int(look.run(ticks).stdout) - before
    thread.join()
    assert spent < 100, "a loop that waits for nothing takes 300"


# Nobody answers


@contextmanager
def black_hole() -> Iterator[str]:
    """An address that takes no connection and refuses none."""
    with socket.socket() as hole, socket.socket() as first, socket.socket() as second:
        hole.bind(("127.0.0.1", 0))
        hole.listen(0)
        for each in (first, second):  # its queue is full with them
            each.setblocking(False)
            each.connect_ex(hole.getsockname())
        time.sleep(0.1)
        yield f"http://127.0.0.1:{hole.getsockname()[1]}/api"


def test_a_black_hole_takes_the_time_of_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT", 2.0)
    monkeypatch.setenv("DAYTONA_API_KEY", "any")
    with black_hole() as address:
        monkeypatch.setenv("DAYTONA_API_URL", address)
        for call in (
            lambda: environments.create("daytona"),
            lambda: environments.attach("daytona:any"),
            lambda: environments.remove("daytona:any"),
            lambda: environments.list_environments("daytona"),
        ):
            began = time.monotonic()
            with pytest.raises(EnvironmentUnavailable, match="cannot be reached"):
                call()
            assert time.monotonic() - began < 6
