"""Reach from a real configuration: each setting that opens something, and the unknown that opens everything."""

from typing import Any

import pytest

from shellward.approval.reach import EVERYTHING
from shellward.approval.surroundings import _HARMLESS, _WEIGHED, reach_of
from shellward.environments.docker.config import DockerConfig, Mount

HOST = {"host-files-read", "host-files-write"}


@pytest.mark.parametrize(
    ("config", "powers"),
    [
        ({}, {"network"}),
        ({"network": "none"}, set()),
        ({"network": "none", "ports": [80]}, {"network"}),
        ({"network": "mine"}, {"network"}),
        ({"network": "host"}, {"network", "privileges", "host-processes"}),
        ({"network": "container:x"}, {"network", "privileges", "host-processes"}),
        ({"name": "mine"}, {"network", "persistent"}),
        ({"cap_add": ["net_bind_service", "CAP_CHOWN"]}, {"network"}),
        ({"cap_add": ["SYS_ADMIN"]}, {"network", "privileges"}),
        ({"cap_add": ["all"]}, {"network", "privileges"}),
        ({"env": {"LANG": "C"}}, {"network"}),
        ({"env": {"API_TOKEN": "abcdef1234"}}, {"network", "credentials"}),
        ({"mounts": [{"source": "/data/x", "target": "/x", "read_only": True}]}, {"network", "host-files-read"}),
        ({"mounts": [Mount("/data/x", "/x")]}, {"network", *HOST}),
        (
            {"mounts": [Mount("/data/../", "/x")]},
            {"network", "privileges", "host-processes", "credentials", *HOST},
        ),
        ({"mounts": [Mount("/var/run/docker.sock", "/s")]}, {"network", "privileges", "host-processes", *HOST}),
        (
            {"mounts": [Mount("/home/me/.ssh", "/k", read_only=True)]},
            {"network", "credentials", "host-files-read"},
        ),
        ({"mounts": [Mount("/home/me", "/h", read_only=True)]}, {"network", "credentials", "host-files-read"}),
        ({"mounts": [{"target": "/x"}]}, EVERYTHING.powers),
        ({"privileged": True}, EVERYTHING.powers),
        ({"extra_args": ["--pid=host"]}, EVERYTHING.powers),
    ],
)
def test_docker(config: dict[str, Any], powers: set[str]) -> None:
    assert reach_of("docker", config).powers == powers


@pytest.mark.parametrize("kind", ["local", "ssh", "singularity", "new"])
def test_what_is_a_real_machine_or_not_known_reaches_everything(kind: str) -> None:
    assert reach_of(kind, {}) == EVERYTHING


def test_every_setting_of_docker_was_thought_about() -> None:
    assert set(DockerConfig.__struct_fields__) == _HARMLESS | _WEIGHED


@pytest.mark.parametrize("kind", ["modal", "daytona"])
@pytest.mark.parametrize(
    ("config", "powers"),
    [
        ({"image": "debian", "timeout": 300, "gpu": None}, {"network"}),
        ({"network": "none"}, set()),
        ({"network": "none", "ports": [80]}, {"network"}),
        ({"volumes": {"/data": "vol"}}, {"network", "persistent"}),
        ({"secrets": ["aws"]}, {"network", "credentials"}),
        ({"env": {"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}}, {"network", "credentials"}),
        ({"something_new": None}, {"network"}),
    ],
)
def test_a_rented_sandbox_reaches_what_it_is_given(kind: str, config: dict[str, object], powers: set[str]) -> None:
    assert reach_of(kind, config).powers == powers


@pytest.mark.parametrize("kind", ["modal", "daytona", "ssh", "singularity", "local", "seventh"])
def test_what_is_not_known_reaches_everything(kind: str) -> None:
    assert reach_of(kind, {"something_new": 1}) == EVERYTHING
