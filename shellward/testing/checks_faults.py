"""Law 6 and the faults: sandboxes that vanish, engines that stop, disks that fill, memory that runs out.

Each ends in a clear error or a result within its time; nothing hangs, is left behind or runs twice.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.testing.trial import at_most, eventually, fault, lease, python, raises, terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.environments.environment import Environment
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"


def _break_in_mid_command(t: Trial, env: Environment, breaking: Callable[[], None], within: float) -> ConnectionLost:
    ended: list[BaseException | object] = []

    def work() -> None:
        try:
            ended.append(env.run("echo x >>/shared/ran; echo begun; echo err >&2; sleep 300; echo y >>/shared/ran"))
        except BaseException as error:  # noqa: BLE001  # whatever comes is looked at below
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert eventually(lambda: any("sleep 300" in row.args for row in t.place.processes(env)), 10)
    breaking()
    with at_most(within, "the end of the command"):
        thread.join()
    assert isinstance(ended[0], ConnectionLost), repr(ended[0])
    return ended[0]


def _with_shared(t: Trial) -> tuple[Environment, Path]:
    hook = t.place.faults.shared_directory
    assert not isinstance(hook, str)
    directory = tempfile.TemporaryDirectory(prefix="shellward-check-")
    t.defer(directory.cleanup)
    path = Path(directory.name)
    path.chmod(0o777)
    return t.fresh(**hook(path)), path


@terms(fault("kill_sandbox"), fault("shared_directory"))
def sandbox_removed_in_mid_command(t: Trial) -> None:
    """The sandbox is removed in mid-command: ConnectionLost with the output so far, soon.

    The command ran once.
    """
    kill = t.place.faults.kill_sandbox
    assert not isinstance(kill, str)
    env, shared = _with_shared(t)
    error = _break_in_mid_command(t, env, lambda: kill(env), 10)
    assert error.result is not None
    assert error.result.stdout == "begun\n"
    assert error.result.stderr == "err\n"
    assert error.result.exit_code == -1
    assert "may have run" in str(error), error
    time.sleep(0.5)
    assert (shared / "ran").read_text() == "x\n", "it ran twice, or not at all"
    for call in (
        lambda: env.run("echo z >>/shared/ran"),
        lambda: env.read_file("/tmp/x"),
        lambda: env.session().run("true"),
    ):
        with at_most(10, "a call after the sandbox is gone"), raises(EnvironmentUnavailable):
            call()
    assert (shared / "ran").read_text() == "x\n"
    with at_most(5, "close"):
        env.close()


@terms(fault("kill_sandbox"))
def sandbox_removed_between_commands(t: Trial) -> None:
    """The sandbox is removed while nothing runs.

    The next call is EnvironmentUnavailable that says so, no new one.
    """
    kill = t.place.faults.kill_sandbox
    assert not isinstance(kill, str)
    env = t.fresh()
    env.run("true").check()
    handle = env.handle
    kill(env)
    for call in (lambda: env.run("true"), lambda: env.write_file("/tmp/x", "x"), lambda: env.list_dir("/")):
        with at_most(10, "a call"), raises(EnvironmentUnavailable) as caught:
            call()
        assert str(caught.value)
    assert env.handle == handle, "a fresh sandbox was taken silently"
    with at_most(5, "close"):
        env.close()


@terms(fault("kill_sandbox"))
def sandbox_removed_during_a_stream(t: Trial) -> None:
    """A stream whose sandbox goes away gives what came, then raises ConnectionLost."""
    kill = t.place.faults.kill_sandbox
    assert not isinstance(kill, str)
    env = t.fresh()
    stream = iter(env.stream("echo begun; sleep 300"))
    assert next(stream).data == b"begun\n"  # type: ignore[union-attr]
    kill(env)
    with at_most(10, "the end of the stream"), raises(ConnectionLost):
        list(stream)


@terms(fault("kill_sandbox"))
def sandbox_removed_during_input(t: Trial) -> None:
    """The sandbox goes away while input is sent: ConnectionLost, not a broken pipe, not a hang."""
    kill = t.place.faults.kill_sandbox
    assert not isinstance(kill, str)
    env = t.fresh()
    env.run("true")
    timer = threading.Timer(1, kill, [env])
    timer.start()
    with at_most(15, "the end of the command"), raises(EnvironmentUnavailable):
        env.run("sleep 300", stdin=(b"x" * 100_000 for _ in range(10_000)))
    timer.join()


@terms(fault("restart_daemon"), fault("shared_directory"), slow=True, limit=300)
def daemon_restarted_in_mid_command(t: Trial) -> None:
    """The service is stopped and started in mid-command.

    ConnectionLost in time, nothing twice, then all works.
    """
    restart = t.place.faults.restart_daemon
    assert not isinstance(restart, str)
    env, shared = _with_shared(t)
    error = _break_in_mid_command(t, env, restart, 60)
    assert error.result is not None
    assert error.result.stdout == "begun\n"
    assert (shared / "ran").read_text() == "x\n"
    with at_most(15, "a call after the restart"):
        try:
            env.run("echo z >>/shared/ran", timeout=10)
        except EnvironmentUnavailable:
            assert (shared / "ran").read_text() == "x\n"
    with at_most(15, "close"):
        env.close()
    with t.place.create() as again:
        assert again.run("echo works").stdout == "works\n"


@terms(fault("small_memory"), python)
def out_of_memory(t: Trial) -> None:
    """A command that eats all memory is ended (137 or its own failure); the environment works on."""
    limits = t.place.faults.small_memory
    assert not isinstance(limits, str)
    env = t.fresh(**limits)
    env.run("X=kept").check()
    with at_most(40, "eating memory"):
        result = env.run("python3 -c 'x = []\nwhile True: x.append(bytearray(1 << 20))'", timeout=30)
    assert result.exit_code != 0
    assert not result.timed_out
    assert env.run("echo $X", timeout=10).stdout == "kept\n"


@terms(fault("small_memory"))
def shell_out_of_memory(t: Trial) -> None:
    """The same in the shell itself: the loss is a result or a clear error, and healed where it can be."""
    limits = t.place.faults.small_memory
    assert not isinstance(limits, str)
    env = t.fresh(**limits)
    env.run("X=kept").check()
    with at_most(50, "eating memory"):
        try:
            result = env.run("x=0123456789abcdef; while :; do x=$x$x; done", timeout=40)
        except EnvironmentUnavailable:
            return
    assert result.exit_code != 0
    assert env.run("echo $X", timeout=15).stdout == "kept\n"


@terms(fault("few_pids"))
def fork_bomb(t: Trial) -> None:
    """A fork bomb under a limit of processes and a time limit.

    Ended in time, and the environment works on.
    """
    limits = t.place.faults.few_pids
    assert not isinstance(limits, str)
    env = t.fresh(**limits)
    root = t.directory(env)
    env.run("X=kept").check()
    env.write_file(f"{root}/bomb", '#!/bin/sh\n"$0" &\n"$0" &\nsleep 5\n', mode=0o755)
    with at_most(3 + 2, "a fork bomb with a limit of 3 s"):
        result = env.run(f"{root}/bomb; sleep 30", timeout=3)
    assert result.exit_code != 0
    env.write_file(f"{root}/bomb", "#!/bin/sh\n", mode=0o755)
    assert eventually(lambda: not any("bomb" in row.args and row.state != "Z" for row in t.place.processes(env)), 5)
    assert env.run("echo $X", timeout=10).stdout == "kept\n"


@terms(fault("few_pids"))
def no_process_left_to_start(t: Trial) -> None:
    """When nothing more can be started, calls end in time with a result or a clear error, then recover."""
    limits = t.place.faults.few_pids
    assert not isinstance(limits, str)
    env = t.fresh(**limits)
    with at_most(20, "filling the process table"):
        env.run("i=0; while [ $i -lt 80 ]; do sleep 6 & i=$((i+1)); done; echo full", timeout=10)
    for place in (env.run, lambda command, timeout: env.session().run(command, timeout=timeout)):
        with at_most(8, "a call"), contextlib.suppress(EnvironmentUnavailable):
            place("/bin/true", timeout=3)
    time.sleep(6)
    assert env.run("echo ok", timeout=10).stdout == "ok\n"


@terms(lease)
def clock_of_the_sandbox(t: Trial) -> None:
    """A limit is the client's: one that was stopped from outside still answers in time."""
    session = t.session()
    pid = session.run("echo $$").stdout.strip()
    t.env.run(f"(sleep 0.5; kill -STOP {pid}) & echo").check()
    with at_most(4, "a command whose shell was stopped"):
        result = session.run("sleep 1; echo late", timeout=2)
    assert result.timed_out
    assert session.run("echo ok", timeout=5).stdout == "ok\n"
