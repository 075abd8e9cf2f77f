"""A start whose answer is lost: it says that nothing was started only when nothing was, and nothing ever will be."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.types import Result
from shellward.environments import Environment
from shellward.environments.encoding import script
from shellward.process_registry.registry import ProcessRegistry

RunOn = Callable[..., Result]


@pytest.fixture(params=["bash", "dash"])
def env(request: pytest.FixtureRequest, own_home: Path) -> Iterator[Environment]:
    del own_home
    with environments.create("local", shell=request.param) as made:
        yield made
        for info in made.processes():
            made.process(info.id).remove()


def answer_lost(run_on: RunOn, *arguments: Any) -> Result:
    return replace(run_on(*arguments), stdout="", exit_code=137)


def answer_bent(run_on: RunOn, *arguments: Any) -> Result:
    return replace(run_on(*arguments), stdout="ok")


def complaint_of_another(run_on: RunOn, *arguments: Any) -> Result:
    return replace(run_on(*arguments), stdout="", stderr="Killed", exit_code=137)


def connection_lost(run_on: RunOn, *arguments: Any) -> Result:
    run_on(*arguments)
    raise ConnectionLost("cut")


@pytest.mark.parametrize("fault", [answer_lost, answer_bent, complaint_of_another, connection_lost])
def test_what_has_begun_is_found(env: Environment, monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    run_on = env.run_on
    with monkeypatch.context() as patched:
        patched.setattr(env, "run_on", lambda *arguments: fault(run_on, *arguments))
        process = env.start("exit 7")
    assert process.wait(20).exit_code == 7


def never_sent(_run_on: RunOn, _shell: Any, call: Any, _sink: Any) -> Result:
    return Result(command=call.shown, exit_code=137, duration=0.0)


def never_sent_and_lost(_run_on: RunOn, *_arguments: Any) -> Result:
    raise ConnectionLost("cut")


@pytest.mark.parametrize("fault", [never_sent, never_sent_and_lost])
def test_what_has_not_begun_never_will(
    env: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: Any
) -> None:
    run_on = env.run_on
    late: list[tuple[Any, ...]] = []

    def keep(*arguments: Any) -> Result:
        late.append(arguments)
        result: Result = fault(run_on, *arguments)
        return result

    with monkeypatch.context() as patched:
        patched.setattr(env, "run_on", keep)
        with pytest.raises(EnvironmentUnavailable, match="nothing was started") as caught:
            env.start(f"echo ran >>{tmp_path}/ran")
    assert not isinstance(caught.value, ConnectionLost)
    # Whoever was still at work in the sandbox comes too late.
    assert "ok" not in run_on(*late[0]).stdout.split()
    assert env.start("exit 3").wait(20).exit_code == 3
    assert not (tmp_path / "ran").exists()


def test_what_nobody_can_say_is_said_and_stays_known(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    run_on = env.run_on

    def gone(*_arguments: Any) -> str:
        raise EnvironmentUnavailable("gone")

    with ProcessRegistry(lambda _place: env) as registry:
        with monkeypatch.context() as patched:
            patched.setattr(env, "run_on", lambda *arguments: answer_lost(run_on, *arguments))
            patched.setattr(env, "ask_processes", gone)
            with pytest.raises(ConnectionLost, match="may have been started"):
                registry.start("exit 4", environment=env)
        (entry,) = registry.list(refresh=False)
        assert registry.wait(entry.id, 20).info.exit_code == 4


def test_an_interrupted_start_stays_known(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    run_on = env.run_on

    def interrupted(*arguments: Any) -> Result:
        run_on(*arguments)
        raise KeyboardInterrupt

    with ProcessRegistry(lambda _place: env) as registry:
        with monkeypatch.context() as patched:
            patched.setattr(env, "run_on", interrupted)
            with pytest.raises(KeyboardInterrupt):
                registry.start("exit 5", environment=env)
        (entry,) = registry.list(refresh=False)
        assert registry.wait(entry.id, 20).info.exit_code == 5


@pytest.mark.parametrize("name", ["supervisor", "pid"])
def test_a_process_that_nobody_would_find_is_not_started(tmp_path: Path, name: str) -> None:
    place = tmp_path / "process"
    place.mkdir()
    (place / name).symlink_to("/dev/full")
    (place / "run").write_text(f"echo ran >{tmp_path}/ran")
    supervisor = ["sh", "-c", script("supervise.sh"), "sh", str(place), "", "none", "", "60", "", "", ""]
    said = subprocess.run(supervisor, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=20)
    assert "ok" not in said.stdout
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("shell", [shell for shell in ("dash", "bash", "busybox sh") if shutil.which(shell.split()[0])])
@pytest.mark.parametrize(("run", "status"), [("exit 5", "5"), ("kill -s PIPE $$; exit 5", "141")])
def test_a_process_runs_even_if_nobody_is_left_to_hear_of_it(tmp_path: Path, shell: str, run: str, status: str) -> None:
    """Whoever started it could not fork to hear of it, say: it is found by its files, which must be true."""
    place = tmp_path / "process"
    place.mkdir()
    (place / "status").write_text(" " * 64)
    (place / "run").write_text(run)
    reader, writer = os.pipe()
    os.close(reader)
    supervisor = [*shell.split(), "-c", script("supervise.sh"), "sh", str(place), "", "none", "", "60", "", "", ""]
    try:
        subprocess.run(supervisor, stdin=subprocess.DEVNULL, stdout=writer, check=False, timeout=20)
    finally:
        os.close(writer)
    assert (place / "status").read_text().split()[0] == status
