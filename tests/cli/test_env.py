"""``shellward env`` and ``shellward doctor``."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from commandline import IMAGE, IN_DOCKER, cli, environ, environments

from shellward.environments import create

Keep = Callable[..., str]
NO_ENGINE = {"DOCKER_HOST": "unix:///not/there.sock"}


@pytest.mark.docker
def test_ls(kept: Keep) -> None:
    handle = kept("--set", "labels.team=blue")
    (found,) = (each for each in environments() if each["handle"] == handle)
    assert (found["kind"], found["state"], found["labels"]["team"]) == ("docker", "running", "blue")
    table = cli("env", "ls").stdout.decode().splitlines()
    assert table[0].split() == ["HANDLE", "KIND", "IMAGE", "STATE", "AGE", "LEASE", "RENEWED", "OWNER"]
    (row,) = (line for line in table if line.startswith(handle[: len("docker:") + 12]))
    assert "shellward/sandbox:latest" in row
    assert " 2m " in row
    assert found["owner"] in row


def test_ls_of_a_kind_that_has_none() -> None:
    done = cli("env", "ls", "--env", "local", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])


def test_ls_without_an_engine() -> None:
    done = cli("env", "ls", env=environ(**NO_ENGINE))
    assert done.returncode == 0
    assert b"shellward: docker left out: no Docker engine answers" in done.stderr
    assert cli("env", "ls", "--env", "docker", env=environ(**NO_ENGINE)).returncode == 125


@pytest.mark.docker
def test_rm_takes_prefixes_and_all_or_nothing(kept: Keep) -> None:
    first, second = kept(), kept()
    refused = cli("env", "rm", first, "docker:nothing-like-this")
    assert refused.returncode == 125
    assert b"there is no environment 'docker:nothing-like-this'" in refused.stderr
    assert {first, second} <= {each["handle"] for each in environments()}

    ambiguous = cli("env", "rm", "docker:", "")
    assert ambiguous.returncode == 2

    done = cli("env", "rm", first[: len("docker:") + 20], second.partition(":")[2][:20])
    assert done.returncode == 0
    assert done.stdout.decode().split() == [first[:19], second[:19]]
    assert not {first, second} & {each["handle"] for each in environments()}


def find_among(text: str, *handles: str) -> str:
    program = """
import sys
from shellward.cli.env.find import find
from shellward.core.types import EnvironmentInfo
there = [EnvironmentInfo(each, each.partition(":")[0], "name-" + each[-1:]) for each in sys.argv[2:]]
print(find(sys.argv[1], there).handle)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, text, *handles], env=environ(), capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("docker:abc1", "docker:abc1"),
        ("abc1", "docker:abc1"),
        ("abc", "ConfigError"),
        ("a", "ConfigError"),
        ("d", "docker:far/def3"),
        ("far/", "docker:far/def3"),
        ("name-2", "docker:abc2"),
        ("docker:", "ConfigError"),
        ("", "ConfigError"),
        ("zzz", "EnvironmentUnavailable"),
    ],
)
def test_what_a_name_means(text: str, answer: str) -> None:
    assert answer in find_among(text, "docker:abc1", "docker:abc2", "docker:far/def3")


def on(host: str, program: str, *words: str, **more: Any) -> "subprocess.Popen[str]":
    """Run Python on a machine that calls itself ``host``: nothing of other people's is pruned there."""
    program = f"import socket, sys; socket.gethostname = lambda: {host!r}\n{program}"
    given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True} | more
    return subprocess.Popen([sys.executable, "-c", program, *words], env=environ(), **given)


CLI = "from shellward.cli.main import main; main()"
HOLD = """
from shellward import environments
with environments.create("docker", image="shellward/sandbox:latest") as made:
    print(made.handle, flush=True)
    input()
"""


@pytest.mark.docker
def test_ls_says_when_a_lease_was_renewed() -> None:
    owner = on(f"test-{secrets.token_hex(6)}", HOLD)
    assert owner.stdout is not None
    handle = owner.stdout.readline().strip()
    try:
        until = time.monotonic() + 30
        while (found := [each for each in environments() if each["handle"] == handle])[0]["renewed"] is None:
            assert time.monotonic() < until
        age = datetime.now(UTC) - datetime.fromisoformat(found[0]["renewed"])
        assert timedelta() <= age < timedelta(minutes=1)
        (row,) = (line for line in cli("env", "ls").stdout.decode().splitlines() if line.startswith(handle[:19]))
        assert "s ago" in row
    finally:
        owner.communicate("\n")
    assert handle not in {each["handle"] for each in environments()}


@pytest.mark.docker
def test_prune_takes_what_a_dead_owner_left_and_nothing_else(kept: Keep) -> None:
    others = kept()
    host = f"test-{secrets.token_hex(6)}"
    made, _ = on(host, CLI, "run", *IN_DOCKER, "--keep", "--json", "true").communicate()
    left = json.loads(made)["handle"]
    owner = on(host, HOLD)
    assert owner.stdout is not None
    owned = owner.stdout.readline().strip()
    try:
        dry, _ = on(host, CLI, "env", "prune", "--dry-run").communicate()
        assert dry.startswith(f"would remove {left[:19]}: its owner ")
        assert dry.count("\n") == 1
        assert {left, owned, others} <= {each["handle"] for each in environments()}

        done, _ = on(host, CLI, "env", "prune", "--env", "docker").communicate()
        assert done.startswith(f"removed {left[:19]}: its owner ")
        there = {each["handle"] for each in environments()}
        assert {owned, others} <= there
        assert left not in there
    finally:
        owner.communicate("\n")
        cli("env", "rm", left)


def why_unowned(owner: str, *, state: str = "running", age: float = 0.0) -> str:
    from datetime import UTC, datetime, timedelta

    from shellward.cli.env.find import unowned
    from shellward.core.types import EnvironmentInfo

    created = datetime.now(UTC) - timedelta(seconds=age)
    return unowned(EnvironmentInfo("docker:1", "docker", "n", created=created, state=state, owner=owner))


def test_whose_environment_it_is() -> None:
    host = os.uname().nodename
    assert why_unowned(f"me@{host}:{os.getpid()}") == ""
    assert why_unowned(f"me@{host}:4194305") == f"its owner me@{host}:4194305 is gone"
    assert why_unowned("me@elsewhere:4194305") == ""
    assert why_unowned("") == ""
    assert why_unowned("me@elsewhere:1", state="exited") == "it has exited"


def test_number_of_the_owner_given_to_a_younger_process() -> None:
    assert why_unowned(f"me@{os.uname().nodename}:{os.getpid()}", age=10_000_000)


@pytest.mark.docker
def test_doctor() -> None:
    done = cli("doctor", "--require", "docker")
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert lines[0].split()[:2] == ["local", "works"]
    assert any(line.split()[:3] == ["docker", "works", "engine"] for line in lines)


def test_doctor_without_an_engine() -> None:
    assert cli("doctor", env=environ(**NO_ENGINE)).returncode == 0
    done = cli("doctor", "--require", "docker", "--json", env=environ(**NO_ENGINE))
    assert done.returncode == 1
    found = {each["kind"]: each for each in json.loads(done.stdout)}
    assert found["local"]["works"]
    assert not found["docker"]["works"]
    assert "DOCKER_HOST" in found["docker"]["advice"]


def _doctor(**variables: str) -> tuple[int, dict[str, Any]]:
    done = cli("doctor", "--json", env=environ(**NO_ENGINE, **variables))
    return done.returncode, {each["kind"]: each for each in json.loads(done.stdout)}


def test_doctor_fails_on_broken_settings(tmp_path: Path) -> None:
    code, found = _doctor(SHELLWARD_HOME=str(tmp_path))
    assert (code, found["settings"]["works"], found["state"]["works"]) == (0, True, True)
    for text, message in (
        ("terminal: {env: moon}", "config.yaml:1: terminal.env: must be one of"),
        ("terminal: [", "config.yaml:"),
        ("environments: {box: {kind: docker, netwrk: none}}", "environments.box: docker: unknown setting 'netwrk'"),
        ("environments: {far: {kind: ssh}}", "environments.far.host: needs a host"),
        ("terminal: {env: ssh}", "TERMINAL_SSH_HOST"),
    ):
        (tmp_path / "config.yaml").write_text(text)
        code, found = _doctor(SHELLWARD_HOME=str(tmp_path))
        assert (code, found["settings"]["works"], message in found["settings"]["summary"]) == (1, False, True), found
        assert found["settings"]["advice"]


def test_doctor_fails_on_a_state_that_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, found = _doctor(SHELLWARD_HOME=str(tmp_path / "file" / "home"))
    assert (code, found["state"]["works"]) == (1, False)
    assert "SHELLWARD_HOME" in found["state"]["advice"]


def test_doctor_names_what_is_not_used() -> None:
    code, found = _doctor(TERMINAL_MODAL_MODE="auto")
    assert (code, len(found["settings"]["notes"])) == (0, 1)


@pytest.mark.docker
def test_rm_takes_what_was_never_started() -> None:
    """A client that is killed between making a container and starting it leaves one that is no environment yet."""
    words = ["docker", "create", "--label", "dev.shellward.id=x", "--label", "dev.shellward.owner=nobody@elsewhere:1"]
    made = subprocess.run([*words, IMAGE, "true"], capture_output=True, text=True, check=True).stdout.strip()
    assert {each["handle"]: each["state"] for each in environments()}[f"docker:{made}"] == "created"
    done = cli("env", "rm", made)
    assert done.returncode == 0, done.stderr
    assert f"docker:{made}" not in {each["handle"] for each in environments()}


@pytest.mark.docker
def test_an_interrupt_while_a_container_starts_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from docker.models.containers import Container

    def interrupted(_self: Container) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Container, "start", interrupted)
    label = secrets.token_hex(8)
    with pytest.raises(KeyboardInterrupt):
        create("docker", image=IMAGE, labels={"test": label})
    assert label not in {each["labels"].get("test") for each in environments()}
