"""A short run of the fuzzer; the long ones are by hand (fuzz_detect.py says how)."""

import subprocess
import sys
from pathlib import Path

import pytest

FUZZER = Path(__file__).parent / "fuzz_detect.py"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["mutate", "hypothesis"])
def test_nothing_breaks_within_ten_seconds(engine):
    done = subprocess.run(
        [sys.executable, FUZZER, "--seconds", "10", "--engine", engine],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout
