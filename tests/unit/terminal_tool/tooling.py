"""What the tests of the tools share: a task on each kind of place, and what is left of it in the process table."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shellward.terminal_tool import register_task_environment
from shellward.terminal_tool.default import tasks

IMAGE = "shellward/sandbox:latest"
BUSYBOX = "shellward/busybox:latest"
KINDS = ["local", pytest.param("docker", marks=pytest.mark.docker)]
ALL_KINDS = [*KINDS, pytest.param("busybox", marks=pytest.mark.docker)]


class Tools:
    """The tools of one task, as functions that return what the model would read."""

    def __init__(self, task: str, kind: str, tmp_path: Path) -> None:
        self.task = task
        self.kind = kind
        self.folder = str(tmp_path / "work") if kind == "local" else "/tmp/work"
        if kind == "local":
            (tmp_path / "work").mkdir()
            register_task_environment(task, "local", cwd=self.folder)
        else:
            image = BUSYBOX if kind == "busybox" else IMAGE
            register_task_environment(task, "docker", image=image, pull="never", lease=60)
            self.terminal("mkdir -p /tmp/work; cd /tmp/work")

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
        """How many processes there are with this in their arguments, where the commands of the task run."""
        if self.kind == "local":
            return sum(mark.encode() in line for line in map(_arguments, Path("/proc").glob("[0-9]*/cmdline")))
        # The letters of the mark are apart in the pattern, so that what looks for it is not found.
        pattern = f"[{mark[0]}]{mark[1:]}"
        script = (
            f"for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f 2>/dev/null | grep -q -- '{pattern}' && echo x; done"
        )
        return self.environment.run(script).stdout.count("x")

    def gone(self, mark: str) -> bool:
        """Whether there are none within a moment: who was killed may still be in the table."""
        until = time.monotonic() + 5
        while time.monotonic() < until:
            if not self.running(mark):
                return True
            time.sleep(0.05)
        return False


def _arguments(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended meanwhile
        return b""


def containers() -> set[str]:
    """The ids of the containers of this engine."""
    done = subprocess.run(["docker", "ps", "-q", "--no-trunc"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())
