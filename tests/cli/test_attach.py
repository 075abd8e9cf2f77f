"""Terminals of background processes from the command line: typed into, joined, left, and joined again."""

import json
import os
import re
import signal
import time

import pytest
from commandline import ALSO_SLOW, IN_DOCKER, PLACES, at_terminal, cli, environments, processes, wait_for

from shellward.environments.pty import PtySession

pytestmark = pytest.mark.usefixtures("nothing_left")

SHELL = "PS1='inside> ' exec bash --norc --noprofile -i"


def begin(where: tuple[str, ...], *words: str) -> str:
    started = cli("start", "--pty", *where, "--", *words)
    assert started.returncode == 0, started.stderr
    return started.stdout.decode().strip()


@pytest.mark.parametrize("where", ALSO_SLOW)
def test_a_background_terminal_is_typed_into_by_key(where: tuple[str, ...]) -> None:
    process = begin(where, "trap 'echo caught' INT; stty size; cat; echo over")
    assert wait_for(lambda: b"24 80" in cli("logs", process).stdout)
    assert cli("send", process, "hello", "--key", "Tab", "--key", "x", "--key", "Enter").returncode == 0
    assert wait_for(lambda: cli("logs", process).stdout.count(b"hello\r\n") == 2)  # as typed, and from cat
    assert wait_for(lambda: cli("logs", process).stdout.count(b"x\r\n") == 2)
    assert cli("send", process, "--key", "C-d").returncode == 0
    done = cli("wait", process, "--timeout", "20s")
    assert (done.returncode, cli("logs", process).stdout.endswith(b"over\r\n")) == (0, True)
    wrong = cli("send", process, "--key", "Entre")
    assert wrong.returncode == 2
    assert b"Enter" in wrong.stderr
    assert cli("rm", process).returncode == 0


def joined(person: PtySession, word: str) -> bool:
    """Type until it is echoed: what is typed before the terminal is taken over is thrown away."""
    return any(
        person.write(f"echo {word[:2]}''{word[2:]}\r") or person.wait_for(re.compile(f"^{word}", re.MULTILINE), 2)
        for _ in range(15)
    )


@pytest.mark.parametrize("where", PLACES)
def test_a_person_joins_a_background_terminal_and_leaves_it(person: PtySession, where: tuple[str, ...]) -> None:
    name = begin(where, SHELL)
    cli("send", name, "echo ear''lier")
    assert wait_for(lambda: b"earlier\r" in cli("logs", name).stdout)
    at_terminal(person, "attach", name)
    assert person.wait_for(re.compile("^earlier", re.MULTILINE), 20), person.screen()  # the screen as it was
    assert joined(person, "there"), person.screen()
    person.write("echo $((40+2)) $(stty size)\r")
    assert person.wait_for("42 30 100"), person.screen()
    person.resize(20, 90)
    time.sleep(0.5)
    person.write("echo now $(stty size)\r")
    assert person.wait_for("now 20 90"), person.screen()
    person.write("sleep 100\r")
    time.sleep(0.3)
    person.send_keys("C-c")
    person.write("echo $?-in''terrupted\r")
    assert person.wait_for("130-interrupted"), person.screen()
    person.send_keys("C-]")
    assert person.wait_for(f"left {name} running"), person.screen()
    assert person.wait_for("same-0"), person.screen()
    at_terminal(person, "attach", "--detach-key", "C-b", name)
    assert joined(person, "again"), person.screen()
    assert person.wait_for(re.compile("^130-interrupted", re.MULTILINE), 20), person.screen()
    person.write("exit 7\r")
    assert person.wait_for("same-7", 20), person.screen()
    at_terminal(person, "attach", name)
    assert person.wait_for("has ended"), person.screen()
    assert person.wait_for("same-7"), person.screen()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
def test_a_signal_puts_the_terminal_back_and_the_process_goes_on(person: PtySession, number: int) -> None:
    name = begin((), SHELL)
    at_terminal(person, "attach", name)
    assert joined(person, "there"), person.screen()
    person.write("printf '\\033[?1049h\\033[?25l\\033[?1h'; echo drawn\r")  # as an editor
    assert person.wait_for(re.compile("^drawn", re.MULTILINE), 20), person.screen()
    (client,) = processes(name)
    os.kill(client, number)
    assert person.wait_for(f"same-{128 + number}", 20), person.screen()
    shown = person.screen()
    assert not shown.alternate
    assert shown.cursor_visible
    cli("send", name, "echo still-''here")
    assert wait_for(lambda: b"still-here\r" in cli("logs", name).stdout)


@pytest.mark.slow
@pytest.mark.docker
def test_a_sandbox_that_goes_puts_the_terminal_back(person: PtySession) -> None:
    name = begin(IN_DOCKER, SHELL)
    (entry,) = (each for each in json.loads(cli("ps", "--json").stdout) if each["session_id"] == name)
    at_terminal(person, "attach", name)
    assert joined(person, "there"), person.screen()
    assert cli("env", "rm", entry["environment"]).returncode == 0
    assert person.wait_for(re.compile(r"same-\d+"), 30), person.screen()
    assert "same-0" not in person.screen().text
    assert wait_for(lambda: entry["environment"] not in {each["handle"] for each in environments()})


def test_what_cannot_be_joined_says_why(person: PtySession) -> None:
    assert b"needs a terminal" in cli("attach", "p0").stderr
    name = cli("start", "--", "sleep 60").stdout.decode().strip()
    at_terminal(person, "attach", name)
    assert person.wait_for("without a terminal", 20), person.screen()
    assert person.wait_for("shellward logs -f"), person.screen()
    at_terminal(person, "attach", "--detach-key", "Nonsense", name)
    assert person.wait_for("Nonsense", 20), person.screen()
    assert person.wait_for("same-2"), person.screen()
