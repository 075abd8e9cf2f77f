"""How ``shellward run`` ends early: Ctrl-C, TERM, HUP, KILL, a reader that goes, as the process table tells."""

import itertools
import json
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from commandline import IN_DOCKER, PLACES, SHELLWARD, cli, environ, owned_by, processes, start, wait_for

everywhere = pytest.mark.parametrize("place", PLACES)
Place = tuple[str, ...]
_numbers = itertools.count(random.randrange(100_000, 900_000))


@pytest.fixture
def seconds() -> str:
    """An argument for sleep that nobody else on this machine uses."""
    return f"{next(_numbers)}.5"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where local environments keep their files, for this test alone."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def ends(process: "subprocess.Popen[bytes]", code: int, seconds: str) -> bytes:
    _, said = process.communicate(timeout=30)
    assert process.returncode == code, said
    assert wait_for(lambda: not processes(seconds), 5)
    return said


@everywhere
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, b"shellward: interrupted; the command was ended\n"),
        (signal.SIGTERM, 143, b"shellward: got SIGTERM; the command was ended\n"),
        (signal.SIGHUP, 129, b"shellward: got SIGHUP; the command was ended\n"),
    ],
)
def test_signals_end_the_whole_tree_inside(place: Place, number: int, code: int, said: bytes, seconds: str) -> None:
    tree = f"trap '' INT TERM; setsid sleep {seconds} & sh -c 'sleep {seconds}; true' & sleep {seconds}"
    process = start("run", *place, "--", tree)
    assert wait_for(lambda: len(processes(seconds)) == 3)
    process.send_signal(number)
    assert ends(process, code, seconds).endswith(said)
    assert not place or not owned_by(process.pid)


@everywhere
def test_impatient_ctrl_c_leaves_nothing_behind(place: Place, seconds: str) -> None:
    process = start("run", *place, "--", f"trap '' INT TERM; sleep {seconds} & sleep {seconds}; sleep {seconds}")
    assert wait_for(lambda: processes(seconds))
    for _ in range(4):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    ends(process, 130, seconds)
    assert not place or wait_for(lambda: not owned_by(process.pid), 10)


@everywhere
@pytest.mark.parametrize("after", [0.15, 0.3, 0.5, 0.8])
def test_ctrl_c_while_it_begins(place: Place, after: float, seconds: str, scratch: Path) -> None:
    process = start("run", *place, "--", f"sleep {seconds}")
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode in (130, -signal.SIGINT)  # the latter: Python itself had not begun yet
    assert wait_for(lambda: not processes(seconds), 5)
    assert not place or wait_for(lambda: not owned_by(process.pid), 10)
    assert wait_for(lambda: not [*scratch.iterdir()], 10)


def test_ctrl_c_lets_a_command_tidy_up() -> None:
    script = "trap 'echo tidy; exit 0' INT; echo ready; while :; do sleep 0.01; done"
    process = start("run", "--", "sh", "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    assert (process.returncode, rest) == (130, b"tidy\n")


@everywhere
def test_ctrl_c_while_nobody_reads_the_output(place: Place) -> None:
    process = start("run", *place, "--", "yes")
    assert process.stdout is not None
    assert process.stdout.read(2) == b"y\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130  # long before its patience is at an end
    process.communicate()


def test_ctrl_c_as_json(seconds: str) -> None:
    process = start("run", "--json", "--", f"echo begun; sleep {seconds}")
    assert wait_for(lambda: processes(seconds))
    process.send_signal(signal.SIGTERM)
    made, said = process.communicate(timeout=30)
    result = json.loads(made)
    assert (process.returncode, said) == (143, b"")
    assert (result["exit_code"], result["interrupted"], result["stdout"]) == (143, True, "begun\n")


def test_ctrl_c_of_a_terminal(seconds: str) -> None:
    """A terminal sends it to the client alone: the command is in a session of its own."""
    leader, follower = os.openpty()
    process = start("run", "--", f"sleep {seconds}", stdin=follower, start_new_session=True)
    try:
        assert wait_for(lambda: processes(seconds))
        os.killpg(process.pid, signal.SIGINT)
        ends(process, 130, seconds)
    finally:
        os.close(leader)
        os.close(follower)


def test_engine_that_never_answers(tmp_path: Path) -> None:
    """On a terminal it is said what is waited for, and Ctrl-C ends the waiting."""
    leader, follower = os.openpty()
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "engine"))
        silent.listen(8)
        process = subprocess.Popen(
            [*SHELLWARD, "run", *IN_DOCKER, "true"],
            env=environ(DOCKER_HOST=f"unix://{tmp_path}/engine"),
            stdin=subprocess.DEVNULL,
            stderr=follower,
        )
        os.close(follower)
        said = b""
        while b"shellward: making a docker environment from shellward/sandbox:latest (" not in said:
            said += os.read(leader, 4096)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    os.close(leader)


def test_ignored_signals_stay_ignored() -> None:
    process = subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *SHELLWARD, "run", "--", "sleep 2; echo done"],
        env=environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    time.sleep(1)
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=30)[0] == b"done\n"


def test_killed_client_leaves_nothing_on_this_machine(seconds: str, scratch: Path) -> None:
    process = start("run", "--", f"setsid sleep {seconds} & sleep {seconds}")
    assert wait_for(lambda: len(processes(seconds)) == 2)
    assert [*scratch.iterdir()]
    process.kill()
    process.communicate()
    assert wait_for(lambda: not processes(seconds), 10)
    assert wait_for(lambda: not [*scratch.iterdir()], 10)


@pytest.mark.docker
def test_container_of_a_killed_client_ends_with_its_lease(seconds: str) -> None:
    process = start("run", *IN_DOCKER, "--set", "lease=4", "--", f"sleep {seconds}")
    assert wait_for(lambda: processes(seconds))
    process.kill()
    process.communicate()
    assert owned_by(process.pid)
    assert wait_for(lambda: not owned_by(process.pid), 30)
    assert not processes(seconds)


@everywhere
def test_reader_that_goes_away_ends_the_command_quietly(place: Place) -> None:
    process = start("run", *place, "--", "yes", "as-nobody-else-would")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"as-nobody-else-would\n"
    process.stdout.close()
    assert process.wait(20) == 141
    assert process.stderr.read() in (b"", b"Terminated\n")
    process.stderr.close()
    assert not processes("as-nobody-else-would")
    assert not place or not owned_by(process.pid)


@pytest.mark.docker
def test_ctrl_c_in_an_environment_that_stays(kept: "pytest.FixtureRequest", seconds: str) -> None:
    handle = kept()  # type: ignore[operator]
    process = start("run", "--attach", handle, "--", f"trap '' INT TERM; setsid sleep {seconds} & sleep {seconds}")
    assert wait_for(lambda: len(processes(seconds)) == 2)
    process.send_signal(signal.SIGINT)
    ends(process, 130, seconds)
    assert cli("run", "--attach", handle, "--", "echo works on").stdout == b"works on\n"
