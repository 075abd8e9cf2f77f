"""``shellward run`` and the gate: refused where nobody can be asked, asked on a terminal, else as before.

What is refused here must harm nothing but ``victim`` if it does run after all: a broken gate executes all of it.
"""

import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commandline import SHELLWARD, cli, environ


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    import shutil

    place = Path.home() / ".cache" / "shellward-tests" / f"cli-{os.getpid()}-{tmp_path.name}"
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


class Person:
    """Somebody at a terminal that the command line runs in."""

    def __init__(self, *words: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(SHELLWARD[0], [*SHELLWARD, "run", *words], environ(TERM="dumb", COLUMNS="200"))
        self.seen = b""

    def sees(self, text: bytes, seconds: float = 30.0) -> bool:
        until = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < until:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.fd, 65536)
                except OSError:
                    break
        return text in self.seen

    def types(self, keys: bytes) -> None:
        time.sleep(0.3)
        os.write(self.fd, keys)

    def ends(self) -> int:
        self.sees(b"\0 there is no such text", 2)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


@pytest.mark.parametrize(("key", "code", "there"), [(b"o", 0, False), (b"d", 20, True), (b"\x03", 20, True)])
def test_the_person_at_the_terminal_is_asked(victim: Path, key: bytes, code: int, there: bool) -> None:
    person = Person("--timeout", "1", "--", f"rm -rf {victim}; printf a%ser ft")
    assert person.sees(b"needs your approval"), person.seen
    assert person.sees(b"[d] deny")
    time.sleep(1.5)  # longer than the command may take: that does not run yet
    person.types(key)
    assert person.ends() == code, person.seen
    assert victim.exists() == there
    assert (b"after" in person.seen) != there


def test_told_to_end_while_the_person_is_asked(victim: Path) -> None:
    person = Person("--", f"rm -rf {victim}")
    assert person.sees(b"[d] deny"), person.seen
    os.kill(person.pid, signal.SIGTERM)
    assert person.ends() == 128 + signal.SIGTERM
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
