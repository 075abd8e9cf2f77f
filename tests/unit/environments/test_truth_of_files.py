"""Errors of files name the cause: what is missing, what may not be written, what was killed."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost
from shellward.core.types import Result
from shellward.environments import Environment, files, filescripts, process


@pytest.fixture(params=["bash", "dash"])
def env(request: pytest.FixtureRequest) -> Iterator[Environment]:
    with environments.create("local", shell=request.param) as made:
        yield made


CALLS: list[Callable[[Environment, str], object]] = [
    lambda env, path: env.read_file(path),
    lambda env, path: env.write_file(path, b"x"),
    lambda env, path: env.stat(path),
    lambda env, path: env.list_dir(path),
    lambda env, path: env.read_lines(path),
]


@pytest.mark.parametrize("call", CALLS, ids=["read", "write", "stat", "list", "lines"])
def test_what_is_missing_is_missing(env: Environment, call: Callable[[Environment, str], object]) -> None:
    with pytest.raises(FileNotFoundError):
        call(env, "/not-there-at-all/a")
    with pytest.raises(NotADirectoryError):
        call(env, "/etc/passwd/a")


@pytest.mark.parametrize("signal", ["KILL", "TERM"])
def test_what_was_killed_says_nothing_of_the_file(
    env: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signal: str
) -> None:
    (tmp_path / "file").write_text("old")
    end = f"\nsh -c 'kill -s {signal} $PPID'; sleep 10\n"
    for name, call in (("READ", CALLS[0]), ("WRITE", CALLS[1]), ("LIST", CALLS[3])):
        with monkeypatch.context() as patched:
            patched.setattr(filescripts, name, end + getattr(filescripts, name))
            with pytest.raises(ConnectionLost, match="was killed"):
                call(env, str(tmp_path / "file"))
    assert env.read_file(str(tmp_path / "file")) == b"old"


def test_what_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    target.chmod(0o444)
    with environments.create("local", cwd=str(tmp_path)) as env:
        if os.geteuid() == 0:
            env.write_file(str(target), "root may")
            assert target.read_text() == "root may"
            return
        with pytest.raises(PermissionError):
            env.write_file(str(target), "new")
    assert target.read_text() == "old"


@pytest.mark.docker
def test_a_user_may_not_replace_what_it_may_not_write() -> None:
    with environments.create("docker", image="shellward/sandbox", user="sandbox", network="none") as env:
        env.run("cd; echo old >file; chmod 444 file").check()
        place = f"{env.cwd}/file"
        for size in (3, 600_000):
            with pytest.raises(PermissionError):
                env.write_file(place, b"x" * size)
        assert env.read_file(place) == b"old\n"


def test_a_record_that_is_cut_off_hides_no_process() -> None:
    lines = ["p123456", "12 34", "", "", "running", "/", '{"owner": "somebo', "5.0"]
    info = process.read_info(lines)
    assert (info.id, info.pid, info.running) == ("p123456", 12, True)


def test_a_file_that_did_not_arrive_whole_is_not_missing(env: Environment, tmp_path: Path) -> None:
    def cut() -> Iterator[bytes]:
        yield b"x" * 1000

    with pytest.raises(OSError, match="whole") as caught:
        files._write(env, str(tmp_path / "file"), cut(), size=400_000, mode=None, parents=False)
    assert type(caught.value) is OSError
    with pytest.raises(FileNotFoundError):
        env.write_file(tmp_path / "no" / "file", b"x")


def test_a_killed_look_at_output_says_nothing_of_it(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    process = env.start("echo out")
    process.wait(20)
    run_on = env.run_on

    def killed(*given: Any) -> Result:
        return run_on(given[0], replace(given[1], text="kill -s KILL $$"), given[2])

    with monkeypatch.context() as patched:
        patched.setattr(env, "run_on", killed)
        with pytest.raises(ConnectionLost, match="killed"):
            process.log()
    assert process.log().data == b"out\n"
    process.remove()
