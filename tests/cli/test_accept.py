"""``shellward config accept``: a person at a terminal, and nobody else, lets looser settings hold."""

import os
import pty
import select
import shlex
import subprocess
import time
from pathlib import Path

import pytest
from commandline import SHELLWARD, environ

from shellward.environments.registry import create

DEADLINE = 120.0
OFF = "approval: {mode: 'off'}\n"
LINE = "rm -rf /srv/shellward-none"
ACCEPT = ("config", "accept")


def variables(home: Path) -> dict[str, str]:
    return environ() | {"SHELLWARD_HOME": str(home)}


def run(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    made = [*SHELLWARD, *words]
    return subprocess.run(
        made, env=variables(home), text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Settings that a first start has accepted, and a file that lets more pass since."""
    made = tmp_path / "settings"
    made.mkdir()
    (made / "config.yaml").write_text("approval: {mode: manual}\n")
    assert run(made, "run", "--", "true").returncode == 0
    (made / "config.yaml").write_text(OFF)
    return made


def at_terminal(home: Path, keys: bytes) -> tuple[int, str]:
    """Run it as a person does, pressing keys when it asks; return its exit status and what was seen."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(SHELLWARD[0], [*SHELLWARD, *ACCEPT], variables(home))
    seen, pressed, until = b"", False, time.monotonic() + DEADLINE
    while time.monotonic() < until:
        if not select.select([fd], [], [], 0.1)[0]:
            continue
        try:
            seen += os.read(fd, 65536)
        except OSError:  # its end
            break
        if b"[y/N]" in seen and not pressed:
            pressed = True
            os.write(fd, keys)
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()


def test_a_later_program_keeps_what_was_accepted_and_says_so(home: Path) -> None:
    refused = run(home, "run", "--", LINE)
    assert refused.returncode == 20
    assert refused.stderr.count("shellward config accept") == 1
    assert '"manual" -> "off"' in refused.stderr


def test_a_person_accepts(home: Path) -> None:
    status, seen = at_terminal(home, b"n\n")
    assert (status, '"manual" -> "off"' in seen) == (1, True), seen
    assert run(home, "run", "--", LINE).returncode == 20
    status, seen = at_terminal(home, b"y\n")
    assert status == 0, seen
    assert run(home, "run", "--", LINE).returncode == 0
    assert "nothing waits" in at_terminal(home, b"")[1]


def test_nobody_accepts_without_a_terminal(home: Path) -> None:
    refused = run(home, *ACCEPT)
    assert refused.returncode == 1
    assert "only a person at a terminal" in refused.stderr


@pytest.mark.parametrize("before", ["", "env -u SHELLWARD_INSIDE", "unset SHELLWARD_INSIDE;"])
def test_no_command_of_an_environment_accepts(home: Path, before: str) -> None:
    with create("local") as inside:
        given = {name: value for name, value in variables(home).items() if name != "PATH"}
        line = f"{before} {shlex.join([*SHELLWARD, *ACCEPT])}; echo ended"
        with inside.pty(line, env=given) as session:
            seen = session.wait_for("ended", timeout=DEADLINE)
            assert seen is not None
            assert "inside a command of Shellward" in " ".join(seen.text.split())
    assert run(home, "run", "--", LINE).returncode == 20


def test_the_gate_lets_no_command_try(home: Path) -> None:
    (home / "config.yaml").write_text("approval: {mode: manual}\n")
    tried = run(home, "run", "--", f"yes | {shlex.join([*SHELLWARD, *ACCEPT])}")
    assert tried.returncode == 20
    assert "gate.answer" in tried.stderr


def test_what_a_process_was_told_stays(home: Path) -> None:
    done = subprocess.run(
        [*SHELLWARD, "run", "--", LINE],
        env=variables(home) | {"SHELLWARD_APPROVAL__MODE": "off"},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0
