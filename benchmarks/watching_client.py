"""A client in a process of its own that looks at background processes; prints figures as JSON.

Arguments: what (``log``, ``idle`` or ``thousand``), kind, image, size.
"""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from memory_client import memory

from shellward import environments
from shellward.environments.environment import Environment
from shellward.process_registry import ProcessRegistry

_SECONDS = 10.0


def _log(environment: Environment, size: int) -> dict[str, float]:
    """Read the end of a log, then follow it whole."""
    process = environment.start(f"head -c {size} /dev/zero", stdin=b"")
    try:
        process.wait(600)
        before = memory("VmRSS")
        process.log(limit=1 << 20)
        came = sum(len(piece) for piece in process.follow())
        if came != size:
            raise SystemExit(f"{came} bytes came of {size}")
        return {"grown": memory("VmHWM") - before}
    finally:
        process.remove()


def _ticks(root: int) -> float:
    """Processor seconds of a process and of all that descends from it; see proc(5)."""
    rows = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                fields = (each / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            rows[int(each.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    family, total = {root}, 0
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in rows.items() if parent in family} - family
        grown = bool(more)
        family |= more
    for pid in family:
        total += rows.get(pid, (0, 0))[1]
    return total / os.sysconf("SC_CLK_TCK")


def _idle(environment: Environment, count: int) -> dict[str, float]:
    """Watch processes in which nothing happens."""
    with (
        tempfile.TemporaryDirectory() as place,
        ProcessRegistry(environments.create, path=Path(place, "db")) as registry,
    ):
        entries = [
            registry.start("sleep 600", environment=environment, notify=True, watch=["never"]) for _ in range(count)
        ]
        time.sleep(3)
        before = _ticks(os.getpid())
        time.sleep(_SECONDS)
        used = _ticks(os.getpid()) - before
        for entry in entries:
            registry.kill(entry.id, "KILL")
        return {"percent": 100 * used / _SECONDS}


def _thousand(environment: Environment, count: int) -> dict[str, float]:
    """Start so many at once, list them, hear of the end of each, once."""
    with (
        tempfile.TemporaryDirectory() as place,
        ProcessRegistry(environments.create, path=Path(place, "db"), max_running=count) as registry,
    ):
        start = time.monotonic()
        names = {registry.start("sleep 2", environment=environment, stdin=b"", notify=True).id for _ in range(count)}
        if len(registry.list()) != count:
            raise SystemExit("not all are listed")
        told = []
        while len(told) < count and (notice := registry.notice(60)) is not None:
            told.append(notice.id)
        took = time.monotonic() - start
        if sorted(told) != sorted(names):
            raise SystemExit(f"{len(told)} notices of {len(set(told))} processes, {count} were started")
    return {"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "seconds": took}


def main(what: str, kind: str, image: str, size: str) -> None:
    """Do it."""
    config = {"image": image, "pull": "never", "pids_limit": 8192} if kind == "docker" else {}
    with environments.create(kind, **config) as environment:
        environment.run("true").check()
        made = {"log": _log, "idle": _idle, "thousand": _thousand}[what](environment, int(size))
    sys.stdout.write(json.dumps(made))


if __name__ == "__main__":
    main(*sys.argv[1:])
