"""What breaks at Daytona, and what is said of it. Each fault is the service's; the SDK is the real one."""

import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.environments.daytona import client
from shellward.environments.environment import Environment
from shellward.testing.services.launch import Launched
from shellward.testing.trial import eventually


def left(service: Launched) -> list[str]:
    return [each["id"] for each in service.call("GET", "sandboxes")["sandboxes"]]


@pytest.mark.parametrize("fault", [{"unavailable": 2}, {"limited": 1}])
def test_what_was_refused_for_now_is_asked_for_again(service: Launched, fault: dict[str, int]) -> None:
    service.faults(**fault, match="/api/sandbox")
    with environments.create("daytona") as env:
        assert env.run("echo there").stdout == "there\n"
        assert len(left(service)) == 1
    assert left(service) == []


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"unavailable": 100}, "does not work just now"),
        ({"limited": 100}, "rate limit"),
        ({"expired": True}, "set DAYTONA_API_KEY"),
        ({"quota": True}, "quota"),
        ({"create": "runner out of disk"}, "runner out of disk"),
    ],
)
def test_a_creation_that_fails_says_why_and_leaves_nothing(
    service: Launched, fault: dict[str, object], words: str
) -> None:
    service.faults(**fault)
    with pytest.raises(EnvironmentUnavailable, match=words) as caught:
        environments.create("daytona")
    assert caught.value.__cause__ is not None
    service.faults()
    assert left(service) == []


def test_a_creation_that_takes_too_long_leaves_nothing(service: Launched) -> None:
    service.faults(hang=True)
    with pytest.raises(EnvironmentUnavailable, match="in time"):
        environments.create("daytona", create_timeout=1)
    service.faults()
    assert left(service) == []


def test_a_connection_cut_in_mid_command_is_told_with_what_came(service: Launched, env: Environment) -> None:
    def cut(_chunk: object) -> None:
        service.call("POST", f"break/{env.handle.partition(':')[2]}")

    with pytest.raises(ConnectionLost) as caught:
        env.run("echo before; sleep 20; touch /tmp/after", on_output=cut)
    assert caught.value.result is not None
    assert caught.value.result.stdout == "before\n"
    # The next command connects again; what was cut off is not sent again, and its state is kept.
    assert env.run("echo again").stdout == "again\n"


def test_a_command_is_sent_once_whatever_breaks(service: Launched, env: Environment) -> None:
    def cut(_chunk: object) -> None:
        service.call("POST", f"break/{env.handle.partition(':')[2]}")

    env.run("cd /tmp; x=kept")
    for _ in range(5):
        with pytest.raises(ConnectionLost):
            env.run("echo one >>/tmp/count; echo; sleep 10", on_output=cut)
    assert env.run("cat /tmp/count").stdout == "one\n" * 5
    assert env.run("pwd; echo $x").stdout == "/tmp\nkept\n"


def test_an_evicted_sandbox_is_named(service: Launched, env: Environment) -> None:
    env.run("true")
    service.call("POST", f"evict/{env.handle.partition(':')[2]}")
    with pytest.raises(EnvironmentUnavailable, match=r"not there any more|gone"):
        env.run("true")
    with pytest.raises(EnvironmentUnavailable, match="not there"):
        environments.attach(env.handle)
    assert environments.remove(env.handle) is False


def test_a_key_that_expires_meanwhile(service: Launched, env: Environment) -> None:
    assert env.run("echo a").stdout == "a\n"
    service.faults(expired=True)
    assert env.run("echo b").stdout == "b\n", "what is connected stays so"
    with pytest.raises(EnvironmentUnavailable, match="DAYTONA_API_KEY"):
        env.session().run("true")
    with pytest.raises(EnvironmentUnavailable, match="DAYTONA_API_KEY"):
        environments.list_environments("daytona")
    service.faults()
    assert env.run("echo c").stdout == "c\n"


def test_a_daytona_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK alone would wait for ever."""
    monkeypatch.setattr(client, "ANSWER", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("DAYTONA_API_KEY", "any")
        monkeypatch.setenv("DAYTONA_API_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/api")
        for call in (
            lambda: environments.create("daytona", create_timeout=2),
            lambda: environments.attach("daytona:any"),
            lambda: environments.remove("daytona:any"),
            lambda: environments.list_environments("daytona"),
        ):
            began = time.monotonic()
            with pytest.raises(EnvironmentUnavailable, match=r"cannot be reached|in time"):
                call()
            assert time.monotonic() - began < 20


def test_a_shell_that_opens_while_its_environment_closes_is_closed_too(
    service: Launched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever reads from it waits for nobody, and ``close`` for him, where Daytona's answer comes first."""
    env = environments.create("daytona")
    env.run("true").check()
    backend: Any = env.backend
    opened: list[Any] = []
    ends: list[object] = []
    opening, closed = threading.Event(), threading.Event()
    sandbox = backend.sandbox
    start, close_channels, release = backend._start, backend._close_channels, backend._release
    at_release: list[bool] = []

    def held_up(wires: Any) -> None:
        start(wires)
        opened.extend(wire for wire, _ in wires)
        opening.set()
        closed.wait(10)

    def closing() -> None:
        close_channels()
        closed.set()

    def releasing() -> None:
        at_release.extend(wire._closed for wire in opened)
        release()  # takes the connections away without a word to who reads

    def work() -> None:
        try:
            ends.append(env.session().run("true"))
        except EnvironmentUnavailable as error:
            ends.append(error)

    monkeypatch.setattr(backend, "_start", held_up)
    monkeypatch.setattr(backend, "_close_channels", closing)
    monkeypatch.setattr(backend, "_release", releasing)
    thread = threading.Thread(target=work)
    thread.start()
    assert opening.wait(10)
    # Daytona answers before the connections end, which they do a moment later.
    backend.sandbox = SimpleNamespace(id=sandbox.id, delete=lambda: None, refresh_data=lambda: None, state="started")
    env.close()
    sandbox.delete()
    thread.join(10)
    assert not thread.is_alive()
    assert left(service) == []
    assert isinstance(ends[0], EnvironmentUnavailable)
    assert at_release == [True, True]


def test_who_reads_from_a_channel_hears_that_it_was_closed(env: Environment) -> None:
    """On one processor the reader runs only when the connection is gone, and with it what its end had to tell."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        for _ in range(20):
            channel = env.backend.open(["cat"])
            reader = threading.Thread(target=lambda channel=channel: [0 for _ in iter(lambda: channel.read(20), None)])
            reader.start()
            time.sleep(0.05)
            channel.close()
            reader.join(5)
            assert not reader.is_alive()
            assert channel.read(0) is None
    finally:
        os.sched_setaffinity(0, processors)


def test_a_slow_service_is_waited_for(service: Launched) -> None:
    service.faults(delay=0.5)
    with environments.create("daytona") as env:
        assert env.run("echo slow").stdout == "slow\n"


def test_twenty_at_once_while_the_service_limits(service: Launched) -> None:
    service.faults(limited=5, match="/api/sandbox")

    def one(number: int) -> str:
        with environments.create("daytona", auto_stop=60) as env:
            return env.run(f"echo {number}").stdout

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(one, range(20))) == [f"{number}\n" for number in range(20)]
    assert left(service) == []


def test_what_nobody_uses_is_stopped_and_gone(service: Launched) -> None:
    env = environments.create("daytona", lease=1, auto_stop=1)
    env.detach()
    deadline = time.monotonic() + 20
    while left(service) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left(service) == []


def test_a_client_that_is_killed_leaves_nothing(service: Launched) -> None:
    body = (
        "from shellward import environments\n"
        "env = environments.create('daytona', lease=2, auto_stop=1)\n"
        "env.run('sleep 600 & setsid sleep 600 & echo')\n"
        "print(env.handle, flush=True)\n"
        "env.run('sleep 600')\n"
    )
    client = subprocess.Popen([sys.executable, "-c", body], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    handle = client.stdout.readline().strip()
    assert [f"daytona:{each}" for each in left(service)] == [handle]
    client.kill()
    client.communicate()
    assert eventually(lambda: not left(service), 20)


def test_no_sandbox_outlives_its_time(service: Launched) -> None:
    env = environments.create("daytona", auto_stop=0, auto_delete=-1, ttl=2)
    env.detach()
    deadline = time.monotonic() + 20
    while left(service) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left(service) == []
