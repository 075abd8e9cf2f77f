"""Connections that break: noticed in time, told with what came, nothing sent twice, and the next command connects."""

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.types import Chunk
from shellward.environments.environment import Environment
from shellward.environments.ssh import backend
from shellward.environments.ssh.host import Answer, ask
from shellward.environments.ssh.pool import Pool
from shellward.testing.trial import eventually

from .conftest import PORT, Make
from .proxy import Proxy


def in_mid_command(environment: Environment, what: Any, command: str = "echo begun; echo err >&2; sleep 20") -> Any:
    """Run a command, do something when it has printed, and return its result or its error."""
    ends: list[Any] = []
    begun = threading.Event()

    def saw(_chunk: Chunk) -> None:
        begun.set()

    def work() -> None:
        try:
            ends.append(environment.run(command, on_output=saw))
        except EnvironmentUnavailable as error:
            ends.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(10)
    time.sleep(0.2)
    start = time.monotonic()
    what()
    thread.join(15)
    assert not thread.is_alive(), "it hangs"
    assert time.monotonic() - start < 8
    return ends[0]


@pytest.mark.parametrize("how", ["drop", "stall"])
def test_a_lost_connection_is_told_and_the_next_command_connects(
    make: Make, proxy: Proxy, through: dict[str, Any], how: str
) -> None:
    environment = make(**through)
    path = f"{environment.backend.scratch}/ran"
    environment.run("cd /var; X=kept; export Y=too; sleep 345 & echo $! >/tmp/shellward-pid").check()
    error = in_mid_command(
        environment, getattr(proxy, how), f"echo x >>{path}; echo begun; echo err >&2; sleep 3; echo end >>{path}"
    )
    assert isinstance(error, ConnectionLost), error
    assert "may have run" in str(error)
    assert "shellward-target" in str(error)
    assert error.result is not None
    assert (error.result.stdout, error.result.stderr, error.result.exit_code) == ("begun\n", "err\n", -1)
    proxy.resume()
    assert environment.run('pwd; echo "$X $Y"').stdout == "/var\nkept too\n"
    assert environment.run('kill -0 "$(cat /tmp/shellward-pid)" && rm /tmp/shellward-pid').exit_code == 0
    # It went on there, once.
    assert eventually(lambda: environment.read_file(path) == b"x\nend\n", 6), environment.read_file(path)


@pytest.mark.parametrize("error", [ConnectionLost("cut off"), KeyboardInterrupt()])
def test_nothing_is_left_of_an_environment_whose_making_was_cut_off(
    make: Make, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    answers: list[Answer] = []

    def unanswered(pool: Pool, text: bytes) -> Answer:
        answers.append(ask(pool, text))
        raise error

    monkeypatch.setattr(backend, "ask", unanswered)
    with pytest.raises(type(error)):
        make()
    directory = Path(answers[0].out.split()[0])
    assert directory.name.startswith("shellward-")
    assert not directory.exists()
    mark = f"SHELLWARD_WATCHDOG={directory.name.removeprefix('shellward-')};".encode()
    assert eventually(lambda: not any(mark in environ for environ in environs()), 5)


def environs() -> Iterator[bytes]:
    """Read the variables of all processes of this machine that show them."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            yield path.read_bytes()


def test_nothing_runs_while_the_host_is_away(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**{**through, "connect_timeout": 2})
    handle = environment.handle
    proxy.refuse()
    for call in (lambda: environment.run("touch /tmp/never"), lambda: environment.read_file("/etc/hostname")):
        start = time.monotonic()
        with pytest.raises(EnvironmentUnavailable):
            call()
        assert time.monotonic() - start < 8
    proxy.resume()
    assert environment.run("test ! -e /tmp/never").exit_code == 0
    assert environment.handle == handle


@pytest.mark.parametrize("count", [0, 10, 60, 200])
def test_a_connection_cut_before_keys_are_agreed_on(
    make: Make, proxy: Proxy, through: dict[str, Any], count: int
) -> None:
    """Nothing has run, so it is made again; and where it is cut each time, that is said."""
    proxy.cut_after(count)
    with pytest.raises(EnvironmentUnavailable, match=r"closes them before it (speaks SSH|has agreed on keys)"):
        make(**through)
    back = threading.Timer(0.3, proxy.resume)
    back.start()
    assert make(**through).run("echo in").stdout == "in\n"
    back.join()


@pytest.mark.parametrize("count", [0, 1, 7, 40, 61, 100, 1000])
def test_a_connection_cut_in_the_middle_of_a_frame(
    make: Make, proxy: Proxy, through: dict[str, Any], count: int
) -> None:
    environment = make(**through)
    environment.run("true").check()

    def cut() -> None:
        proxy.cut_after(count)

    error = in_mid_command(environment, cut, "echo begun; i=0; while sleep 0.05; do echo 0123456789; done")
    assert isinstance(error, ConnectionLost)
    assert error.result is not None
    assert error.result.stdout.startswith("begun\n")
    proxy.resume()
    assert environment.run("echo ok").stdout == "ok\n"


def test_a_connection_lost_while_input_is_sent(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**through)
    threading.Timer(0.7, proxy.drop).start()
    start = time.monotonic()
    with pytest.raises(EnvironmentUnavailable):
        environment.run("sleep 20", stdin=(b"x" * 100_000 for _ in range(10_000)))
    assert time.monotonic() - start < 12
    proxy.resume()
    assert environment.run("echo ok").stdout == "ok\n"


def test_a_silent_host_does_not_stop_who_writes(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    """More is sent than the buffers between take: the one who sends is let go, too."""
    environment = make(**through)
    proxy.stall()
    start = time.monotonic()
    with pytest.raises(EnvironmentUnavailable):
        environment.run(": " + "x" * 30_000_000)
    assert time.monotonic() - start < 12
    proxy.resume()
    assert environment.run("echo ok").stdout == "ok\n"


@pytest.mark.parametrize("delay", [0.02, 0.2])
def test_far_hosts_cost_one_round_trip(make: Make, proxy: Proxy, through: dict[str, Any], delay: float) -> None:
    environment = make(**{**through, "keepalive": 3})
    environment.run("true").check()
    proxy.delay = delay
    times = []
    for _ in range(5):
        start = time.monotonic()
        assert environment.run("echo x").stdout == "x\n"
        times.append(time.monotonic() - start)
    # Two would be 4 * delay.
    assert sorted(times)[2] < 3.5 * delay + 0.05
    result = environment.run("cat | wc -c", stdin=b"x" * 3_000_000)
    assert result.stdout.strip() == "3000000"


def test_a_long_silence_is_no_loss(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**{**through, "keepalive": 1})
    assert environment.run("sleep 5; echo still").stdout == "still\n"
    assert proxy.connections == 1


def test_a_host_that_is_busy_is_waited_for_and_a_silent_one_is_not(
    make: Make, proxy: Proxy, through: dict[str, Any]
) -> None:
    pool = make(**{**through, "keepalive": 60}).backend.pool
    assert ask(pool, b"sleep 3; echo late\n", 1).out == "late\n"
    with pytest.raises(EnvironmentUnavailable, match=r"within [67] s"):
        ask(pool, b"sleep 30\n", 1)
    threading.Timer(1.5, proxy.stall).start()
    start = time.monotonic()
    with pytest.raises(EnvironmentUnavailable, match="does not answer"):
        ask(pool, b"sleep 30\n", 1)
    assert time.monotonic() - start < 5
    proxy.resume()


def test_a_stalled_connection_costs_no_thread(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**through)
    before = threading.active_count()
    for _ in range(3):
        proxy.stall()
        with pytest.raises(EnvironmentUnavailable):
            environment.run("true; sleep 10")
        proxy.resume()
        environment.run("true").check()
    assert eventually(lambda: threading.active_count() <= before + 1, 5), threading.enumerate()


def test_attached_after_the_client_lost_its_host(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**through, lease=30)
    environment.run("X=mine; cd /usr; sleep 346 & echo").check()
    handle = environment.handle
    proxy.drop()
    with environments.attach(
        handle.replace(f":{proxy.port}/", f":{PORT}/").partition("?")[0] + _query(through)
    ) as other:
        assert other.run('pwd; echo "$X"; pgrep -u "$(id -u)" -f "^sleep 346" | wc -l').stdout == "/usr\nmine\n1\n"


def _query(through: dict[str, Any]) -> str:
    from shellward.testing.place import sshd_directory

    del through
    return f"?config_file={sshd_directory() / 'config'}"


def test_many_who_cannot_reach_a_host_hear_it_together(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**through, connect_timeout=2)
    in_mid_command(environment, proxy.stall)
    ends: list[BaseException] = []

    def one() -> None:
        try:
            environment.run("true")
        except EnvironmentUnavailable as error:
            ends.append(error)

    threads = [threading.Thread(target=one) for _ in range(10)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - start < 8, "one after the other they would wait 20 s"
    assert len(ends) == 10
    proxy.resume()
    assert environment.run("echo again").stdout == "again\n"


@pytest.mark.usefixtures("own_servers")
@pytest.mark.parametrize("who", ["host", "client"])
def test_keys_that_are_changed_in_mid_stream(make: Make, who: str) -> None:
    """With every megabyte, both ways and while other commands run: nothing is lost."""
    environment = make(host="shellward-jump" if who == "host" else "shellward-target")
    transport = environment.backend.pool.transports[0]
    if who == "client":
        transport.packetizer.REKEY_BYTES = 1 << 20
    keys = {transport.H}
    count = 0

    def came(chunk: Chunk) -> None:
        nonlocal count
        count += len(chunk.data)
        keys.add(transport.H)

    beside: list[str] = []
    thread = threading.Thread(
        target=lambda: beside.extend(environment.run(f"sleep 0.1; echo {number}").stdout for number in range(8))
    )
    thread.start()
    environment.run("head -c 30000000 /dev/zero", on_output=came).check()
    data = os.urandom(10_000_000)
    digest = environment.run("sha256sum", stdin=data).stdout.split()[0]
    thread.join(30)
    assert count == 30_000_000
    assert digest == hashlib.sha256(data).hexdigest()
    assert beside == [f"{number}\n" for number in range(8)]
    assert len(keys) > 5
