"""Rows about background processes: from the call to the process being there, a look at one, the end of a large log."""

import subprocess
from typing import Final

from figures import MB, Bar, Measured, Row, Settings, compare, timed
from places import place

_LOG: Final = 2 * 1024 * MB


def _start(kind: str, settings: Settings) -> Measured:
    with place(kind, settings) as environment:
        kept = []

        def ours() -> None:
            kept.append(environment.start("exit 0", stdin=b""))

        def theirs() -> None:
            with subprocess.Popen(["bash", "-c", "exit 0"], stdin=subprocess.DEVNULL):
                pass

        measured = compare(timed(ours, 1000), timed(theirs, 1000), samples=settings.of(100, 3))
        for process in kept:
            process.remove()
        return measured


def _poll(settings: Settings) -> Measured:
    with place("local", settings) as environment:
        process = environment.start("sleep 600")
        try:
            return compare(
                timed(process.poll, 1000), timed(lambda: environment.run("true"), 1000), samples=settings.of(300, 3)
            )
        finally:
            process.remove()


def _log(kind: str, settings: Settings) -> Measured:
    size = settings.of(_LOG, 8 * MB)
    with place(kind, settings) as environment:
        process = environment.start(f"head -c {size} /dev/zero", stdin=b"")
        try:
            process.wait(300)
            read = f"tail -c {MB} {process.directory}/out"

            def ours() -> None:
                if len(process.log(limit=MB).data) != MB:
                    raise RuntimeError("the log is not whole")

            return compare(
                timed(ours, 1000),
                timed(lambda: environment.run(read, max_output=0), 1000),
                samples=settings.of(20, 2),
                note=f"of {size // MB} MB",
            )
        finally:
            process.remove()


ROWS = (
    *(
        Row(
            f"process-start-{kind}",
            f"{kind}, `start` of a background process",
            '`subprocess.Popen(["bash", "-c", ...])`, to its end',
            "ms",
            Bar("<=", 4),
            lambda settings, kind=kind: _start(kind, settings),
        )
        for kind in ("local", "docker")
    ),
    Row("process-poll", "local, `poll` of a running process", '`run("true")`', "ms", Bar("<=", 1, "figure"), _poll),
    *(
        Row(
            f"process-log-{kind}",
            f"{kind}, 1 MB at the end of a log of 2 GB",
            '`run("tail -c ...")`',
            "ms",
            Bar("<=", limit, "figure"),
            lambda settings, kind=kind: _log(kind, settings),
        )
        for kind, limit in (("local", 50), ("docker", 100))
    ),
)
