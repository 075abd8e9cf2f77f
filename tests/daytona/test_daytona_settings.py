"""What a sandbox is asked for with, as the service heard it; and what names it afterwards."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from shellward import environments
from shellward.environments.environment import Environment
from shellward.environments.owner import owner
from shellward.testing.services.launch import Launched


def sandboxes(service: Launched) -> list[dict[str, Any]]:
    return list(service.call("GET", "sandboxes")["sandboxes"])


@pytest.mark.parametrize(
    ("config", "asked"),
    [
        ({"name": "my-name"}, {"name": "my-name"}),
        ({"user": "nobody", "cwd": "/tmp"}, {"user": "nobody"}),
        ({"env": {"A": "b"}}, {"env": {"A": "b"}}),
        ({"public": True}, {"public": True}),
        ({"target": "eu"}, {"target": "eu"}),
        ({"lease": 90}, {"autoStopInterval": 2, "autoDeleteInterval": 0, "ttlMinutes": 1440}),
        (
            {"auto_stop": 7, "auto_archive": 8, "auto_delete": 9, "ttl": 0},
            {"autoStopInterval": 7, "autoArchiveInterval": 8, "autoDeleteInterval": 9},
        ),
        ({"network": "none"}, {"networkBlockAll": True}),
        ({"network_allow": ["10.0.0.0/8", "192.0.2.0/24"]}, {"networkAllowList": "10.0.0.0/8,192.0.2.0/24"}),
        (
            {"image": "debian:12", "cpus": 2, "memory": 4, "disk": 10, "gpus": 1},
            {"cpu": 2, "memory": 4, "disk": 10, "gpu": 1},
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_settings_reach_daytona(service: Launched, config: dict[str, Any], asked: dict[str, Any]) -> None:
    with environments.create("daytona", **config) as env:
        assert env.run("echo hi").stdout == "hi\n"
        (made,) = sandboxes(service)
        assert {key: made["asked"].get(key) for key in asked} == asked
        assert config.get("image", "") in json.dumps(made["asked"].get("buildInfo", ""))
        if config.get("ttl") == 0:
            assert not made["asked"].get("ttlMinutes")


def test_labels_name_the_owner_and_the_lease(service: Launched) -> None:
    with environments.create("daytona", lease=77, auto_stop=60, labels={"job": "one"}):
        (made,) = sandboxes(service)
        labels = made["labels"]
        assert labels["dev.shellward.owner"] == owner()
        assert labels["dev.shellward.lease"] == "77"
        assert labels["dev.shellward.id"]
        assert labels["job"] == "one"


def shellward(*words: str) -> str:
    """Run the program; its standard output."""
    argv = [sys.executable, "-m", "shellward", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True, env={**os.environ}).stdout


def test_what_nobody_owns_is_listed_and_pruned(service: Launched, env: Environment) -> None:
    body = "from shellward import environments as e; x = e.create('daytona', auto_stop=60); print(x.handle); x.detach()"
    left = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True).stdout.strip()
    listed = {each["handle"]: each for each in json.loads(shellward("env", "ls", "--json"))}
    assert {left, env.handle} <= set(listed)
    assert listed[left]["owner"].rpartition(":")[2].isdigit()
    shellward("env", "prune", "--env", "daytona")
    assert [f"daytona:{each['id']}" for each in sandboxes(service)] == [env.handle]
    assert env.run("echo here").stdout == "here\n"


def test_a_command_is_no_call_of_the_api(service: Launched, env: Environment) -> None:
    """It is a message on a websocket that is open."""
    env.run("true").check()
    before = len(service.calls())
    for number in range(10):
        assert env.run(f"echo {number}; echo err >&2").stdout == f"{number}\n"
    assert [call for call in service.calls()[before:] if not call.endswith("/last-activity")] == []


def test_a_call_that_the_service_lacks_is_a_failure(service: Launched, env: Environment) -> None:
    """The SDK calls something that no environment needs, of the API and of the toolbox."""
    import daytona as sdk

    client = sdk.Daytona(sdk.DaytonaConfig(api_key="loopback-key", api_url=f"{service.url}/api", target="us"))
    try:
        for call in (client.snapshot.list, lambda: client.get(env.handle.partition(":")[2]).git.status("/tmp")):
            with pytest.raises(sdk.DaytonaError):
                call()
    finally:
        client._event_dispatcher.disconnect()
    api, toolbox = service.lacking()
    assert api.startswith("GET /api/snapshots")
    assert toolbox.endswith("/git/status")
    service.call("DELETE", "calls")  # every other test fails for what is found at its end
    assert service.lacking() == []
