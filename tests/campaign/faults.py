"""The faults, all from outside: signals to processes found by their marks, mounts, limits, engines and links."""

import contextlib
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .link import Link
from .plan import Plan

_PAGE = b"\0" * (1 << 16)


@dataclass
class Scene:
    """What a fault can get at.

    Attributes:
        plan: of the round.
        root: directory of the round.
        client: process id of the client.
        env: id of the environment.
        handle: of the environment.
        link: what stands between the client and its engine or server.
    """

    plan: Plan
    root: Path
    client: int
    env: str
    handle: str
    link: Link | None


def inject(scene: Scene) -> str:
    """Do the fault, wait as long as it lasts, and undo it; returns what was done."""
    time.sleep(scene.plan.delay)
    name = scene.plan.fault
    for begin, deed in _DEEDS.items():
        if name.startswith(begin):
            return deed(scene, name.removeprefix(begin))
    return "nothing"


def marked(mark: bytes) -> list[int]:
    """Number the processes of this machine in whose variables something stands."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


def told(pid: int) -> str:
    """Say what a process is."""
    try:
        args = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
    return f"{pid} {state} {args[:80]!r}"


def _shells(scene: Scene, which: str) -> list[int]:
    """Number the shells of the environment by their part: main, control, exits, files, any, or what holds them."""
    begin = f"SHELLWARD_COMMAND={scene.env}."
    found = []
    for pid in marked(begin.encode()):
        with contextlib.suppress(OSError, IndexError):
            mark = Path(f"/proc/{pid}/environ").read_bytes().partition(begin.encode())[2].split(b"\0")[0].decode()
            holder = b"\0-c\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
            if not mark.endswith(".0;"):
                continue  # a command, not a shell
            part = mark.partition(".")[0].rstrip("0123456789")
            if which == "any" or (which == "holder" and holder) or (part == which and (part == "exits" or not holder)):
                found.append(pid)
    return sorted(found)


def _kill(scene: Scene, which: str) -> str:
    rng = random.Random(scene.plan.some)
    pids = [scene.client] if which == "client" else _shells(scene, which)
    if not pids:
        return "nobody was there"
    pid = rng.choice(pids)
    what = told(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return f"killed {what}"


def _stop(scene: Scene, which: str) -> str:
    rng = random.Random(scene.plan.some)
    pids = [scene.client] if which == "client" else _shells(scene, which)
    if not pids:
        return "nobody was there"
    pid = rng.choice(pids)
    what = told(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(scene.plan.length)
        finally:
            os.kill(pid, signal.SIGCONT)
    return f"stopped {what}"


def _descriptors(scene: Scene, _: str) -> str:
    _soft, hard = resource.prlimit(scene.client, resource.RLIMIT_NOFILE)
    there = max(int(each.name) for each in Path(f"/proc/{scene.client}/fd").iterdir()) + 1
    limit = there + scene.plan.some % 7
    resource.prlimit(scene.client, resource.RLIMIT_NOFILE, (limit, hard))
    time.sleep(scene.plan.length)
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(scene.client, resource.RLIMIT_NOFILE, (_soft, hard))
    return f"{limit} descriptors"


def _fill(directory: Path, how: str, length: float, inside: int | None = None) -> str:
    enter = [] if inside is None else ["nsenter", "--target", str(inside), "--mount"]
    if how == "read-only":
        # Over it, since what is open for writing there forbids a change of the mount itself.
        for words in (["--bind", str(directory)], ["-o", "remount,bind,ro"]):
            command = [*enter, "mount", *words, str(directory)]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                return f"nothing: {done.stderr.strip()}"
        time.sleep(length)
        subprocess.run([*enter, "umount", "-l", str(directory)], check=False, capture_output=True)
        return "read-only"
    path = directory if inside is None else Path(f"/proc/{inside}/root{directory}")
    fill = path / "campaign-fill"
    until = time.monotonic() + length
    try:
        with fill.open("ab", buffering=0) as file:
            while time.monotonic() < until:  # what others make free is filled, too
                try:
                    file.write(_PAGE)
                except OSError:
                    with contextlib.suppress(OSError):
                        file.write(b"\0" * 512)
                    time.sleep(0.005)
    finally:
        fill.unlink(missing_ok=True)
    return "full"


def _scratch(scene: Scene, how: str) -> str:
    if scene.plan.place == "local":
        return _fill(scene.root / "run", how, scene.plan.length)
    pid = docker("inspect", "--format", "{{.State.Pid}}", scene.handle.partition(":")[2])
    return _fill(Path("/run/shellward"), how, scene.plan.length, int(pid)) if pid else "nothing: no container"


def _state(scene: Scene, how: str) -> str:
    return _fill(scene.root / "home", how, scene.plan.length)


def docker(*words: str) -> str:
    """Run the docker command, at the engine itself."""
    try:
        done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False, timeout=30)
    except subprocess.TimeoutExpired:  # an engine that somebody restarts
        return ""
    return done.stdout.strip()


def _container(scene: Scene, how: str) -> str:
    container = scene.handle.partition(":")[2]
    if how == "restart":
        docker("restart", "-t", "0", container)
    elif how == "kill":
        docker("kill", container)
    else:
        docker("rm", "-f", container)
    return f"container {how}"


def _pause(scene: Scene, _: str) -> str:
    container = scene.handle.partition(":")[2]
    docker("pause", container)
    try:
        time.sleep(scene.plan.length)
    finally:
        if not docker("unpause", container):
            docker("unpause", container)
    return "paused"


def _link(scene: Scene, how: str) -> str:
    link = scene.link
    assert link is not None
    if how == "cut":
        link.cut()
    elif how == "delayed":
        link.delay = 0.01 + scene.plan.some % 100 / 1000
        time.sleep(scene.plan.length)
        link.delay = 0.0
    elif how == "stalled":
        link.stalled = True
        time.sleep(scene.plan.length)
        link.stalled = False
        if scene.plan.some % 2:
            link.cut()
    else:
        link.refusing = True
        link.cut()
        time.sleep(scene.plan.length)
        link.refusing = False
    return how


def _server(scene: Scene, _: str) -> str:
    """Kill the server's process that keeps the connection: the first sshd above a shell.

    What has lost its parent may be a child of the server itself, which others use as well.
    """
    for pid in marked(f"SHELLWARD_COMMAND={scene.env}.".encode()):
        with contextlib.suppress(OSError, ValueError):
            while pid > 1:
                if b"[listener]" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    break
                if Path(f"/proc/{pid}/comm").read_text().startswith("sshd"):
                    what = told(pid)
                    os.kill(pid, signal.SIGKILL)
                    return f"killed {what}"
                pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return "nobody was there"


def _interrupt(scene: Scene, _: str) -> str:
    rng = random.Random(scene.plan.some)
    times = rng.randint(1, 4)
    for _number in range(times):
        with contextlib.suppress(ProcessLookupError):
            os.kill(scene.client, signal.SIGINT)
        time.sleep(rng.choice((0.0, rng.uniform(0, 0.4))))
    return f"{times} times"


_DEEDS: dict[str, Callable[[Scene, str], str]] = {
    "kill-": _kill,
    "stop-": _stop,
    "descriptors": _descriptors,
    "scratch-": _scratch,
    "state-": _state,
    "container-": _container,
    "pause": _pause,
    "engine-": _link,
    "link-": _link,
    "server-kill": _server,
    "interrupt": _interrupt,
}
