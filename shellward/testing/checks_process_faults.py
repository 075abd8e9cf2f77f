"""Background processes when things break: clients that die, engines that stop, sandboxes that go, disks that fill."""

from __future__ import annotations

import contextlib
import os
import random
import re
import time
import uuid
from typing import TYPE_CHECKING

from shellward.core.errors import EnvironmentUnavailable
from shellward.core.types import ProcessState
from shellward.testing.trial import eventually, fault, lease, line_of, no_lease, raises, terms

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"


@terms(lease, limit=120)
def survives_a_killed_client(t: Trial) -> None:
    """A client ended with kill -9: the next one attaches, reads everything, types, waits and ends the tree."""
    from shellward import environments

    sleeper = t.sleeper()
    client = t.client(
        f"""
        env = make()
        one = env.start("echo begun; read x; echo got $x; exit 3")
        two = env.start("setsid {sleeper.command} & {sleeper.command}")
        say(env.handle, one.id, two.id)
        time.sleep(60)
        """,
        lease=60,
    )
    handle, one, two = line_of(client).split()
    client.kill()
    client.wait(10)
    with environments.attach(handle) as env:
        assert {info.id for info in env.processes()} == {one, two}
        process = env.process(one)
        assert eventually(lambda: process.log().text == "begun\n")
        process.submit("it")
        assert process.wait(20).exit_code == 3
        assert process.log(6, 100).text == "got it\n"
        sleeper.assert_alive(env, 2)
        assert env.process(two).kill().reason == "killed"
        sleeper.assert_gone(env)


@terms(no_lease, limit=120)
def outlives_its_client_on_this_machine(t: Trial) -> None:
    """The same where sandboxes end with their client: processes go on, and every later environment finds them."""
    for how in ("kill", "close"):
        sleeper = t.sleeper()
        client = t.client(
            f"""
            env = make()
            one = env.start("echo begun; read x; echo got $x; exit 3")
            two = env.start("{sleeper.command}")
            say(one.id, two.id)
            {"time.sleep(60)" if how == "kill" else "env.close()"}
            """
        )
        one, two = line_of(client).split()
        if how == "kill":
            client.kill()
        client.wait(20)
        first, second = t.env.process(one), t.env.process(two)
        t.defer(first.remove)
        t.defer(second.remove)
        first.submit("it")
        assert first.wait(20).exit_code == 3
        assert first.log().text == "begun\ngot it\n"
        assert second.poll().running
        sleeper.assert_alive(t.env)
        second.kill()
        sleeper.assert_gone(t.env)


@terms(slow=True, limit=1200)
def clients_killed_at_any_moment(t: Trial) -> None:
    """Clients killed again and again at random moments: nothing they started is lost, there twice, or left behind."""
    rounds = int(os.environ.get("SHELLWARD_TEST_KILLS", "200"))
    tasks = set()
    env = t.fresh(lease=300) if t.place.lease else t.env
    attach = f"environments.attach({env.handle!r})" if t.place.lease else "make()"
    for number in range(rounds):
        task = uuid.uuid4().hex
        tasks.add(task)
        client = t.client(
            f"""
            env = {attach}
            say("ready")
            while True:
                process = env.start("echo begun; read x; echo got $x", task={task!r})
                say(process.id)
            """
        )
        line_of(client)
        time.sleep(random.random() * 0.3)  # noqa: S311  # not a secret
        client.kill()
        assert client.stdout is not None
        said = [line for line in client.stdout.read().split("\n")[:-1] if line]  # communicate forgets what is buffered
        client.wait(30)
        time.sleep(0.1)
        found = {info.id for info in env.processes() if info.task == task}
        assert set(said) <= found, f"round {number}: lost {set(said) - found}"
        assert len(found) <= len(said) + 1, f"round {number}: {len(found)} processes, {len(said)} were told of"
        for name in said:
            process = env.process(name)
            process.submit("it")
            assert process.wait(30).exit_code == 0
            assert process.log().text == "begun\ngot it\n", process.log().text
        for name in found:
            env.process(name).remove()
        assert task not in {info.task for info in env.processes()}
    for info in env.processes():  # the sandbox was told of these while their client died, and was slower than we
        if info.task in tasks:
            env.process(info.id).remove()
    assert eventually(lambda: not _unlisted(t, env), 15), f"nobody knows of {_unlisted(t, env)}"


def _unlisted(t: Trial, env: Environment) -> dict[str, str]:
    """Processes of supervisors whose directory is gone, or was never there for others to see."""
    root = re.escape(env.backend.processes)  # not those of another's home, or of containers that this machine runs
    wanted = re.compile(rf" {root}/\.supervise-\w+ {root}/(\w+)")
    seen = {
        found[1]: row.args for row in t.place.processes(env) if row.state != "Z" and (found := wanted.search(row.args))
    }
    known = {info.id for info in env.processes()}
    return {name: args for name, args in seen.items() if name not in known}


@terms(lease, limit=120)
def keeps_its_sandbox(t: Trial) -> None:
    """A sandbox without a client lives as long as a process in it has time left, and ends a lease after that."""
    from shellward.testing.place import Handle

    client = t.client(
        """
        env = make()
        env.start("sleep 300", ttl=12)
        say(env.handle)
        os_exit = __import__("os")._exit
        os_exit(0)
        """,
        lease=3,
    )
    began = time.monotonic()
    view = Handle(line_of(client))
    client.wait(20)
    time.sleep(max(0.0, 9 - (time.monotonic() - began)))
    assert t.place.processes(view), "the sandbox ended while a process ran in it"
    assert eventually(lambda: not t.place.processes(view), 40), "the sandbox outlives its process's time"


@terms(fault("kill_sandbox"))
def the_sandbox_is_removed(t: Trial) -> None:
    """The sandbox is removed under a waiting and a following client: both end with an error that says so."""
    kill = t.place.faults.kill_sandbox
    assert not isinstance(kill, str)
    for what in ("wait", "follow", "poll"):
        env = t.fresh()
        process = env.start("sleep 300")
        pieces = process.follow()
        if what == "poll":
            kill(env)
        else:
            import threading

            threading.Timer(0.5, kill, [env]).start()
        with raises(EnvironmentUnavailable):
            if what == "follow":
                list(pieces)
            else:
                process.wait(20)
                process.poll()
        with contextlib.suppress(EnvironmentUnavailable):
            env.close()


def its_supervisor_is_killed(t: Trial) -> None:
    """A process whose supervisor was killed, too, is lost: it says so, and waiting for it ends."""
    process = t.env.start("exec sleep 300")
    t.defer(process.remove)
    supervisor = t.env.read_file(f"{process.directory}/supervisor").split()[0].decode()
    t.env.run(f"kill -9 {supervisor}")
    assert process.poll().running
    t.env.run(f"kill -9 {process.pid}")
    info = process.wait(20)
    assert (info.state, info.exit_code, info.reason) == (ProcessState.LOST, None, "lost"), info


def its_number_is_another_processes(t: Trial) -> None:
    """A number that another process has by now is never signalled: its start time tells them apart."""
    sleeper = t.sleeper()
    process = t.env.start("exec sleep 300")
    t.defer(process.remove)
    born = process.poll().born
    time.sleep(0.05)  # the kernel counts start times in ticks of 10 ms; a number is not given twice in one
    other = t.env.start(f"exec {sleeper.command}")
    t.defer(other.remove)
    sleeper.assert_alive(t.env)
    assert other.poll().born != born, "both are of one tick: nothing could tell them apart"
    t.env.write_file(f"{process.directory}/pid", f"{other.pid} {born}\n")
    assert not process.signal("KILL")
    process.kill()
    assert sleeper.seen(t.env), "a stranger was killed"
    assert other.poll().running


@terms(fault("few_pids"), slow=True, limit=120)
def no_room_for_another(t: Trial) -> None:
    """Where no further process can be, a start says that nothing was started; all goes on, with room the shell too."""
    limits = t.place.faults.few_pids
    assert not isinstance(limits, str)
    env = t.fresh(**limits)
    started = []
    with raises(EnvironmentUnavailable) as caught:
        for _ in range(64):
            started.append(env.start("exec sleep 300", stdin=b""))  # noqa: PERF401  # those before the error count
    assert "nothing was started" in str(caught.value)
    known = {info.id for info in env.processes() if info.running}
    assert known == {process.id for process in started}
    for process in started[:4]:
        process.kill("KILL")
        process.wait(20)
    assert env.run("echo on").stdout == "on\n"
    again = env.start("exit 3", stdin=b"")
    assert again.wait(20).exit_code == 3


@terms(fault("small_disk"))
def a_full_disk(t: Trial) -> None:
    """A process that fills the disk of its log still says how it ended."""
    process = t.env.start("cat /dev/zero >/dev/full; echo $?; exit 6")
    t.defer(process.remove)
    info = process.wait(30)
    assert info.exit_code == 6
    assert process.log().text.strip() != "0"


def many_that_watch_nothing_happen(t: Trial) -> None:
    """Twenty processes are waited for at once, and all ends are heard, in whatever order they come."""
    from concurrent.futures import ThreadPoolExecutor

    processes = [t.env.start(f"sleep 0.{number % 10}; exit {number}") for number in range(20)]
    for process in processes:
        t.defer(process.remove)
    with ThreadPoolExecutor(20) as pool:
        codes = list(pool.map(lambda process: process.wait(60).exit_code, processes))
    assert codes == list(range(20))
