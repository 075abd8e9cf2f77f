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
from shellward.testing.singularity_place import singularity_named
from shellward.testing.trial import eventually

SIF = Path(os.environ.get("SHELLWARD_TEST_IMAGES", "/var/cache/shellward-tests"), "sandbox.sif")

APPTAINER = "apptainer"

# A lane of its own, as root and as an ordinary user: tests/run --singularity.
REQUIRED = "singularity" in os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(",")
OTHERS = "test_as_user.py" if os.geteuid() == 0 else "test_as_root.py"
collect_ignore_glob = [OTHERS] if REQUIRED else ["test_*.py"]


def definition(directory: Path, archive: Path, *lines: str) -> Path:
    """Write the definition of an image that begins with an archive's."""
    path = directory / "image.def"
    path.write_text("\n".join([f"Bootstrap: docker-archive\nFrom: {archive}", *lines]) + "\n")
    return path


@pytest.fixture(scope="session")
def sif() -> Path:
    if shutil.which(APPTAINER) is None or not SIF.exists():
        pytest.fail(f"singularity was promised: no apptainer, or no {SIF}; tests/services/apptainer image makes both")
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
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "cache" / "singularity"
