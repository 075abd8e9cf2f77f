"""Optional powers: what ``capabilities`` says is so; what it does not say is ``Unsupported``, by name."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

from shellward.core.errors import EnvironmentUnavailable, ShellwardError, Unsupported
from shellward.core.types import Stats
from shellward.testing.trial import at_most, eventually, python, raises, terms

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"


def capabilities_can_be_read_first(t: Trial) -> None:
    """``capabilities`` is known before anything was asked.

    The shell at the latest after the first command.
    """
    env = t.fresh()
    early = env.capabilities
    assert early.shell in {"", t.place.shell}
    env.run("true").check()
    late = env.capabilities
    assert late.shell == t.place.shell
    for name in ("snapshot", "expose", "stats", "user", "attach", "pty", "isolated"):
        assert getattr(early, name) == getattr(late, name)
    assert late.attach == t.place.lease
    assert not (late.isolated and t.place.same_machine)


def snapshot_and_restore(t: Trial) -> None:
    """``snapshot`` keeps the files, ``restore`` brings them back; without that power both are Unsupported."""
    env = t.fresh()
    if not env.capabilities.snapshot:
        for call in (env.snapshot, lambda: env.restore("x")):
            with raises(Unsupported) as caught:
                call()
            assert t.place.kind in str(caught.value)
        return
    top = "/opt" if t.place.root else "/var/tmp"  # where everybody may write
    env.run(f"mkdir -p {top}/kept; echo one >{top}/kept/f; rm -f {top}/gone; cd {top}/kept").check()
    snapshot = env.snapshot()
    try:
        _comes_back(t, env, top, snapshot)
    finally:
        env.close()  # what is in use cannot be removed
        t.place.drop_snapshot(snapshot)


def _comes_back(t: Trial, env: Environment, top: str, snapshot: str) -> None:
    """What a snapshot holds is there again after ``restore``, what is younger is not."""
    assert isinstance(snapshot, str)
    env.run(f"echo two >{top}/kept/f; echo x >{top}/gone").check()
    sleeper = t.sleeper()
    env.run(f"{sleeper.command} & echo").check()
    with at_most(30, "restore"):
        env.restore(snapshot)
    assert env.read_file(f"{top}/kept/f") == b"one\n"
    with raises(FileNotFoundError):
        env.read_file(f"{top}/gone")
    assert env.run(f"cat {top}/kept/f", timeout=10).stdout == "one\n"
    sleeper.assert_gone(env, 2)
    env.restore(snapshot)
    assert env.read_file(f"{top}/kept/f") == b"one\n"
    with raises(EnvironmentUnavailable):
        env.restore("sha256:" + "0" * 64)


@terms(python)
def exposed_port(t: Trial) -> None:
    """``expose(port)`` is a reachable ``host:port``; without that power it is Unsupported."""
    env = t.fresh()
    if not env.capabilities.expose:
        with raises(Unsupported):
            env.expose(8765)
        return
    env.run("cd /tmp; echo hello >index.txt; python3 -m http.server 8765 >/dev/null 2>&1 & echo").check()
    host, _, port = env.expose(8765).rpartition(":")

    def fetch() -> bool:
        try:
            with socket.create_connection((host, int(port)), 1) as connection:
                connection.sendall(b"GET /index.txt HTTP/1.0\r\n\r\n")
                answer = b""
                while piece := connection.recv(4096):
                    answer += piece
                return answer.endswith(b"hello\n")
        except OSError:
            return False

    assert eventually(fetch, 10)
    assert env.expose(8765) == f"{host}:{port}"
    for wrong in (0, -1, 65_536):
        with raises(ShellwardError, ValueError):
            env.expose(wrong)


def statistics(t: Trial) -> None:
    """``stats()`` rises with use where it is known: processes, processor time, memory."""
    env = t.fresh()
    if not env.capabilities.stats:
        with raises(Unsupported):
            env.stats()
        return
    env.run("true").check()
    first = env.stats()
    assert isinstance(first, Stats)
    env.run("sleep 33 & sleep 33 & sleep 33 & x=0; while [ $x -lt 200000 ]; do x=$((x+1)); done").check()
    second = env.stats()
    if first.pids is not None and second.pids is not None:
        assert second.pids >= first.pids + 3
    if first.cpu_seconds is not None and second.cpu_seconds is not None:
        assert second.cpu_seconds > first.cpu_seconds
        assert second.cpu_seconds < first.cpu_seconds + 120
    if second.memory_bytes is not None:
        assert 100_000 < second.memory_bytes < 8 * 2**30
    assert any(value is not None for value in (second.pids, second.cpu_seconds, second.memory_bytes))


def isolation_is_as_stated(t: Trial) -> None:
    """``isolated`` means what it says: this machine's files cannot be seen from a place that has it."""
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="shellward-outside-") as outside:
        outside.write(b"outside\n")
        outside.flush()
        visible = t.env.run(f"cat {outside.name} 2>/dev/null").stdout == "outside\n"
    if t.place.shared_host:  # it may be this machine, or one that others use
        assert not t.env.capabilities.isolated
        return
    assert visible == t.place.same_machine
    assert t.env.capabilities.isolated != visible


def settings_are_in_force(t: Trial) -> None:
    """Limits that the place can set are seen from inside: memory and processes."""
    limits = t.place.faults.few_pids
    if isinstance(limits, str):
        return
    env = t.fresh(**limits)
    out = env.run("i=0; while [ $i -lt 150 ]; do sleep 2 & i=$((i+1)); done 2>&1; echo done", timeout=10)
    alive = sum("sleep 2" in row.args for row in t.place.processes(env))
    assert alive < 100, out
    time.sleep(2.2)
    assert env.run("echo ok", timeout=10).stdout == "ok\n"


def hardening_is_the_default(t: Trial) -> None:
    """Isolated places are hardened by default.

    Few capabilities, no new privileges, an init, a limit of processes.
    """
    if not t.env.capabilities.isolated:
        return
    status = t.env.run("cat /proc/self/status").stdout
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert fields["NoNewPrivs"].strip() == "1"
    effective = int(fields["CapEff"], 16)
    for name, bit in {
        "SYS_ADMIN": 21,
        "NET_ADMIN": 12,
        "SYS_PTRACE": 19,
        "SYS_MODULE": 16,
        "NET_RAW": 13,
        "MKNOD": 27,
    }.items():
        assert not effective >> bit & 1, f"CAP_{name} is in force"
    assert t.env.run("test -S /var/run/docker.sock").exit_code == 1
    assert t.env.run("mount -t tmpfs none /mnt 2>/dev/null").exit_code != 0
