"""``shellward run`` and the gate: refused where nobody can be asked, asked on a terminal, else as before.

What is refused here must harm nothing but ``victim`` if it does run after all: a broken gate executes all of it.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commandline import SHELLWARD, cli, environ
from seats import Seat


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    import shutil

    place = Path.home() / ".shellward-tests" / f"cli-{os.getpid()}-{tmp_path.name}"
    place.mkdir(parents=True)
    (place / "file").write_text("precious")
    yield place
    shutil.rmtree(place, ignore_errors=True)


def test_refused_without_a_terminal(victim: Path) -> None:
    done = cli("run", "--", f"echo first; rm -rf {victim}")
    assert (done.returncode, done.stdout) == (20, b"")
    assert b"[files.rm-recursive]" in done.stderr
    assert b"Nothing was run." in done.stderr
    assert victim.exists()


def test_refused_as_words_and_in_json(victim: Path) -> None:
    done = cli("run", "--json", "--", "rm", "-rf", str(victim))
    made = json.loads(done.stdout)
    assert (done.returncode, done.stderr, made["kind"], made["exit_code"]) == (20, b"", "ApprovalDenied", None)
    assert made["approval"]["verdict"] == "deny"
    assert made["approval"]["decided_by"] == "nobody"
    assert made["approval"]["findings"][0]["rule"] == "files.rm-recursive"
    assert victim.exists()


@pytest.mark.parametrize("program", ["bash", "python3 -"])
def test_a_program_on_standard_input(victim: Path, program: str) -> None:
    text = f"rm -rf {victim}\n" if program == "bash" else f"import shutil; shutil.rmtree('{victim}')\n"
    assert cli("run", "--", program, stdin=text.encode()).returncode == 20
    assert victim.exists()


def test_variables_and_directory(victim: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(victim.parent)
    assert cli("run", "--env-var", "X=rm", "--", f"$X -rf {victim}").returncode == 20
    assert cli("run", "--cwd", "link", "--", f"rm -rf {victim.name}", cwd=tmp_path).returncode == 20
    assert victim.exists()


def test_mode_off_asks_nobody_but_never_is_never(victim: Path) -> None:
    off = environ(SHELLWARD_APPROVAL__MODE="off")
    assert cli("run", "--", "export SHELLWARD_HOME=/tmp/none", env=off).returncode == 20
    assert cli("run", "--", f"rm -rf {victim}", env=off).returncode == 0
    assert not victim.exists()


def at_terminal(*words: str) -> Seat:
    return Seat([*SHELLWARD, "run", *words], env=environ(), columns=200)


@pytest.mark.parametrize(("key", "code", "there"), [("y", 0, False), ("n", 20, True), ("\x03", 20, True)])
def test_the_person_at_the_terminal_is_asked(victim: Path, key: str, code: int, there: bool) -> None:
    with at_terminal("--timeout", "1", "--", f"rm -rf {victim}; printf a%ser ft") as seat:
        assert seat.sees("needs your approval"), seat.screen
        assert seat.sees("Allow it?")
        time.sleep(1.5)  # longer than the command may take: that does not run yet
        seat.press(key)
        assert seat.ends() == code, seat.screen
        assert victim.exists() == there
        assert ("after" in seat.printed) != there


def test_told_to_end_while_the_person_is_asked(victim: Path) -> None:
    with at_terminal("--", f"rm -rf {victim}") as seat:
        assert seat.sees("Allow it?"), seat.screen
        os.kill(seat.pid, signal.SIGTERM)
        assert seat.ends() == 128 + signal.SIGTERM
        assert victim.exists()


@pytest.mark.docker
def test_a_session_keeps_its_meaning_between_programs(kept: Callable[..., str]) -> None:
    handle = kept()
    run = ("run", "--attach", handle)
    assert cli(*run, "--session", "s", "--", "f() { rm -rf /home; }").returncode == 0
    assert cli(*run, "--session", "s", "--", "f").returncode == 20
    assert cli(*run, "--", "X='rm -rf'").returncode == 0
    assert cli(*run, "--", "$X /home").returncode == 20
    assert cli(*run, "--", "ls -d /home").stdout == b"/home\n"


def test_the_audit_log_knows(victim: Path) -> None:
    cli("run", "--", f"rm -rf {victim} --marked-{victim.name}")
    done = subprocess.run(
        [*SHELLWARD, "audit", "show", "--json"], env=environ(), capture_output=True, check=True, timeout=60
    )
    assert victim.name.encode() in done.stdout
