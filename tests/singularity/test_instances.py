"""Instances: what a command sees of Apptainer itself (nothing), limits, layers, and what is left of all that."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable, Unsupported
from shellward.environments import Environment
from shellward.environments.singularity import binary
from shellward.testing.singularity_place import singularity_named, singularity_processes
from shellward.testing.trial import eventually

from .conftest import APPTAINER

Make = Callable[..., Environment]


def test_nothing_of_the_program_reaches_a_command(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPTAINER_BIND", "/etc:/opt")
    monkeypatch.setenv("APPTAINERENV_SECRET", "leaked")
    monkeypatch.setenv("SINGULARITYENV_SECRET", "leaked")
    monkeypatch.chdir("/sys")  # is not the same inside, of which it would warn
    with make() as env:
        result = env.run("ls /opt; env | grep -c SECRET; echo $PS1$PROMPT_COMMAND; echo err >&2")
        assert (result.stdout, result.stderr) == ("0\n\n", "err\n")


def test_without_a_door_the_program_opens_shells_and_stays_silent(make: Make) -> None:
    with make() as env:
        env.backend.door.close()  # type: ignore[attr-defined]
        env.backend.door = None  # type: ignore[attr-defined]
        session = env.session()
        result = session.run("echo out; echo err >&2; pwd; cat", stdin="in")
        assert (result.stdout, result.stderr) == (f"out\n{env.cwd}\nin", "err\n")
        assert session.run("exit 3").exit_code == 3
        assert session.run("echo $PROMPT_COMMAND$SHELLWARD_X", env={"SHELLWARD_X": "a 'b'"}).stdout == "a 'b'\n"


def test_an_image_without_setsid_has_no_door(make: Make) -> None:
    with make(mounts=[{"source": "/dev/null", "target": "/usr/bin/setsid"}]) as env:
        assert env.backend.door is None  # type: ignore[attr-defined]
        assert env.run("echo works; cat", stdin="in").stdout == "works\nin"


def test_limits_hold_or_are_named_as_left_out(make: Make) -> None:
    """Which of the two, is up to the host: Apptainer asks systemd for control groups."""
    steps: list[str] = []
    with make(memory="64m", pids_limit=50, cpus=1.0, progress=steps.append) as env:
        notes = env.capabilities.notes
        assert env.run("echo works").stdout == "works\n"
        too_much = env.run("head -c 300m /dev/zero | tail | wc -c")
    if notes:
        assert len(notes) == 1
        assert "--memory 64m" in notes[0]
        assert "systemd" in notes[0]
        assert any("--memory 64m" in step for step in steps)
    else:
        assert too_much.stdout == "0\n", "the limit has no effect"
    with make() as env:
        assert env.capabilities.notes == ()


def test_a_read_only_instance_and_one_in_memory(make: Make) -> None:
    with make(writable="no") as env:
        assert (
            env.run("touch /usr/x 2>/dev/null || echo refused; touch /tmp/x && echo fine").stdout == "refused\nfine\n"
        )
        assert not env.capabilities.snapshot
        with pytest.raises(Unsupported, match="writable=overlay"):
            env.snapshot()
    with make(writable="tmpfs") as env:
        expected = "written\n" if os.geteuid() == 0 else "refused\n"  # the files are root's
        assert env.run("touch /usr/x 2>/dev/null && echo written || echo refused").stdout == expected


def test_gpus_are_no_must(make: Make) -> None:
    """Where the machine has none, the program warns of that, and nobody hears it."""
    with make(nv=True) as env:
        result = env.run("echo works; echo err >&2")
        assert (result.stdout, result.stderr) == ("works\n", "err\n")
        if not Path("/dev/nvidiactl").exists():
            assert env.run("ls /dev/nvidiactl").exit_code != 0


def test_a_directory_of_this_machine_can_be_read_only(make: Make, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "file").write_text("from outside\n")
    mounts = [
        {"source": str(tmp_path), "target": "/seen", "read_only": True},
        {"source": str(tmp_path), "target": "/shared"},
    ]
    with make(mounts=mounts) as env:
        assert env.run("cat /seen/file").stdout == "from outside\n"
        assert env.run("echo x >/seen/file").exit_code != 0
        env.run("echo from inside >/shared/file").check()
    assert (tmp_path / "file").read_text() == "from inside\n"


def test_the_program_by_its_other_name(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SingularityCE is ``singularity``, and many an Apptainer has that name, too."""
    places = [place for place in os.environ["PATH"].split(":") if not Path(place, APPTAINER).exists()]
    for program in Path("/usr/bin").iterdir():
        if program.name not in (APPTAINER, "singularity"):
            (tmp_path / program.name).symlink_to(program)
    (tmp_path / "singularity").symlink_to(shutil.which(APPTAINER) or "")
    monkeypatch.setenv("PATH", ":".join([str(tmp_path), *places]))
    assert binary.find() == str(tmp_path / "singularity")
    with make() as env:
        assert env.run("echo works").stdout == "works\n"
    diagnosis = next(each for each in environments.doctor() if each.kind == "singularity")
    assert str(tmp_path / "singularity") in diagnosis.summary


def test_a_host_without_util_linux_is_told(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / APPTAINER).symlink_to(shutil.which(APPTAINER) or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentUnavailable, match=r"setsid.*flock.*util-linux"):
        make()
    diagnosis = next(each for each in environments.doctor() if each.kind == "singularity")
    assert not diagnosis.works
    assert "util-linux" in diagnosis.advice


def test_a_network_of_its_own(make: Make) -> None:
    with make(network="none") as env:
        assert env.run("cat /proc/net/dev | tail -n +3 | grep -v ' lo:' | grep -c :").stdout in ("0\n", "")
        with pytest.raises(Unsupported, match="network=host"):
            env.expose(80)


def client(begin: str, sif: Path, body: str, before: str = "", **config: object) -> "subprocess.Popen[str]":
    code = (
        textwrap.dedent(before)
        + textwrap.dedent(f"""
        import os, signal, sys, time
        from shellward import environments
        env = environments.create("singularity", image={str(sif)!r}, name={begin!r}, **{config!r})
        print(env.handle, flush=True)
        """)
        + textwrap.dedent(body)
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_what_a_killed_client_leaves_is_gone_after_the_lease(sif: Path, begin: str) -> None:
    process = client(
        begin, sif, "env.run('sleep 1000 & setsid sleep 1000 & echo'); print('up', flush=True); time.sleep(99)", lease=8
    )
    assert process.stdout is not None
    handle = process.stdout.readline().strip()
    assert process.stdout.readline() == "up\n"
    process.kill()
    process.communicate()
    assert any(begin in each for each in singularity_named(begin))
    with environments.attach(handle) as env:
        assert env.run("echo found").stdout == "found\n"
        env.detach()
    assert eventually(lambda: not singularity_named(begin), 40), singularity_named(begin)
    with pytest.raises(EnvironmentUnavailable):
        environments.attach(handle)


def test_a_client_killed_while_it_starts_leaves_nothing(sif: Path, begin: str) -> None:
    process = client(begin, sif, "", lease=4)
    assert eventually(lambda: bool(singularity_named(begin)), 20)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert eventually(lambda: not singularity_named(begin), 60), singularity_named(begin)


@pytest.mark.parametrize("step", ["_guard", "_make_directories", "_find", "_open_door"])
def test_a_client_killed_at_a_step_of_its_start_leaves_nothing(sif: Path, begin: str, step: str) -> None:
    before = f"""
        import os, signal
        from shellward.environments.singularity import instance
        real = instance.{step}
        def last(*args):
            real(*args)
            os.kill(os.getpid(), signal.SIGKILL)
        instance.{step} = last
        """
    process = client(begin, sif, "", before=before, lease=2)
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == -signal.SIGKILL
    assert eventually(lambda: not singularity_named(begin), 60), singularity_named(begin)


def test_a_start_that_outlives_its_client_and_its_lease_leaves_nothing(sif: Path, begin: str, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    slow = tmp_path / "slow"
    slow.write_text(
        f'#!/bin/sh\ncase "$*" in *"instance start "*) echo >{begun}; sleep 6;; esac\nexec {APPTAINER} "$@"\n'
    )
    slow.chmod(0o755)
    process = client(begin, sif, "", binary=str(slow), lease=2)
    assert eventually(begun.exists, 20)
    process.kill()
    process.communicate()
    # Its guard waits for the start: ended before that, it would leave what comes up then.
    assert eventually(lambda: not singularity_named(begin), 60), singularity_named(begin)
    assert not eventually(lambda: bool(singularity_named(begin)), 8), singularity_named(begin)


def test_what_has_lost_its_guard_too_goes_with_the_next_one(make: Make, begin: str) -> None:
    env = make()
    record = env.backend.record  # type: ignore[attr-defined]
    env.detach()
    record.guard.signal(signal.SIGKILL, group=True)
    record.life.signal(signal.SIGKILL)
    assert record.life.gone(10)
    assert record.guard.gone(10)  # one that is there still would see to it, after the lease
    with make():
        assert not [each for each in singularity_named(begin) if record.name in each]


def test_twenty_at_once(make: Make) -> None:
    made: list[Environment] = []
    failed: list[BaseException] = []

    def one() -> None:
        try:
            made.append(make())
        except BaseException as error:  # noqa: BLE001  # is shown below
            failed.append(error)

    threads = [threading.Thread(target=one) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len({env.run("cat /run/shellward/lease; echo $APPTAINER_INSTANCE").stdout.split()[-1] for env in made}) == 20
    assert all(len(singularity_processes(env)) > 1 for env in made)


def test_errors_say_what_to_do(make: Make, sif: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"install Apptainer"):
        make(binary=str(tmp_path / "apptainer"))
    broken = tmp_path / "broken.sif"
    broken.write_bytes(sif.read_bytes()[:50_000])
    with pytest.raises(EnvironmentUnavailable, match=r"broken\.sif"):
        make(image=str(broken))
    with pytest.raises(EnvironmentUnavailable, match="/no/such"):
        make(mounts=[{"source": "/no/such", "target": "/x"}])
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    with pytest.raises(EnvironmentUnavailable, match="longer than 1 s"):
        binary.call([str(slow)], timeout=1.0)


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("FATAL: could not create user namespace: operation not permitted", "switched on"),
        ("FATAL: could not use fakeroot: newuidmap not found", "uidmap"),
        ("FATAL: write /x: no space left on device", "workdir"),
        ("FATAL: fuse: failed to open /dev/fuse: Permission denied", "chmod 666 /dev/fuse"),
    ],
)
def test_known_refusals_come_with_advice(said: str, advice: str) -> None:
    assert advice in str(binary.failed("instance", said))


def test_doctor_names_the_version_and_what_the_host_lacks() -> None:
    diagnosis = next(each for each in environments.doctor() if each.kind == "singularity")
    assert diagnosis.works
    assert "1." in diagnosis.summary
    if not Path("/run/systemd/system").is_dir():
        assert any("systemd" in note for note in diagnosis.notes)


def test_doctor_without_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    diagnosis = next(each for each in environments.doctor() if each.kind == "singularity")
    assert not diagnosis.works
    assert "install Apptainer" in diagnosis.advice
