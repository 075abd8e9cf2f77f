"""Programs at terminals in the foreground: size, keys, screen, state, end. Those of the background: held_terminals."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from shellward.core.errors import ConfigError, ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.environments.base import PtySize
from shellward.testing.trial import AFTER_LIMIT, at_most, raises, terms

if TYPE_CHECKING:
    from shellward.environments.pty import PtySession
    from shellward.terminal.screen import Snapshot
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"

_PROMPT = re.compile(r"sw> ?\Z")


def _see(session: PtySession, what: str | re.Pattern[str], within: float = 15.0) -> Snapshot:
    """Wait until something is on the screen; fail with what is there instead."""
    shown = session.wait_for(what, within)
    assert shown is not None, f"{what!r} did not appear; the screen is:\n{session.screen()}"
    return shown


def _shell(t: Trial) -> PtySession:
    """Open an interactive shell of the place, with a prompt that can be found."""
    session = t.env.pty(env={"PS1": "sw> ", "ENV": "/dev/null"})
    t.defer(session.close)
    if not session.wait_for(_PROMPT, 5):  # its own settings have another prompt
        session.write("PS1='sw> '\r")
        _see(session, _PROMPT)
    return session


def without_the_power_it_is_unsupported(t: Trial) -> None:
    """Where ``capabilities.pty`` is False, asking for a terminal is Unsupported, by name."""
    if t.env.capabilities.pty:
        assert t.env.run("true", pty=True).ok
        return
    for call in (lambda: t.env.run("true", pty=True), t.env.pty):
        with raises(Unsupported):
            call()


def everything_is_a_terminal(t: Trial) -> None:
    """All three streams are one terminal of the size asked for; output is its raw stream, all on stdout."""
    command = "stty size; for i in 0 1 2; do [ -t $i ] && echo t$i; done; echo err >&2; exit 3"
    result = t.env.run(command, pty=PtySize(rows=33, columns=99), timeout=20)
    assert result.exit_code == 3
    assert result.stdout == "33 99\r\nt0\r\nt1\r\nt2\r\nerr\r\n"
    assert result.stderr == ""
    assert t.env.run("stty size", pty=True, timeout=20).stdout == "24 80\r\n"


def begins_with_the_session(t: Trial) -> None:
    """A program at a terminal has the session's directory and variables, and changes nothing of them."""
    env = t.fresh()
    env.run("cd /usr; export SW_A='a  b'; SW_B=plain")
    result = env.run('echo "$PWD|$SW_A|$SW_B"; cd /; SW_B=other', pty=True, timeout=20)
    assert result.stdout == "/usr|a  b|plain\r\n"
    assert (result.cwd, env.cwd) == ("/usr", "/usr")
    assert env.run('echo "$PWD|$SW_B"').stdout == "/usr|plain\n"
    result = env.run('echo "$PWD|$SW_A"', pty=True, cwd="/tmp", env={"SW_A": "it's"}, timeout=20)
    assert result.stdout == "/tmp|it's\r\n"
    assert env.run(["printf", "%s|", "$SW_A", "*"], pty=True, timeout=20).stdout == "$SW_A|*|"
    if env.capabilities.functions:
        env.run("sw_f() { echo from-f; }; alias sw_g='echo from-g'")
        assert env.run("sw_f\nsw_g", pty=True, timeout=20).stdout == "from-f\r\nfrom-g\r\n"
    with raises(FileNotFoundError):
        env.run("true", pty=True, cwd="/no such place")


def a_session_has_its_own(t: Trial) -> None:
    """A session's terminals begin with what it knows, change nothing of it, and end with it."""
    env = t.fresh()
    env.run("cd /; export SW_A=default")
    sleeper = t.sleeper()
    with env.session() as session:
        session.run("cd /usr; export SW_A='of the session'")
        result = session.run(
            'echo "$PWD|$SW_A"; cd /; SW_A=other; exit 3', pty=PtySize(rows=20, columns=70), timeout=20
        )
        assert (result.stdout, result.exit_code, result.cwd) == ("/usr|of the session\r\n", 3, "/usr")
        assert session.run('echo "$PWD|$SW_A"').stdout == "/usr|of the session\n"
        terminal = session.pty(f'echo "$PWD|$SW_A"; {sleeper.command}')
        _see(terminal, "/usr|of the session")
        session.run("cd /tmp")  # it goes on meanwhile
        assert session.run("pwd", pty=True, cwd="/", timeout=20).stdout == "/\r\n"
        sleeper.assert_alive(env)
    sleeper.assert_gone(env)
    assert terminal.wait(5) is None
    with raises(EnvironmentUnavailable):
        session.pty("true")
    assert env.run('echo "$PWD|$SW_A"', pty=True, timeout=20).stdout == "/|default\r\n"


def wrong_sizes(t: Trial) -> None:
    """A size that no terminal has is a ConfigError that says which."""
    for size in (PtySize(rows=0, columns=80), PtySize(rows=24, columns=1 << 15)):
        with raises(ConfigError) as caught:
            t.env.run("true", pty=size)
        assert "pty" in str(caught.value)


def input_is_typed_and_ends(t: Trial) -> None:
    """Without input the program sees its end at once; with some it reads that, and then its end."""
    assert t.env.run("cat; echo end", pty=True, timeout=20).stdout == "end\r\n"
    result = t.env.run("cat; echo end", pty=True, stdin="typed\n", timeout=20)
    assert result.stdout == "typed\r\ntyped\r\nend\r\n"
    result = t.env.run('read x; echo "<$x>"', pty=True, stdin="grün\n".encode(), timeout=20)
    assert "<grün>" in result.stdout


def much_is_typed(t: Trial) -> None:
    """Nothing is lost of what is printed while much is typed; a program that does not read it holds nobody up."""
    lines = ("x" * 79 + "\n") * 800  # more than a terminal takes before it is read
    zeros = 0

    def count(chunk: object) -> None:
        nonlocal zeros
        zeros += chunk.data.count(b"\0")  # type: ignore[attr-defined]

    command = "dd if=/dev/zero bs=30000 count=100 2>/dev/null; wc -l; exit 4"
    result = t.env.run(command, pty=True, stdin=lines, on_output=count, timeout=50)
    assert (result.exit_code, zeros) == (4, 3_000_000)
    assert result.stdout.endswith("800\r\n")
    with at_most(15, "a program that does not read what is typed"):
        assert t.env.run("exit 5", pty=True, stdin=lines, timeout=30).exit_code == 5


def a_time_limit_ends_the_tree(t: Trial) -> None:
    """What runs into its limit is ended with all it started, the output so far is there, and the session goes on."""
    sleeper = t.sleeper()
    stubborn = f"(trap '' TERM HUP INT; {sleeper.command}) & {sleeper.command}; {sleeper.command}"
    with at_most(0.7 + 3 * AFTER_LIMIT, "a command at a terminal with a limit of 0.7 s"):
        result = t.env.run(f"echo before; {stubborn}", pty=True, timeout=0.7)
    assert (result.exit_code, result.timed_out) == (124, True)
    assert result.stdout.startswith("before\r\n")
    sleeper.assert_gone(t.env)


def closing_ends_the_tree(t: Trial) -> None:
    """``close`` ends a program with all it started, also what left its session; so does the environment's end."""
    sleeper = t.sleeper()
    command = f"setsid {sleeper.command} & {sleeper.command}"
    with t.env.pty(command):
        sleeper.assert_alive(t.env, 2)
    sleeper.assert_gone(t.env)
    env = t.fresh()
    env.pty(command)
    sleeper.assert_alive(env, 2)
    env.close()
    sleeper.assert_gone(env, 3)


def closing_at_once_ends_it_too(t: Trial) -> None:
    """What is closed before it has begun does not begin later, where nobody would end it."""
    sleeper = t.sleeper()
    for _ in range(3):
        t.env.pty(sleeper.command).close()
        assert not sleeper.seen(t.env)
    time.sleep(0.5)
    assert not sleeper.seen(t.env)


def a_child_that_keeps_the_terminal_holds_nothing_up(t: Trial) -> None:
    """The end of the program is the end, though a child of it ignores HUP and has the terminal open."""
    sleeper = t.sleeper()
    t.defer(lambda: t.env.run(sleeper.kill))
    with at_most(8, "a program whose child keeps the terminal"):
        result = t.env.run(f"(trap '' HUP; exec {sleeper.command}) & sleep 0.2; echo bye; exit 6", pty=True, timeout=30)
    assert (result.exit_code, result.stdout) == (6, "bye\r\n")


def a_flood_comes_whole(t: Trial) -> None:
    """Ten megabytes through a terminal arrive to the last byte."""
    came = 0

    def count(chunk: object) -> None:
        nonlocal came
        came += len(chunk.data)  # type: ignore[attr-defined]

    result = t.env.run("dd if=/dev/zero bs=100000 count=100 2>/dev/null", pty=True, on_output=count, timeout=50)
    assert result.ok
    assert came == 10_000_000


def keys_signals_and_jobs(t: Trial) -> None:
    """Ctrl-C interrupts, Ctrl-Z stops, fg goes on, Ctrl-D ends: job control works in an interactive shell."""
    session = _shell(t)
    session.write("sleep 3001\r")
    time.sleep(0.5)
    session.send_keys("C-c")
    _see(session, re.compile(r"\^C\s+sw> ?\Z"))
    session.write("sleep 3002\r")
    time.sleep(0.5)
    session.send_keys("^Z")
    _see(session, "Stopped")
    session.write("fg\r")
    time.sleep(0.3)
    session.send_keys("C-c")
    _see(session, re.compile(r"\^C\s+sw> ?\Z"))
    session.write("clear; echo again-$((6 * 7))\r")
    _see(session, re.compile(r"^again-42\s+sw> ?\Z", re.MULTILINE))
    session.send_keys("C-d")
    assert session.wait(10) is not None
    assert session.ended
    with raises(ConfigError) as caught:
        session.send_keys("Entre")
    assert "Enter" in str(caught.value)


def a_new_size_is_seen_inside(t: Trial) -> None:
    """``resize`` changes the size, and the program hears of it (SIGWINCH)."""
    with t.env.pty("trap 'echo now $(stty size)' WINCH; echo up; while :; do sleep 0.1; done") as session:
        _see(session, "up")
        session.resize(20, 60)
        shown = _see(session, "now 20 60")
        assert (shown.rows, shown.columns) == (20, 60)


def questions_are_answered(t: Trial) -> None:
    """A program that asks its terminal where the cursor is, or what it is, gets an answer and does not hang."""
    ask = "stty -echo -icanon min 1; printf '%s'; dd bs=1 count=%d 2>/dev/null | od -An -c; stty sane"
    with t.env.pty("printf 'ab\\r\\ncd'; " + ask % ("\\033[6n", 6)) as session:
        _see(session, re.compile(r"033\s+\[\s+2\s+;\s+3\s+R"))
    with t.env.pty(ask % ("\\033[c", 4)) as session:
        _see(session, re.compile(r"033\s+\[\s+\?\s+6"))


def a_paste_is_marked_where_that_is_wanted(t: Trial) -> None:
    """A paste has marks around it only when the program has asked for them, and cannot end itself."""
    command = "printf '%s'; stty -echo raw; echo ready; dd bs=1 count=%d 2>/dev/null | od -An -c | tr -d ' \\r\\n'"
    with t.env.pty(command % ("", 3)) as session:
        _see(session, "ready")
        session.paste("a\nb")
        _see(session, r"a\rb")
    with t.env.pty(command % ("\\033[?2004h", 15), size=PtySize(rows=24, columns=120)) as session:
        _see(session, "ready")
        session.paste("a\x1b[201~\nb")
        _see(session, r"033[200~a\rb033[201~")


def the_screen_is_what_a_person_sees(t: Trial) -> None:
    """Wide characters, colours, movements of the cursor, scrolled lines and the title are on the screen as meant."""
    command = (
        "printf '\\033]0;a title\\007\\033[2J\\033[1;1H\\033[31mrot\\033[0m gr\\303\\274n '; "
        "printf '\\346\\227\\245\\346\\234\\254'; "
        "printf '\\033[3;5Hhere\\033[3;1Hx\\033[5;3H'; sleep 30"
    )
    with t.env.pty(command, size=PtySize(rows=6, columns=30)) as session:
        shown = _see(session, "here")
        shown = session.screen()
        assert shown.lines == ("rot grün 日本", "", "x   here", "", "", "")
        assert (shown.row, shown.column, shown.title) == (4, 2, "a title")
    with t.env.pty("seq 100; sleep 30", size=PtySize(rows=5, columns=30)) as session:
        shown = _see(session, "100")
        assert shown.lines == ("97", "98", "99", "100", "")
        assert shown.scrollback[-96:] == tuple(str(n) for n in range(1, 97))


@terms(limit=120)
def twenty_at_once(t: Trial) -> None:
    """Twenty terminals at the same time, each with its own size, its own output and its own end."""

    def one(number: int) -> tuple[int, str]:
        result = t.env.run(f"stty size; exit {number}", pty=PtySize(rows=10 + number, columns=50), timeout=60)
        return result.exit_code, result.stdout

    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(one, range(20)))
    assert done == [(number, f"{10 + number} 50\r\n") for number in range(20)]


def closing_its_environment_is_told(t: Trial) -> None:
    """A command at a terminal whose environment is closed under it ends with ConnectionLost, as every command does."""
    env = t.fresh()
    sleeper = t.sleeper()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(env.run, f"echo begun; {sleeper.command}", pty=True, timeout=50)
        sleeper.assert_alive(env)
        env.close()
        with raises(ConnectionLost) as caught:
            running.result(20)
    assert "closed" in str(caught.value)
    assert caught.value.result is not None
    assert caught.value.result.stdout.startswith("begun\r\n")  # what is hung up on may say so


def interrupt_ends_it(t: Trial) -> None:
    """``Environment.interrupt`` ends what runs at a terminal, too, and its result says so."""
    env = t.fresh()
    sleeper = t.sleeper()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(env.run, f"trap '' INT; {sleeper.command}; {sleeper.command}", pty=True, timeout=50)
        sleeper.assert_alive(env)
        assert env.interrupt() == 1
        result = running.result(20)
    assert (result.interrupted, result.exit_code) == (True, 130)
    sleeper.assert_gone(env)
