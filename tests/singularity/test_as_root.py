"""What only root has: an engine to speak to, and file systems to mount."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward.core.errors import ConfigError, EnvironmentUnavailable
from shellward.environments import Environment

Make = Callable[..., Environment]


def test_a_full_layer_is_the_commands_failure(make: Make, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path], check=True)
    try:
        with make(workdir=str(tmp_path)) as env:
            result = env.run("dd if=/dev/zero of=/opt/big bs=1M count=9")
            assert result.exit_code == 1
            assert "No space left" in result.stderr
            assert env.run("rm /opt/big; echo works").stdout == "works\n"
        subprocess.run(["mount", "-o", "remount,nr_inodes=2", tmp_path], check=True)
        with pytest.raises(ConfigError, match=r"workdir.*No space left"):
            make(workdir=str(tmp_path))
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


@pytest.mark.usefixtures("cache")
@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_image_of_the_docker_engine(make: Callable[..., Environment]) -> None:
    with make(image="docker-daemon://shellward/busybox:latest") as env:
        assert env.run("echo works").stdout == "works\n"
        assert env.capabilities.shell == "sh"
    with pytest.raises(EnvironmentUnavailable, match="cannot be fetched"):
        make(image="docker-daemon://shellward/no-such:none")
