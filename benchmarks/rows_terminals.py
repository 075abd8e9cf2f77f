"""Rows about terminals: how fast a flood comes through one, and what it costs the client."""

import os
import pty
import resource
import subprocess
import time
from functools import partial

from figures import MB, Bar, Measured, Row, Settings, compare
from places import place, usual

from shellward.core.types import Chunk

_SIZE = 100 * MB


def _bare(words: list[str]) -> int:
    """Read a terminal as a script would: openpty, and os.read until the end."""
    master, slave = pty.openpty()
    process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    came = 0
    try:
        while data := os.read(master, 1 << 16):
            came += len(data)
    except OSError:  # EIO: nobody has it open any more
        pass
    os.close(master)
    process.wait()
    return came


def _throughput(settings: Settings, *, kind: str) -> Measured:
    size = settings.of(_SIZE, _SIZE // 10)
    command = f"yes | head -c {size}"
    wanted = size // 2 * 3  # a terminal sends each line's end as two
    came = 0

    def count(chunk: Chunk) -> None:
        nonlocal came
        came += len(chunk.data)

    with place(kind, settings) as environment:
        words = usual(environment, "sh", "-c", command) if kind == "local" else ["sh", "-c", command]

        def ours() -> float:
            nonlocal came
            came = 0
            start = time.perf_counter()
            environment.run(command, pty=True, on_output=count, max_output=0, full_output=False).check()
            took = time.perf_counter() - start
            if came != wanted:
                raise RuntimeError(f"{came} bytes came of {wanted}")
            return wanted / 1e6 / took

        def bare() -> float:
            start = time.perf_counter()
            if (read := _bare(words)) != wanted:
                raise RuntimeError(f"the baseline read {read} bytes of {wanted}")
            return wanted / 1e6 / (time.perf_counter() - start)

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        measured = compare(ours, bare, samples=settings.of(2, 1))
        growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return Measured(measured.figure, measured.baseline, measured.samples, f"the client grew by {growth:.0f} MB")


ROWS = (
    Row(
        "local-terminal",
        "local, `yes | head -c 100M` at a terminal",
        "a bare pty read in Python",
        "MB/s",
        Bar(">=", 0.5),
        partial(_throughput, kind="local"),
    ),
    Row(
        "docker-terminal",
        "docker, `yes | head -c 100M` at a terminal",
        "a bare local pty read in Python",
        "MB/s",
        Bar(">=", 0.5),
        partial(_throughput, kind="docker"),
    ),
)
