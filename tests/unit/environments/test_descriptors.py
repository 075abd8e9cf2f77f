"""Descriptors: none is left by a call, whether it succeeds or this process can have no further one in the middle."""

import errno
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.environments import Environment
from shellward.environments.machine import too_many_files

LONG = b"x" * 400_000
"""More than travels with a command."""
OF_A_SHELL = 5
"""Descriptors of a channel of pipes or FIFOs."""
FEWEST = 40
"""The limit is inherited, and a shell needs some itself."""
MOST = 24
"""Descriptors with which every call succeeds."""


def in_session(env: Environment) -> None:
    with env.session() as session:
        assert session.run("echo on").stdout == "on\n"


def at_terminal(env: Environment) -> None:
    with env.pty("sleep 0.02") as terminal:
        terminal.wait(10)


def read_long(env: Environment) -> None:
    env.write_file("/tmp/shellward-descriptors", LONG)  # of the sandbox
    assert env.read_file("/tmp/shellward-descriptors") == LONG


def truncated(env: Environment) -> None:
    result = env.run("printf %5000d 0", max_output=100)
    assert result.truncated


CALLS: dict[str, Callable[[Environment], object]] = {
    "run": lambda env: env.run("true"),
    "input": lambda env: env.run("wc -c", stdin=LONG),
    "iterable": lambda env: env.run("wc -c", stdin=iter([b"a", b"b"])),
    "truncated": truncated,
    "files": read_long,
    "start": lambda env: env.start("true").wait(10),
    "terminal": at_terminal,
    "run at a terminal": lambda env: env.run("true", pty=True),
    "session": in_session,
    "stream": lambda env: list(env.stream("echo on")),
}
PLACES: dict[str, dict[str, Any]] = {"local": {}, "docker": {"image": "shellward/busybox", "network": "none"}}


@pytest.fixture(scope="module", params=["local", pytest.param("docker", marks=pytest.mark.docker)], name="env")
def warm(request: pytest.FixtureRequest) -> Iterator[Environment]:
    with environments.create(request.param, **PLACES[request.param]) as made:
        for call in CALLS.values():
            call(made)
        yield made


def used() -> set[int]:
    """Return the descriptors of this process."""
    seen = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208  # it reads, and closes, at once
    return {int(each.name) for each in seen if each.is_symlink()}  # the one with which they were listed is closed


def lost(env: Environment) -> int:
    """Return how many descriptors there are beside those of the warm shells, which are kept for further commands."""
    return len(used()) - OF_A_SHELL * sum(shell._channel is not None for shell in env._pool.shells())


def left(env: Environment, before: int) -> int:
    """Return how many more descriptors there are than before, when what is under way in other threads is done."""
    end = time.monotonic() + 10
    while (now := lost(env)) > before and time.monotonic() < end:
        time.sleep(0.05)  # a shell is in no list while it is being made
    return now - before


def children() -> int:
    """Return how many processes this one has to wait for."""
    return sum(len(each.read_text().split()) for each in Path("/proc/self/task").glob("*/children"))


@contextmanager
def only(free: int) -> Iterator[None]:
    """Let this process have so many further descriptors, and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    low = [os.open("/dev/null", os.O_RDONLY)]
    while low[-1] < FEWEST:
        low.append(os.open("/dev/null", os.O_RDONLY))
    taken = used()
    limit = [each for each in range(max(taken) + free + 2) if each not in taken][free]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in low:
            os.close(each)


def after_warm_calls(env: Environment, call: Callable[[Environment], object]) -> int:
    """Return how many descriptors there are when what is kept for further calls is there."""
    most = 0
    for _ in range(4):
        call(env)
        most = max(most, lost(env))
    return most


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_left_when_there_is_no_further_descriptor_at_any_moment(env: Environment, name: str) -> None:
    call = CALLS[name]
    before = after_warm_calls(env, call)
    succeeded = False
    for free in range(MOST):
        for _ in range(2):
            processes = children()
            try:
                with only(free):
                    call(env)
                    succeeded = True
            except (EnvironmentUnavailable, OSError) as error:
                assert too_many_files(error), error  # noqa: PT017
                assert isinstance(error, OSError) or "too many files are open" in str(error)  # noqa: PT017
            assert left(env, before) <= 0, f"with {free} free"
            assert children() <= processes + 1, f"with {free} free"  # a shell that is kept
        if succeeded:
            break
    assert succeeded
    assert env.run("echo on").stdout == "on\n"


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_succeed_leave_no_descriptor(env: Environment, name: str) -> None:
    call = CALLS[name]
    before = after_warm_calls(env, call)
    for _ in range(12):
        call(env)
    assert left(env, before) <= 0


def test_a_terminal_may_have_any_descriptor() -> None:
    """select(2) knows the first 1,024 only."""
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        with environments.create("local") as env:
            assert env.run("echo on", pty=True).stdout == "on\r\n"
    finally:
        for each in held:
            os.close(each)


@pytest.mark.parametrize("limit", [60, 251])
def test_a_session_raises_a_low_limit_of_its_own(limit: int) -> None:
    """The shell needs descriptors 250 and 251; what it inherits may be less."""
    text = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, 4096))\n"
        "from shellward import environments\n"
        "with environments.create('local') as env: print(env.run('ulimit -Sn; ulimit -Hn').stdout)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["256", "4096"]


def test_a_limit_that_cannot_be_raised_is_told_at_once() -> None:
    text = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\n"
        "from shellward import environments, core\n"
        "from shellward.core.errors import EnvironmentUnavailable\n"
        "try: environments.create('local')\n"
        "except EnvironmentUnavailable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=25, check=True)
    assert "limit of open files" in done.stdout


def test_what_others_make_of_the_error_is_seen_through() -> None:
    full = OSError(errno.EMFILE, "Too many open files")
    assert too_many_files(RuntimeError("Connection aborted.", full))
    assert too_many_files(OSError(errno.ENFILE, "x"))
    assert not too_many_files(RuntimeError("x", OSError(errno.ENOENT, "x")))
    assert not too_many_files(None)
