"""What is promised of many sandboxes and many bytes, with numbers that a test can afford; benchmarks have the rest."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shellward import environments
from shellward.testing.services.launch import Launched

CLIENT = Path(__file__).parents[2] / "benchmarks" / "transfer_client.py"
MB = 1 << 20


@pytest.fixture(scope="module")
def usual(launched: Launched) -> Iterator[Launched]:
    """A service whose minutes are as long as everybody's: clients here have the usual settings, and much to do."""
    del launched  # it would be skipped, or fail, for want of the same
    service = Launched("shellward.testing.services.daytona")
    yield service
    service.stop()


@pytest.fixture
def service(usual: Launched, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launched]:
    monkeypatch.setenv("DAYTONA_API_KEY", "loopback-key")
    monkeypatch.setenv("DAYTONA_API_URL", f"{usual.url}/api")
    yield usual
    assert usual.lacking() == []


@pytest.mark.timeout(300)
def test_many_sandboxes_at_once(service: Launched) -> None:
    def one(number: int) -> list[str]:
        with environments.create("daytona") as env:
            return [env.run(f"echo {number}.{turn}", timeout=60).stdout.strip() for turn in range(5)]

    with ThreadPoolExecutor(16) as pool:
        for number, said in enumerate(pool.map(one, range(16))):
            assert said == [f"{number}.{turn}" for turn in range(5)]
    assert service.call("GET", "sandboxes")["sandboxes"] == []


@pytest.mark.parametrize("direction", ["stdout", "upload", "download"])
def test_memory_stays_flat(service: Launched, direction: str) -> None:
    """In a process of its own, whose memory is nobody else's; what came is compared there."""
    del service  # its address is in the environment
    words = [sys.executable, str(CLIENT), "daytona", direction, str(40 * MB)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    before, peak, _ = json.loads(done.stdout)
    assert (peak - before) / MB < 20
