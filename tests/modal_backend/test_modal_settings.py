"""What a sandbox is asked for with, as the service heard it."""

import re
from typing import Any

import pytest

from shellward.core.errors import ConfigError, Unsupported
from shellward.environments.modal.config import ModalConfig, check, mebibytes
from shellward.environments.modal.tags import settings_in, tags_of, text_in
from shellward.environments.owner import owner
from shellward.testing.services.modal import ModalService

from .conftest import Create

pytestmark = pytest.mark.docker  # whose images the loopback service unpacks


def asked(service: ModalService) -> str:
    """The definition, on one line."""
    return re.sub(r"\s+", " ", service.sandboxes()[-1]["definition"])


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"cpus": 1.5}, ["milli_cpu: 1500", "milli_cpu_max: 1500"]),
        ({"memory": "512m"}, ["memory_mb: 512", "memory_mb_max: 512"]),
        ({"memory": 2**30}, ["memory_mb: 1024"]),
        ({"region": "eu-west"}, ['scheduler_placement { regions: "eu-west" }']),
        ({"region": ["eu", "us"]}, ['regions: "eu" regions: "us"']),
        ({"cloud": "aws"}, ['cloud_provider_str: "aws"']),
        ({"timeout": 99.2, "idle_timeout": 30}, ["timeout_secs: 100", "idle_timeout_secs: 30"]),
        ({}, ["timeout_secs: 14400", "network_access_type: OPEN"]),
        ({"network": "none"}, ["network_access_type: BLOCKED"]),
        ({"allow_cidrs": ["10.0.0.0/8"]}, ["ALLOWLIST", 'allowed_cidrs: "10.0.0.0/8"']),
        ({"allow_domains": ["*.pypi.org"]}, ["ALLOWLIST", 'allowed_domains: "*.pypi.org"']),
        ({"ports": [8000]}, ["ports { port: 8000 unencrypted: true }"]),
        ({"tls_ports": [8443]}, ["ports { port: 8443 }"]),
        ({"name": "my-name"}, ['name: "my-name"']),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_settings_reach_modal(service: ModalService, create: Create, config: dict[str, Any], words: list[str]) -> None:
    env = create(**config)
    for word in words:
        assert word in asked(service)
    assert env.run("echo hi").stdout == "hi\n"


def test_a_gpu_makes_a_sandbox_of_the_first_kind(service: ModalService, create: Create) -> None:
    env = create(gpu="T4", env={"A": "b"}, ports=[8000], cwd="/usr")
    assert 'gpu_type: "T4"' in asked(service)
    assert re.fullmatch(r"modal:sb-[0-9A-Za-z]{22}", env.handle)
    assert env.run("echo $A; pwd; echo x >/tmp/f").stdout == "b\n/usr\n"
    assert env.expose(8000).startswith("127.0.0.1:")
    snapshot = env.snapshot()
    env.restore(snapshot)
    assert env.read_file("/tmp/f") == b"x\n"
    assert {"SandboxCreate", "SandboxGetTaskId", "TaskGetCommandRouterAccess"} <= set(service.calls())


def test_images_by_name(service: ModalService, create: Create) -> None:
    create(image="debian_slim", python_version="3.12", apt_packages=["git"], pip_packages=["httpx"])
    lines = "\n".join(service.sandboxes()[-1]["image"])
    assert "FROM python:3.12" in lines
    assert "apt-get install" in lines
    assert "git" in lines
    assert "httpx" in lines


def test_a_snapshot_is_an_image(create: Create) -> None:
    with create() as env:
        env.run("mkdir /opt/d; echo one >/opt/d/f; rm /etc/hostname").check()
        snapshot = env.snapshot()
    other = create(image=snapshot)
    assert other.run("cat /opt/d/f; ls /etc/hostname").stdout == "one\n"
    assert other.run("ls /etc/hostname").exit_code != 0


def test_secrets_and_volumes(service: ModalService, create: Create, tmp_path: Any) -> None:
    service.secret("keys", {"API_KEY": "it is secret"})
    service.volume("data", tmp_path)
    env = create(secrets=["keys"], volumes={"/data": "data"})
    assert env.run('echo "$API_KEY"; echo kept >/data/f').stdout == "it is secret\n"
    assert (tmp_path / "f").read_text() == "kept\n"


def test_tags_name_the_owner_and_the_time_to_live(service: ModalService, create: Create) -> None:
    create(lease=77, labels={"job": "one"})
    tags = service.sandboxes()[-1]["tags"]
    assert text_in(tags, "owner") == owner()
    assert tags["shellward-lease"] == "77"
    assert tags["job"] == "one"


@pytest.mark.parametrize("image", ["a", "ghcr.io/some_one/some-thing:v1.2@sha256:" + "0" * 64, "_5f", "ä" * 40, ""])
def test_tags_hold_any_text(image: str) -> None:
    made = tags_of(ModalConfig(image=image, ports=[80, 443], tls_ports=[8443]), "0123abcd")
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,63}", each) for pair in made.items() for each in pair)
    found = settings_in(made)
    assert (found.image, found.ports, found.tls_ports, found.lease) == (image, [80, 443], [8443], 120.0)


def test_ports_that_were_not_asked_for(create: Create) -> None:
    with pytest.raises(Unsupported, match=r"ports=\[9000\]"):
        create(ports=[8000]).expose(9000)
    env = create()
    assert not env.capabilities.expose


def test_another_user_is_unsupported(create: Create) -> None:
    with pytest.raises(Unsupported):
        create().run("id", user="nobody")


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"image": ""}, "image"),
        ({"app": ""}, "app"),
        ({"name": ""}, "name"),
        ({"cwd": "tmp"}, "cwd"),
        ({"env": {"A-B": "x"}}, "env"),
        ({"volumes": {"data": "v"}}, "volumes"),
        ({"memory": "much"}, "memory"),
        ({"cpus": 0}, "cpus"),
        ({"lease": float("inf")}, "lease"),
        ({"timeout": 86_401}, "timeout"),
        ({"idle_timeout": 0}, "idle_timeout"),
        ({"connect_timeout": -1}, "connect_timeout"),
        ({"create_timeout": 0}, "create_timeout"),
        ({"network": "some"}, "network"),
        ({"network": "none", "allow_cidrs": []}, "network"),
        ({"network": "none", "ports": [80]}, "ports"),
        ({"ports": [0]}, "ports"),
        ({"ports": [80], "tls_ports": [80]}, "tls_ports"),
        ({"labels": {"shellward": "x"}}, "labels"),
        ({"labels": {"job": "a b"}}, "labels"),
    ],
)
def test_wrong_settings_are_named(config: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=f"^modal: {key}: "):
        check(ModalConfig(**config))


@pytest.mark.parametrize(("text", "size"), [("512m", 512), ("2G", 2048), (2**20, 1), ("1.5g", 1536), (1, 1)])
def test_sizes(text: str | int, size: int) -> None:
    assert mebibytes(text) == size
