"""What is promised of many sandboxes and many bytes, with numbers that a test can afford; benchmarks have the rest."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shellward import environments
from shellward.testing.services.launch import Launched

CLIENT = Path(__file__).parents[2] / "benchmarks" / "transfer_client.py"
MB = 1 << 20


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
