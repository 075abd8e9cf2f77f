"""Terminals of background processes: they are held in the sandbox, so they outlive the client."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from shellward.core.errors import Unsupported
from shellward.environments.base import PtySize
from shellward.testing.trial import eventually, line_of, python, raises, terms

if TYPE_CHECKING:
    from shellward.environments.process import Process
    from shellward.terminal.screen import Snapshot
    from shellward.testing.trial import Trial


def _at_terminal(t: Trial, command: str, **options: object) -> Process:
    process = t.env.start(command, **{"pty": True, **options})  # type: ignore[arg-type]
    t.defer(process.remove)
    return process


def _see(process: Process, what: str, within: float = 20.0) -> Snapshot:
    shown: list[Snapshot] = []

    def there() -> bool:
        shown[:] = [process.screen()]
        return re.search(what, shown[0].text, re.MULTILINE) is not None

    assert eventually(there, within), f"{what!r} did not appear; the screen is:\n{shown[0]}"
    return shown[0]


def without_a_holder_it_is_unsupported(t: Trial) -> None:
    """Where nothing in the sandbox can hold a terminal, asking for one says what is missing; else there is one."""
    holds = t.env.capabilities.pty and t.env.run("command -v python3 || command -v script").ok
    if not holds:
        with raises(Unsupported) as caught:
            t.env.start("true", pty=True)
        assert t.place.kind in str(caught.value)
        return
    process = _at_terminal(t, "stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo tty; exit 3")
    assert process.wait(20).exit_code == 3
    assert process.log().text == "24 80\r\ntty\r\n"


@terms(python)
def begins_with_the_session(t: Trial) -> None:
    """A background terminal has the session's directory and variables, and a name that programs know."""
    env = t.fresh()
    env.run("cd /usr; export SW_A='a b'; TERM=dumb")
    process = env.start('echo "$PWD|$SW_A|$TERM"', pty=PtySize(rows=30, columns=90))
    assert process.wait(20).exit_code == 0
    assert process.log().text == "/usr|a b|xterm-256color\r\n"
    process.remove()


@terms(python)
def keys_screen_and_size(t: Trial) -> None:
    """An editor in the background: keys by name, its screen as text, a new size, and the file saved."""
    file = f"{t.directory()}/b.txt"
    t.env.write_file(file, "one\ntwo\n")
    process = _at_terminal(t, f"vi {file}", pty=PtySize(rows=10, columns=70))
    _see(process, "^two$")
    process.send_keys("Down", "i")
    process.write("new ")
    process.send_keys("Escape")
    shown = _see(process, "^new two$")
    assert (shown.row, shown.rows, shown.columns) == (1, 10, 70)
    process.resize(PtySize(rows=12, columns=50))
    assert eventually(lambda: process.screen().rows == 12)
    process.submit(":wq")
    assert process.wait(20).exit_code == 0
    assert t.env.read_file(file) == b"one\nnew two\n"
    with raises(ProcessLookupError):
        process.resize(PtySize())


@terms(python)
def sigwinch_and_control_keys(t: Trial) -> None:
    """A new size is heard inside, Ctrl-C interrupts at once after the start, and the end of input ends."""
    process = _at_terminal(t, "trap 'echo now $(stty size)' WINCH; echo up; while :; do sleep 0.1; done")
    _see(process, "^up")
    process.resize(PtySize(rows=11, columns=22))
    _see(process, "now 11 22")
    process.send_keys("C-c")
    assert process.wait(20).exit_code == 130
    process = _at_terminal(t, "sleep 3000")
    process.send_keys("C-c")
    assert process.wait(20).exit_code == 130
    process = _at_terminal(t, "cat; echo over")
    process.submit("line")
    process.close_stdin()
    assert process.wait(20).exit_code == 0
    assert process.log().text.endswith("line\r\nover\r\n")


@terms(python)
def a_child_that_keeps_the_terminal_holds_nothing_up(t: Trial) -> None:
    """The end of the program is the end, and ``kill`` ends what it left behind."""
    sleeper = t.sleeper()
    t.defer(lambda: t.env.run(sleeper.kill))
    process = _at_terminal(t, f"(trap '' HUP; exec setsid {sleeper.command}) & sleep 0.3; exit 4")
    assert process.wait(20).exit_code == 4
    process = _at_terminal(t, f"(trap '' TERM; {sleeper.command}) & {sleeper.command}")
    sleeper.assert_alive(t.env, 3)
    process.kill()
    t.env.run(sleeper.kill)
    sleeper.assert_gone(t.env, 3)


@terms(python)
def a_process_without_a_terminal_has_none(t: Trial) -> None:
    """Sizes, keys and screens of a process without a terminal are Unsupported."""
    process = t.env.start("sleep 30")
    t.defer(process.remove)
    for call in (lambda: process.resize(PtySize()), lambda: process.send_keys("Enter"), process.screen):
        with raises(Unsupported):
            call()


@terms(python, limit=120)
def a_terminal_outlives_its_client(t: Trial) -> None:
    """After kill -9 of the client another one has the same terminal: its screen, its keys, its size, its end."""
    body = """
        from shellward.environments.base import PtySize
        env = make()
        p = env.start("vi -n /tmp/" + NAME, pty=PtySize(rows=15, columns=60))
        p.write("ihello from the first")
        for _ in range(200):
            if "first" in p.screen().text:
                break
            time.sleep(0.05)
        say(env.handle, p.id)
        time.sleep(600)
    """
    name = f"sw-{time.monotonic_ns()}"
    client = t.client(body.replace("NAME", repr(name)))
    handle, _, process_id = line_of(client).partition(" ")
    client.kill()
    client.wait(20)
    if t.place.lease:
        from shellward import environments

        env = environments.attach(handle)
        t.defer(env.close)
    else:
        env = t.env
    process = env.process(process_id)
    t.defer(process.remove)
    shown = _see(process, "^hello from the first")
    assert (shown.rows, shown.columns) == (15, 60)
    process.resize(PtySize(rows=20, columns=70))
    process.write(" and the second")
    process.send_keys("Escape")
    _see(process, "^hello from the first and the second")
    process.submit(":wq")
    assert process.wait(20).exit_code == 0
    assert env.read_file(f"/tmp/{name}") == b"hello from the first and the second\n"
    env.run(f"rm -f /tmp/{name}")
