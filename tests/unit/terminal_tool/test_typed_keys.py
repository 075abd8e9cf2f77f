"""What is typed at a guarded terminal: what Enter would run is judged, and what is refused has not run."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Terminal
from shellward.environments.pty import PtySession

Refused = Callable[[Callable[[], object]], ApprovalDenied]
PROMPT = re.compile(r"[#$] \Z|[#$]\Z")


@pytest.fixture
def typing(bash: Terminal) -> PtySession:
    session = bash.pty(env={"PS1": "$ "})
    assert session.wait_for(PROMPT)
    return session


def test_harmless_lines_run(typing: PtySession) -> None:
    typing.write("echo $((6 * 7))\r")
    assert typing.wait_for(re.compile(r"^42$", re.MULTILINE))
    for key in "echo 4x\x7f3":
        typing.write(key)
    typing.send_keys("Enter")
    assert typing.wait_for(re.compile(r"^43$", re.MULTILINE))


@pytest.mark.parametrize(
    "keys",
    [
        "rm -rf {victim}\r",
        "rm -rx\x7ff {victim}\r",
        "echo no\x15rm -rf {victim}\r",
        "V={victim}\rrm -rf $V\r",
        "\x1b[200~rm -rf {victim}\x1b[201~\r",
        "\x1b[200~echo a\nrm -rf {victim}\n\x1b[201~\r",
        "\x1b[A\r",  # from the history, which only the shell knows
        "rm -rf {victim}\x1b[D\r",
        "echo a\x12\r",
        "rm -rf {victim}\n",
        "rm -rf {victim}\x04",
    ],
)
def test_what_enter_would_run_is_judged(typing: PtySession, victim: Path, refused: Refused, keys: str) -> None:
    def act() -> None:
        for key in re.split("(?<=\r)", keys.format(victim=victim)):
            typing.write(key)

    refused(act)
    typing.interrupt()
    typing.send_keys("Enter")  # readline may take notice of a Ctrl-C with the next key only, which it then swallows
    typing.screen(quiet=0.3)
    typing.write("echo go$((1))on\r")
    assert typing.wait_for("go1on"), typing.snapshot().text
    assert (victim / "file").read_text() == "precious"


def test_a_refused_line_stands_there_and_does_not_run_with_the_next_enter(
    typing: PtySession, victim: Path, refused: Refused
) -> None:
    typing.write(f"rm -rf {victim}")
    refused(lambda: typing.write("\r"))
    refused(lambda: typing.send_keys("Enter"))
    typing.send_keys("C-c")
    typing.send_keys("Enter")
    typing.write("echo after\r")
    assert typing.wait_for(re.compile("^after", re.MULTILINE))
    assert (victim / "file").exists()


def test_the_program_itself_passes_the_gate(bash: Terminal, victim: Path, refused: Refused) -> None:
    refused(lambda: bash.pty(f"rm -rf {victim}"))
    refused(lambda: bash.run(f"rm -rf {victim}", pty=True))
    refused(lambda: bash.run("sh", pty=True, stdin=f"rm -rf {victim}\n"))
    assert bash.run("echo fine", pty=True).stdout == "fine\r\n"


def test_a_session_brings_along_what_it_knows(bash: Terminal, victim: Path, refused: Refused) -> None:
    with bash.session() as session:
        session.run(f"cd {victim.parent}; PLACE={victim}; greet() {{ echo hello; }}")
        assert session.run("greet", pty=True).stdout == "hello\r\n"
        refused(lambda: session.run('rm -rf "$PLACE"', pty=True))
        refused(lambda: session.pty('rm -rf "$PLACE"'))
        with session.pty(env={"PS1": "$ "}) as typing:
            assert typing.wait_for(PROMPT)
            refused(lambda: typing.write(f"rm -rf {victim}\r"))
    assert (victim / "file").exists()


def test_a_person_at_his_own_terminal_is_not_asked(bash: Terminal, victim: Path) -> None:
    with bash.pty(by_person=True, env={"PS1": "$ "}) as session:
        assert session.wait_for(PROMPT)
        session.write(f"rm -rf {victim}\r")
        assert session.wait_for(PROMPT)
        deadline = time.monotonic() + 5
        while victim.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert not victim.exists()


def test_what_takes_no_orders_is_not_judged(bash: Terminal, victim: Path) -> None:
    with bash.pty("cat") as session:
        session.write(f"rm -rf {victim}\r")
        assert session.wait_for("rm -rf")
    assert (victim / "file").exists()
