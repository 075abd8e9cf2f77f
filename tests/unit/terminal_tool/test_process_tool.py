"""``process_tool``: each action, on processes of the background."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tooling import KINDS, Tools

from shellward.terminal_tool import interrupt, process_tool


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_each_action(tools: Tools) -> None:
    started = tools.terminal("while read x; do echo got $x; done; echo over; exit 5", background=True)["session_id"]
    assert [each["session_id"] for each in tools.process("list")["processes"]] == [started]
    assert tools.process("write", started, data="a\nb")["bytes_written"] == 3
    assert tools.process("submit", started, data="c")["bytes_written"] == 2
    assert tools.process("wait", started, timeout=0.2)["status"] == "running"
    polled = tools.process("poll", started)
    assert (polled["status"], polled["output_preview"]) == ("running", "got a\ngot bc\n")
    tools.process("close", started)
    ended = tools.process("wait", started)
    assert (ended["status"], ended["exit_code"]) == ("exited", 5)
    first = tools.process("log", started, offset=0, limit=6)
    assert (first["output"], first["next_offset"], first["size"]) == ("got a\n", 6, 18)
    assert tools.process("log", started, offset=6)["output"] == "got bc\nover\n"
    assert tools.process("log", started, offset=-5)["output"] == "over\n"
    assert "ended already" in tools.process("kill", started)["hint"]


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_kill_ends_the_tree(tools: Tools) -> None:
    started = tools.terminal("setsid sleep 4714.5 & trap '' TERM; sleep 4714.5; sleep 4714.5", background=True)
    assert tools.running("4714.5")
    assert tools.process("kill", started["session_id"])["status"] == "killed"
    assert tools.gone("4714.5")


def shown(tools: Tools, process: str, text: str) -> None:
    """Wait until something is on the screen of a process."""
    until = time.monotonic() + 20
    while text not in (screen := tools.process("poll", process)["screen"]) and time.monotonic() < until:
        time.sleep(0.1)
    assert text in screen


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_terminals_have_a_size(tools: Tools) -> None:
    started = tools.terminal("trap 'stty size' WINCH; echo on; while :; do sleep 0.1; done", background=True, pty=True)
    shown(tools, started["session_id"], "on")
    assert tools.process("resize", started["session_id"], data="100x50") == {
        "session_id": started["session_id"],
        "columns": 100,
        "rows": 50,
    }
    shown(tools, started["session_id"], "50 100")
    tools.process("kill", started["session_id"])


def test_pieces_of_a_log_are_whole_characters(tools: Tools) -> None:
    started = tools.terminal("printf '\u20ac%.0s' 1 2 3 4", background=True)["session_id"]
    tools.process("wait", started)
    text, offset = "", 0
    while offset is not None:
        part = tools.process("log", started, offset=offset, limit=4)
        text, offset = text + part["output"], part["next_offset"]
    assert text == "\u20ac" * 4
    assert tools.process("log", started, offset=1, limit=5)["output"] == "\u20ac"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("poll",), "session_id"),
        (("poll", "p000000000000"), "no such process"),
        (("poll", "f000000000000"), "no such process"),
        (("dance", "p0"), "one of"),
        (("wait", "p0", None, None, None, -1.0), "timeout"),
    ],
)
def test_ugly_arguments(tools: Tools, arguments: tuple[object, ...], message: str) -> None:
    assert message in json.loads(process_tool(*arguments, task_id=tools.task))["error"]


@pytest.mark.parametrize(
    ("action", "data"), [("write", None), ("resize", "big"), ("resize", "0x0"), ("resize", "80x24")]
)
def test_ugly_data(tools: Tools, action: str, data: str | None) -> None:
    started = tools.terminal("sleep 30", background=True)["session_id"]
    assert tools.process(action, started, data=data)["error"]
    tools.process("kill", started)


def test_what_is_typed_passes_the_gate(tools: Tools) -> None:
    started = tools.terminal("bash", background=True)["session_id"]
    said = tools.process("submit", started, data="git push --force origin main")
    assert said["status"] == "denied"
    tools.process("kill", started)


def test_others_processes_are_not_seen(tools: Tools) -> None:
    started = tools.terminal("sleep 30", background=True)["session_id"]
    assert json.loads(process_tool("list", task_id="another"))["count"] == 0
    assert "no such process" in json.loads(process_tool("kill", started, task_id="another"))["error"]
    assert tools.process("poll", started)["status"] == "running"


def test_a_wait_can_be_interrupted(tools: Tools) -> None:
    started = tools.terminal("sleep 30", background=True)["session_id"]
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(tools.process, "wait", started, timeout=60)
        until = time.monotonic() + 10
        while not interrupt(tools.task) and time.monotonic() < until:
            time.sleep(0.05)
        told = waiting.result(10)
    assert (told["status"], told["hint"]) == ("running", "the wait was interrupted")


def test_twenty_processes_at_once(tools: Tools) -> None:
    with ThreadPoolExecutor(20) as pool:
        started = list(pool.map(lambda n: tools.terminal(f"echo {n}; exit {n}", background=True), range(20)))
        ended = list(pool.map(lambda each: tools.process("wait", each["session_id"]), started))
    assert [(each["exit_code"], each["output_preview"]) for each in ended] == [(n, f"{n}\n") for n in range(20)]


_EARLIER = """
import json, os
from shellward.terminal_tool import register_task_environment, terminal_tool
register_task_environment({task!r}, {kind!r}, **{config!r})
said = terminal_tool("echo begun; sleep 2; echo end; exit 3", background=True, task_id={task!r})
print(json.loads(said)["session_id"], flush=True)
os._exit(9)
"""


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_after_a_restart(tools: Tools) -> None:
    """What a program that was killed has left running is found by the next one, by the name of its task."""
    text = _EARLIER.format(task=tools.task, kind=tools.place, config=tools.config)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 9, done.stderr
    (listed,) = tools.process("list")["processes"]
    assert listed["session_id"] == done.stdout.strip()
    ended = tools.process("wait", listed["session_id"])
    assert (ended["status"], ended["exit_code"], ended["output_preview"]) == ("exited", 3, "begun\nend\n")
