"""One place that is sick, gone or another's does not hide, lose or remove what is elsewhere."""

import json
import secrets
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from commandline import IN_DOCKER, cli, environ, environments, on

from shellward.core.types import ProcessInfo, ProcessState
from shellward.environments.ssh import records
from shellward.environments.ssh.config import SshConfig, handle_of
from shellward.process_registry.records import Entry
from shellward.process_registry.store import Store

NO_ENGINE = {"DOCKER_HOST": "unix:///not/there.sock"}
NUMBER = "5e1f" * 16


class Engine(socketserver.ThreadingUnixStreamServer):
    """As much of another Docker engine as is asked here. It has one container, of which alone it says nothing."""

    daemon_threads = True

    def __init__(self, path: Path, containers: list[dict[str, Any]]) -> None:
        self.containers = containers
        self.silence = threading.Event()
        super().__init__(str(path), Answers)


class Answers(BaseHTTPRequestHandler):
    """What it answers."""

    server: Engine

    def address_string(self) -> str:
        return ""

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.endswith("/version"):
            self.say({"Version": "99.9", "ApiVersion": "1.44", "MinAPIVersion": "1.24"})
        elif path.endswith("/info"):
            self.say({"ID": "ANOTHER-ENGINE", "NCPU": 2})
        elif path.endswith("/containers/json"):
            self.say(self.server.containers)
        elif NUMBER in path:
            self.server.silence.wait(60)
        else:
            self.say({"message": "No such container"}, 404)

    def say(self, what: object, status: int = 200) -> None:
        data = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[tuple[Engine, dict[str, str]]]:
    path = tmp_path / "engine.sock"
    with Engine(path, []) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made, {"DOCKER_HOST": f"unix://{path}"}
        made.silence.set()
        made.shutdown()
        thread.join(10)


def states(**variables: str) -> dict[str, dict[str, Any]]:
    listed = json.loads(cli("ps", "--all", "--json", env=environ(**variables)).stdout)
    return {each["session_id"]: each for each in listed}


@pytest.mark.docker
@pytest.mark.usefixtures("nothing_left")
def test_what_another_engine_keeps_is_unknown_and_stays(engine: tuple[Engine, dict[str, str]]) -> None:
    _, other = engine
    made = cli("start", "--json", *IN_DOCKER, "--no-stdin", "--", "sleep", "300")
    name = str(json.loads(made.stdout)["session_id"])
    for variables, why in ((other, "another engine"), (NO_ENGINE, "no Docker engine answers")):
        seen = states(**variables)[name]
        assert seen["state"] == "unknown"
        assert why in seen["reason"]
        shown = cli("ps", env=environ(**variables))
        assert why.encode() in shown.stderr
        assert name.encode() in shown.stdout
        cli("rm", "--ended", env=environ(**variables))
        refused = cli("rm", name, env=environ(**variables))
        assert refused.returncode != 0
        assert name.encode() in refused.stderr
    assert states()[name]["state"] == "running"
    cli("rm", "--ended")
    assert states()[name]["state"] == "running"


def test_one_container_that_does_not_answer_hides_no_other(engine: tuple[Engine, dict[str, str]]) -> None:
    server, variables = engine
    labels = {"dev.shellward.id": "1", "dev.shellward.owner": "me@far:1", "dev.shellward.lease": "60", "team": "a"}
    one = {
        "Id": NUMBER,
        "Names": ["/silent"],
        "Image": "busybox",
        "Created": 1_700_000_000,
        "State": "running",
        "Labels": labels,
    }
    server.containers = [one, {**one, "Id": "ab" * 32, "Names": ["/well"], "State": "paused"}]
    found = json.loads(cli("env", "ls", "--env", "docker", "--json", env=environ(**variables), timeout=40).stdout)
    assert [(each["handle"], each["name"], each["state"]) for each in found] == [
        (f"docker:{NUMBER}", "silent", "running"),
        (f"docker:{'ab' * 32}", "well", "paused"),
    ]
    assert found[0]["created"].startswith("2023-11-14T22:13:20")
    assert (found[0]["lease"], found[0]["owner"], found[0]["labels"]) == (60, "me@far:1", {"team": "a"})


@pytest.mark.docker
@pytest.mark.usefixtures("nothing_left")
def test_prune_leaves_what_is_paused() -> None:
    host = f"test-{secrets.token_hex(6)}"  # nothing of other tests' is pruned from there
    made = on(host, "start", "--json", *IN_DOCKER, "--set", "lease=60", "--no-stdin", "--", "sleep", "300")
    name = str(json.loads(made.stdout)["session_id"])
    handle = states()[name]["environment"]
    container = handle.partition(":")[2]
    subprocess.run(["docker", "pause", container], check=True, capture_output=True)
    try:
        done = on(host, "env", "prune", "--env", "docker")
        assert done.returncode == 0
        assert b"left alone, since a process may run in it" in done.stderr
        assert handle in {each["handle"] for each in environments()}
        assert states()[name]["state"] == "unknown"
    finally:
        subprocess.run(["docker", "unpause", container], check=True, capture_output=True)
    assert states()[name]["state"] == "running"


def test_a_dead_host_can_be_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path))
    variables = environ(SHELLWARD_HOME=str(tmp_path))
    handle = handle_of(
        SshConfig(host="127.0.0.1", port=9, user="me", config_file=""), "/tmp/shellward-0123456789abcdef0123"
    )
    records.note(handle, 60)
    store = Store(tmp_path / "processes.db")
    info = ProcessInfo(
        id="pdead00001", command="x", cwd="/", pid=1, born="1", state=ProcessState.RUNNING, started=datetime.now(UTC)
    )
    store.begin(Entry(place=handle, info=info), 10)
    store.close()
    (listed,) = json.loads(cli("env", "ls", "--env", "ssh", "--json", env=variables).stdout)
    assert (listed["handle"], listed["state"]) == (handle, "unreachable")
    assert cli("env", "rm", handle, env=variables).returncode != 0
    assert cli("env", "rm", "--all", "--forget", env=variables).returncode == 2
    done = cli("env", "rm", "--forget", handle, env=variables)
    assert (done.returncode, done.stdout.split()[:1]) == (0, [b"ssh:me@127.0.0.1:9/tmp/shellward-01"])
    assert json.loads(cli("env", "ls", "--env", "ssh", "--json", env=variables).stdout) == []
    assert json.loads(cli("ps", "--all", "--json", env=variables).stdout) == []
