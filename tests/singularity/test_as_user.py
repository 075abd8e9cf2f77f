"""What only ordinary users have: fakeroot. Root in a container lacks what that takes, and needs none of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments import Environment
from shellward.environments.singularity import records
from shellward.environments.singularity.config import SingularityConfig
from shellward.environments.singularity.images import resolve

from .conftest import APPTAINER, definition

Make = Callable[..., Environment]


def test_fakeroot_is_root_inside_without_its_powers(make: Make) -> None:
    with make(fakeroot=True) as env:
        assert env.run("id -u; touch /opt/x && chown 5:5 /opt/x && stat -c %u:%g /opt/x").stdout == "0\n5:5\n"
        assert env.run("mount -t tmpfs x /mnt").exit_code != 0
        env.run("mkdir -m 700 /opt/d; touch /opt/d/f; chown -R 7 /opt/d; rm /etc/hostname").check()
        saved = env.snapshot()
        env.run("rm -r /opt/d; touch /etc/hostname").check()
        env.restore(saved)
        assert env.run("stat -c %u /opt/d /opt/d/f; ls /etc/hostname 2>&1").stdout.startswith("7\n7\nls: ")
    (records.directory() / "snapshots" / f"{saved}.tar").unlink()


def test_post_runs_with_fakeroot(make: Callable[..., Environment], busybox: Path, cache: Path, tmp_path: Path) -> None:
    path = definition(tmp_path, busybox, "%post", "    mkdir -p /opt; echo built >/opt/made")
    with make(image=str(path), fakeroot=True) as env:
        assert env.run("cat /opt/made").stdout == "built\n"
    path = definition(tmp_path, busybox, "%post", "    echo last words; exit 3")
    with pytest.raises(EnvironmentUnavailable, match="exit status 3"):
        resolve(APPTAINER, SingularityConfig(image=str(path), fakeroot=True))
    assert len(list(cache.glob("*.sif"))) == 1
