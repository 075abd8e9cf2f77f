"""Errors of the system and of SDKs, out of public calls: they are Shellward's, with a cause, and nothing is left."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from shellward import environments
from shellward.core.errors import ConfigError, EnvironmentUnavailable
from shellward.core.types import StreamName
from shellward.environments import Environment, registry
from shellward.environments.output import Collector
from shellward.testing.leaks import assert_nothing_new, holdings


class SdkError(Exception):
    """One that no other library knows."""


def no_descriptor(*_: object) -> int:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.fixture
def env() -> Iterator[Environment]:
    with environments.create("local") as made:
        made.run("true", pty=True)  # the shells that this borrows stay
        yield made


def session(env: Environment) -> object:
    return env.session("other")


def pty(env: Environment) -> object:
    return env.pty("true")


def run_at_a_terminal(env: Environment) -> object:
    return env.run("true", pty=True)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        *((session, what) for what in ("pipe", "pidfd_open")),
        *((pty, what) for what in ("pipe", "pidfd_open", "openpty")),
        *((run_at_a_terminal, what) for what in ("pipe", "pidfd_open", "openpty")),
    ],
)
def test_no_descriptor_is_left(
    env: Environment, monkeypatch: pytest.MonkeyPatch, call: Callable[[Environment], object], what: str
) -> None:
    before = holdings()
    with monkeypatch.context() as patch:
        patch.setattr(os, what, no_descriptor)
        with pytest.raises(EnvironmentUnavailable) as caught:
            call(env)
    assert isinstance(caught.value.__cause__, OSError)
    assert_nothing_new(before)
    assert env.run("echo on").stdout == "on\n"


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Add a backend whose calls all raise."""

    def fail(error: Exception) -> None:
        def raising(*_: object, **__: object) -> object:
            raise error

        module = ModuleType("failing_backend")
        for name in ("create", "attach", "remove", "list_environments", "engine"):
            setattr(module, name, raising)
        monkeypatch.setitem(sys.modules, "failing_backend", module)
        monkeypatch.setitem(registry.BACKENDS, "failing", "failing_backend")

    return fail


CALLS: dict[str, Callable[[], object]] = {
    "create": lambda: environments.create("failing"),
    "attach": lambda: environments.attach("failing:x"),
    "remove": lambda: registry.remove("failing:x"),
    "list": lambda: registry.list_environments("failing"),
    "engine": lambda: registry.engine_of("failing:x"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [SdkError("broken"), ConnectionResetError(errno.ECONNRESET, "reset")])
def test_what_a_backend_raises_is_ours(failing: Callable[[Exception], None], call: str, error: Exception) -> None:
    failing(error)
    with pytest.raises(EnvironmentUnavailable) as caught:
        CALLS[call]()
    assert caught.value.__cause__ is error
    assert str(error) in str(caught.value)
    assert "failing" in str(caught.value)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [ConfigError("wrong"), TypeError("a mistake")])
def test_ours_and_mistakes_stay_as_they_are(failing: Callable[[Exception], None], call: str, error: Exception) -> None:
    failing(error)
    with pytest.raises(type(error)) as caught:
        CALLS[call]()
    assert caught.value is error


def test_a_file_that_nobody_asked_for_costs_no_result(tmp_path: Path) -> None:
    collector = Collector(10, keep_file=lambda: tmp_path / "none" / "file")
    for _ in range(5):
        collector.add(StreamName.STDOUT, b"0123456789")
    told = collector.finish()
    assert told["full_output"] is None
    assert told["truncated"]
    assert str(told["stdout"]).startswith("0123")
