"""A loopback Daytona of these tests' own, without faults at the beginning of each; none lacks a call at its end."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shellward.environments.environment import Environment
from shellward.testing.daytona_place import daytona_absent
from shellward.testing.services.launch import Launched


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/daytona/" in item.nodeid:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def launched() -> Iterator[Launched]:
    if (absent := daytona_absent()) and "daytona" in os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(","):
        pytest.fail(f"daytona was promised and is not there: {absent}")
    if absent:
        pytest.skip(absent)
    service = Launched("shellward.testing.services.daytona", "--minute", "2")
    yield service
    service.stop()


@pytest.fixture
def service(launched: Launched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Launched]:
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path / "shellward-home"))
    monkeypatch.setenv("DAYTONA_API_KEY", "loopback-key")
    monkeypatch.setenv("DAYTONA_API_URL", f"{launched.url}/api")
    launched.faults()
    yield launched
    launched.faults()
    assert launched.lacking() == []


@pytest.fixture
def env(service: Launched) -> Iterator[Environment]:
    from shellward import environments

    del service
    made = environments.create("daytona", auto_stop=60)
    yield made
    made.close()
