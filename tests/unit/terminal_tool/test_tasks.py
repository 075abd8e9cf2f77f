"""Tasks: their environments, which settings they come from, when they are closed, and whose turn it is."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tooling import IMAGE, KINDS, LONG_KINDS, Tools, containers

from shellward import ConfigError, Terminal
from shellward.approval.callbacks import register_approval_callback
from shellward.approval.withdrawal import Withdrawal
from shellward.terminal_tool import cleanup_task, register_task_environment, terminal_tool
from shellward.terminal_tool.default import tasks
from shellward.terminal_tool.turns import Interrupted, Turns


def said(command: str, task: str, **more: object) -> dict[str, object]:
    return json.loads(terminal_tool(command, task_id=task, **more))


def test_tasks_know_nothing_of_each_other(tmp_path: Path) -> None:
    for task in ("a", "b"):
        (tmp_path / task).mkdir()
        register_task_environment(task, "local", cwd=str(tmp_path / task))
    said("X=1; cd /", "a")
    assert said("echo [$X] $PWD", "b")["output"] == f"[] {tmp_path}/b\n"
    assert said("echo [$X] $PWD", "a")["output"] == "[1] /\n"


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_cleanup_leaves_nothing(tools: Tools) -> None:
    tools.terminal("sleep 4715.5", background=True)
    tools.terminal("sleep 4715.5", timeout=0.2)
    running = threading.Thread(target=tools.terminal, args=("sleep 4715.5",))
    running.start()
    until = time.monotonic() + 10
    while tools.running("4715.5") < 3 and time.monotonic() < until:
        time.sleep(0.05)
    handle = tools.environment.handle
    assert cleanup_task(tools.task)
    running.join(10)
    assert not running.is_alive()
    if tools.kind == "docker":
        assert not any(each in handle or handle.endswith(each[:12]) for each in containers())
    assert not cleanup_task(tools.task)
    register_task_environment(tools.task, tools.place, **tools.config)
    assert tools.gone("4715.5")  # for those of a container: in another one, so this says nothing more


def test_what_was_approved_for_the_session_ends_with_the_environment(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    with register_approval_callback(lambda request: asked.append(request) or "session"):
        for _ in range(2):
            assert tools.terminal("git push --force origin main")["exit_code"] > 0
        assert len(asked) == 1
        cleanup_task(tools.task)
        monkeypatch.setenv("TERMINAL_LIFETIME_SECONDS", "0.3")
        register_task_environment(tools.task, "local", cwd=tools.folder)
        tools.terminal("git push --force origin main")
        assert len(asked) == 2
        eventually_closed(tools.task)
        tools.terminal("git push --force origin main")
        assert len(asked) == 3


def anew(tools: Tools, idle: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin the task again, with another idle time."""
    monkeypatch.setenv("TERMINAL_LIFETIME_SECONDS", str(idle))
    register_task_environment(tools.task, tools.place, **tools.config)


@pytest.mark.parametrize("tools", LONG_KINDS, indirect=True)
def test_idle_environments_are_closed(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    anew(tools, 0.5, monkeypatch)
    tools.terminal("cd /usr; X=1")
    eventually_closed(tools.task)
    again = tools.terminal("echo [$X] $PWD")
    keeps_its_files = tools.kind in {"local", "ssh"}
    assert again["output"].startswith("[] /usr\n" if keeps_its_files else "[] /")
    assert "idle" in again["hint"]
    assert "hint" not in tools.terminal("true")


@pytest.mark.parametrize("how", ["background", "moved", "call"])
@pytest.mark.parametrize("tools", LONG_KINDS, indirect=True)
def test_never_while_something_runs(tools: Tools, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    anew(tools, 0.3, monkeypatch)
    tools.terminal("X=kept")
    if how == "background":
        tools.terminal("sleep 2", background=True)
    elif how == "moved":
        tools.terminal("sleep 2", timeout=0.1)
    else:
        tools.terminal("sleep 1.5")
    if how != "call":
        time.sleep(1.2)
    assert tools.terminal("echo $X")["output"] == "kept\n"
    eventually_closed(tools.task, within=20)


def eventually_closed(task: str, within: float = 10) -> None:
    until = time.monotonic() + within
    while task in tasks._tasks and time.monotonic() < until:
        time.sleep(0.05)
    assert task not in tasks._tasks


@pytest.mark.docker
def test_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMINAL_ENV", "docker")
    monkeypatch.setenv("TERMINAL_DOCKER_IMAGE", IMAGE)
    monkeypatch.setenv("TERMINAL_CWD", "/var")
    monkeypatch.setenv("TERMINAL_TIMEOUT", "0.5")
    monkeypatch.setenv("TERMINAL_CONTAINER_MEMORY", "256")
    assert said("pwd; test -e /.dockerenv && echo inside", "s")["output"] == "/var\ninside\n"
    assert (
        said("cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null", "s")["output"]
        == f"{256 << 20}\n"
    )
    assert said("sleep 30", "s")["status"] == "running"


def test_a_command_that_changes_the_settings_moves_no_later_task(own_home: Path, tmp_path: Path) -> None:
    def write(directory: Path) -> None:
        directory.mkdir()
        there = f"{{kind: local, cwd: {directory}}}"
        (own_home / "config.yaml").write_text(f"terminal: {{cwd: {directory}}}\nenvironments: {{a: {there}}}\n")

    own_home.mkdir()
    write(first := tmp_path / "first")
    assert said("pwd", "one")["output"] == f"{first}\n"
    write(tmp_path / "other")
    assert said("pwd", "two")["output"] == f"{first}\n"
    register_task_environment("three", "a")
    assert said("pwd", "three")["output"] == f"{first}\n"
    with Terminal() as terminal:
        assert terminal.cwd == str(first)


def test_variables_that_are_not_used_are_told_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERMINAL_VERCEL_RUNTIME", "node24")
    for task in ("one", "two"):
        said("true", task)
    assert capfd.readouterr().err.count("$TERMINAL_VERCEL_RUNTIME is not used") == 1


def test_a_kind_that_the_program_names_is_just_that(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del own_home
    monkeypatch.setenv("TERMINAL_CWD", "/nowhere")
    with Terminal("local") as terminal:
        assert terminal.run("pwd").ok


def test_what_cannot_be_opened_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="nokind"):
        register_task_environment("w", "nokind")
    register_task_environment("w", "local", nosuch=1)
    assert "nosuch" in str(said("true", "w")["error"])
    monkeypatch.setenv("TERMINAL_ENV", "moon")
    assert "TERMINAL_ENV" in str(said("true", "v")["error"])


def test_a_task_is_opened_once() -> None:
    def environment(_: int) -> str:
        with tasks.call("once") as (task, _call):
            return task.terminal.id

    with ThreadPoolExecutor(20) as pool:
        assert len(set(pool.map(environment, range(20)))) == 1


def test_turns() -> None:
    turns, order = Turns(), []
    began = [threading.Event() for _ in range(4)]

    def call(number: int, *, alone: bool, until: threading.Event | None = None) -> None:
        with turns.turn(Withdrawal(), alone=alone):
            order.append(number)
            began[number].set()
            if until is not None:
                until.wait(10)

    release = threading.Event()
    threads = []
    for number, alone in enumerate((False, False, True, False)):
        until = release if number < 2 else None
        threads.append(threading.Thread(target=call, args=(number,), kwargs={"alone": alone, "until": until}))
        threads[-1].start()
        if number < 2:
            assert began[number].wait(10)  # two that share run at the same time
        else:
            time.sleep(0.1)
    assert order == [0, 1]
    release.set()
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2, 3]


def test_a_call_that_waits_for_its_turn_can_be_interrupted() -> None:
    turns, call, ended = Turns(), Withdrawal(), threading.Event()

    def wait() -> None:
        with pytest.raises(Interrupted), turns.turn(call, alone=True):
            pass
        ended.set()

    with turns.turn(Withdrawal(), alone=True):
        thread = threading.Thread(target=wait)
        thread.start()
        call.withdraw()
        assert ended.wait(10)
        thread.join()
    with turns.turn(Withdrawal(), alone=True):
        pass
