"""What is told of a background process, from its files: scripts/process.sh in dash and bash."""

import shutil
import subprocess
from pathlib import Path

import pytest

from shellward.environments.encoding import script

SHELLS = [name for name in ("dash", "bash") if shutil.which(name)]


def told(shell: str, directory: Path) -> list[str]:
    text = script("kill.sh") + script("process.sh") + 'sw_tell "$1"'
    done = subprocess.run([shell, "-c", text, shell, str(directory)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture
def process(tmp_path: Path) -> Path:
    for name, text in {"pid": "1 1\n", "cwd": "/\n", "owner": "{}\n", "supervisor": "1 1 0 60\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
def test_a_whole_line_says_how_it_ended(shell: str, process: Path) -> None:
    (process / "status").write_text("137 12345.67\n" + " " * 51)
    lines = told(shell, process)
    assert (lines[2], lines[4]) == ("137 12345.67", "ended")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("text", [" " * 64, "", " 37 12345.67\n", "       .67\n"])
def test_room_for_it_and_a_torn_reading_of_it_say_nothing(shell: str, process: Path, text: str) -> None:
    (process / "status").write_text(text)
    assert told(shell, process)[4] != "ended"
