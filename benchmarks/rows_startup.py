"""Rows about beginning: fresh interpreters, whole processes from start to end."""

import statistics
import sys
from functools import partial
from importlib.util import find_spec

from figures import MB, Bar, Measured, Row, Settings, Skipped, compare, quietly, timed

_PEAK = "print([line for line in open('/proc/self/status') if line.startswith('VmHWM')][0].split()[1])"
_BARE = "a bare interpreter"


def _time(settings: Settings, *, words: tuple[str, ...]) -> Measured:
    return compare(
        timed(lambda: quietly([sys.executable, *words])),
        timed(lambda: quietly([sys.executable, "-c", "pass"])),
        samples=settings.of(200, 4),
        block=2,
    )


def _help(settings: Settings) -> Measured:
    if find_spec("shellward.__main__") is None:
        raise Skipped("there is no command line in this package yet")
    return _time(settings, words=("-m", "shellward", "--help"))


def _memory(settings: Settings) -> Measured:
    def peak(before: str) -> float:
        return int(quietly([sys.executable, "-c", before + _PEAK])) * 1024 / MB

    samples = settings.of(20, 2)
    ours, bare = [], []
    for _ in range(samples):
        ours.append(peak("import shellward; "))
        bare.append(peak(""))
    return Measured(statistics.median(ours), statistics.median(bare), samples)


ROWS = (
    Row(
        "import-time",
        "`import shellward`, whole process",
        _BARE,
        "ms",
        Bar("<=", 60, "figure"),
        partial(_time, words=("-c", "import shellward")),
    ),
    Row(
        "import-memory",
        "`import shellward`, whole process at its peak",
        _BARE,
        "MB",
        Bar("<=", 25, "figure"),
        _memory,
    ),
    Row("help-time", "`shellward --help`, whole process", _BARE, "ms", Bar("<=", 150, "figure"), _help),
)
