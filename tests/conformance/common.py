"""What all places share: names of this run, and what this machine lets us do."""

import os
import subprocess
import tempfile
import uuid
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUN = uuid.uuid4().hex[:12]
LABEL = "shellward.conformance"
IS_ROOT = os.geteuid() == 0


@cache
def can_mount() -> bool:
    """Whether this process may mount a tmpfs: root in most places, not in every container."""
    if not IS_ROOT:
        return False
    with tempfile.TemporaryDirectory() as directory:
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", directory], capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", directory], check=True)
    return True
