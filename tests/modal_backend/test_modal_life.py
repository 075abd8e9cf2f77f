"""From another process, many at once, for ever: what is there is found, and what is over is gone."""

import json
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.testing.leaks import assert_nothing_new, holdings
from shellward.testing.services.modal import ModalService

from .conftest import IMAGE, Create, client_variables

pytestmark = pytest.mark.docker  # whose images the loopback service unpacks


def other(service: ModalService, body: str, *arguments: str) -> str:
    """Run a Python program that has ``environments``."""
    text = (
        "import sys, time\nfrom shellward import environments\nfrom shellward.core.errors import Unsupported\n"
        + textwrap.dedent(body)
    )
    variables = client_variables(service)
    done = subprocess.run(
        [sys.executable, "-c", text, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=variables,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_process_attaches(service: ModalService, create: Create) -> None:
    env = create(cwd="/usr", env={"A": "b"}, network="none")
    env.run("echo one >/tmp/f; cd /tmp").check()
    said = other(
        service,
        """
        env = environments.attach(sys.argv[1])
        print(env.run("cat /tmp/f; echo $A").stdout, end="")
        with env.session() as fresh:
            print(fresh.cwd)
        try: env.snapshot()
        except Unsupported as error: print(error)
        env.run("echo two >/tmp/f").check()
        env.detach()
        """,
        env.handle,
    )
    assert said.splitlines()[:2] == ["one", "b"]
    assert "only the client that made it" in said  # another would not be cut off from the network
    assert env.read_file("/tmp/f") == b"two\n"


def test_what_is_left_behind_can_be_found_and_removed(service: ModalService) -> None:
    handle = other(service, f"env = environments.create('modal', image={IMAGE!r}); print(env.handle); env.detach()")
    handle = handle.strip()
    found = [each for each in environments.list_environments("modal") if each.handle == handle]
    assert [(each.state, each.image, each.kind) for each in found] == [("running", IMAGE, "modal")]
    assert found[0].owner.rpartition(":")[2].isdigit()
    listed = subprocess.run(
        [sys.executable, "-m", "shellward", "env", "ls", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env=client_variables(service),
    )
    assert handle in json.dumps(json.loads(listed.stdout))
    assert environments.remove(handle)
    assert not environments.remove(handle)
    assert not environments.remove("modal:sb-000000000000000000000000")
    assert service.sandboxes() == []
    with pytest.raises(EnvironmentUnavailable):
        environments.attach(handle)


def test_prune_removes_what_nobody_owns(service: ModalService, create: Create) -> None:
    owned = create()
    handle = other(service, f"env = environments.create('modal', image={IMAGE!r}); print(env.handle); env.detach()")
    pruned = subprocess.run(
        [sys.executable, "-m", "shellward", "env", "prune", "--env", "modal"],
        capture_output=True,
        text=True,
        check=True,
        env=client_variables(service),
    )
    assert handle.strip()[:16] in pruned.stdout
    assert [f"modal:{each['id']}" for each in service.sandboxes()] == [owned.handle]


def test_a_command_is_one_write_on_streams_that_are_open(service: ModalService, create: Create) -> None:
    env = create()
    env.run("true").check()
    before = len(service.calls())
    for number in range(10):
        assert env.run(f"echo {number}; echo err >&2").stdout == f"{number}\n"
    made = service.calls()[before:]
    assert made.count("TaskExecStdinWrite") == 10
    assert set(made) == {"TaskExecStdinWrite"}


def test_without_a_token_there_is_nothing_to_list(service: ModalService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODAL_TOKEN_ID", "")
    monkeypatch.setenv("MODAL_CONFIG_PATH", "/no/such")
    assert environments.list_environments("modal") == []
    assert service.calls() == []


def test_nothing_of_the_client_is_left(service: ModalService, create: Create) -> None:
    with create() as env:
        env.run("true").check()
    before = holdings()
    for _ in range(3):
        with create() as env:
            env.run("echo hi; sleep 100 & sleep 0.01").check()
            with ThreadPoolExecutor(5) as pool:
                assert len(list(pool.map(env.run, ["sleep 0.1"] * 5))) == 5
    assert_nothing_new(before, whose="by Modal environments")


def test_processes_outlive_their_client(service: ModalService) -> None:
    said = other(
        service,
        f"""
        env = environments.create("modal", image={IMAGE!r}, lease=30)
        process = env.start("echo begun; read line; echo got $line; exit 7")
        print(env.handle, process.id)
        env.detach()
        """,
    )
    handle, name = said.split()
    env = environments.attach(handle)
    try:
        process = env.process(name)
        process.write(b"text\n")
        assert process.wait(20) is not None
        assert b"begun\ngot text\n" in bytes(process.log().data)
    finally:
        env.close()
    assert service.sandboxes() == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_fifty_sandboxes_at_once(service: ModalService) -> None:
    def one(number: int) -> list[str]:
        with environments.create("modal", image=IMAGE) as env:
            return [env.run(f"echo {number}.{turn}", timeout=60).stdout.strip() for turn in range(20)]

    with ThreadPoolExecutor(50) as pool:
        for number, said in enumerate(pool.map(one, range(50))):
            assert said == [f"{number}.{turn}" for turn in range(20)]
    assert service.sandboxes() == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_memory_stays_flat(service: ModalService, tmp_path: Path) -> None:
    """100 MB each way, in a process of its own, whose memory is nobody else's."""
    source = tmp_path / "source"
    source.write_bytes(os.urandom(1 << 20) * 100)
    said = other(
        service,
        f"""
        import hashlib, resource
        def now(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        def sum_of(path): return hashlib.file_digest(open(path, "rb"), "sha256").hexdigest()
        with environments.create("modal", image={IMAGE!r}) as env:
            env.run("true"); env.upload(sys.argv[1], "/tmp/warm"); env.run("head -c 20000000 /dev/zero")
            before = now()
            count = 0
            def add(chunk):
                global count
                count += len(chunk.data)
            env.run("head -c 100000000 /dev/zero", on_output=add)
            print(count, now() - before)
            env.upload(sys.argv[1], "/tmp/there")
            print(env.run("sha256sum </tmp/there").stdout.split()[0] == sum_of(sys.argv[1]), now() - before)
            env.download("/tmp/there", sys.argv[2])
            print(sum_of(sys.argv[2]) == sum_of(sys.argv[1]), now() - before)
        """,
        str(source),
        str(tmp_path / "target"),
    )
    counted, uploaded, downloaded = (line.split() for line in said.splitlines())
    assert counted[0] == "100000000"
    assert uploaded[0] == downloaded[0] == "True"
    assert max(int(each[1]) for each in (counted, uploaded, downloaded)) < 64, said


def test_a_terminal_has_a_size_that_changes(create: Create) -> None:
    env = create()
    with env.pty("bash --norc") as terminal:
        terminal.write("stty size\n")
        assert terminal.wait_for("24 80")
        terminal.resize(30, 100)
        terminal.write("stty size\n")
        assert terminal.wait_for("30 100")
