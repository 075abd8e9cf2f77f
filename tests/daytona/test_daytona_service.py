"""The loopback Daytona as a program: its faults from the command line, and how it says what it cannot do."""

import subprocess
import sys

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.testing.services.daytona.faults import Faults
from shellward.testing.services.launch import Launched

MODULE = "shellward.testing.services.daytona"


def test_faults_from_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Launched(MODULE, "--fault", "quota", "--fault", "match=/api/sandbox")
    try:
        monkeypatch.setenv("DAYTONA_API_KEY", "loopback-key")
        monkeypatch.setenv("DAYTONA_API_URL", f"{service.url}/api")
        with pytest.raises(EnvironmentUnavailable, match="quota"):
            environments.create("daytona")
        service.faults()
        with environments.create("daytona") as env:
            assert env.run("echo fine").stdout == "fine\n"
    finally:
        service.stop()


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("unavailable=2", "unavailable", 2),
        ("delay=0.5", "delay", 0.5),
        ("hang", "hang", True),
        ("create=a=b", "create", "a=b"),
    ],
)
def test_a_fault_is_read(text: str, name: str, value: object) -> None:
    faults = Faults()
    faults.parse(text)
    assert vars(faults) == {**vars(Faults()), name: value}


@pytest.mark.parametrize("text", ["nonsense", "parse=1", "unavailable=twice", "__class__=x", ""])
def test_a_fault_that_is_none_is_named(text: str) -> None:
    done = subprocess.run([sys.executable, "-m", MODULE, "--fault", text], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_an_image_that_is_not_there_is_named() -> None:
    words = [sys.executable, "-m", MODULE, "--image", "shellward/no-such:none"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "shellward/no-such:none" in done.stderr
    assert "Traceback" not in done.stderr
