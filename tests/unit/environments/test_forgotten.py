"""What a program forgot to close ends with it, also when nothing holds it any more."""

import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.environments import Environment, environment, registry
from shellward.testing.place import docker_labelled, local_processes


def program(body: str) -> None:
    subprocess.run([sys.executable, "-c", f"from shellward import environments\n{body}"], check=True, timeout=60)


def test_on_this_machine() -> None:
    seconds = f"{uuid.uuid4().int % 100_000 + 700_000}.5"
    program(f"environments.create('local').run('sleep {seconds} & true')")
    assert not [row for row in local_processes() if seconds in row.args]


@pytest.mark.docker
def test_a_container() -> None:
    name = uuid.uuid4().hex
    body = (
        f"environments.create('docker', image='shellward/sandbox:latest', labels={{'forgotten': '{name}'}}).run('true')"
    )
    program(body)
    assert docker_labelled(f"forgotten={name}") == []


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> Iterator[Environment]:
    """Make an environment that can outlive its client, and that cannot be ended now."""

    def destroy() -> None:
        raise EnvironmentUnavailable("nobody answers")

    made = environments.create("local")
    held = environment._open_environments
    monkeypatch.setattr(made.backend, "lease", 60.0)
    monkeypatch.setattr(made.backend, "destroy", destroy)
    yield made
    held.discard(made)


def test_close_can_be_repeated_after_it_has_failed(unreachable: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Exception | None] = [EnvironmentUnavailable("nobody answers still"), None]
    asked: list[str] = []

    def remove(handle: str) -> bool:
        asked.append(handle)
        if (error := answers.pop(0)) is not None:
            raise error
        return True

    monkeypatch.setattr(registry, "remove", remove)
    with pytest.raises(EnvironmentUnavailable, match="nobody answers"):
        unreachable.close()
    with pytest.raises(EnvironmentUnavailable, match="still"):
        unreachable.close()
    unreachable.close()
    unreachable.close()
    assert asked == [unreachable.handle] * 2


class InOrder(dict[Environment, None]):
    """A set that is gone through in order."""

    def discard(self, each: Environment) -> None:
        self.pop(each, None)


def test_one_that_cannot_be_ended_keeps_up_no_other(unreachable: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    other = environments.create("local")
    monkeypatch.setattr(environment, "_open_environments", InOrder.fromkeys((unreachable, other)))
    with pytest.raises(EnvironmentUnavailable, match="nobody answers"):
        environment._close_all()
    with pytest.raises(EnvironmentUnavailable, match="was closed"):
        other.run("true")
