"""Terminals of background processes: they are held in the sandbox, so they outlive the client."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from shellward.core.errors import Unsupported
from shellward.environments.base import PtySize
from shellward.testing.trial import eventually, line_of, raises, terminals, terms

if TYPE_CHECKING:
    from shellward.environments.process import Process
    from shellward.terminal.screen import Snapshot
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"


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


def _resized(process: Process, rows: int, columns: int) -> None:
    """Give an editor a new size, and wait until it has drawn all of it: busybox's vi loses keys that come before."""
    process.resize(PtySize(rows=rows, columns=columns))

    def drawn() -> bool:
        shown = process.screen()
        return (shown.rows, shown.columns) == (rows, columns) and shown.lines[rows - 2] == "~"

    assert eventually(drawn), process.screen()


def _escaped(process: Process, column: int) -> None:
    """End an insertion: what comes too soon after Escape is taken for a part of another key."""
    process.send_keys("Escape")
    assert eventually(lambda: process.screen().column == column), process.screen()


def without_a_holder_it_is_unsupported(t: Trial) -> None:
    """Where nothing in the sandbox can hold a terminal, ``capabilities.held_pty`` and asking for one say so."""
    assert t.env.capabilities.held_pty == (t.env.capabilities.pty and t.place.terminals)
    if not t.env.capabilities.held_pty:
        with raises(Unsupported) as caught:
            t.env.start("true", pty=True)
        assert t.place.kind in str(caught.value)
        return
    process = _at_terminal(t, "stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo tty; exit 3")
    assert process.wait(20).exit_code == 3
    assert process.log().text == "24 80\r\ntty\r\n"


@terms(terminals)
def begins_with_the_session(t: Trial) -> None:
    """A background terminal has the session's directory and variables, and a name that programs know."""
    env = t.fresh()
    env.run("cd /usr; export SW_A='a b'; TERM=dumb")
    process = env.start('echo "$PWD|$SW_A|$TERM"', pty=PtySize(rows=30, columns=90))
    assert process.wait(20).exit_code == 0
    assert process.log().text == "/usr|a b|xterm-256color\r\n"
    process.remove()


@terms(terminals)
def a_paste_is_marked_where_that_is_wanted(t: Trial) -> None:
    """A paste into a background terminal has marks only when the program has asked for them, and cannot end itself."""
    command = "printf '%s'; stty -echo raw; echo ready; dd bs=1 count=%d 2>/dev/null | od -An -c | tr -d ' \\r\\n'"
    size = PtySize(rows=24, columns=120)
    plain = _at_terminal(t, command % ("", 3), pty=size)
    _see(plain, "ready")
    plain.paste("a\nb")
    _see(plain, re.escape(r"a\rb"))
    marked = _at_terminal(t, command % ("\\033[?2004h", 15), pty=size)
    _see(marked, "ready")
    marked.paste("a\x1b[201~\nb")
    _see(marked, re.escape(r"033[200~a\rb033[201~"))


@terms(terminals)
def keys_screen_and_size(t: Trial) -> None:
    """An editor in the background: keys by name, its screen as text, a new size, and the file saved."""
    file = f"{t.directory()}/b.txt"
    t.env.write_file(file, "one\ntwo\n")
    process = _at_terminal(t, f"vi {file}", pty=PtySize(rows=10, columns=70))
    _see(process, "^two$")
    process.send_keys("Down", "i")
    process.write("new ")
    _see(process, "^new two$")
    _escaped(process, 3)
    shown = process.screen()
    assert (shown.row, shown.rows, shown.columns) == (1, 10, 70)
    _resized(process, 12, 50)
    process.submit(":wq")
    assert process.wait(20).exit_code == 0
    assert t.env.read_file(file) == b"one\nnew two\n"
    with raises(ProcessLookupError):
        process.resize(PtySize())


@terms(terminals)
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


@terms(terminals)
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


@terms(terminals)
def a_process_without_a_terminal_has_none(t: Trial) -> None:
    """Sizes, keys and screens of a process without a terminal are Unsupported."""
    process = t.env.start("sleep 30")
    t.defer(process.remove)
    for call in (lambda: process.resize(PtySize()), lambda: process.send_keys("Enter"), process.screen):
        with raises(Unsupported):
            call()


@terms(terminals, limit=120)
def a_terminal_outlives_its_client(t: Trial) -> None:
    """After kill -9 of the client another one has the same terminal: its screen, its keys, its size, its end."""
    body = """
        from shellward.environments.base import PtySize
        env = make()
        p = env.start("vi /tmp/" + NAME, pty=PtySize(rows=15, columns=60))
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
    _resized(process, 20, 70)
    process.write(" and the second")
    _see(process, "^hello from the first and the second")
    _escaped(process, 34)
    process.submit(":wq")
    assert process.wait(20).exit_code == 0
    assert env.read_file(f"/tmp/{name}") == b"hello from the first and the second\n"
    env.run(f"rm -f /tmp/{name}")
