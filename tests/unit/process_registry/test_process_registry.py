"""The registry: what is remembered, found again by others, limited, and told once."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shellward.core.errors import ConfigError, LimitReached
from shellward.environments.base import PtySize
from shellward.process_registry import Notice, ProcessRegistry
from shellward.process_registry.records import NoticeKind
from shellward.process_registry.store import MIGRATIONS, Store

Make = Callable[..., ProcessRegistry]

_PROGRAM = """
from shellward import environments
from shellward.process_registry import ProcessRegistry
with ProcessRegistry(lambda place: environments.create("local")) as registry:
    for number in range(10):
        print(registry.start(f"exit {number}", notify=True).id)
"""


def test_everything_about_one_process(registry: ProcessRegistry) -> None:
    entry = registry.start("read x; echo got $x; exit 3", task="t1")
    assert entry.info.pid
    assert registry.poll(entry.id).info.running
    assert [each.id for each in registry.list(task="t1")] == [entry.id]
    assert registry.submit(entry.id, "it") == 3
    done = registry.wait(entry.id, 20)
    assert (done.info.exit_code, done.info.reason, done.info.bytes_out) == (3, "exited", 7)
    assert registry.log(entry.id).text == "got it\n"
    assert registry.poll(entry.id).info.exit_code == 3
    assert registry.find(entry.id[:6]).id == entry.id
    registry.remove(entry.id)
    with pytest.raises(FileNotFoundError):
        registry.poll(entry.id)
    with pytest.raises(FileNotFoundError):
        registry.find(entry.id[:6])


def test_another_registry_goes_on_where_one_ended(make: Make) -> None:
    first = make()
    name = first.start("echo a; read x; echo $x", task="t").id
    first.close()
    second = make()
    assert second.log(name).text == "a\n"
    second.submit(name, "b")
    assert second.wait(name, 20).info.exit_code == 0
    assert b"".join(second.follow(name, 2)) == b"b\n"


def test_what_others_started_is_found(registry: ProcessRegistry) -> None:
    registry.start("exit 0")
    process = registry.environment("local").start("read x")
    assert process.id in {entry.id for entry in registry.list()}
    assert registry.kill(process.id).info.reason == "killed"


def test_the_limit_is_enforced(make: Make) -> None:
    registry = make(max_running=3)
    names = [registry.start("read x").id for _ in range(3)]
    with pytest.raises(LimitReached, match="3"):
        registry.start("read x")
    registry.kill(names[0])
    registry.start("read x")


def test_who_ends_a_process_says_why(registry: ProcessRegistry) -> None:
    name = registry.start("sleep 60").id
    assert registry.kill(name, reason="timed out").info.reason == "timed out"
    assert registry.poll(name).info.reason == "timed out"


def test_kept_output_has_a_limit(make: Make) -> None:
    registry = make(max_kept=1000)
    names = []
    for _ in range(3):
        names.append(registry.start("head -c 800 /dev/zero; sleep 0.02").id)
        registry.wait(names[-1], 20)
    assert [entry.id for entry in registry.list()] == names[2:]


def test_an_end_reads_no_more_the_more_are_known(registry: ProcessRegistry) -> None:
    """What the database is asked when a process ends is found by an index, whatever else it holds."""
    name = registry.start("read x", notify=True).id
    registry.submit(name, "")
    asked: list[str] = []
    registry.store._connection.set_trace_callback(asked.append)
    assert registry.wait(name, 20).info.exit_code == 0
    registry.poll(name)
    registry.store._connection.set_trace_callback(None)
    questions = [text for text in asked if text.startswith(("select", "update"))]
    assert len(questions) > 3
    for question in questions:
        plan = registry.store._connection.execute(f"explain query plan {question}").fetchall()
        assert not [step for *_, step in plan if step.startswith("SCAN")], (question, plan)


def test_what_is_kept_is_counted_as_it_comes_and_goes(registry: ProcessRegistry) -> None:
    entries = [registry.start(f"printf %0{10 * number}d 0").id for number in (1, 2, 3)]

    def counted() -> list[tuple[object, ...]]:
        return registry.store._connection.execute("select * from kept").fetchall()

    assert counted() == []
    for name in entries:
        registry.wait(name, 20)
    assert counted() == [("local", 3, 60)]
    registry.remove(entries[0])
    assert counted() == [("local", 2, 50)]
    assert [entry.id for entry in registry.store.excess("local", 1, 1000)] == [entries[1]]
    assert [entry.id for entry in registry.store.excess("local", 9, 10)] == entries[1:]
    assert registry.store.excess("local", 2, 50) == []


def test_an_older_database_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "processes.db"
    old = sqlite3.connect(path, isolation_level=None)
    old.executescript(MIGRATIONS[0])
    values = (
        "'p1', 'local', 'ended', 'x', '/', 1, '1', 0, null, '', 1.0, 2.0, 5, 6, 'o', null, '', 1.0, 0, 0, 0, null, null"
    )
    old.execute(f"insert into process values ({values})")
    old.execute("pragma user_version = 1")
    old.close()
    store = Store(path)
    assert store._connection.execute("select * from kept").fetchall() == [("local", 1, 11)]
    assert (known := store.get("p1")) is not None
    assert known.engine == ""
    store.forget(["p1"])
    assert store._connection.execute("select * from kept").fetchall() == [("local", 0, 0)]
    store.close()


def test_all_that_was_printed_is_given_at_once(registry: ProcessRegistry) -> None:
    name = registry.start("i=0; while [ $i -lt 3000 ]; do echo line number $i; i=$((i+1)); done; cat").id
    registry.submit(name, "last")
    registry.close_stdin(name)
    registry.wait(name, 30)
    text = registry.log(name, 0, None).data
    assert text.endswith(b"last\n")
    assert b"".join(registry.whole(name)) == text
    assert b"".join(registry.whole(name, 1000)) == text[1000:]
    assert b"".join(registry.whole(name, -1000)) == text[-1000:]
    assert b"".join(registry.whole(name, len(text) + 5)) == b""
    with pytest.raises(FileNotFoundError):
        b"".join(registry.whole("pnone00001"))


def test_a_terminal_its_size_and_signals(registry: ProcessRegistry) -> None:
    command = "trap 'echo now $(stty size)' WINCH; echo up; while :; do sleep 0.05; done"
    entry = registry.start(command, pty=PtySize(rows=30, columns=90))

    def shown(text: str) -> bool:
        until = time.monotonic() + 20
        while text not in registry.log(entry.id).text and time.monotonic() < until:
            time.sleep(0.02)
        return text in registry.log(entry.id).text

    assert shown("up")
    registry.resize(entry.id, PtySize(rows=11, columns=22))
    assert shown("now 11 22")
    for rows in (0, 1 << 15, "1; exit"):
        with pytest.raises(ConfigError, match="rows"):
            registry.resize(entry.id, PtySize(rows=rows, columns=80))  # type: ignore[arg-type]
    assert registry.poll(entry.id).info.pty
    assert registry.signal(entry.id, "TERM")
    assert registry.wait(entry.id, 20).info.signal == "SIGTERM"
    typed = registry.start(["cat"])
    assert registry.write(typed.id, "no line") == 7
    registry.close_stdin(typed.id)
    assert registry.wait(typed.id, 20).info.exit_code == 0
    assert registry.log(typed.id).text == "no line"


def test_the_oldest_that_ended_go_first(make: Make) -> None:
    registry = make(max_finished=2)
    names = []
    for number in range(4):
        names.append(registry.start(f"echo {number}").id)
        registry.wait(names[-1], 20)
    assert [entry.id for entry in registry.list()] == names[2:]
    assert registry.environment("local").processes()[0].id == names[2]


def test_nothing_is_remembered_of_what_was_not_started(registry: ProcessRegistry) -> None:
    with pytest.raises(FileNotFoundError):
        registry.start("true", cwd="/no/such/place")
    assert registry.list() == []


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "x" / "processes.db")
    store.close()
    connection = sqlite3.connect(store.path)
    connection.execute(f"pragma user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(OSError, match="newer"):
        Store(store.path)
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_many_processes_of_a_moment_are_each_told_once(make: Make) -> None:
    told: list[Notice] = []
    registry = make(on_notice=told.append)
    with ThreadPoolExecutor(8) as pool:
        names = [entry.id for entry in pool.map(lambda n: registry.start(f"exit {n}", notify=True), range(50))]
    until = time.monotonic() + 60
    while len(told) < 50 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    assert sorted(notice.id for notice in told) == sorted(names)
    codes = {notice.id: notice.entry.info.exit_code for notice in told}
    assert [codes[name] for name in names] == list(range(50))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_processes_of_a_moment_are_each_told_once(make: Make) -> None:
    told: list[Notice] = []
    registry = make(on_notice=told.append)
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda _: registry.start("exit 0", stdin=b"", notify=True).id, range(1000)))
    until = time.monotonic() + 300
    while len(told) < 1000 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1)
    assert sorted(notice.id for notice in told) == sorted(names)
    assert {notice.entry.info.exit_code for notice in told} == {0}


def test_several_programs_at_once(make: Make) -> None:
    """Programs of their own start processes into the same database; what ended there is told here, once each."""
    programs = [subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    names = [name for program in programs for name in program.communicate(timeout=60)[0].split()]
    assert [program.returncode for program in programs] == [0] * 4
    registry = make()
    assert sorted(entry.id for entry in registry.list()) == sorted(names)
    registry.listen()
    told = [registry.notice(20) for _ in names]
    assert sorted(notice.id for notice in told if notice is not None) == sorted(names)
    assert registry.notice(0.5) is None


def test_two_programs_share_the_notices(make: Make) -> None:
    told: list[str] = []
    first = make(on_notice=lambda notice: told.append(notice.id))
    second = make(on_notice=lambda notice: told.append(notice.id))
    names = [first.start("sleep 0.3", notify=True).id for _ in range(10)]
    second.listen()
    until = time.monotonic() + 30
    while len(told) < 10 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    assert sorted(told) == sorted(names)


def test_ends_that_nobody_heard_are_told_to_the_next(make: Make) -> None:
    first = make()
    name = first.start("sleep 0.2", notify=True).id
    first.close()
    time.sleep(0.5)
    second = make()
    second.listen()
    notice = second.notice(20)
    assert notice is not None
    assert (notice.id, notice.kind) == (name, NoticeKind.ENDED)
    third = make()
    third.listen()
    assert third.notice(0.5) is None


def test_what_a_killed_program_had_claimed_is_told(make: Make) -> None:
    registry = make()
    name = registry.start("exit 0", notify=True).id
    claimed = registry.notice(20)
    assert claimed is not None
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    with sqlite3.connect(registry.store.path) as connection:
        owner = f"{registry.poll(name).client.rpartition(':')[0]}:{int(child.stdout)} 1"
        connection.execute("update process set told = null, claimed = ?", (owner,))
    connection.close()
    second = make()
    second.listen()
    again = second.notice(20)
    assert again is not None
    assert again.id == name


def test_patterns_are_told_as_they_come(registry: ProcessRegistry) -> None:
    entry = registry.start("echo one; read x; echo 'ready on port 80'; read x", watch=["/port [0-9]+/"])
    assert registry.notice(0.3) is None
    registry.submit(entry.id, "go")
    notice = registry.notice(20)
    assert notice is not None
    assert (notice.kind, notice.text, notice.offset) == (NoticeKind.MATCHED, "ready on port 80", 4)
    with pytest.raises(ConfigError):
        registry.watch(entry.id, ["/(/"])


def test_noise_becomes_one_notice_and_the_end_is_told(registry: ProcessRegistry) -> None:
    registry.start("i=0; while [ $i -lt 500 ]; do echo error $i; i=$((i+1)); done", watch=["error"])
    kinds = []
    while not kinds or kinds[-1] is not NoticeKind.ENDED:
        notice = registry.notice(20)
        assert notice is not None, kinds
        kinds.append(notice.kind)
    assert kinds == [NoticeKind.MATCHED] * 8 + [NoticeKind.NOISY, NoticeKind.ENDED]


def test_noise_that_breaks_off_in_a_line_is_one_notice_too(registry: ProcessRegistry) -> None:
    registry.start("printf '" + r"error\n" * 12 + "error'; sleep 0.2", watch=["error"])
    kinds = []
    while not kinds or kinds[-1] is not NoticeKind.ENDED:
        notice = registry.notice(20)
        assert notice is not None, kinds
        kinds.append(notice.kind)
    assert kinds == [NoticeKind.MATCHED] * 8 + [NoticeKind.NOISY, NoticeKind.ENDED]


def test_a_watched_process_that_ended_at_once_is_read_to_its_end(registry: ProcessRegistry) -> None:
    registry.start("printf 'no newline: found'", watch=["found"])
    notice = registry.notice(20)
    assert notice is not None
    assert notice.text == "no newline: found"


def test_nothing_is_left_behind(make: Make) -> None:
    before = threading.active_count()
    registry = make()
    registry.start("echo x", notify=True, watch=["x"])
    while (notice := registry.notice(20)) is not None and notice.kind is not NoticeKind.ENDED:
        pass
    registry.close()
    registry.close()
    assert threading.active_count() == before
