"""Rows about output: how fast much of it comes, what it costs the client, how soon a line is seen."""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from figures import MB, Bar, Measured, Row, Settings, Skipped, compare
from places import bare_pipe, place, usual

from shellward.core.types import Chunk

if TYPE_CHECKING:
    from shellward.environments import Environment

_BLOCK = 1_000_000
_GB = 1_000_000_000
_LINES = 20
_CLOCK = f"for i in $(seq {_LINES}); do sleep 0.02; date +%s.%N; done"
_CLIENT = Path(__file__).with_name("memory_client.py")
_ROOM = 1.2


def zeros(size: int) -> list[str]:
    """Return the words that print ``size`` bytes with next to no work, so that the reader is what is measured."""
    return ["dd", "if=/dev/zero", f"bs={_BLOCK}", f"count={size // _BLOCK}", "status=none"]


# -- throughput ----------------------------------------------------------------------------------------------


def _throughput(settings: Settings, *, kind: str) -> Measured:
    size = settings.of(_GB, _GB // 10)
    with place(kind, settings) as environment:
        command, words = " ".join(zeros(size)), usual(environment, *zeros(size))
        _complete(environment, command, size)

        def ours() -> float:
            start = time.perf_counter()
            environment.run(command).check()
            return size / 1e9 / (time.perf_counter() - start)

        def bare() -> float:
            start = time.perf_counter()
            came = sum(len(piece) for piece in bare_pipe(words))
            if came != size:
                raise RuntimeError(f"the baseline read {came} bytes of {size}")
            return size / 1e9 / (time.perf_counter() - start)

        return compare(ours, bare, samples=settings.of(8, 1), note=f"{size / _GB:g} GB each")


def _complete(environment: "Environment", command: str, size: int) -> None:
    """See that every byte arrives, before it is measured how fast."""
    came = 0

    def count(chunk: Chunk) -> None:
        nonlocal came
        came += len(chunk.data)

    environment.run(command, on_output=count).check()
    if came != size:
        raise RuntimeError(f"{came} bytes came of {size}")


# -- memory --------------------------------------------------------------------------------------------------


def _memory(settings: Settings, *, kind: str, keep: bool) -> Measured:
    size = settings.of(10 * _GB, _GB)
    with place(kind, settings):
        pass  # skipped here, not failed there, where there is none
    with tempfile.TemporaryDirectory(prefix="shellward-bench-") as directory:
        if keep and shutil.disk_usage(directory).free < size * _ROOM:
            raise Skipped(f"no room for {size / _GB:g} GB where temporary files are; set TMPDIR")
        file = str(Path(directory, "all")) if keep else ""
        client = [sys.executable, str(_CLIENT), kind, settings.image, " ".join(zeros(size)), file]
        done = subprocess.run(client, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-300:])
        if keep and (there := Path(file).stat().st_size) != size:
            raise RuntimeError(f"the file has {there} bytes of {size}")
    before, peak = json.loads(done.stdout)
    return Measured((peak - before) / MB, before / MB, 1, f"{size / _GB:g} GB printed")


# -- the first byte ------------------------------------------------------------------------------------------


def _lags(pieces: Iterable[bytes]) -> list[float]:
    """Return milliseconds from the time that each line tells to the arrival of its first byte."""
    found: list[float] = []
    line, began = b"", 0.0
    for piece in pieces:
        now = time.time()  # the clock that date reads, on the same machine
        if not line:
            began = now
        *whole, line = (line + piece).split(b"\n")
        for each in whole:
            found.append((began - float(each)) * 1000)
            began = now
    return found


def _first_byte(settings: Settings, *, kind: str) -> Measured:
    ours: list[float] = []
    bare: list[float] = []
    with place(kind, settings) as environment:
        words = usual(environment, "bash", "-c", _CLOCK)

        def streamed() -> Iterator[bytes]:
            for piece in environment.stream(_CLOCK):
                if isinstance(piece, Chunk):
                    yield piece.data

        for _ in range(settings.of(10, 1)):
            ours += _lags(streamed())
            bare += _lags(bare_pipe(words))
    if len(ours) != len(bare) or len(ours) % _LINES:
        raise RuntimeError(f"{len(ours)} lines came, {len(bare)} of the baseline")
    note = f"worst {max(ours):.1f} ms"
    return Measured(statistics.median(ours), statistics.median(bare), len(ours), note)


def _memory_row(kind: str, *, keep: bool) -> Row:
    return Row(
        f"{kind}-memory{'-file' if keep else ''}",
        f"{kind}, 10 GB of stdout{', all of it into a file' if keep else ''}: growth of the client",
        "the client before",
        "MB",
        Bar("<", 64, "figure"),
        partial(_memory, kind=kind, keep=keep),
    )


def _first_byte_row(kind: str, against: str) -> Row:
    what = f"{kind}, a line printed until `stream` has its first byte"
    return Row(f"{kind}-first-byte", what, against, "ms", Bar("<", 50, "figure"), partial(_first_byte, kind=kind))


ROWS = (
    Row(
        "local-stdout",
        "local, 1 GB of stdout",
        "a bare pipe read in Python",
        "GB/s",
        Bar(">=", 0.8),
        partial(_throughput, kind="local"),
    ),
    Row(
        "docker-stdout",
        "docker, 1 GB of stdout",
        "`docker exec` into a bare pipe read",
        "GB/s",
        Bar(">=", 1.5),
        partial(_throughput, kind="docker"),
    ),
    Row(
        "ssh-stdout",
        "ssh, 1 GB of stdout",
        "the `ssh` command into a bare pipe read",
        "GB/s",
        Bar(">=", 0.6),
        partial(_throughput, kind="ssh"),
    ),
    _memory_row("local", keep=False),
    _memory_row("local", keep=True),
    _memory_row("docker", keep=False),
    _memory_row("docker", keep=True),
    _first_byte_row("local", "a bare pipe read in Python"),
    _first_byte_row("docker", "`docker exec` into a bare pipe read"),
    _first_byte_row("ssh", "the `ssh` command into a bare pipe read"),
)
