"""Snapshots: a file system is saved, another sandbox takes the place of the first, and nothing of that stays."""

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.environments.environment import Environment
from shellward.testing.services.launch import Launched


def left(service: Launched) -> list[str]:
    return [f"daytona:{each['id']}" for each in service.call("GET", "sandboxes")["sandboxes"]]


def test_another_sandbox_takes_the_place_of_the_first(service: Launched, env: Environment) -> None:
    before = env.handle
    env.run("echo kept >/root/file; cd /root; x=1").check()
    process = env.start("sleep 1000")
    snapshot = env.snapshot()
    env.run("echo lost >/root/file").check()
    env.restore(snapshot)
    assert env.handle != before
    assert left(service) == [env.handle]
    assert env.run("cat /root/file").stdout == "kept\n"
    assert env.run("echo $x").stdout == "\n", "sessions begin afresh"
    assert env.processes() == []
    assert process.id
    # Of the environment that was saved nothing is left: settings, processes, scripts.
    assert env.run("ls -d /tmp/shellward-* | wc -l").stdout.strip() == "1"
    assert env.run("pgrep -x sleep -a | grep 1000").stdout == ""


def test_a_snapshot_is_one_of_daytona_s(service: Launched, env: Environment) -> None:
    del service
    env.run("echo kept >/root/file").check()
    with environments.create("daytona", snapshot=env.snapshot()) as other:
        assert other.run("cat /root/file").stdout == "kept\n"


def test_snapshots_of_snapshots(env: Environment) -> None:
    names = []
    for number in range(3):
        env.run(f"echo {number} >>/root/file").check()
        names.append(env.snapshot())
        env.restore(names[-1])
    assert env.read_file("/root/file") == b"0\n1\n2\n"
    env.restore(names[0])
    assert env.read_file("/root/file") == b"0\n"


def test_settings_are_the_same_afterwards(service: Launched) -> None:
    settings = {"env": {"A": "b"}, "cwd": "/usr", "labels": {"test": "same"}, "auto_stop": 60, "lease": 300}
    with environments.create("daytona", name="same-name", **settings) as env:
        env.restore(env.snapshot())
        assert env.run("echo $A; pwd").stdout == "b\n/usr\n"
        assert left(service) == [env.handle]
        (described,) = service.call("GET", "sandboxes")["sandboxes"]
        assert (described["name"], described["labels"]["test"]) == ("same-name", "same")
        with environments.attach(env.handle) as again:
            assert again.run("echo $A").stdout == "b\n"
            with pytest.raises(Unsupported, match="only the client that made it"):
                again.snapshot()
            again.detach()
    assert left(service) == []


def test_no_such_snapshot(service: Launched, env: Environment) -> None:
    before = env.handle
    with pytest.raises(EnvironmentUnavailable, match="no-such"):
        env.restore("no-such")
    assert env.handle == before
    assert env.run("echo here").stdout == "here\n"
    assert left(service) == [before]


@pytest.mark.parametrize("fault", [{"quota": True}, {"create": "runner out of disk"}])
def test_a_restore_that_fails_leaves_the_first_one(
    service: Launched, env: Environment, fault: dict[str, object]
) -> None:
    snapshot = env.snapshot()
    env.run("x=1; cd /usr").check()
    service.faults(**fault)
    with pytest.raises(EnvironmentUnavailable):
        env.restore(snapshot)
    service.faults()
    assert env.run("echo $x; pwd").stdout == "1\n/usr\n"
    assert left(service) == [env.handle]


def test_a_command_that_runs_meanwhile_is_lost_and_says_so(env: Environment) -> None:
    snapshot = env.snapshot()
    caught: list[BaseException] = []
    with env.session() as session, session.stream("echo begun; sleep 60") as stream:
        next(iter(stream))
        env.restore(snapshot)
        with pytest.raises(ConnectionLost) as error:
            for _ in stream:
                pass
        caught.append(error.value)
    assert caught
    assert env.run("echo next").stdout == "next\n"
