"""Fixtures of the tests that concern Singularity alone: a real Apptainer, as root and as an ordinary user."""

import os
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shellward import environments
from shellward.environments import Environment
from shellward.testing.place import singularity_named
from shellward.testing.trial import eventually

SIF = Path(os.environ.get("SHELLWARD_TEST_IMAGES", "/var/cache/shellward-tests"), "sandbox.sif")

# A lane of its own: tests/run --singularity.
REQUIRED = "singularity" in os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(",")
collect_ignore_glob = [] if REQUIRED else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("singularity"))


@pytest.fixture(scope="session")
def sif() -> Path:
    missing = "" if shutil.which("apptainer") else "apptainer is not installed"
    missing = missing or ("" if SIF.exists() else f"no image {SIF}; tests/services/apptainer image makes it")
    if missing and "singularity" in os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(","):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    return SIF


@pytest.fixture
def busybox(sif: Path) -> Path:
    """An archive of a little image, to build others on."""
    return sif.with_name("busybox.tar")


@pytest.fixture
def sandbox(busybox: Path, tmp_path: Path) -> Path:
    """A sandbox directory."""
    root = tmp_path / "root"
    subprocess.run(["apptainer", "-s", "build", "--sandbox", root, f"docker-archive:{busybox}"], check=True)
    return root


@pytest.fixture
def begin() -> Iterator[str]:
    """What the names of a test's instances begin with; nothing of these may be left."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    yield name
    assert eventually(lambda: not singularity_named(name), 30), singularity_named(name)


@pytest.fixture
def make(sif: Path, begin: str) -> Iterator[Callable[..., Environment]]:
    made: list[Environment] = []

    def make(**config: object) -> Environment:
        environment = environments.create("singularity", **{"image": str(sif), "name": begin, **config})
        made.append(environment)
        return environment

    yield make
    for environment in made:
        environment.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An image cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "shellward" / "singularity"
