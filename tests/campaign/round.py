"""One round: its directories, its client, the fault in the middle, and what is judged when the client is through."""

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shellward.testing.place import sshd_directory

from . import faults
from .link import Link
from .plan import Plan

_MARK = "SHELLWARD_CAMPAIGN"
_LONGEST = 90.0
"""Seconds after which a round hangs."""
_GONE = 10.0
"""Seconds in which everything is gone after the client is."""
_LEASE = 60
_LATE = 30.0
"""Seconds after the end of a lease in which its watchdog has ended what it watched."""
_MOUNTED = "size=8m,mode=0700"
_SSH_PORT = int(os.environ.get("SHELLWARD_SSHD_PORT", "22822"))
IMAGES = {"bash": "shellward/sandbox:latest", "sh": "shellward/busybox:latest"}
TESTS = Path(__file__).parents[1]


@dataclass
class Report:
    """What a round has shown.

    Attributes:
        plan: of the round.
        fault: what was done.
        commands: how many commands were begun.
        processes: how many processes in the background were started.
        violations: kinds and what was seen.
        seconds: that it took.
        gaps: kinds of calls that nobody heard an answer to, told for the sake of the summary.
    """

    plan: Plan
    fault: str = "nothing"
    commands: int = 0
    processes: int = 0
    violations: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    claims: Counter[str] = field(default_factory=Counter)

    def bad(self, kind: str, what: str) -> None:
        """Add a violation."""
        self.violations.append((kind, what))


class Round:
    """See the module.

    Args:
        plan: of the round.
        slack: seconds on top of all limits, for a machine that is busy.
        keep: leave its directory where it is.
    """

    def __init__(self, plan: Plan, *, slack: float, keep: bool = False) -> None:
        self.plan = plan
        self.report = Report(plan)
        self._slack = slack
        self._keep = keep
        self._token = uuid.uuid4().hex
        self._root = Path(tempfile.mkdtemp(prefix="campaign-"))
        self._ledger = self._root / "ledger"
        self._link: Link | None = None
        self._variables: dict[str, str] = {}
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._given: dict[str, Any] = {}
        self._env = self._handle = ""
        self._marks: set[str] = set()

    def run(self) -> Report:
        """Do it."""
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            if not self._keep:
                stack.callback(shutil.rmtree, self._root, ignore_errors=True)
            self._prepare(stack)
            self._client()
            self._judge()
            self._nothing_left()
        self.report.seconds = time.monotonic() - began
        return self.report

    # -- before --------------------------------------------------------------------------------------------

    def _prepare(self, stack: contextlib.ExitStack) -> None:
        self._root.chmod(0o755)
        for name in ("home", "run", "tmp"):
            (self._root / name).mkdir(mode=0o700)
        self._ledger.mkdir()
        self._ledger.chmod(0o777)
        mounted = {"scratch-": "run", "state-": "home"}
        for begin, name in mounted.items():
            if self.plan.fault.startswith(begin) and (name == "home" or self.plan.place == "local"):
                stack.enter_context(_tmpfs(self._root / name))
        config: dict[str, Any] = {"env": {_MARK: self._token}}
        beside: dict[str, Any] = {"env": {_MARK: self._token}}
        if self.plan.place != "docker":
            config["shell"] = self.plan.shell
        docker = {"pull": "never", "network": "none", "lease": _LEASE, "labels": {"shellward.campaign": self._token}}
        inside = str(self._ledger)
        if self.plan.place == "docker":
            inside = "/ledger"
            mount = {"source": str(self._ledger), "target": inside}
            config.update(docker, image=IMAGES[self.plan.shell], mounts=[mount])
            if self.plan.way == "tcp" or self.plan.fault.startswith("engine-"):
                engine = str(_engine())
                at = None if self.plan.way == "tcp" else str(self._root / "engine")
                self._link = stack.enter_context(Link(engine, at))
                where = f"unix://{at}" if at else f"tcp://127.0.0.1:{self._link.port}"
                self._variables["DOCKER_HOST"] = where
        if self.plan.beside == "docker":
            beside.update(docker, image=IMAGES["sh"])
        if self.plan.place == "ssh":
            self._link = stack.enter_context(Link(_SSH_PORT))
            keys = sshd_directory()
            known = self._root / "known_hosts"
            known.write_text((keys / "known_hosts").read_text().replace(f"]:{_SSH_PORT} ", f"]:{self._link.port} "))
            config.update(
                host="shellward-target",
                config_file=str(keys / "config"),
                port=self._link.port,
                known_hosts=str(known),
                keepalive=1.0,
                lease=_LEASE,
            )
        self._given = {
            "ledger": inside,
            "config": config,
            "beside": beside,
            "root": str(self._root),
            "slack": self._slack,
        }
        self.plan.write(self._root / "plan", **self._given)

    # -- the client ----------------------------------------------------------------------------------------

    def _start(self, *words: str) -> "subprocess.Popen[bytes]":
        environ = {
            **os.environ,
            **self._variables,
            "PYTHONPATH": str(TESTS.parent),
            _MARK: self._token,
            "SHELLWARD_HOME": str(self._root / "home"),
            "TMPDIR": str(self._root / "tmp"),
            "XDG_RUNTIME_DIR": str(self._root / "run"),
        }
        with (self._root / "errors").open("ab") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "campaign.client", str(self._root / "plan"), *words],
                cwd=TESTS,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def _client(self) -> None:
        client = self._start()
        reader = threading.Thread(target=self._listen, args=(client,), daemon=True)
        reader.start()
        deadline = time.monotonic() + _LONGEST + 20 * self._slack
        try:
            ready = self._await("ready ", deadline)
            if ready is None:
                self.report.bad("campaign", f"the client did not begin: {self._errors()}")
                return
            _, self._env, self._handle = ready.split(" ", 2)
            if self._await(f"call {self.plan.at}", deadline) is None:
                self._hang(client, f"before call {self.plan.at}")
                return
            scene = faults.Scene(self.plan, self._root, client.pid, self._env, self._handle, self._link)
            self.report.fault = faults.inject(scene)
            if self.plan.fault == "kill-client":
                client.wait(10)
                self._after()
                return
            with contextlib.suppress(BrokenPipeError):
                assert client.stdin is not None
                client.stdin.write(b"over\n")
                client.stdin.flush()
            if self._await("closed", deadline) is None:
                self._hang(client, "after the fault")
                return
            try:
                client.wait(15 + self._slack)
            except subprocess.TimeoutExpired:
                self._hang(client, "when it was about to exit")
                return
            if client.returncode:
                self.report.bad("untrue", f"the client ended with {client.returncode}: {self._errors()}")
        finally:
            with contextlib.suppress(ProcessLookupError):
                client.kill()
            client.wait()
            for each in (client.stdin, client.stdout):
                with contextlib.suppress(OSError):
                    each.close()  # type: ignore[union-attr]

    def _after(self) -> None:
        """Another client finds what the killed one has left."""
        time.sleep(0.3)
        if self.plan.place == "local":  # everything ends with its client, but for processes in the background
            self._gone(lambda: [path.name for path in (self._root / "run").iterdir()], "after the client was killed")
        self.plan.write(self._root / "plan", handle=self._handle, **self._given)
        client = self._start("--after")
        try:
            out, _ = client.communicate(timeout=60 + 20 * self._slack)
            if b"closed" not in out:
                self.report.bad("not healed", f"the next client: {self._errors()}")
        except subprocess.TimeoutExpired:
            self._hang(client, "the next client")
            client.kill()
            client.communicate()

    def _listen(self, client: "subprocess.Popen[bytes]") -> None:
        assert client.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            for line in client.stdout:
                self._lines.put(line.decode().rstrip("\n"))
        self._lines.put("")

    def _await(self, begin: str, deadline: float) -> str | None:
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                return None
            if not line:
                return None
            if line == begin or (begin.endswith(" ") and line.startswith(begin)):
                return line

    def _hang(self, client: "subprocess.Popen[bytes]", when: str) -> None:
        if client.poll() is None:
            client.send_signal(signal.SIGUSR1)
            time.sleep(1)
            self.report.bad("hangs", f"{when}: {self._errors(6000)}")
        else:
            self.report.bad("client ended", f"{when}, with {client.returncode}: {self._errors()}")

    def _errors(self, most: int = 2000) -> str:
        return (self._root / "errors").read_text(errors="replace")[-most:]

    # -- after ---------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        """Compare what was said with what happened."""
        rows: list[dict[str, Any]] = []
        with contextlib.suppress(FileNotFoundError):
            for line in (self._root / "journal").read_text().splitlines():
                with contextlib.suppress(ValueError):  # the last one of a client that was killed
                    rows.append(json.loads(line))
        begun = {row["begin"]: row["what"] for row in rows if "begin" in row}
        ended = {row["end"]: row for row in rows if "end" in row}
        ran = {path.name: path.read_text().count("x") for path in self._ledger.iterdir() if path.is_file()}
        self.report.commands = len(begun)
        self.report.processes = sum("started" in row for row in rows)
        for row in rows:
            if "bad" in row:
                self.report.bad(row["bad"], row["what"])
            if "told" in row and (row["times"] > 1 or self.plan.fault != "kill-client"):
                self.report.bad("told", f"the end of {row['told']} was told {row['times']} times")
        for key, what in begun.items():
            times = ran.get(key, 0)
            claim = ended[key]["claim"] if key in ended else "unknown"
            self.report.claims[claim] += 1
            if times > 1:
                self.report.bad("ran twice", f"{what} {key}: {times} times")
            elif claim == "nothing" and times:
                self.report.bad("ran", f"{what} {key} ran, and this says that it did not: {ended[key]['error']}")
            elif claim == "done" and not times:
                self.report.bad("did not run", f"{what} {key} did not run, and has a result")
        for key in set(ran) - set(begun):
            self.report.bad("campaign", f"nobody has begun {key}")

    def _nothing_left(self) -> None:
        if any(kind in {"hangs", "client ended", "campaign"} for kind, _ in self.report.violations):
            self._clear()
            return
        # Of a killed client another finds the one that is asked for; what else it had has its lease.
        limit = _LEASE + _LATE if self.plan.fault == "kill-client" else 0.0
        self._gone(self._processes, "processes", limit)
        for name in ("run", "tmp"):
            if self.plan.fault == "kill-client" and (name == "tmp" or self.plan.beside == "docker"):
                continue  # outputs that it kept: nobody else knows of them; doors, which whoever comes next removes
            self._gone(lambda name=name: [each.name for each in (self._root / name).iterdir()], f"in {name}")
        handles = self._handles()
        if self.plan.place == "ssh":
            there = handles["ssh"]
            self._gone(lambda: [path for path in there if Path(path).exists()], "directories on the host", limit)
            # What nobody got a handle of, and could not be reached to be ended, has its lease.
            self._gone(lambda: [*map(str, self._directories()), *self._watchdogs()], "on the host", _LEASE + _LATE)
        if handles["docker"]:
            self._gone(self._containers, "containers", limit)
        self._clear()

    def _handles(self) -> dict[str, list[str]]:
        made: dict[str, list[str]] = {"ssh": [], "docker": [], "local": []}
        with contextlib.suppress(FileNotFoundError):
            for handle in re.findall(r'"made": "([^"]+)"', (self._root / "journal").read_text()):
                kind = handle.partition(":")[0]
                found = re.search(r"/[\w./-]*/shellward-[0-9a-f]{20}", handle)
                made[kind].append(found[0] if kind == "ssh" and found else handle)
        return made

    def _processes(self) -> list[str]:
        return [said for pid in faults.marked(f"{_MARK}={self._token}".encode()) if (said := faults.told(pid))]

    def _directories(self) -> list[Path]:
        """Find the directories on the host that environments of this round have, by what is kept of their settings."""
        found = []
        for config in (path for base in ("/tmp", "/var/tmp") for path in Path(base).glob("shellward-*/config")):
            with contextlib.suppress(OSError):
                if self._token in config.read_text():
                    found.append(config.parent)
        self._marks |= {path.name.partition("-")[2].partition(".")[0] for path in found}
        return found

    def _watchdogs(self) -> list[str]:
        """Find what waits for the end of a lease on the host."""
        names = self._marks | {path.rpartition("-")[2] for path in self._handles()["ssh"]}
        pids = {pid for name in names for pid in faults.marked(f"SHELLWARD_WATCHDOG={name};".encode())}
        return [said for pid in pids if (said := faults.told(pid))]

    def _containers(self) -> list[str]:
        return faults.docker(
            "ps", "-a", "--filter", f"label=shellward.campaign={self._token}", "--format", "{{.ID}} {{.Status}}"
        ).splitlines()

    def _gone(self, look: Any, what: str, limit: float = 0.0) -> None:
        until = time.monotonic() + max(_GONE, limit) + self._slack
        while (left := look()) and time.monotonic() < until:
            time.sleep(0.05)
        if left:
            self.report.bad("left", f"{what}: {left[:8]}")

    def _clear(self) -> None:
        """End what should not be there any more."""
        for pid in faults.marked(f"{_MARK}={self._token}".encode()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._handles()["docker"]:
            for row in self._containers():
                faults.docker("unpause", row.split()[0])  # what is paused may not be removable
                faults.docker("rm", "-f", row.split()[0])


@contextlib.contextmanager
def _tmpfs(directory: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", _MOUNTED, "tmpfs", str(directory)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=False)


def _engine() -> Path:
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    return Path(address.removeprefix("unix://"))


def absent(places: Sequence[str]) -> str:
    """Say what is missing for some places; empty: nothing."""
    if os.geteuid():
        return "needs root: it mounts, and looks at processes of containers"
    for place in places:
        if place == "docker":
            for image in IMAGES.values():
                if not faults.docker("image", "inspect", "--format", "there", image):
                    return f"no engine, or no image {image}"
        if place == "ssh" and not (sshd_directory() / "config").exists():
            return "no servers; tests/services/sshd start"
    return ""
