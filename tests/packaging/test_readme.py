"""What the README shows first works in this very checkout, as written."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone would have, so that no .venv of this directory is touched."""
    there = tmp_path_factory.mktemp("readme") / "shellward"
    skipped = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "dist", "*.egg-info")
    shutil.copytree(ROOT, there, symlinks=True, ignore=skipped)
    return there


def as_written(line: str, checkout: Path) -> subprocess.CompletedProcess[str]:
    # No PYTHONPATH, no virtual environment around: what a stranger has. PIP_* and the like stay.
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=checkout,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def hello(checkout: Path) -> str:
    return as_written(LINES[0], checkout).stdout


def test_first_line(hello: str) -> None:
    assert hello == "hello from Linux\n"


def test_second_line_is_what_runs_these_tests() -> None:
    command, script = LINES[1].split()
    assert command == "bash"
    assert os.access(ROOT / script, os.X_OK)


@pytest.mark.docker
def test_third_line(hello: str, checkout: Path) -> None:
    del hello  # it has made .venv
    # Files of the last two seconds count as new for the gate. Who has the images to build meets it later.
    as_written(LINES[2].partition(" && ")[0], checkout)
    time.sleep(3)
    done = as_written(LINES[2], checkout)
    assert re.search(r"^=+ \d+ passed in ", done.stdout, re.MULTILINE), done.stdout


def test_check_is_as_shown(hello: str, checkout: Path) -> None:
    del hello
    (line,) = re.findall(r"^    (\S+/shellward check .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    done = subprocess.run(
        ["bash", "-c", line], cwd=checkout, env=os.environ | {"SHELLWARD_HOME": f"{checkout}/home"}, check=False
    )
    assert done.returncode == 10
