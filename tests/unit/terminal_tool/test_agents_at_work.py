"""Eight agents at three kinds of place, and a client beside them that is killed: nothing lost, mixed or left behind."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import agents_at_work
import pytest
from agents_at_work import RUN, register
from tooling import config_of, on_the_host

from shellward.terminal_tool import close_tasks, process_tool
from shellward.testing.place import docker_labelled

PLACES = ("docker", "ssh", "local")
AGENTS = ("local", "docker", "ssh", "local", "docker", "ssh", "local", "docker")
CALLS = int(os.environ.get("SHELLWARD_TEST_CALLS", "200"))
LEASE = 30.0
"""Seconds after which what belongs to the killed client ends by itself."""
LONG = 120.0
"""Seconds that a lease of the others lasts: they are busy, and so is the machine."""


class Client:
    """A program with agents in it, and what it has said.

    Attributes:
        temporary: where it has its temporary files.
    """

    def __init__(self, temporary: Path, **asked: object) -> None:
        words = [sys.executable, agents_at_work.__file__, json.dumps(asked)]
        self.temporary = temporary
        temporary.mkdir()
        env = {**os.environ, "TMPDIR": str(temporary)}
        self.program = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=env)

    def said(self) -> dict[str, Any]:
        """Return the next line that it prints."""
        assert self.program.stdout is not None
        line = self.program.stdout.readline()
        assert line, f"it has ended with {self.program.wait()}, and without a word"
        return json.loads(line)

    def end(self) -> None:
        self.program.kill()
        self.program.wait()
        if self.program.stdout is not None:
            self.program.stdout.close()


@pytest.fixture
def mark(nothing_leaks: None) -> Iterator[str]:
    """The word of one run; whatever carries it is ended after a test that has failed, too."""
    del nothing_leaks
    config_of("ssh")
    word = f"sw{secrets.token_hex(4)}"
    yield word
    for container in docker_labelled(f"{RUN}={word}"):
        subprocess.run(["docker", "rm", "-f", container.split()[0]], capture_output=True, check=False)
    for each in marked(word):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(int(each.name), signal.SIGKILL)
    on_the_host(f"rm -rf /tmp/{word}*")


@pytest.fixture
def client(mark: str, tmp_path: Path) -> Iterator[Callable[..., Client]]:
    made: list[Client] = []

    def make(**asked: object) -> Client:
        made.append(Client(tmp_path / f"temporary-{asked['name']}", mark=mark, folder=str(tmp_path), **asked))
        return made[-1]

    yield make
    for each in made:
        each.end()


def marked(mark: str) -> list[Path]:
    """All of this machine's that carry the mark of a run: those of containers and of the server are among them."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            if f"{RUN}={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(path)
    return found


def processes(mark: str) -> list[str]:
    return [each.name for each in marked(mark)]


def sizes(held: dict[str, list[str]]) -> dict[str, int]:
    return {what: len(names) for what, names in held.items()}


def eventually_none(look: Callable[[], list[str]], within: float) -> list[str]:
    until = time.monotonic() + within
    while (left := look()) and time.monotonic() < until:
        time.sleep(0.5)
    return left


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.timeout(900)
def test_eight_agents_and_a_client_that_is_killed(mark: str, client: Callable[..., Client]) -> None:
    agents = client(name="a", kinds=AGENTS, calls=CALLS, lease=LONG, leave=False)
    killed = client(name="k", kinds=PLACES, calls=1_000_000, lease=LEASE, leave=True)
    # Each says so once it is in the middle of its calls.
    their = [agents.said() for _ in AGENTS]
    his = [killed.said() for _ in PLACES]
    assert len(docker_labelled(f"{RUN}={mark}")) >= AGENTS.count("docker") + 1
    assert processes(mark), "a mark that nobody carries proves nothing"
    killed.end()
    assert agents.program.poll() is None, "they were done before the other one was killed"

    # What it had left to run is there for who comes after it, each with its own end.
    for place in sorted(his, key=lambda each: not each["handle"].startswith("docker")):  # which has its lease only
        task, left = place["task"], place["left"]
        register(task, task.rpartition("-")[2], mark, LEASE)
        ended = json.loads(process_tool("wait", left, timeout=60, task_id=task))
        assert (ended["status"], ended["exit_code"], ended["output_preview"]) == ("exited", 7, f"begun\n{task}\n")
    close_tasks()

    end = agents.said()
    assert end["problems"] == []
    assert len(end["made"]) == len(AGENTS)
    assert min(end["made"]) >= CALLS
    assert sizes(end["after"]) == sizes(end["before"]), end
    assert agents.program.wait(60) == 0
    # Of the agents nothing may be left now; of the killed client, once its leases are over.
    directories = [place["directory"] for place in their if not place["handle"].startswith("docker")]
    assert [each for each in directories if Path(each).exists()] == []
    assert list(agents.temporary.iterdir()) == []
    assert eventually_none(lambda: docker_labelled(f"{RUN}={mark}"), 3 * LEASE) == []
    assert eventually_none(lambda: processes(mark), 3 * LEASE) == []
    directories = [place["directory"] for place in his if not place["handle"].startswith("docker")]
    assert eventually_none(lambda: [each for each in directories if Path(each).exists()], 3 * LEASE) == []
    verify = [sys.executable, "-m", "shellward", "audit", "verify"]
    assert subprocess.run(verify, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
