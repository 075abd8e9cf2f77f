"""A loopback Modal for these tests: healed before each, and looked at after each for calls that it lacks."""

import os
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

pytest.register_assert_rewrite("shellward.testing")

from shellward import environments  # noqa: E402
from shellward.environments import Environment  # noqa: E402
from shellward.testing.services.modal import ModalService  # noqa: E402

IMAGE = "shellward/sandbox:latest"


class Create(Protocol):
    def __call__(self, **config: Any) -> Environment: ...


@pytest.fixture(scope="session")
def _service() -> Iterator[ModalService]:
    with ModalService() as service:
        yield service


@pytest.fixture
def service(_service: ModalService, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[ModalService]:
    for name, value in _service.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path / "home"))
    _service.forget()
    yield _service
    _service.heal()
    _service.assert_complete()


@pytest.fixture
def create(service: ModalService) -> Iterator[Create]:
    made: list[Environment] = []

    def make(**config: Any) -> Environment:
        made.append(environments.create("modal", **{"image": IMAGE, **config}))
        return made[-1]

    yield make
    service.heal()
    for each in made:
        each.close()
    assert service.sandboxes() == []


def client_variables(service: ModalService) -> dict[str, str]:
    """What another process needs to be a client."""
    return {**os.environ, **service.variables}
