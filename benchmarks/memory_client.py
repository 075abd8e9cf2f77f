"""A client in a process of its own: runs one command, prints its memory before it and at its peak, as JSON.

Arguments: kind, image, command, and a file for the full output, or nothing.
"""

import contextlib
import json
import re
import sys
from pathlib import Path

from shellward import environments


def memory(field: str) -> int:
    """Return bytes of a field of /proc/self/status.

    Not ru_maxrss: across execve(2) Linux keeps that of the process before, here the benchmark's own.
    """
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"/proc/self/status has no {field}")
    return int(found[1]) * 1024


def main(kind: str, image: str, command: str, file: str) -> None:
    """Run it."""
    config = {"image": image, "pull": "never"} if kind == "docker" else {}
    with environments.create(kind, **config) as environment:
        environment.run("head -c 1000000 /dev/zero").check()
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew (proc(5)); else it is that so far
        before = memory("VmRSS")
        result = environment.run(command, full_output=file or None).check()
        peak = memory("VmHWM")
    if not result.truncated:
        raise SystemExit("less was printed than what is kept in memory")
    sys.stdout.write(json.dumps([before, max(before, peak)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
