"""What callers may hand over: paths wherever a path is meant, and one clear error for what is no use."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from shellward.core.errors import ConfigError, EnvironmentUnavailable
from shellward.environments import Environment, create
from shellward.environments.config import parse_config
from shellward.environments.docker.config import DockerConfig, check


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    with create("local") as made:
        yield made


def test_paths_are_taken_as_they_are(environment: Environment, tmp_path: Path) -> None:
    place = PurePosixPath(tmp_path)
    assert environment.run("pwd", cwd=place).stdout == f"{place}\n"
    assert environment.run([PurePosixPath("/bin/echo"), place]).stdout == f"{place}\n"
    environment.write_file(place / "file", "text")
    assert environment.read_file(place / "file") == b"text"
    assert environment.stat(place / "file").size == 4
    assert [info.name for info in environment.list_dir(place)] == ["file"]
    environment.upload(tmp_path / "file", place / "up")
    environment.download(place / "up", tmp_path / "down")
    assert (tmp_path / "down").read_text() == "text"
    with environment.session() as session:
        assert session.run("pwd", cwd=place).stdout == f"{place}\n"


def test_a_directory_below_the_root(environment: Environment) -> None:
    with environment.session() as session:
        session.run("cd /").check()
        assert session.run('echo "$PWD"', cwd="etc").stdout == "/etc\n"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("env", {"KEY": 1}),
        ("env", {"KEY": None}),
        ("env", {1: "x"}),
        ("env", "KEY=1"),
        ("cwd", 1),
        ("cwd", b"/"),
        ("timeout", "1"),
        ("timeout", True),
        ("timeout", float("nan")),
        ("max_output", "1"),
        ("max_output", 1.5),
        ("full_output", 1),
    ],
)
def test_an_argument_of_another_type(environment: Environment, key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{key}: ") as caught:
        environment.run("true", **{key: value})  # type: ignore[arg-type]
    if value in ({"KEY": 1}, {"KEY": None}):
        assert "KEY" in str(caught.value)


@pytest.mark.parametrize("command", [b"true", [b"true"], ["echo", 1], None, 1, {"true"}, Path("/bin/true")])
def test_a_command_of_another_type(environment: Environment, command: object) -> None:
    with pytest.raises(ConfigError, match=r"^command: "):
        environment.run(command)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["\u00e9", "a b", "a/b", "\u0663", 1])
def test_a_session_name_that_is_none(environment: Environment, name: str) -> None:
    with pytest.raises(ConfigError, match="session name"):
        environment.session(name)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lease", float("nan")),
        ("lease", float("inf")),
        ("image", ""),
        ("pids_limit", 0),
        ("pids_limit", -1),
        ("cpus", float("nan")),
    ],
)
def test_a_value_that_no_container_can_have(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"^docker: {key}: "):
        check(parse_config(DockerConfig, {key: value}, "docker"))


def test_a_limit_holds_for_the_wait_behind_a_stream_too(environment: Environment) -> None:
    with environment.session() as session:
        with session.stream("echo begun; sleep 20") as stream:
            next(stream)
            for attempt in (session.run, session.stream):
                began = time.monotonic()
                with pytest.raises(EnvironmentUnavailable, match=r"unfinished stream .* nothing has run"):
                    attempt("echo", timeout=0.3)
                assert 0.2 < time.monotonic() - began < 3
        assert session.run("echo on", timeout=5).stdout == "on\n"


def test_a_thread_does_not_wait_for_its_own_stream(environment: Environment) -> None:
    with environment.session() as session:
        with session.stream("echo begun; sleep 20") as stream:
            next(stream)
            raised: list[BaseException] = []

            def attempt() -> None:
                with session.stream("true") as own:
                    next(own)
                    try:
                        session.run("echo")
                    except EnvironmentUnavailable as error:
                        raised.append(error)

            with pytest.raises(EnvironmentUnavailable, match="this thread"):
                session.run("echo")
            with pytest.raises(EnvironmentUnavailable, match="this thread"):
                session.stream("echo")
            other = threading.Thread(target=attempt)  # another thread's stream waits for its turn
            other.start()
            other.join(0.3)
            assert other.is_alive()
        other.join(5)
        assert not other.is_alive()
        assert session.run("echo on").stdout == "on\n"
