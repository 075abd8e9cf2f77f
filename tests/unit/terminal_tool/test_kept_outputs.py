"""What is kept on this side of long outputs: the newest, so that an agent that works for days fills no disk."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tooling import Tools

from shellward.terminal_tool import cleanup_task, outputs
from shellward.terminal_tool.outputs import Outputs

LONG = "seq 1 30000"


def test_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MOST", 3)
    monkeypatch.setattr(outputs, "MOST_BYTES", 100)
    kept, files = Outputs(), [tmp_path / str(number) for number in range(6)]
    for file in files[:4]:
        file.write_bytes(b"x")
        kept.add(file)
    assert [file.exists() for file in files[:4]] == [False, True, True, True]
    assert [kept.find(str(file)) for file in files[:4]] == [None, *files[1:4]]
    files[4].write_bytes(b"x" * 99)
    kept.add(files[4])
    assert [file.exists() for file in files[1:5]] == [False, False, True, True]
    files[5].write_bytes(b"x" * 1000)  # the newest is kept whatever it is
    kept.add(files[5])
    assert [file.exists() for file in files] == [False] * 5 + [True]
    kept.clear()
    assert files[5].exists()
    assert kept.find(str(files[5])) is None


def test_of_commands(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MOST", 2)
    said = [tools.terminal(f"{LONG}; echo {number}") for number in range(4)]
    for number, each in enumerate(said):
        assert each["truncated"]
        read = tools.read_file(each["full_output"], offset=30_001)
        if number < 2:
            assert "made room" in read["error"]
        else:
            assert read["content"] == f"30001|{number}"
    assert len(list(Path(said[0]["full_output"]).parent.iterdir())) == 2


def test_of_moved_commands(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MOST", 2)
    running = tools.terminal("echo first; sleep 600", timeout=0.1)["session_id"]
    ended = []
    for number in range(4):
        said = tools.terminal(f"sleep 0.4; {LONG}; echo {number}", timeout=0.1)
        assert tools.process("wait", said["session_id"])["status"] == "exited"
        ended.append(said)
    listed = [each["session_id"] for each in tools.process("list")["processes"]]
    # One more than that: they are counted when another one is moved.
    assert listed == [running, *(each["session_id"] for each in ended[1:])]
    assert "no such process" in tools.process("log", ended[0]["session_id"])["error"]
    assert tools.process("log", ended[1]["session_id"])["output"].endswith("30000\n1\n")
    assert tools.process("log", running)["output"] == "first\n"


def test_twenty_at_once(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MOST", 5)
    with ThreadPoolExecutor(20) as pool:
        said = list(pool.map(lambda number: tools.terminal(f"{LONG}; echo {number}"), range(20)))
        moved = list(pool.map(lambda _: tools.terminal("sleep 0.5", timeout=0.1), range(20)))
        list(pool.map(lambda each: tools.process("wait", each["session_id"]), moved))
    there = [each for each in said if Path(each["full_output"]).exists()]
    assert len(there) == 5
    assert all("error" not in tools.read_file(each["full_output"]) for each in there)
    folder = Path(there[0]["full_output"]).parent
    cleanup_task(tools.task)
    assert not folder.exists()
