"""The line that says what is being waited for, on a real terminal, and who wipes it when."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios

import pytest
from commandline import IN_DOCKER, cli, environ
from rich.cells import cell_len

from shellward.cli.run.progress import cut, last_line

SLOW = """
import importlib, sys, time
name, seconds, *steps = sys.argv.pop(1).split("|")
backend = importlib.import_module("shellward.environments." + name)
create = backend.create

def slow(config, progress=None):
    for step in steps:
        progress(step)
    time.sleep(float(seconds))
    return create(config, progress)

backend.create = slow
from shellward.cli.main import main
sys.exit(main())
"""
WIPED = b"\r\x1b[K"


def slowly(how: str, *words: str, columns: int = 0, stderr: int | None = None) -> tuple[bytes, bytes]:
    """What a terminal is sent while making an environment takes ``how`` long, and what goes to a pipe."""
    leader, follower = os.openpty()
    if columns:
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, how, "run", *words],
        env=environ(COLUMNS="500"),
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower if stderr is None else stderr,
    )
    os.close(follower)
    shown = b""
    try:
        while piece := os.read(leader, 4096):
            shown += piece
    except OSError:
        pass  # how Linux says that nobody has the terminal any more
    os.close(leader)
    said = process.communicate(timeout=30)[1] or b""
    assert process.returncode == 0, (shown, said)
    return shown, said


def with_steps(shown: bytes) -> set[str]:
    """The lines that tell a step, with ``N`` for their seconds; a busy machine may draw one before the first step."""
    drawn = {re.sub(r"\d+ s", "N s", line.decode()) for line in shown.split(WIPED) if line}
    return drawn - {"shellward: making a local environment (N s)"}


def test_first_output_is_not_wiped() -> None:
    shown, _ = slowly("local|1.4", "--", "printf first; sleep 0.7; printf ' second'; sleep 0.7")
    assert re.match(re.escape(WIPED) + rb"shellward: making a local environment \(\d s\)", shown)
    assert shown.endswith(b")" + WIPED + b"first second")


@pytest.mark.docker
def test_handle_of_a_kept_environment_has_a_line_of_its_own() -> None:
    shown, _ = slowly("docker|1.4", *IN_DOCKER, "--keep", "--", "printf first; sleep 0.7")
    rest = shown.rpartition(WIPED)[2]
    said = re.fullmatch(rb"shellward: environment (docker:\S+) lives on for \d+ s\r\nfirst", rest)
    handle = re.search(rb"docker:\S+(?= lives)", shown)
    assert handle, shown
    assert cli("env", "rm", handle[0].decode()).returncode == 0
    assert said, shown


def test_steps_cannot_command_the_terminal() -> None:
    step = "older\r\n\x1b]0;title\x07\x1b[2J\x1b[31mlay\x0eer\x9b2J \u202e\u6f22\u5b57\x1b[0m\b\r\n \r\n"
    shown, _ = slowly(f"local|1.4|{step}", "true", columns=60)
    assert with_steps(shown) == {"shellward: making a local environment (N s): layer \u6f22\u5b57"}


def test_line_fits_the_terminal() -> None:
    shown, _ = slowly("local|1.4|" + "\u6f22" * 100, "true", columns=60)
    assert {cell_len(line) for line in with_steps(shown)} <= {58, 59}


def test_nothing_is_drawn_where_stderr_is_no_terminal() -> None:
    assert slowly("local|1.4|step", "--", "printf first", stderr=subprocess.PIPE) == (b"first", b"")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Step 1/4 : FROM x\n ---> 0123\n\n", "---> 0123"),
        (" 10%\r 20%\r", "20%"),
        ("\x1b[1;32mgreen\x1b[m and \x1b(Bplain", "green and (Bplain"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\\link\\"),
        ("unfinished \x1b]0;title\nnext", "next"),
        ("\x1b[2J\n\t\x07", ""),
        ("tab\there\u2028\udcff", "tabhere"),
    ],
)
def test_last_line(text: str, line: str) -> None:
    assert last_line(text) == line


@pytest.mark.parametrize(("width", "kept"), [(0, ""), (3, "a漢"), (4, "a漢"), (5, "a漢字"), (9, "a漢字")])
def test_cut(width: int, kept: str) -> None:
    assert cut("a漢字", width) == kept
