"""Background processes from the command line: started by one program, found and ended by others."""

import json
import os
import re
import secrets
import shutil
import time
from pathlib import Path

import pytest
from commandline import (
    ALSO_SLOW,
    IN_DOCKER,
    PLACES,
    SHELLWARD,
    cli,
    environ,
    environments,
    on,
    processes,
    start,
    wait_for,
)

from shellward import environments as local
from shellward.environments.base import PtySize

pytestmark = pytest.mark.usefixtures("nothing_left")


def begin(*words: str) -> str:
    made = cli("start", "--json", *words)
    assert made.returncode == 0, made.stderr
    return str(json.loads(made.stdout)["session_id"])


@pytest.mark.parametrize("place", PLACES)
def test_from_start_to_end(place: tuple[str, ...]) -> None:
    name = begin(*place, "echo hello; read x; echo got $x; exit 4")
    listed = json.loads(cli("ps", "--json").stdout)
    assert name in {each["session_id"] for each in listed}
    assert cli("logs", name).stdout == b"hello\n"
    assert cli("send", name, "it").returncode == 0
    assert cli("wait", "--timeout", "30", name).returncode == 4
    assert cli("logs", name[:8]).stdout == b"hello\ngot it\n"
    assert cli("logs", "--tail", "1", name).stdout == b"got it\n"
    assert cli("logs", "--grep", "h.l", name).stdout == b"hello\n"
    assert cli("logs", "--offset", "-3", name).stdout == b"it\n"
    assert name not in {each["session_id"] for each in json.loads(cli("ps", "--json").stdout)}
    assert cli("rm", name).stdout.decode().split() == [name]
    assert cli("wait", name).returncode == 125


@pytest.mark.parametrize("place", ALSO_SLOW)
def test_following_and_killing(place: tuple[str, ...]) -> None:
    name = begin(*place, "while :; do echo tick; sleep 0.1; done")
    follower = start("logs", "-f", name)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"tick\n"
    assert cli("rm", name).returncode == 1
    killed = cli("kill", "--json", name)
    assert json.loads(killed.stdout)[0]["reason"] == "killed"
    assert follower.wait(30) == 0
    follower.communicate()
    assert cli("wait", name).returncode in {137, 143}


def test_a_signal_alone() -> None:
    name = begin("trap 'exit 7' USR1; echo ready; while :; do sleep 0.05; done")
    assert wait_for(lambda: cli("logs", name).stdout == b"ready\n")
    assert cli("kill", "--signal", "USR1", name).returncode == 0
    assert cli("wait", name).returncode == 7
    assert cli("kill", "--signal", "USR1", name).returncode == 1


def test_the_end_of_input() -> None:
    name = begin("--", "cat")
    assert cli("send", "-n", name, "abc", "--eof").returncode == 0
    assert cli("wait", "--timeout", "20", name).returncode == 0
    assert cli("logs", name).stdout == b"abc"
    assert cli("send", name, "late").returncode == 125


def test_still_running_after_the_time() -> None:
    name = begin("--no-stdin", "--", "sleep", "60")
    assert cli("wait", "--timeout", "0.3", name).returncode == 124
    shown = cli("ps").stdout.decode().splitlines()
    assert shown[0].split()[:3] == ["ID", "STATE", "EXIT"]
    assert any(name in line and "sleep 60" in line for line in shown)
    assert name in cli("top", "--once").stdout.decode()


@pytest.mark.parametrize(
    ("words", "place"),
    [
        pytest.param(["top"], (), id="top-local"),
        pytest.param(["top"], IN_DOCKER, id="top-docker", marks=(pytest.mark.docker, pytest.mark.slow)),
        pytest.param(["ps", "--watch"], (), id="ps"),
    ],
)
def test_a_live_view(words: list[str], place: tuple[str, ...]) -> None:
    """Drawn anew by itself: what comes, what goes, and what is removed under it; Ctrl-C ends it."""
    first = begin(*place, "--no-stdin", "while :; do echo a line; sleep 0.1; done")
    with (
        local.create("local", env=environ()) as env,
        env.pty([*SHELLWARD, *words], size=PtySize(rows=20, columns=150)) as view,
    ):
        assert view.wait_for(first, 30)
        if words == ["top"]:
            assert view.wait_for(re.compile(f"{first}.*a line"), 30)
        second = begin("--no-stdin", "sleep 60")
        assert view.wait_for(second, 30)
        assert cli("rm", "--force", first).returncode == 0
        assert wait_for(lambda: first not in view.screen().text)
        assert second in view.screen().text
        view.send_keys("C-c")
        assert view.wait(30) == 130
        assert not view.screen().alternate


def test_lines_that_are_too_long_to_hold() -> None:
    name = begin("--no-stdin", "head -c 3000000 /dev/zero | tr '\\0' x; echo; printf 'a n\\344del\\nno\\n'")
    assert cli("wait", "--timeout", "30", name).returncode == 0
    assert cli("logs", "--grep", "del$", name).stdout == b"a n\xe4del\n"
    assert len(cli("logs", "--grep", "x", name).stdout) in range(3_000_000, 3_000_002)
    assert cli("logs", "--grep", os.fsdecode(b"n\xe4d"), name).stdout == b"a n\xe4del\n"


def test_the_gate(tmp_path: Path) -> None:
    victim = Path.home() / ".shellward-tests" / f"cli-start-{tmp_path.name}-{time.time_ns()}"
    victim.mkdir(parents=True)
    try:
        made = cli("start", "--json", f"rm -rf {victim}")
        assert (made.returncode, json.loads(made.stdout)["kind"]) == (20, "ApprovalDenied")
        name = begin("bash")
        assert cli("send", name, f"rm -rf {victim}").returncode == 20
        assert victim.exists()
    finally:
        shutil.rmtree(victim, ignore_errors=True)


def test_wrong_usage() -> None:
    wrong = ["logs", "--offset", "1", "--tail", "1", "x"], ["logs", "--grep", "(", "x"], ["send", "x"], ["rm"]
    for words in (*wrong, ["ps", "--watch"], ["ps", "--watch", "--json"]):
        assert cli(*words).returncode == 2, words
    assert cli("logs", "nosuch").returncode == 125


def test_a_start_removes_what_nobody_owns() -> None:
    mark = f"60{time.time_ns() % 10**9}"
    old = begin("--ttl", "1s", "--no-stdin", "--", "sleep", mark)
    assert processes(mark)
    time.sleep(1.2)
    new = begin("--no-stdin", "--", "sleep", "60")
    assert {each["session_id"] for each in json.loads(cli("ps", "--all", "--json").stdout)} >= {new}
    assert old not in {each["session_id"] for each in json.loads(cli("ps", "--all", "--json").stdout)}
    assert wait_for(lambda: not processes(mark))


@pytest.mark.docker
def test_prune_leaves_what_runs() -> None:
    host = f"test-{secrets.token_hex(6)}"  # nothing of other tests' is pruned from there
    made = on(host, "start", "--json", *IN_DOCKER, "--set", "lease=60", "--no-stdin", "--", "sleep", "300")
    name = str(json.loads(made.stdout)["session_id"])
    (entry,) = (each for each in json.loads(cli("ps", "--json").stdout) if each["session_id"] == name)
    assert on(host, "env", "prune").returncode == 0
    assert entry["environment"] in {each["handle"] for each in environments()}
    cli("kill", name)
    assert on(host, "env", "prune").returncode == 0
    assert wait_for(lambda: entry["environment"] not in {each["handle"] for each in environments()})
