"""kill.sh reads the process table field by field, and a process's name may look like fields."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shellward.environments.encoding import script

SHELLS = [shell for shell in ("dash", "bash", "busybox sh") if shutil.which(shell.split()[0])]
NAMES = ["plain", "two words", "a) S 1 2 3 4 5", "a) S 1 2 3", "a)", ") b", "(x) y", " ", "x  S 1 2 3 4 5 6", "()"]


@pytest.fixture(scope="module")
def processes() -> Iterator[list[int]]:
    """One process of each of those names."""
    code = (
        "import ctypes, sys; ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0);"
        "print('named', flush=True); sys.stdin.read()"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in NAMES
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == b"named\n"
    yield [process.pid for process in started]
    for process in started:
        process.communicate()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_name_that_looks_like_fields(shell: str, processes: list[int]) -> None:
    looks = "".join(f'sw_look {pid}; echo "$sw_state $sw_parent $sw_when"; ' for pid in processes)
    said = subprocess.run(
        [
            *shell.split(),
            "-c",
            f"{script('kill.sh')}sw_shells= sw_holders= sw_skip= sw_since=0 sw_turn=1; {looks} echo $sw_all",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = []
    for pid in processes:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        wanted.append(f"S {fields[1]} {fields[19]}")
    assert said.stdout.splitlines() == [*wanted, " ".join(map(str, processes))]
    assert said.stderr == ""
