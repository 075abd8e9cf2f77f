"""Rows about the tools that agents hold: one short call from end to end, with the gate and its audit log."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

from figures import Bar, Measured, Row, Settings, compare, timed
from places import image_there

from shellward.terminal_tool import close_tasks, execute_code, register_task_environment, terminal_tool

TASK = "benchmark"


@contextmanager
def _task(kind: str, settings: Settings) -> Iterator[None]:
    """Have a task with a warm environment, and settings and state of its own."""
    config: dict[str, str] = {}
    if kind == "docker":
        image_there(settings)
        config = {"image": settings.image, "pull": "never"}
    with tempfile.TemporaryDirectory() as home, patch.dict(os.environ, {"SHELLWARD_HOME": home}):
        register_task_environment(TASK, kind, **config)
        try:
            _true()
            yield
        finally:
            close_tasks()


def _true() -> None:
    said = json.loads(terminal_tool("true", task_id=TASK))
    if said["exit_code"]:
        raise RuntimeError(str(said))


def _subprocess() -> None:
    subprocess.run(["bash", "-c", "true"], capture_output=True, check=True)


def _against_subprocess(settings: Settings, *, kind: str) -> Measured:
    with _task(kind, settings):
        return compare(timed(_true), timed(_subprocess), samples=settings.of(1000, 20), block=settings.of(20, 5))


def _script(settings: Settings, *, kind: str) -> Measured:
    """One script that calls a tool twenty times, beside twenty programs run by a script without us."""
    with _task(kind, settings):
        code = "from shellward_tools import terminal\nfor _ in range(20): terminal('true')"

        def ours() -> None:
            said = json.loads(execute_code(code, task_id=TASK))
            if said["exit_code"] or said["tool_calls"] != 20:
                raise RuntimeError(str(said))

        plain = "import subprocess\nfor _ in range(20): subprocess.run(['bash', '-c', 'true'], capture_output=True)"
        baseline = timed(lambda: subprocess.run(["python3", "-c", plain], check=True))
        return compare(timed(ours), baseline, samples=settings.of(30, 2), note="20 calls, script and its end included")


def _row(kind: str, limit: float) -> Row:
    name = "tool-terminal-true" if kind == "local" else f"{kind}-tool-terminal-true"
    measure = partial(_against_subprocess, kind=kind)
    against = 'local `subprocess.run(["bash", "-c", "true"])`'
    return Row(name, f'{kind} `terminal_tool("true")`, gate and audit on', against, "ms", Bar("<=", limit), measure)


ROWS = (
    _row("local", 0.8),
    _row("docker", 1.0),
    Row(
        "tool-execute-code",
        "local `execute_code` with 20 calls of `terminal`",
        "a local Python script that runs `bash -c true` 20 times",
        "ms",
        Bar("<=", 10),
        partial(_script, kind="local"),
    ),
)
