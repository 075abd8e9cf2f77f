"""What is at a terminal, asked and changed beside it: its foreground job, its echo, its alphabet, its exit status."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from shellward.core.errors import ConfigError, Unsupported
from shellward.testing.trial import eventually, raises, terminals, terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.environments.process import Process
    from shellward.environments.pty import PtySession
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"


def _shell(t: Trial) -> PtySession:
    """Open an interactive shell of the place, with a prompt that ends in a blank."""
    session = t.env.pty(env={"PS1": "sw> ", "ENV": "/dev/null"})
    t.defer(session.close)
    if session.wait_for(re.compile(r"^sw> \Z", re.MULTILINE), 5) is None:  # its own settings have another prompt
        session.write("PS1='s'w'> '\r")
        assert session.wait_for("\nsw> ", 15), session.screen()
    return session


def _at_terminal(t: Trial, command: str) -> Process:
    process = t.env.start(command, pty=True)
    t.defer(process.remove)
    return process


def a_prompt_is_found_with_its_blank(t: Trial) -> None:
    """``wait_for`` finds a prompt with the blank at its end, and without."""
    session = _shell(t)
    for what in ("sw> ", "sw>", re.compile(r"^sw> \Z", re.MULTILINE), re.compile(r"^sw>\Z", re.MULTILINE)):
        assert session.wait_for(what, 15) is not None, what
    session.write("echo a' 'b\r")
    assert session.wait_for("\na b\nsw> ", 15) is not None, session.screen()
    assert session.wait_for("sw>  ", 0.3) is None
    assert session.screen().lines[-1] != "sw> "  # lines have no blanks at their ends


def a_signal_reaches_the_foreground_job_alone(t: Trial) -> None:
    """``signal_foreground`` ends the foreground job; the shell and its background jobs go on."""
    session = _shell(t)
    beside, job = t.sleeper(), t.sleeper()
    session.write(f"{beside.command} &\r")
    beside.assert_alive(t.env)
    session.write(f"{job.command}\r")
    job.assert_alive(t.env)
    session.signal_foreground("SIGTERM")
    job.assert_gone(t.env)
    beside.assert_alive(t.env)
    session.write("echo again-$((6 * 7))\r")
    assert session.wait_for("\nagain-42\n", 15) is not None, session.screen()
    with raises(ConfigError):
        session.signal_foreground("NONE")
    session.signal_foreground("KILL")  # at the prompt, that is the shell
    assert session.wait(15) == 137
    for call in (lambda: session.signal_foreground("TERM"), session.echo, lambda: session.set_echo(True)):
        with raises(ProcessLookupError):
            call()


def _echo_is_seen_and_set(
    at: PtySession | Process, type_line: Callable[[str], object], shown: Callable[[], str]
) -> None:
    assert eventually(lambda: not at.echo())
    at.set_echo(True)
    assert at.echo()
    type_line("visible")
    assert eventually(lambda: shown().count("visible") == 2), shown()  # typed, and printed
    at.set_echo(False)
    assert not at.echo()
    type_line("hidden")
    assert eventually(lambda: "hidden" in shown()), shown()
    assert shown().count("hidden") == 1


_HIDING = 'stty -echo; while read x; do echo "<$x>"; done'


def echo_is_seen_and_set(t: Trial) -> None:
    """``echo`` sees what a program has set, ``set_echo`` sets it, whatever the program's streams are."""
    with t.env.pty(_HIDING) as session:
        _echo_is_seen_and_set(session, lambda text: session.write(text + "\r"), lambda: session.screen().text)
    with t.env.pty("sleep 3000 </dev/null | cat") as session:
        assert eventually(session.echo)
        session.set_echo(False)
        assert not session.echo()


@terms(terminals)
def held_terminals_too(t: Trial) -> None:
    """The same of a background process: its foreground job, and its echo; without a terminal it is Unsupported."""
    process = _at_terminal(t, _HIDING)
    _echo_is_seen_and_set(process, process.submit, lambda: process.screen().text)
    job = t.sleeper()
    process = _at_terminal(t, f"trap 'echo heard' TERM; {job.command}; echo on; sleep 3000")
    job.assert_alive(t.env)
    process.signal_foreground("TERM")
    assert eventually(lambda: "on" in process.screen().lines), process.screen()
    process.kill()
    with raises(ProcessLookupError):
        process.signal_foreground("TERM")
    plain = t.env.start("sleep 3000")
    t.defer(plain.remove)
    for call in (plain.echo, lambda: plain.set_echo(True), lambda: plain.signal_foreground("TERM")):
        with raises(Unsupported):
            call()


_ALPHABET = 'echo "<${LC_ALL-}|${LC_CTYPE-}|${LANG-}>"'


def the_alphabet_is_utf_8(t: Trial) -> None:
    """Where nothing says in which alphabet, a terminal is UTF-8, if the sandbox has such a locale; a word is heeded."""
    there = t.env.run("[ -d /usr/lib/locale/C.utf8 ] || [ -d /usr/lib/locale/C.UTF-8 ]").ok
    nothing = {"LC_ALL": "", "LC_CTYPE": "", "LANG": ""}
    for env, wanted in ((nothing, "<|C.UTF-8|>" if there else "<||>"), ({**nothing, "LANG": "C"}, "<||C>")):
        assert t.env.run(_ALPHABET, pty=True, env=env, timeout=20).stdout == f"{wanted}\r\n"
        if t.env.capabilities.held_pty:
            process = t.env.start(_ALPHABET, pty=True, env=env)
            t.defer(process.remove)
            assert process.wait(20).exit_code == 0
            assert process.log().text == f"{wanted}\r\n"


def its_status_is_known_after_close(t: Trial) -> None:
    """``wait`` after ``close`` has the exit status of a program that had ended; of one that ``close`` ended, None."""
    sleeper = t.sleeper()
    ended, running = t.env.pty("echo bye; exit 3"), t.env.pty(sleeper.command)
    assert ended.wait_for("bye", 15) is not None
    time.sleep(1.0)  # nobody reads its end
    ended.close()
    assert ended.wait(5) == 3
    sleeper.assert_alive(t.env)
    running.close()
    assert running.wait(5) is None
