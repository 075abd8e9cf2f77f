"""Rows about looking at background processes: how soon an end or a line is known, and what looking costs."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from figures import MB, Bar, Measured, Row, Settings, compare, quietly, timed
from places import place

from shellward.environments import create
from shellward.process_registry import ProcessRegistry

_CLIENT: Final = Path(__file__).with_name("watching_client.py")
_KNOWN: Final = 10_000


def _client(settings: Settings, what: str, kind: str, size: int) -> dict[str, float]:
    made: dict[str, float] = json.loads(
        quietly([sys.executable, str(_CLIENT), what, kind, settings.image, str(size)]).splitlines()[-1]
    )
    return made


def _known(settings: Settings) -> Measured:
    with (
        place("local", settings) as environment,
        tempfile.TemporaryDirectory() as there,
        ProcessRegistry(create, path=Path(there, "db")) as registry,
    ):
        entry = registry.start("sleep 600", environment=environment)
        try:
            for number in range(settings.of(_KNOWN, 100)):
                info = replace(entry.info, id=f"p{number:012x}", command=f"sleep {number}")
                registry.store.save(replace(entry, info=info), new=True)
            process = environment.process(entry.id)
            return compare(
                timed(lambda: registry.poll(entry.id), 1000), timed(process.poll, 1000), samples=settings.of(300, 3)
            )
        finally:
            registry.kill(entry.id, "KILL")


def _wait(kind: str, settings: Settings) -> Measured:
    """From the exit to the return of ``wait``: both sides read the same clock."""

    def theirs() -> float:
        with subprocess.Popen(["sh", "-c", "sleep 0.1; date +%s.%N"], stdout=subprocess.PIPE, text=True) as process:
            process.wait()
            now = time.time()
            assert process.stdout is not None  # noqa: S101  # opened with a pipe, above
            return (now - float(process.stdout.read())) * 1000

    with place(kind, settings) as environment:

        def ours() -> float:
            process = environment.start("sleep 0.1; date +%s.%N", stdin=b"")
            process.wait(30)
            now = time.time()
            late = (now - float(process.log().text)) * 1000
            process.remove()
            return late

        return compare(ours, theirs, samples=settings.of(50, 2))


def _follow(kind: str, settings: Settings) -> Measured:
    count = settings.of(100, 5)
    with place(kind, settings) as environment:
        process = environment.start(f"for i in $(seq {count}); do sleep 0.03; date +%s.%N; done", stdin=b"")
        late = []
        for piece in process.follow():
            now = time.time()
            late.extend((now - float(line)) * 1000 for line in piece.split())
        process.remove()
        if len(late) != count:
            raise RuntimeError(f"{len(late)} lines of {count}")
    return Measured(statistics.median(late), 30.0, count, f"worst {max(late):.1f} ms")


def _tree(kind: str, settings: Settings) -> Measured:
    """A tree of 50: some in sessions of their own, some that ignore TERM."""
    command = (
        "for i in $(seq 17); do setsid sleep 6000 & sh -c 'trap \"\" TERM HUP INT; sleep 6000; sleep 6000' & done; "
        "sleep 6000"
    )
    with place(kind, settings) as environment:
        took = []
        for _ in range(settings.of(10, 1)):
            process = environment.start(command, stdin=b"")
            while process.usage().processes < 50:
                time.sleep(0.02)
            begun = time.monotonic()
            process.kill()
            took.append(time.monotonic() - begun)
            if process.usage().processes:
                raise RuntimeError("something of it is left")
            process.remove()
    return Measured(statistics.median(took), 3.0, len(took), f"worst {max(took):.2f} s")


def _memory_of_a_log(kind: str, settings: Settings) -> Measured:
    size = settings.of(2 * 1024 * MB, 8 * MB)
    grown = _client(settings, "log", kind, size)["grown"] / MB
    return Measured(grown, size / MB, 1, f"a log of {size // MB} MB, followed whole")


def _idle(settings: Settings) -> Measured:
    return Measured(_client(settings, "idle", "local", settings.of(100, 5))["percent"], 100.0, 1, "for 10 s")


def _thousand(settings: Settings) -> Measured:
    count = settings.of(1000, 20)
    made = _client(settings, "thousand", "docker", count)
    note = f"{count} processes, as many notices, {made['seconds']:.1f} s in all"
    return Measured(made["memory"] / MB, 100.0, 1, note)


def _rows(name: str, what: str, against: str, unit: str, bar: Bar, measure: object) -> list[Row]:  # noqa: PLR0917  # one line of a table
    return [
        Row(f"{name}-{kind}", f"{kind}, {what}", against, unit, bar, partial(measure, kind))  # type: ignore[arg-type]
        for kind in ("local", "docker")
    ]


ROWS: Final = (
    Row("process-poll-known", "`poll` of one among 10,000 known", "`poll` without a registry", "ms",
        Bar("<=", 1, "figure"), _known),
    *_rows("process-wait", "from a process's exit to the return of `wait`", "`subprocess.Popen.wait`", "ms",
           Bar("<", 50, "figure"), _wait),
    *_rows("process-follow", "a line printed, seen by `follow`", "30 ms between two lines", "ms",
           Bar("<", 50, "figure"), _follow),
    *_rows("process-tree", "`kill` of a tree of 50, with `setsid` and TERM ignored", "3 s", "s",
           Bar("<=", 3, "figure"), _tree),
    *_rows("process-log-memory", "client's memory for a log of 2 GB", "the log", "MB",
           Bar("<", 16, "figure"), _memory_of_a_log),
    Row("process-idle", "processor of 100 watched processes in which nothing happens", "one processor", "%",
        Bar("<", 2, "figure"), _idle),
    Row("process-thousand", "client's memory for 1,000 processes at once in a container", "100 MB", "MB",
        Bar("<", 100, "figure"), _thousand),
)  # fmt: skip
