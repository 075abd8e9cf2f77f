"""What runs in the background while a connection is broken: it runs on, and is found again with nothing lost."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.environments.environment import Environment
from shellward.environments.process import Process
from shellward.testing.trial import eventually

from .conftest import Make
from .proxy import Proxy

pytestmark = pytest.mark.slow

COUNT = "i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo line $i; echo err $i >&2; sleep 0.02; done; exit 7"
LINES = [f"line {number}" for number in range(1, 151)]


def away(environment: Environment, proxy: Proxy, how: str, seconds: float = 1.0) -> None:
    """Break the connection, have somebody notice, and let it be reached again."""
    getattr(proxy, how)()
    with pytest.raises(EnvironmentUnavailable):
        environment.run("sleep 20")
    time.sleep(seconds)
    proxy.resume()


@pytest.mark.parametrize("how", ["refuse", "stall"])
def test_a_process_is_found_with_all_that_it_said(make: Make, proxy: Proxy, through: dict[str, Any], how: str) -> None:
    environment = make(**through)
    counting = environment.start(COUNT)
    reading = environment.start("while read -r x; do echo got $x; done; echo closed")
    reading.submit("before")
    away(environment, proxy, how)
    reading.submit("after")
    reading.close_stdin()
    ended = counting.wait(20)
    assert (ended.running, ended.exit_code) == (False, 7)
    assert counting.lines(0, None) == LINES
    assert counting.lines(0, None, "stderr") == [line.replace("line", "err") for line in LINES]
    assert reading.wait(10).exit_code == 0
    assert reading.log().text == "got before\ngot after\nclosed\n"
    assert {each.id for each in environment.processes()} == {counting.id, reading.id}


def test_a_terminal_is_found_as_it_is_by_then(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**through)
    terminal = environment.start("sleep 2; echo meanwhile; read -r x; stty size; echo got $x; exit 5", pty=True)
    away(environment, proxy, "refuse", 2.0)
    assert eventually(lambda: "meanwhile" in terminal.screen().text, 10), terminal.screen()
    terminal.send_keys("h", "i", "Enter")
    assert terminal.wait(10).exit_code == 5
    assert "got hi" in terminal.log().text


def test_a_terminal_in_the_foreground_is_told(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**through)
    with environment.pty("echo begun; sleep 30") as terminal:
        assert terminal.wait_for("begun")
        proxy.drop()
        with pytest.raises(ConnectionLost):
            terminal.wait(10)
    proxy.resume()
    assert environment.run("echo again").stdout == "again\n"


def _ends(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except EnvironmentUnavailable as error:
        return error


@pytest.mark.parametrize("how", ["refuse", "stall"])
def test_who_waits_and_who_follows_meanwhile(make: Make, proxy: Proxy, through: dict[str, Any], how: str) -> None:
    """They hear of it at once; whoever waits again, or follows from where he was, misses nothing."""
    environment = make(**through)
    process = environment.start(COUNT)
    ends: dict[str, Any] = {}
    came: list[bytes] = []
    begun = threading.Event()

    def follow(process: Process) -> None:
        for piece in process.follow(sum(map(len, came))):
            came.append(piece)
            begun.set()

    threads = [
        threading.Thread(target=lambda: ends.update(follow=_ends(lambda: follow(process)))),
        threading.Thread(target=lambda: ends.update(wait=_ends(lambda: process.wait(20)))),
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(10)
    away(environment, proxy, how)
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), ends
    assert isinstance(ends["follow"], EnvironmentUnavailable)
    assert isinstance(ends["wait"], EnvironmentUnavailable) or ends["wait"].exit_code == 7
    follow(process)
    assert b"".join(came).decode().splitlines() == LINES
    assert process.wait(20).exit_code == 7
