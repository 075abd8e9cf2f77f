"""A registry with a database of its own, over local environments without a gate."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shellward import environments
from shellward.process_registry import ProcessRegistry

Make = Callable[..., ProcessRegistry]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path))
    made: list[ProcessRegistry] = []

    def create(**options: object) -> ProcessRegistry:
        made.append(ProcessRegistry(lambda _place: environments.create("local"), **options))
        return made[-1]

    yield create
    with create() as last:
        for entry in last.list():
            last.remove(entry.id)
    for registry in made:
        registry.close()


@pytest.fixture
def registry(make: Make) -> ProcessRegistry:
    return make()
