"""The control shell is killed in the middle of an answer: half an answer is none."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost
from shellward.environments import Environment


@pytest.fixture
def env() -> Iterator[Environment]:
    with environments.create("local") as env:
        env.run("true")
        yield env


def half(place: Path) -> str:
    """A line that is killed in the middle of its answer when it runs first."""
    return f"if [ -e {place}/was ];then echo whole;else : >{place}/was;echo half;kill -s KILL $$;fi"


def test_it_is_asked_again(env: Environment, tmp_path: Path) -> None:
    assert env.control(None).call(half(tmp_path)) == "whole\n"


def test_what_may_be_done_once_is_not(env: Environment, tmp_path: Path) -> None:
    with pytest.raises(ConnectionLost):
        env.control(None).call(half(tmp_path), once=True)
    assert env.control(None).call("echo there") == "there\n"


def test_a_script_is_read_again(env: Environment, tmp_path: Path) -> None:
    assert env.ask_processes(None, f"sw_holder >/dev/null;{half(tmp_path)}") == "whole\n"


def test_it_is_killed_again_and_again(env: Environment) -> None:
    with pytest.raises(ConnectionLost, match="killed"):
        env.control(None).call("echo half;kill -s KILL $$")


def test_the_next_one_knows_the_shells(env: Environment) -> None:
    known = env.control(None).call("echo $sw_known")
    assert known.split()
    with pytest.raises(ConnectionLost):
        env.control(None).call("kill -s KILL $$", once=True)
    assert env.control(None).call("echo $sw_known") == known


def test_nothing_healthy_ends_with_its_holder(env: Environment) -> None:
    env.run("X=kept")
    pid = env.run("echo $$").stdout
    process = env.start("sleep 300")
    shell = env.control(None)._shell
    old = shell.pid
    os.kill(shell.holder, signal.SIGKILL)
    with suppress(ConnectionLost):  # the first to hear of it
        env.control(None).call("echo there")
    assert env.control(None).call("echo there") == "there\n"
    until = time.monotonic() + 20
    while Path(f"/proc/{old}").exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert env.run("echo $$").stdout == pid
    assert env.run("cat; echo $X", stdin=b"in\n").stdout == "in\nkept\n"
    assert Path(env.backend.scratch).is_dir()
    process.kill()
    process.remove()
