"""The holder of a background terminal, alone: started by a plain line of sh, driven through its files."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shellward.core.errors import Unsupported
from shellward.environments.environment import Environment
from shellward.environments.registry import create

SCRIPTS = Path(__file__).parents[3] / "shellward" / "environments" / "scripts"
TOOLS = "env sh bash cat stty tty sed grep sleep setsid script mkfifo dd head yes rm ps"
START = """
D={directory}
mkdir -p $D; cd $D
mkfifo in
cat >run
echo '{size}' >size
setsid sh -c 'exec 3<>in 4>in 3>&-; echo $$ >keeper; exec sleep 3600' </dev/null >/dev/null 2>&1 &
{path} setsid setsid sh -c 'sh {scripts}/terminal.sh '$D' sh <in >>out 2>>err; echo $? >status' </dev/null \\
  >/dev/null 2>&1
"""
"""With setsid twice it is nobody's child; with "&" it would have INT and QUIT ignored."""


class Held:
    """A terminal that is held, seen through its directory."""

    def __init__(
        self, run: Callable[..., str], directory: str, line: str, *, path: str = "", size: str = "30 90"
    ) -> None:
        self.run = run
        self.directory = directory
        text = START.format(directory=directory, size=size, path=path, scripts=self.scripts())
        run(text, line)

    def scripts(self) -> str:
        target = f"{self.directory}.scripts"
        self.run(f"mkdir -p {target}")
        for name in ("terminal.sh", "terminal.py"):
            self.run(f"cat >{target}/{name}", (SCRIPTS / name).read_text())
        return target

    def read(self, name: str) -> str:
        return self.run(f"cat {self.directory}/{name} 2>/dev/null")

    def wait(self, what: str, name: str = "out", seconds: float = 20.0) -> str:
        until = time.monotonic() + seconds
        while what not in (seen := self.read(name)):
            assert time.monotonic() < until, f"{what!r} is not in {name}: {seen!r}; {self.read('err')!r}"
            time.sleep(0.05)
        return seen

    def type(self, text: str) -> None:
        self.run(f"cat >{self.directory}/in", text)

    def end_input(self) -> None:
        self.run(f"kill $(cat {self.directory}/keeper)")

    def status(self) -> str:
        return self.wait("\n", "status").strip()

    def stop(self) -> None:
        self.run(
            f"kill -9 $(cat {self.directory}/keeper {self.directory}/child) 2>/dev/null; "
            f"for p in /proc/[0-9]*; do if grep -q {self.directory} $p/cmdline 2>/dev/null; then "
            "[ ${p#/proc/} = $$ ] || kill -9 ${p#/proc/}; fi; done 2>/dev/null; true"
        )


def here(line: str, typed: str = "") -> str:
    done = subprocess.run(["sh", "-c", line], input=typed.encode(), capture_output=True, check=False, timeout=30)
    return done.stdout.decode()


@pytest.fixture(scope="module")
def container() -> Iterator[Environment]:
    with create("docker", image="shellward/sandbox:latest", pull="never") as made:
        yield made


@pytest.fixture(scope="module")
def busybox() -> Iterator[Environment]:
    with create("docker", image="shellward/busybox:latest", pull="never") as made:
        yield made


Make = Callable[..., Held]


@pytest.fixture(
    params=[
        "local",
        "local-script",
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("docker-script", marks=pytest.mark.docker),
        pytest.param("busybox", marks=pytest.mark.docker),
    ]
)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    place, _, variant = request.param.partition("-")
    run: Callable[..., str] = here
    if place != "local":
        container = request.getfixturevalue("busybox" if place == "busybox" else "container")

        def run(line: str, typed: str = "") -> str:
            return container.run(line, stdin=typed, timeout=30).stdout

    made: list[Held] = []
    root = str(tmp_path) if place == "local" else f"/tmp/{tmp_path.name}-{os.getpid()}-{variant}"
    path = ""
    if variant:  # a place without python3
        run(f"mkdir -p {root}/bin; for t in {TOOLS}; do ln -sf $(command -v $t) {root}/bin/$t; done")
        path = f"PATH={root}/bin"

    def start(line: str, **more: str) -> Held:
        held = Held(run, f"{root}/d{len(made)}", line, path=path, **more)
        made.append(held)
        return held

    yield start
    for held in made:
        held.stop()


def test_a_program_has_a_terminal_of_its_size(make: Make) -> None:
    held = make("stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo tty; echo $TERM; tty; exit 7")
    assert held.status() == "7"
    lines = held.read("out").split("\r\n")
    assert lines[:2] == ["30 90", "tty"]
    assert lines[2] not in ("", "dumb")
    assert lines[3] == held.read("tty").strip()
    assert lines[3].startswith("/dev/pts/")


def test_input_comes_from_the_fifo_and_is_echoed(make: Make) -> None:
    held = make('read x; echo "got <$x>"; read y; echo "and <$y>"')
    held.wait("/dev/", "tty")
    held.type("one\n")
    assert "one\r\ngot <one>\r\n" in held.wait("got <one>")
    held.type("two\n")
    held.wait("and <two>")
    assert held.status() == "0"


def test_the_end_of_the_fifo_is_the_end_of_input(make: Make) -> None:
    held = make("cat; echo over")
    held.wait("/dev/", "tty")
    held.end_input()
    held.wait("over")
    assert held.status() == "0"


def test_control_keys_work(make: Make) -> None:
    held = make("trap 'echo caught' INT; echo up; sleep 50; echo after; sleep 50")
    held.wait("up")
    held.type("\x03")
    held.wait("caught")
    held.wait("after")
    held.type("\x1c")
    assert held.status() == "131"


def test_a_new_size_is_seen_inside(make: Make) -> None:
    held = make("trap 'echo now $(stty size)' WINCH; echo up; while :; do sleep 0.1; done")
    held.wait("up")
    held.run(f"stty rows 11 cols 22 <$(cat {held.directory}/tty)")
    held.wait("now 11 22")


def test_a_child_that_keeps_the_terminal_does_not_hold_up_the_end(make: Make) -> None:
    held = make("(trap '' HUP; exec setsid sleep 3600) & echo $! >child; sleep 0.2; echo bye; exit 3")
    assert held.status() == "3"
    assert "bye\r\n" in held.read("out")


def test_a_flood_comes_whole(make: Make) -> None:
    held = make("yes 0123456789 | head -c 3000000; exit 0")
    assert held.status() == "0"
    size = held.run(f"tr -d '\\r' <{held.directory}/out | wc -c")
    assert size.strip() == "3000000"


def test_a_signal_is_told_as_status(make: Make) -> None:
    held = make("kill -9 $$")
    assert held.status() == "137"


def test_job_control_works(make: Make) -> None:
    held = make("if command -v bash >/dev/null; then exec bash --norc --noprofile -i; fi; exec sh -i")
    held.wait("/dev/", "tty")
    held.type("sleep 71 &\nsleep 72\n")
    time.sleep(1)
    held.type("\x1a")
    held.wait("Stopped")
    held.type("jobs; kill %1 %2; fg %2; exit 4\n")
    assert held.status() == "4"


def test_without_a_holder_it_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "cat", "stty", "tty", "mkfifo", "setsid", "sleep", "mkdir"):
        where = here(f"command -v {tool}").strip()
        (tmp_path / "bin" / tool).symlink_to(where)
    held = Held(here, str(tmp_path / "d"), "echo x", path=f"PATH={tmp_path}/bin")
    assert held.status() == "125"
    assert "needs python3" in held.read("out")
    held.stop()


def test_where_nothing_can_hold_one_the_capability_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with create("local") as made:
        assert made.capabilities.held_pty
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "bash", "cat", "mkdir", "rm", "grep"):
        (tools / tool).symlink_to(here(f"command -v {tool}").strip())
    script = tools / "script"  # as busybox has it: another program of that name
    script.symlink_to(here("command -v busybox").strip())
    (tools / "busybox").symlink_to(script)
    monkeypatch.setenv("PATH", str(tools))
    with create("local") as made:
        assert (made.capabilities.pty, made.capabilities.held_pty) == (True, False)
        with pytest.raises(Unsupported, match=r"python3, script of util-linux, or telnetd"):
            made.start("true", pty=True)
