"""How a background process starts: what is made ready for it, and what is left when its start is cut off."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.core.types import ProcessState
from shellward.environments import Environment
from shellward.environments.encoding import script
from shellward.environments.process import Process


@pytest.fixture(params=["bash", "dash"])
def env(request: pytest.FixtureRequest, own_home: Path) -> Iterator[Environment]:
    del own_home
    with environments.create("local", shell=request.param) as made:
        yield made
        for info in made.processes():
            made.process(info.id).remove()


def status(process: Process) -> int | None:
    """Look until it has ended; there is nobody to wait with, once the place of the bells was removed."""
    until = time.monotonic() + 20
    while (info := process.poll()).running and time.monotonic() < until:
        time.sleep(0.01)
    return info.exit_code


def test_a_root_that_was_removed_is_made_again(env: Environment) -> None:
    assert status(env.start("exit 3")) == 3
    shutil.rmtree(env.backend.processes)
    assert status(env.start("exit 4")) == 4
    assert status(env.start("exit 5")) == 5


def test_many_at_once_and_one_after_the_other(env: Environment) -> None:
    """Directories are made before they are needed, several at a time, and those that were not needed go."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: env.start(f"exit {number}"), range(24)))
    made += [env.start(f"exit {number}") for number in range(24, 40)]
    assert [process.wait(20).exit_code for process in made] == list(range(40))
    assert len({process.id for process in made}) == 40
    root = Path(env.backend.processes)
    assert len([each for each in root.glob("p*") if not (each / "owner").exists()]) <= 8
    for process in made:
        process.remove()
    env.run("sleep 0.3")  # the last ones may be about to be made
    env.drop_prepared()
    assert list(root.glob("p*")) == []


def test_a_status_of_before_is_kept(env: Environment) -> None:
    """A start is no command of the user's, so ``$?`` stays."""
    env.run("false")
    env.start("exit 3").wait(20)
    assert env.run("echo $?").stdout == "1\n"


@pytest.mark.parametrize("there", ["setsid", "python3", "perl"])
def test_a_session_of_its_own_by_whatever_there_is(env: Environment, tmp_path: Path, there: str) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "bash", "dash", "cat", "sleep", there):
        (tools / tool).symlink_to(shutil.which(tool) or pytest.fail(f"there is no {tool}"))
    env.run(f"PATH={tools}")
    process = env.start("echo $$; cat /proc/$$/stat; sleep 60")
    assert next(process.follow()).split()[0] == str(process.pid).encode()
    _, parent, _, session = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[:4]
    assert session in {str(process.pid), parent}, "neither it nor its supervisor is at the head of a session"
    assert process.kill().reason == "killed"


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
@pytest.mark.parametrize("stdin", ["open", "none"])
def test_without_the_word_nothing_begins_and_nothing_is_left(tmp_path: Path, shell: str, stdin: str) -> None:
    """The one who writes the files is killed before he has said that they are there."""
    place = tmp_path / "p1"
    place.mkdir()
    (place / "run").write_text(f"touch {tmp_path}/ran\n")
    (tmp_path / "supervise").write_text(script("supervise.sh"))
    program = ["busybox", "sh"] if shell == "busybox" else [shell]
    words = [*program, str(tmp_path / "supervise"), str(place), "sh", stdin, "", "60", "", "go", ""]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    assert done.stdout == b""
    assert not place.exists()
    assert not (tmp_path / "ran").exists()
    kept = [each for each in Path("/proc").glob("[0-9]*/cmdline") if os.fsencode(str(place)) in _read(each)]
    assert kept == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("pty", [False, True])
def test_what_takes_over_the_session_says_nothing(env: Environment, pty: bool) -> None:
    """Also about functions that nobody may change; the user's are so still."""
    if env.capabilities.functions:
        env.run("f() { echo f; }; readonly -f f").check()
    process = env.start("echo begun; if command -v f; then f; fi; exit 3", pty=pty)
    assert status(process) == 3
    said = process.log().data.replace(b"\r", b"")
    assert said == (b"begun\nf\nf\n" if env.capabilities.functions else b"begun\n")
    assert pty or process.log(stream="stderr").data == b""


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_an_end_that_cannot_be_written_down_at_once_is_not_lost(tmp_path: Path, shell: str) -> None:
    go = tmp_path / "go"
    with environments.create("local", shell=shell) as env:
        process = env.start(f"until [ -e {go} ]; do sleep 0.05; done; exit 3")
        status = Path(process.directory, "status")
        status.unlink(missing_ok=True)
        status.mkdir()
        go.touch()
        until = time.monotonic() + 20
        while Path(f"/proc/{process.pid}").exists() and time.monotonic() < until:
            time.sleep(0.01)
        status.rmdir()
        info = process.wait(30)
        assert (info.state, info.exit_code) == (ProcessState.ENDED, 3)
        process.remove()


def test_a_start_whose_shell_was_killed_was_no_error_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    with environments.create("local") as env:
        result = replace(env.run("true"), exit_code=137, signal="KILL", stderr="bash: line 68: 27152 Killed  ( .. )")
        monkeypatch.setattr(env, "run_on", lambda *_given: result)
        with pytest.raises(EnvironmentUnavailable, match="nothing was started"):
            env.start("true")


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_process_begins_also_when_nobody_hears_of_it(tmp_path: Path, shell: str) -> None:
    directory = tmp_path / "p123456"
    directory.mkdir()
    (directory / "run").write_text(f"echo ran >{tmp_path}/ran\n")
    reader, writer = os.pipe()
    os.close(reader)
    words = [shell, "-c", script("supervise.sh"), "shellward", str(directory), "", "none", "", "60", "", "", ""]
    try:
        subprocess.run(words, stdout=writer, stdin=subprocess.DEVNULL, timeout=30, check=False, start_new_session=True)
    finally:
        os.close(writer)
    assert (tmp_path / "ran").read_text() == "ran\n"
    assert (directory / "status").read_text().startswith("0 ")
