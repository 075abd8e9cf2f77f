"""Which programs are in the foreground of a terminal: scripts/front.sh in the shells that there are."""

import os
import pty
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator

import pytest

from shellward.environments.encoding import script

MARK = f"FRONT_MARK={secrets.token_hex(8)};"


@pytest.fixture
def seated() -> Iterator[int]:
    """The number of a shell at a terminal of its own, which runs a program."""
    holder, seat = pty.openpty()
    command = ["setsid", "-c", "sh", "-c", "echo begun; sleep 300; :"]
    with subprocess.Popen(
        command, stdin=seat, stdout=seat, stderr=seat, env=os.environ | dict([MARK.split("=")])
    ) as made:
        os.close(seat)
        assert os.read(holder, 5) == b"begun"
        yield made.pid
        os.killpg(made.pid, signal.SIGKILL)
    os.close(holder)


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox sh"])
def test_the_foreground_is_told_by_number_and_by_mark(seated: int, shell: str) -> None:
    if shutil.which(shell.split(maxsplit=1)[0]) is None:
        pytest.skip(shell)
    for known in (seated, 0):
        text = script("front.sh") + f"\nsw_front {known} '{MARK}'"
        said = subprocess.run([*shell.split(), "-c", text], capture_output=True, text=True, check=False).stdout
        first, *programs = said.splitlines()
        assert first == str(seated)
        file, *words = programs[0].split("\t")
        assert (file[0], words[:2]) == ("/", ["sh", "-c"])
        assert words[2].startswith("echo begun")


def test_nothing_is_told_of_what_is_not_there() -> None:
    text = script("front.sh") + "\nsw_front 0 'FRONT_MARK=nobody;'"
    assert subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False).stdout == ""
