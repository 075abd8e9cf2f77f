"""The registry under faults: places that are gone or hang, a database that cannot be written, killed programs."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.core.types import ProcessInfo, ProcessState
from shellward.environments import registry as backends
from shellward.environments.environment import Environment
from shellward.process_registry import Notice, ProcessRegistry
from shellward.process_registry.records import Entry
from shellward.process_registry.store import Store, StoreError

Make = Callable[..., ProcessRegistry]
OTHER = "docker:0123456789ab"


def entry(name: str, place: str = OTHER, *, command: str = "true", engine: str = "") -> Entry:
    info = ProcessInfo(
        id=name, command=command, cwd="/", pid=77, born="1", state=ProcessState.RUNNING, started=datetime.now(UTC)
    )
    return Entry(place=place, info=info, notify=True, client="nobody@nowhere:1", engine=engine)


def eventually(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


@pytest.fixture
def with_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ProcessRegistry]]:
    """Makes a registry in which the place OTHER is opened by the given function."""
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path))
    made: list[ProcessRegistry] = []

    def create(opener: Callable[[], Environment]) -> ProcessRegistry:
        made.append(ProcessRegistry(lambda place: opener() if place == OTHER else environments.create("local")))
        return made[-1]

    yield create
    for registry in made:
        for each in registry.list(place="local"):
            registry.remove(each.id)
        registry.close()


def gone() -> Environment:
    raise EnvironmentUnavailable("there is no such container", gone=True)


def away() -> Environment:
    raise EnvironmentUnavailable("no Docker engine answers")


# -- places ------------------------------------------------------------------------------------------------


def test_a_place_that_is_gone_is_told_of_and_hides_no_other(with_place: Callable[..., ProcessRegistry]) -> None:
    registry = with_place(gone)
    registry.store.begin(entry("plost00001"), 10)
    registry.store.save(entry("plost00001"))
    name = registry.start("exit 4", notify=True).id
    registry.listen()
    told: dict[str, ProcessInfo] = {}
    while len(told) < 2 and (notice := registry.notice(30)) is not None:
        told[notice.id] = notice.entry.info
    assert told["plost00001"].state is ProcessState.LOST
    assert told[name].exit_code == 4
    registry.remove("plost00001")


def test_an_end_that_nobody_took_is_told_when_its_place_is_gone(with_place: Callable[..., ProcessRegistry]) -> None:
    registry = with_place(gone)
    registry.store.begin(entry("pended0001"), 10)
    ended = entry("pended0001")
    registry.store.save(replace(ended, info=replace(ended.info, state=ProcessState.ENDED, exit_code=3)))
    registry.listen()
    notice = registry.notice(30)
    assert notice is not None
    assert (notice.id, notice.entry.info.exit_code) == ("pended0001", 3)


def test_a_place_that_hangs_holds_up_no_other(with_place: Callable[..., ProcessRegistry]) -> None:
    heal = threading.Event()

    def hang() -> Environment:
        heal.wait(60)
        return away()

    registry = with_place(hang)
    registry.store.begin(entry("phangs0001"), 10)
    registry.listen()
    name = registry.start("exit 5", notify=True).id
    notice = registry.notice(30)
    assert notice is not None
    assert (notice.id, notice.entry.info.exit_code) == (name, 5)
    assert not heal.is_set()
    heal.set()


def test_what_cannot_be_reached_is_unknown_and_not_removed(with_place: Callable[..., ProcessRegistry]) -> None:
    registry = with_place(away)
    registry.store.begin(entry("punknown01"), 10)
    (listed,) = registry.list()
    assert (listed.info.state, listed.info.reason) == (ProcessState.UNKNOWN, "no Docker engine answers")
    assert not listed.info.running
    assert not listed.info.over
    with pytest.raises(EnvironmentUnavailable):
        registry.remove("punknown01")
    assert registry.forget_place(OTHER) == ["punknown01"]
    assert registry.list() == []


def test_another_engine_says_nothing_of_what_the_first_keeps(
    with_place: Callable[..., ProcessRegistry], monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = with_place(gone)
    registry.store.begin(entry("pfar000001", engine="ENGINE-A"), 10)
    monkeypatch.setattr(backends, "engine_of", lambda _handle: "ENGINE-B")
    (listed,) = registry.list()
    assert listed.info.state is ProcessState.UNKNOWN
    assert "another engine (id ENGINE-A)" in listed.info.reason
    with pytest.raises(EnvironmentUnavailable, match="another engine"):
        registry.remove("pfar000001")
    monkeypatch.setattr(backends, "engine_of", lambda _handle: "ENGINE-A")
    (listed,) = registry.list()
    assert listed.info.state is ProcessState.LOST
    registry.remove("pfar000001")


def test_what_was_taken_for_lost_is_looked_for_again(registry: ProcessRegistry) -> None:
    name = registry.start("read x", notify=True).id
    known = registry.poll(name)
    registry.store.save(replace(known, info=replace(known.info, state=ProcessState.LOST, reason="lost")))
    assert registry.store.claim(name, "somebody")
    registry.store.told(name, time.time())
    assert registry.poll(name).info.running
    registry.submit(name, "")
    notice = registry.notice(30)
    assert notice is not None
    assert (notice.id, notice.entry.info.state) == (name, ProcessState.ENDED)


# -- the database ------------------------------------------------------------------------------------------


@contextmanager
def unwritable(store: Store) -> Iterator[None]:
    store._connection.execute("pragma query_only = on")
    try:
        yield
    finally:
        store._connection.execute("pragma query_only = off")


def test_a_full_disk_is_told_as_it_is(tmp_path: Path) -> None:
    store = Store(tmp_path / "processes.db")
    store._connection.execute("pragma max_page_count = 20")
    with pytest.raises(StoreError, match="full") as caught:
        store.begin(entry("pfull00001", command="x" * 400_000), 1000)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(store.path)
    store._connection.execute("pragma max_page_count = 1000000")
    store.begin(entry("pagain0001"), 1000)
    store.close()
    with pytest.raises(OSError, match="cannot be used"):
        store.get("pagain0001")


def test_ends_are_told_once_there_is_room_again(registry: ProcessRegistry) -> None:
    names = [registry.start(f"read x; exit {code}", notify=True).id for code in (3, 4)]
    with unwritable(registry.store):
        for name in names:
            registry.submit(name, "")
        assert [registry.wait(name, 30).info.exit_code for name in names] == [3, 4]
        assert [registry.poll(name).info.exit_code for name in names] == [3, 4]
        with pytest.raises(OSError, match="cannot be used"):
            registry.start("true")
    notices = [registry.notice(30) for _ in names]
    assert sorted(each.entry.info.exit_code or 0 for each in notices if each) == [3, 4]
    late = registry.start("exit 6", notify=True).id
    notice = registry.notice(30)
    assert notice is not None
    assert notice.id == late


def test_a_callback_that_fails_is_called_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    told: list[str] = []

    def hear(notice: Notice) -> None:
        told.append(notice.id)
        if len(told) == 1:
            raise ValueError("not ready")

    registry = make(on_notice=hear)
    name = registry.start("exit 0", notify=True).id
    assert eventually(lambda: len(told) == 2)
    assert told == [name, name]
    assert len(failed) == 1
    assert eventually(lambda: not registry.store.untold())


# -- processes and programs that are killed ----------------------------------------------------------------


def test_the_loss_of_a_process_is_told_without_asking(registry: ProcessRegistry) -> None:
    name = registry.start("sleep 300", notify=True).id
    directory = Path(registry.process(name).directory)
    supervisor, _, keeper, _ = map(int, (directory / "supervisor").read_text().split())
    assert Path(f"/proc/{keeper}").exists()
    os.kill(supervisor, signal.SIGKILL)
    os.killpg(int((directory / "pid").read_text().split()[0]), signal.SIGKILL)
    notice = registry.notice(30)
    assert notice is not None
    assert (notice.id, notice.entry.info.state) == (name, ProcessState.LOST)
    assert eventually(lambda: not Path(f"/proc/{keeper}").exists() or " Z " in Path(f"/proc/{keeper}/stat").read_text())


_KILLED = """
import os, signal, sys
from shellward import environments
from shellward.process_registry import ProcessRegistry
registry = ProcessRegistry(lambda place: environments.create("local"))
for number in range(2):
    registry.start(f"exit {number}", notify=True)
first, second = registry.notice(30), None
if sys.argv[1] == "next":
    second = registry.notice(30)
elif sys.argv[1] == "acknowledged":
    registry.acknowledge(first)
print(first.id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("how", "again"), [("taken", True), ("acknowledged", False), ("next", False)])
def test_a_notice_that_was_not_acknowledged_is_given_to_the_next(make: Make, how: str, again: bool) -> None:
    registry = make()
    done = subprocess.run([sys.executable, "-c", _KILLED, how], capture_output=True, text=True, timeout=60, check=False)
    first = done.stdout.strip()
    registry.listen()
    told = set()
    while len(told) < (2 if again else 1) and (notice := registry.notice(30)) is not None:
        told.add(notice.id)
    assert (first in told) is again
    registry.close()
    assert registry.store.path.exists()
    with make() as last:
        assert last.store.untold() == []


def test_what_was_told_and_not_taken_is_left_to_others(make: Make) -> None:
    first = make()
    name = first.start("exit 0", notify=True).id
    assert eventually(lambda: bool(first._notifier._claimed))
    first.close()
    second = make()
    second.listen()
    notice = second.notice(30)
    assert notice is not None
    assert notice.id == name
    second.close(dealt_with=False)
    third = make()
    third.listen()
    notice = third.notice(30)
    assert notice is not None
    assert notice.id == name
