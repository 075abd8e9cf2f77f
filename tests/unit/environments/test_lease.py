"""Leases are renewed each for itself, by threads that are there only while something is kept."""

import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments import lease, lease_notes


class Backend:
    scratch = "/run/x"
    handle = "fake:1"

    def __init__(self, length: float) -> None:
        self.lease = length


class Fake:
    """As much of an Environment as a lease needs."""

    def __init__(
        self,
        length: float = 0.1,
        *,
        error: Exception | None = None,
        slow: float = 0.0,
        hangs: threading.Event | None = None,
    ) -> None:
        self.backend = Backend(length)
        self.beats: list[tuple[str, int]] = []
        self.error = error
        self.slow = slow
        self.hangs = hangs
        self.beating = threading.Event()

    def control(self, user: object) -> "Fake":
        assert user is None
        return self

    def beat(self, path: str, value: int) -> None:
        self.beating.set()
        time.sleep(self.slow)
        if self.hangs is not None:
            self.hangs.wait(60)
        self.beats.append((path, value))
        if self.error is not None:
            raise self.error


def running() -> bool:
    return any(thread.name.startswith("shellward-lease") for thread in threading.enumerate())


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> lease._Keeper:
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path))
    wait_for(lambda: not running())
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
    gone, alive = Fake(error=EnvironmentUnavailable("gone")), Fake()
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


def test_any_number_that_hang_hold_up_no_other(keeper: lease._Keeper) -> None:
    heal = threading.Event()
    hung = [Fake(hangs=heal) for _ in range(20)]
    for fake in hung:
        keeper.keep(fake)  # type: ignore[arg-type]
    wait_for(lambda: all(fake.beating.is_set() for fake in hung))
    alive = Fake()
    keeper.keep(alive)  # type: ignore[arg-type]
    wait_for(lambda: len(alive.beats) >= 5)
    assert not any(fake.beats for fake in hung)
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("shellward-lease-")]
    assert len(threads) <= len(hung) + 1
    heal.set()
    wait_for(lambda: all(len(fake.beats) >= 2 for fake in hung))
    for fake in [*hung, alive]:
        keeper.drop(fake)  # type: ignore[arg-type]
    wait_for(lambda: not running())


def test_no_error_of_one_ends_the_renewal_of_any(keeper: lease._Keeper) -> None:
    class Reset(Exception):  # noqa: N818  # as an SDK may call it
        """What an SDK of a vendor raises."""

    sick, alive = Fake(error=Reset("stream terminated")), Fake()
    keeper.keep(sick)  # type: ignore[arg-type]
    keeper.keep(alive)  # type: ignore[arg-type]
    wait_for(lambda: len(alive.beats) >= 3 and len(sick.beats) >= 3)
    sick.error = None
    beats = len(sick.beats)
    wait_for(lambda: len(sick.beats) >= beats + 3)
    keeper.drop(sick)  # type: ignore[arg-type]
    keeper.drop(alive)  # type: ignore[arg-type]


def test_how_a_lease_stands_is_told(keeper: lease._Keeper) -> None:
    heal = threading.Event()
    sick, alive, hung = Fake(60, error=OSError(28, "full")), Fake(60), Fake(60, hangs=heal)
    for fake in (sick, alive, hung):
        keeper.keep(fake)  # type: ignore[arg-type]
    wait_for(hung.beating.is_set)
    wait_for(
        lambda: {bool(each.renewed or each.failures) for each in keeper.renewals() if not each.under_way} == {True}
    )
    told = sorted(keeper.renewals(), key=lambda each: (each.failures, each.renewed or 0))
    assert [each.failures for each in told] == [0, 0, 1]
    assert told[0].under_way is not None
    assert told[1].renewed == pytest.approx(time.time(), abs=60)
    assert (told[2].failure, told[2].renewed) == ("OSError: [Errno 28] full", None)
    wait_for(lambda: lease_notes.renewed("fake:1") is not None)
    lease_notes.forget("fake:1")
    assert lease_notes.renewed("fake:1") is None
    heal.set()
    for fake in (sick, alive, hung):
        keeper.drop(fake)  # type: ignore[arg-type]
