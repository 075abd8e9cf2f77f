"""What all unit tests share: nothing of the user's own settings, and no leaked descriptors or threads."""

import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Hypothesis fails an example of more than 200 ms by default. That is time on the wall: on a busy machine a pure
# function takes it now and then, and the first example pays for imports. What must be fast is measured in benchmarks/.
# Where a change is judged, the examples are the same in each run (tests/run); everywhere else they are new ones.
settings.register_profile(
    "suite",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="SHELLWARD_TEST_FIXED" in os.environ,
)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test away from the settings, state and variables of whoever runs it."""
    for name in os.environ:
        if name.startswith(("SHELLWARD_", "TERMINAL_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    monkeypatch.setenv("SHELLWARD_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def nothing_leaks(own_home: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    del own_home
    if {"environments", "aio"} & set(request.path.parts):
        yield  # they look after processes and streams of their own, some of which outlive a test by design
        return
    before = _descriptors()
    threads = _own_threads()
    yield
    until = time.monotonic() + 5  # a thread that has given its answer may still have to close what it waited with
    collected = False
    while (more := _descriptors() - before) | (left := _own_threads() - threads) and time.monotonic() < until:
        if not collected:
            gc.collect()  # what waits for that only is closed; it costs more than most tests
            collected = True
        time.sleep(0.01)
    assert not more, "a test left a file open"
    assert not left, "a test left a thread running"


def _own_threads() -> set[str]:
    """Name our threads that run; each has a number, so that two are not taken for one."""
    return {f"{each.name} {each.ident}" for each in threading.enumerate() if each.name.startswith("shellward")}


def _descriptors() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except FileNotFoundError:
            continue
        if target.startswith(("socket:", "pipe:", "/")) and "/proc/" not in target:
            found.add(f"{entry.name}={target}")
    return found
