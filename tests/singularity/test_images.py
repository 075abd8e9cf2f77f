"""Images: built and fetched once, whole or not at all."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments import Environment
from shellward.environments.singularity.config import SingularityConfig
from shellward.environments.singularity.images import resolve

from .conftest import APPTAINER, definition
from .registry import Registry


def test_a_definition_is_built_once_and_again_when_its_files_change(
    make: Callable[..., Environment], busybox: Path, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("one\n")
    path = definition(tmp_path, busybox, "%files", "    data /opt/data", "%environment", "    export FROM_DEF=yes")
    steps: list[str] = []
    config = SingularityConfig(image=str(path))
    first = resolve(APPTAINER, config, steps.append)
    assert steps
    assert resolve(APPTAINER, config, lambda _: pytest.fail("it was built again")) == first
    with make(image=str(path)) as env:
        assert env.run("cat /opt/data; echo $FROM_DEF").stdout == "one\nyes\n"
    (tmp_path / "data").write_text("two two\n")
    assert resolve(APPTAINER, config) != first
    assert {file.suffix for file in cache.iterdir()} == {".sif", ".lock"}


def test_two_programs_that_want_the_same_build_it_once(busybox: Path, cache: Path, tmp_path: Path) -> None:
    path = definition(tmp_path, busybox, "%labels", "    a b")
    code = (
        "import sys; from shellward.environments.singularity.images import resolve;"
        "from shellward.environments.singularity.config import SingularityConfig;"
        "steps = []; print(resolve('apptainer', SingularityConfig(image=sys.argv[1]), steps.append));"
        "print(sum('Build complete' in step for step in steps))"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate(timeout=100)[0].split() for process in both]
    assert said[0][0] == said[1][0]
    assert sorted(words[1] for words in said) == ["0", "1"]
    assert len(list(cache.glob("*.sif"))) == 1


def test_a_build_that_fails_leaves_nothing_and_says_why(busybox: Path, cache: Path, tmp_path: Path) -> None:
    path = definition(tmp_path, busybox, "%files", "    no-such-file /opt/x")
    with pytest.raises(EnvironmentUnavailable, match=r"cannot be built.*no-such-file"):
        resolve(APPTAINER, SingularityConfig(image=str(path)))
    assert not [file for file in cache.iterdir() if file.suffix != ".lock"]


def test_a_build_has_a_time_limit(busybox: Path, cache: Path, tmp_path: Path) -> None:
    path = definition(tmp_path, busybox)
    with pytest.raises(EnvironmentUnavailable, match="build_timeout"):
        resolve(APPTAINER, SingularityConfig(image=str(path), build_timeout=0.05))
    assert not list(cache.glob("*.sif"))
    assert not list(cache.glob("*.part*"))


@pytest.mark.usefixtures("cache")
def test_who_waits_for_a_build_does_not_wait_for_ever(busybox: Path, tmp_path: Path) -> None:
    path = definition(tmp_path, busybox)
    slow, begun = tmp_path / "slow", tmp_path / "begun"
    slow.write_text(f"#!/bin/sh\n: >{begun}\nsleep 5\nexit 1\n")
    slow.chmod(0o755)
    config = SingularityConfig(image=str(path), build_timeout=20)

    def fails() -> None:
        with pytest.raises(EnvironmentUnavailable):
            resolve(str(slow), config)

    other = threading.Thread(target=fails)
    other.start()
    while not begun.exists():
        time.sleep(0.02)
    with pytest.raises(EnvironmentUnavailable, match=r"another program|build_timeout"):
        resolve(APPTAINER, SingularityConfig(image=str(path), build_timeout=1))
    other.join()


@pytest.mark.usefixtures("cache")
def test_never_means_never() -> None:
    with pytest.raises(EnvironmentUnavailable, match="pull is never"):
        resolve(APPTAINER, SingularityConfig(image="docker://nobody/nothing", pull="never"))


def test_an_image_of_a_registry_is_fetched_once(
    make: Callable[..., Environment], busybox: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPTAINER_NOHTTPS", "true")
    monkeypatch.setenv("APPTAINER_CACHEDIR", str(cache.parent))
    with Registry(busybox) as registry:
        image = f"docker://127.0.0.1:{registry.port}/some/busybox:latest"
        steps: list[str] = []
        with make(image=image, progress=steps.append) as env:
            assert env.run("echo works").stdout == "works\n"
            assert env.capabilities.shell == "sh"
        assert steps
        assert any("/blobs/" in path for path in registry.asked)
        registry.asked.clear()
        for pull in ("missing", "never"):
            resolve(APPTAINER, SingularityConfig(image=image, pull=pull))
        assert registry.asked == []
        resolve(APPTAINER, SingularityConfig(image=image, pull="always"))
        assert registry.asked
        with pytest.raises(EnvironmentUnavailable, match="cannot be fetched"):
            resolve(APPTAINER, SingularityConfig(image=image.replace(":latest", ":other")))
    assert len(list(cache.glob("*.sif"))) == 1


def test_a_registry_that_is_not_there(cache: Path) -> None:
    with pytest.raises(EnvironmentUnavailable, match="cannot be fetched"):
        resolve(APPTAINER, SingularityConfig(image="docker://127.0.0.1:9/nothing:none"))
    assert not list(cache.glob("*.sif"))


def test_a_sandbox_directory(make: Callable[..., Environment], sandbox: Path) -> None:
    with make(image=str(sandbox), shell="sh") as env:
        env.run("echo x >/tmp/x; touch /opt-x 2>/dev/null")
        assert env.run("cat /tmp/x").stdout == "x\n"
        assert env.backend.door is not None  # type: ignore[attr-defined]
    assert not (sandbox / "tmp" / "x").exists(), "the image itself was written to"
    assert not (sandbox / "opt-x").exists(), "the image itself was written to"
