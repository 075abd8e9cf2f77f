"""The command line as people start it: a process of its own, looked at from outside."""

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warm

from shellward.environments.pty import PtySession

ROOT = Path(__file__).parents[2]
SHELLWARD = (sys.executable, "-m", "shellward")
HOME = tempfile.mkdtemp(prefix="shellward-cli-tests-")
"""Settings, queue and audit log of every test here; nothing of the user's own."""
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
IMAGE = "shellward/sandbox:latest"
IN_DOCKER = ("--env", "docker", "--image", IMAGE)
PLACES = [
    pytest.param((), id="local"),
    pytest.param(IN_DOCKER, id="docker", marks=pytest.mark.docker),
]
ALSO_SLOW = [
    pytest.param((), id="local"),
    pytest.param(IN_DOCKER, id="docker", marks=(pytest.mark.docker, pytest.mark.slow)),
]
"""Places of what is no other in Docker than what a quick test there shows."""
PROMPT = re.compile(r"[#$>] ?\Z")


def environ(**more: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHELLWARD_")}
    return {**kept, "SHELLWARD_HOME": HOME, "PYTHONPATH": path, **more}


def cli(*words: str, stdin: bytes | int = subprocess.DEVNULL, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command line to its end: in a process that is warm, unless its streams are something special."""
    if not more.keys() - {"env", "cwd", "timeout"} and "PYTHONPROFILEIMPORTTIME" not in more.get("env", ()):
        where = {"env": environ(), "cwd": os.getcwd(), "timeout": 60} | more  # noqa: PTH109
        return warm.run(words, stdin=stdin, **where)
    given = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    more = {"env": environ(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60} | more
    return subprocess.run([*SHELLWARD, *words], check=False, **given, **more)


def on(host: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command on a machine that calls itself ``host``."""
    program = f"import socket; socket.gethostname = lambda: {host!r}\nfrom shellward.cli.main import main; main()"
    given = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 60, "env": environ()}
    return subprocess.run([sys.executable, "-c", program, *words], check=False, **given)  # type: ignore[call-overload,no-any-return]


def start(*words: str, **more: Any) -> "subprocess.Popen[bytes]":
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.Popen([*SHELLWARD, *words], env=environ(), **more)


def at_terminal(person: PtySession, *words: str) -> None:
    """Run the command at a person's terminal, which then shows ``same-STATUS`` if it was left as it was."""
    person.write("clear; $PY -m shellward " + " ".join(words) + "; check $?\r")


def environments() -> list[dict[str, Any]]:
    listed = cli("env", "ls", "--env", "docker", "--json")
    assert listed.returncode == 0, listed.stdout
    return json.loads(listed.stdout)


def owned_by(pid: int) -> list[str]:
    """Handles of what a client has made; other users of the machine are none of our business."""
    return [each["handle"] for each in environments() if each["owner"].endswith(f":{pid}")]


def processes(text: str) -> list[int]:
    """Processes of this machine, containers included, with ``text`` among their arguments."""
    found = []
    for directory in Path("/proc").iterdir():
        if not directory.name.isdecimal() or int(directory.name) == os.getpid():
            continue
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if text.encode() in words:
            found.append(int(directory.name))
    return found


def wait_for(what: Callable[[], object], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.05)
    return bool(what())
