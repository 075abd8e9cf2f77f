"""Leases are renewed by one thread, which is there only while something is kept."""

import gc
import threading
import time
from collections.abc import Callable

import pytest

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments import lease


class Backend:
    scratch = "/run/x"

    def __init__(self, length: float) -> None:
        self.lease = length


class Fake:
    """As much of an Environment as a lease needs."""

    def __init__(self, length: float = 0.1, *, gone: bool = False, slow: float = 0.0) -> None:
        self.backend = Backend(length)
        self.beats: list[tuple[str, int]] = []
        self.gone = gone
        self.slow = slow
        self.beating = threading.Event()

    def control(self, user: object) -> "Fake":
        assert user is None
        return self

    def beat(self, path: str, value: int) -> None:
        self.beating.set()
        time.sleep(self.slow)
        self.beats.append((path, value))
        if self.gone:
            raise EnvironmentUnavailable("gone")


def running() -> bool:
    return any(thread.name == "shellward-lease" for thread in threading.enumerate())


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def keeper() -> lease._Keeper:
    assert not running()
    return lease._Keeper()


def test_it_beats_several_times_in_a_lease_and_each_beat_differs(keeper: lease._Keeper) -> None:
    fake = Fake(0.2)
    keeper.keep(fake)  # type: ignore[arg-type]
    wait_for(lambda: len(fake.beats) >= 4)
    keeper.drop(fake)  # type: ignore[arg-type]
    values = [value for _, value in fake.beats]
    assert values == sorted(set(values))
    assert {path for path, _ in fake.beats} == {"/run/x/lease"}
    assert not running()


def test_the_thread_ends_with_the_last_and_comes_again(keeper: lease._Keeper) -> None:
    first, second = Fake(60), Fake(60)
    keeper.keep(first)  # type: ignore[arg-type]
    keeper.keep(second)  # type: ignore[arg-type]
    keeper.drop(first)  # type: ignore[arg-type]
    assert running()
    keeper.drop(second)  # type: ignore[arg-type]
    keeper.drop(second)  # type: ignore[arg-type]
    assert not running()
    keeper.keep(first)  # type: ignore[arg-type]
    assert running()
    wait_for(lambda: bool(first.beats))
    keeper.drop(first)  # type: ignore[arg-type]
    assert not running()


def test_one_that_is_gone_costs_the_others_nothing(keeper: lease._Keeper) -> None:
    gone, alive = Fake(gone=True), Fake()
    keeper.keep(gone)  # type: ignore[arg-type]
    keeper.keep(alive)  # type: ignore[arg-type]
    wait_for(lambda: len(alive.beats) >= 3 and len(gone.beats) >= 3)
    keeper.drop(gone)  # type: ignore[arg-type]
    keeper.drop(alive)  # type: ignore[arg-type]


def test_one_that_is_forgotten_is_let_go(keeper: lease._Keeper) -> None:
    keeper.keep(Fake(0.05))  # type: ignore[arg-type]
    gc.collect()
    wait_for(lambda: not running())


def test_a_short_lease_that_comes_later_is_not_kept_waiting(keeper: lease._Keeper) -> None:
    long, short = Fake(600), Fake(0.1)
    keeper.keep(long)  # type: ignore[arg-type]
    wait_for(lambda: bool(long.beats))
    keeper.keep(short)  # type: ignore[arg-type]
    wait_for(lambda: len(short.beats) >= 3)
    keeper.drop(long)  # type: ignore[arg-type]
    keeper.drop(short)  # type: ignore[arg-type]


def test_the_last_one_leaves_during_its_beat(keeper: lease._Keeper) -> None:
    fake = Fake(600, slow=0.2)
    keeper.keep(fake)  # type: ignore[arg-type]
    assert fake.beating.wait(5)
    began = time.monotonic()
    keeper.drop(fake)  # type: ignore[arg-type]
    assert time.monotonic() - began < 2
    assert not running()


def test_a_short_lease_that_comes_during_a_slow_beat_is_not_kept_waiting(keeper: lease._Keeper) -> None:
    long, short = Fake(600, slow=0.2), Fake(5)
    keeper.keep(long)  # type: ignore[arg-type]
    assert long.beating.wait(5)
    keeper.keep(short)  # type: ignore[arg-type]
    wait_for(lambda: bool(short.beats))
    keeper.drop(long)  # type: ignore[arg-type]
    keeper.drop(short)  # type: ignore[arg-type]
    assert not running()
