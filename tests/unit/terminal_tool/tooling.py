"""What the tests of the tools share: a task on each kind of place, and what is left of it in the process table."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shellward.terminal_tool import register_task_environment
from shellward.terminal_tool.default import tasks
from shellward.testing.place import sshd_directory

IMAGE = "shellward/sandbox:latest"
BUSYBOX = "shellward/busybox:latest"
SSH_USER = "shellward-tools"
"""Of the server in tests/services/sshd: nobody else's tests look at what is his."""
REQUIRED = os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(",")
_SSHD = Path(__file__).parents[2] / "services" / "sshd"
_SIF = Path(os.environ.get("SHELLWARD_TEST_IMAGES", "/var/cache/shellward-tests"), "sandbox.sif")
_MARK = "SHELLWARD_TEST_TASK"

_DOCKER = pytest.param("docker", marks=pytest.mark.docker)
# A lane of its own: tests/run --singularity.
_SINGULARITY = ["singularity"] if "singularity" in REQUIRED else []
_SSH = pytest.param("ssh", marks=pytest.mark.slow)
KINDS = ["local", _DOCKER, _SSH, *_SINGULARITY]
LONG_KINDS = ["local", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow]), _SSH, *_SINGULARITY]
"""For tests that take seconds by themselves."""
ALL_KINDS = ["local", _DOCKER, "ssh", pytest.param("busybox", marks=pytest.mark.docker), *_SINGULARITY]


class Tools:
    """The tools of one task, as functions that return what the model would read."""

    def __init__(self, task: str, kind: str, tmp_path: Path) -> None:
        self.task = task
        self.kind = kind
        self.folder = {"local": str(tmp_path / "work"), "ssh": f"/tmp/{task}"}.get(kind, "/tmp/work")
        self.place = "docker" if kind == "busybox" else kind
        self.config = {**config_of(kind), "env": {_MARK: task}}
        if kind == "local":
            (tmp_path / "work").mkdir()
            self.config["cwd"] = self.folder
        register_task_environment(task, self.place, **self.config)
        if kind != "local":
            self.terminal(f"mkdir -p {self.folder}; cd {self.folder}")

    def close(self) -> None:
        """Remove what would be left on a host."""
        if self.kind != "ssh":
            return
        try:
            shutil.rmtree(self.folder)  # the host is this machine
        except PermissionError:  # for who is not root
            on_the_host(f"rm -rf {self.folder}")

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        from shellward import terminal_tool

        function = getattr(terminal_tool, {"terminal": "terminal_tool", "process": "process_tool"}.get(name, name))

        def call(*args: object, **more: object) -> dict[str, Any]:
            return json.loads(function(*args, task_id=self.task, **more))

        return call

    @property
    def environment(self):
        with tasks.call(self.task) as (task, _):
            return task.terminal

    def running(self, mark: str) -> int:
        """How many processes of the task there are with this in their arguments."""
        if self.kind == "local":
            return sum(
                mark.encode() in _read(path) and self._mine(path.with_name("environ"))
                for path in Path("/proc").glob("[0-9]*/cmdline")
            )
        # The letters of the mark are apart in the pattern, so that what looks for it is not found.
        pattern = f"[{mark[0]}]{mark[1:]}"
        script = (
            f"for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q -- '{pattern}' &&"
            f" tr '\\0' '\\n' <$p/environ 2>/dev/null | grep -qx {_MARK}={self.task} && echo x; done"
        )
        return self.environment.run(script).stdout.count("x")

    def _mine(self, environ: Path) -> bool:
        return f"{_MARK}={self.task}".encode() in _read(environ).split(b"\0")

    def gone(self, mark: str) -> bool:
        """Whether there are none within a moment: who was killed may still be in the table."""
        until = time.monotonic() + 5
        while time.monotonic() < until:
            if not self.running(mark):
                return True
            time.sleep(0.05)
        return False


def config_of(kind: str) -> dict[str, Any]:
    """The settings of an environment of this kind; skips, or fails, where there is none."""
    if kind == "local":
        return {}
    if kind == "ssh":
        if why := _no_server():
            (pytest.fail if "ssh" in REQUIRED else pytest.skip)(why)
        there = {"host": "shellward-target", "user": SSH_USER, "config_file": str(sshd_directory() / "config")}
        return {**there, "lease": 60}
    if kind == "singularity":
        return {"image": str(_SIF)}
    return {"image": BUSYBOX if kind == "busybox" else IMAGE, "pull": "never", "lease": 60}


@cache
def _no_server() -> str:
    done = subprocess.run([_SSHD, "status"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"tests/services/sshd: {done.stdout.strip()}"


def on_the_host(command: str) -> str:
    """Run a command as the user of the server, past everything of ours."""
    words = ["ssh", "-F", str(sshd_directory() / "config"), "-l", SSH_USER, "shellward-target", command]
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended meanwhile, or is somebody else's
        return b""


def containers() -> set[str]:
    """The ids of the containers of this engine."""
    done = subprocess.run(["docker", "ps", "-q", "--no-trunc"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())
