"""``shellward shell`` and ``replay``, at a terminal of their own, as a person has it."""

import json
import os
import re
import resource
import signal
import time
from pathlib import Path

import pytest
from commandline import ALSO_SLOW, IN_DOCKER, PLACES, cli, owned_by, wait_for
from commandline import at_terminal as start

from shellward.cli.run.streams import recorded
from shellward.core.types import Chunk, StreamName
from shellward.environments.environment import Environment
from shellward.environments.pty import PtySession


def prompt_inside(person: PtySession, ready: str = "ready") -> None:
    """Wait for the inner shell, which must have taken the terminal over before keys are pressed."""
    assert person.wait_for(re.compile(r"(?<!outer)[#$] ?\Z"), 40), person.screen()
    person.write(f"echo {ready[:2]}''{ready[2:]}\r")
    assert person.wait_for(re.compile(f"^{ready}", re.MULTILINE), 20), person.screen()


@pytest.mark.parametrize("where", PLACES)
def test_a_shell_for_a_person(person: PtySession, where: tuple[str, ...]) -> None:
    start(person, "shell", *where, "--env-var", "HELLO=there", "--cwd", "/tmp")
    prompt_inside(person)
    person.write("echo $HELLO $PWD $(stty size)\r")
    assert person.wait_for("there /tmp 30 100"), person.screen()
    person.resize(20, 90)
    time.sleep(0.5)
    person.write("echo now $(stty size)\r")
    assert person.wait_for("now 20 90"), person.screen()
    person.write("sleep 300\r")
    time.sleep(0.5)
    person.send_keys("C-c")
    prompt_inside(person, "interrupted")
    person.write("exit 7\r")
    assert person.wait_for("same-7", 30), person.screen()


def test_job_control_inside(person: PtySession) -> None:
    start(person, "shell")
    prompt_inside(person)
    person.write("sleep 301\r")
    time.sleep(0.5)
    person.send_keys("C-z")
    assert person.wait_for("Stopped"), person.screen()
    person.write("kill %1; fg; echo job$((1))done\r")
    assert person.wait_for("job1done"), person.screen()
    prompt_inside(person, "after")
    assert person.wait_for(re.compile(r"[#$] ?\Z")), person.screen()
    person.send_keys("C-d")
    assert person.wait_for("same-", 30), person.screen()


def test_a_program_leaves_the_terminal_as_it_was(person: PtySession) -> None:
    start(person, "shell", "--", "printf", r"'\033[?1049h\033[?2004h\033[?25l\033[?1h'")
    assert person.wait_for("same-0", 30), person.screen()
    shown = person.screen()
    assert not shown.alternate
    assert shown.cursor_visible


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal_and_ends_what_runs(person: PtySession, number: int, tmp_path: Path) -> None:
    mark = f"sleep 30{os.getpid()}"
    start(person, "shell", "--", f"'echo $PPID >{tmp_path}/pid; printf \"\\033[?1049h\"; {mark}'")
    assert wait_for((tmp_path / "pid").exists)
    time.sleep(0.5)
    os.kill(int((tmp_path / "pid").read_text()), number)
    assert person.wait_for(f"same-{128 + number}", 30), person.screen()
    assert not person.screen().alternate
    found = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.replace(" ", "\0").encode() in _read(path)]
    assert found == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.docker
def test_an_environment_can_be_kept_and_joined(person: PtySession) -> None:
    start(person, "shell", *IN_DOCKER, "--keep")
    prompt_inside(person)
    person.write("echo kept >/root/kept; exit 3\r")
    shown = person.wait_for("same-3", 40)
    assert shown, person.screen()
    handle = re.findall("left (docker:[0-9a-f]+)", shown.text)[0]
    start(person, "shell", "--attach", handle, "--", "'cat /root/kept; exit 5'")
    assert person.wait_for("same-5", 40), person.screen()
    assert "kept" in person.screen().text
    assert cli("env", "rm", handle).returncode == 0


def test_without_a_terminal_it_says_so() -> None:
    done = cli("shell")
    assert done.returncode == 2
    assert b"terminal" in done.stderr


def test_the_command_passes_the_gate(person: PtySession, tmp_path: Path) -> None:
    """Nobody can allow this, and it harms nothing if it does run."""
    start(person, "shell", "--", f"'export SHELLWARD_HOME=/tmp/none; echo ran >{tmp_path}/ran'")
    assert person.wait_for("same-20", 30), person.screen()
    assert not (tmp_path / "ran").exists()


# -- recordings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ALSO_SLOW)
def test_a_session_is_recorded_and_played(person: PtySession, tmp_path: Path, where: tuple[str, ...]) -> None:
    file = tmp_path / "it.cast"
    start(
        person,
        "shell",
        *where,
        "--record",
        str(file),
        "--",
        "'echo grüße; sleep 0.3; stty size; read -s x; echo \"<$x>\"'",
    )
    assert person.wait_for("30 100", 30), person.screen()
    person.write("geheim\r")
    assert person.wait_for("same-0", 30), person.screen()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert (lines[0]["version"], lines[0]["width"], lines[0]["height"]) == (2, 100, 30)
    assert {line[1] for line in lines[1:]} == {"o"}
    assert "grüße" in "".join(line[2] for line in lines[1:])
    assert file.stat().st_mode & 0o077 == 0
    start(person, "replay", "--speed", "2", str(file))
    assert person.wait_for(re.compile("grüße.*same-0", re.DOTALL), 30), person.screen()


def cast(path: Path, *events: object, end: str = "\n") -> Path:
    header = {"version": 2, "width": 80, "height": 24}
    path.write_text("\n".join(json.dumps(each) for each in (header, *events)) + end)
    return path


def test_replay_keeps_time_and_jumps(tmp_path: Path) -> None:
    file = cast(tmp_path / "a.cast", [0.1, "o", "a"], [0.2, "i", "secret"], [0.3, "r", "80x30"], [300, "o", "b"])
    began = time.monotonic()
    done = cli("replay", "--idle-limit", "0.5s", str(file))
    assert (done.returncode, done.stdout) == (0, b"ab")
    assert time.monotonic() - began > 0.6
    done = cli("replay", "--jump", "299.9s", "--speed", "10", str(file))
    assert (done.returncode, done.stdout) == (0, b"ab")
    done = cli("replay", "--speed", "10000", str(file))
    assert (done.returncode, done.stdout) == (0, b"ab")


@pytest.mark.parametrize(
    ("text", "played", "said"),
    [
        ("no json\n", b"", b"no asciicast"),
        ("", b"", b"no asciicast"),
        ('{"version": 1, "width": 1, "height": 1}\n', b"", b"version 1"),
        ('{"version": 2, "width": 80, "height": 24}\n[0, "o", "x"]\n[0, "o", "y', b"x", b"cut off at line 3"),
        (
            '{"version": 2, "width": 80, "height": 24}\n[0, "o", "x"]\n[1, 2]\n[0, "o", "y"]\n',
            b"x",
            b"damaged at line 3",
        ),
    ],
)
def test_a_damaged_recording_is_played_as_far_as_it_goes(tmp_path: Path, text: str, played: bytes, said: bytes) -> None:
    file = tmp_path / "bad.cast"
    file.write_text(text)
    done = cli("replay", str(file))
    assert done.returncode == 125
    assert done.stdout == played
    assert said in done.stderr
    assert b"Traceback" not in done.stderr


def test_ctrl_c_ends_a_replay_and_restores_the_terminal(person: PtySession, tmp_path: Path) -> None:
    file = cast(tmp_path / "a.cast", [0, "o", "\u001b[?1049h\u001b[?25lplaying"], [500, "o", "b"])
    start(person, "replay", str(file))
    assert person.wait_for("playing", 30), person.screen()
    person.send_keys("C-c")
    assert person.wait_for("same-130", 30), person.screen()
    shown = person.screen()
    assert not shown.alternate
    assert shown.cursor_visible


def test_nothing_is_left(outer: Environment) -> None:
    del outer
    assert owned_by(os.getpid()) == []


# -- recordings of commands ----------------------------------------------------------------------------------


def test_a_command_is_recorded_and_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "run.cast"
    done = cli("run", "--record", str(path), "--", "echo one; sleep 0.3; echo two >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"one\n", b"two\n")
    header, *events = [json.loads(line) for line in path.read_text().splitlines()]
    assert header["title"].startswith("echo one")
    assert "".join(text for _, code, text in events if code == "o") == "one\r\ntwo\r\n"
    assert events[-1][0] - events[0][0] > 0.2
    assert json.loads(cli("run", "--json", "--record", str(path), "echo three").stdout)["stdout"] == "three\n"
    assert "three" in path.read_text()
    assert cli("run", "--record", f"{tmp_path}/none/x", "touch", f"{tmp_path}/ran").returncode == 125
    assert not (tmp_path / "ran").exists()


def test_a_recording_that_cannot_go_on_costs_the_command_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    passed: list[bytes] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with recorded(str(tmp_path / "x.cast"), "x", lambda chunk: passed.append(chunk.data)) as sink:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))  # as a full disk; Python ignores the signal
        try:
            for number in range(100):
                sink(Chunk(StreamName.STDOUT, b"%099d\n" % number, ""))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(passed) == 100
    assert capfd.readouterr().err.count("recorded no further") == 1
