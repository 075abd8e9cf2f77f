"""Programs that people use at terminals: editors, a pager, a process viewer, a dialogue, questions for passwords."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from shellward.environments.base import PtySize
from shellward.testing.trial import eventually, python, terms

if TYPE_CHECKING:
    from shellward.environments.pty import PtySession
    from shellward.terminal.screen import Snapshot
    from shellward.testing.place import Place
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"


def _tools(place: Place) -> str:
    """Need the terminal programs of an ordinary Linux."""
    return "" if place.python else "there is no nano, and less and top are others"


def _see(session: PtySession, what: str | re.Pattern[str], within: float = 15.0) -> Snapshot:
    """Wait until something is on the screen; fail with what is there instead."""
    shown = session.wait_for(what, within)
    assert shown is not None, f"{what!r} did not appear; the screen is:\n{session.screen()}"
    return shown


def an_editor_edits_and_saves(t: Trial) -> None:
    """An editor shows a file on the alternate screen, or all of the screen, is typed into, and saves it."""
    file = f"{t.directory()}/text.txt"
    t.env.write_file(file, "first line\nsecond line\n")
    with t.env.pty(f"vi {file}") as session:
        shown = _see(session, "second line")
        assert shown.lines[0] == "first line"
        session.send_keys("Down", "0", "i")
        session.write("new: ")
        session.send_keys("Escape")
        _see(session, re.compile("^new: second line$", re.MULTILINE))

        def place() -> tuple[int, int]:
            shown = session.screen()
            return shown.row, shown.column

        assert eventually(lambda: place() == (1, 4)), place()  # on its last letter, once the insertion is over
        session.write(":wq\r")
        assert session.wait(15) == 0
    assert t.env.read_file(file) == b"first line\nnew: second line\n"


@terms(_tools)
def nano_edits_and_saves(t: Trial) -> None:
    """nano: text, control keys, the question for the name, and the screen as it was before."""
    file = f"{t.directory()}/n.txt"
    if not t.env.run("command -v nano").ok:
        assert t.place.same_machine, "the image has to have nano"
        return
    with t.env.pty(f"echo behind; nano {file}; cat {file}") as session:
        _see(session, "GNU nano")
        assert session.screen().alternate
        session.write("typed text")
        session.send_keys("C-o")
        _see(session, "File Name to Write")
        session.send_keys("Enter")
        _see(session, "Wrote 1 line")
        session.send_keys("C-x")
        shown = _see(session, re.compile(r"behind\s+typed text"))
        assert not shown.alternate
        assert session.wait(15) == 0


def _page(first: int) -> re.Pattern[str]:
    """Ten numbers from `first` on, at the top of the screen, all drawn: less draws line by line."""
    return re.compile(r"\A" + "\n".join(str(n) for n in range(first, first + 10)) + r"$", re.MULTILINE)


@terms(_tools)
def a_pager_pages(t: Trial) -> None:
    """less: a page down, the end, a search, the beginning, and out."""
    with t.env.pty("seq 1000 | less", size=PtySize(rows=11, columns=40)) as session:
        _see(session, _page(1))
        session.send_keys("Space")
        _see(session, _page(11))
        session.write("G")
        _see(session, _page(991))
        session.write("g")
        _see(session, _page(1))
        session.write("/^500\r")
        _see(session, _page(500))
        session.write("q")
        assert session.wait(15) == 0


@terms(_tools)
def top_refreshes(t: Trial) -> None:
    """The process viewer top draws, draws again by itself, and fits a new size."""
    with t.env.pty("top -d 1", size=PtySize(rows=20, columns=100)) as session:
        _see(session, "PID")
        session.read(0)
        assert session.read(10), "nothing was drawn anew"
        session.resize(10, 80)
        assert eventually(lambda: session.screen().rows == 10)
        _see(session, "PID")
        session.write("q")
        assert session.wait(15) == 0


@terms(python)
def a_repl_talks(t: Trial) -> None:
    """python3: a dialogue with its prompt, its history, an interrupt, and its end."""
    with t.env.pty("python3 -q", env={"TERM": "xterm"}) as session:
        _see(session, re.compile(r">>> ?\Z"))
        session.write("6 * 7\r")
        _see(session, re.compile(r"^42\s+>>> ?\Z", re.MULTILINE))
        session.send_keys("Up", "Enter")
        _see(session, re.compile(r"^42\s+(>>> 6 \* 7\s+)42\s+>>> ?\Z", re.MULTILINE))
        session.write("import time; time.sleep(600)\r")
        time.sleep(0.5)
        session.send_keys("C-c")
        _see(session, re.compile(r"KeyboardInterrupt\s+>>> ?\Z"))
        session.send_keys("C-d")
        assert session.wait(15) in (0, 130)  # CPython 3.8 and later end as they were interrupted before


def a_password_is_not_shown(t: Trial) -> None:
    """A prompt that switches the echo off gets what is typed, and the screen does not show it."""
    command = "stty -echo; printf 'Password: '; read p; stty echo; echo; [ \"$p\" = geheim ] && echo welcome"
    with t.env.pty(command) as session:
        _see(session, "Password:")
        session.write("geheim\r")
        shown = _see(session, "welcome")
        assert "geheim" not in shown.text
        assert session.wait(15) == 0


@terms(python)
def getpass_reads_from_the_terminal(t: Trial) -> None:
    """A program that opens /dev/tty itself, past its streams, is at the same terminal."""
    code = "import getpass; print('<' + getpass.getpass('Secret: ') + '>')"
    with t.env.pty(f'python3 -c "{code}" </dev/null | cat') as session:
        _see(session, "Secret:")
        session.write("geheim\r")
        _see(session, "<geheim>")
