"""Law 3: state also outlives the shell.

``exit``, ``set -e``, ``exec``, signals. Losing it is reported and healed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shellward.core.types import ShellEvent
from shellward.testing.trial import at_most, bash, quoted, terms

if TYPE_CHECKING:
    from shellward.environments.session import Session
    from shellward.testing.trial import Trial

DEPENDS_ON = "shell"

_ODD = "a 'b' \"c\" $d `e` \\f\n\tg é  "


def _prepared(t: Trial) -> Session:
    session = t.session()
    session.run(
        f"cd /tmp; PLAIN={quoted(_ODD)}; export EXPORTED={quoted(_ODD)}; alias shout='echo LOUD'; "
        'greet() { echo "hello $1"; }; set -u'
    ).check()
    return session


def _assert_state(t: Trial, session: Session, after: str) -> None:
    with at_most(8, f"the command after {after}"):
        result = session.run('pwd; printf "%s|" "$PLAIN"; sh -c \'printf "%s|" "$EXPORTED"\'', timeout=7)
    assert (result.exit_code, result.stdout) == (0, f"/tmp\n{_ODD}|{_ODD}|"), after
    assert session.cwd == "/tmp", after
    assert session.run("shout x").stdout == "LOUD x\n", after
    assert session.run("(: $no_such_name)").exit_code != 0, f"set -u is off after {after}"
    greeting = session.run("greet you 2>/dev/null").stdout
    if t.env.capabilities.functions:
        assert greeting == "hello you\n", after
    else:
        assert greeting in {"hello you\n", ""}, after


def capabilities_are_as_stated(t: Trial) -> None:
    """The shell is the one that the place has, and whether functions survive its loss is as stated."""
    session = t.session()
    session.run("kept() { echo function; }").check()
    capabilities = t.env.capabilities
    assert capabilities.shell == t.place.shell
    is_bash = session.run("echo ${BASH_VERSION:+bash}").stdout.strip() == "bash"
    assert is_bash == (capabilities.shell == "bash")
    session.run("exit 3")
    assert session.run("kept 2>/dev/null").ok == capabilities.functions


def exit_keeps_state(t: Trial) -> None:
    """``exit 3`` has status 3, says that the shell was replaced, and everything is as before."""
    session = _prepared(t)
    for status in (3, 0, 255):
        result = session.run(f"echo before; exit {status}; echo never")
        assert (result.exit_code, result.stdout, result.stderr) == (status, "before\n", "")
        assert result.shell is ShellEvent.RESTARTED
        _assert_state(t, session, f"exit {status}")
    assert session.run("true").shell is None


def exit_keeps_what_the_same_command_changed(t: Trial) -> None:
    """What the command changed before its ``exit`` is kept as well."""
    session = t.session()
    result = session.run("cd /tmp; NEW=1; export MORE=2; exit 4")
    assert (result.exit_code, result.shell, result.cwd) == (4, ShellEvent.RESTARTED, "/tmp")
    assert session.run("pwd; echo $NEW; sh -c 'echo $MORE'").stdout == "/tmp\n1\n2\n"


def exit_many_times(t: Trial) -> None:
    """Twenty exits in a row: each healed, state still there."""
    session = _prepared(t)
    for number in range(20):
        result = session.run(f"COUNT={number}; exit {number}")
        assert result.exit_code == number
    assert session.run("echo $COUNT").stdout == "19\n"
    _assert_state(t, session, "twenty exits")


def exit_with_a_background_child(t: Trial) -> None:
    """The end of the shell is seen although a background child holds its output.

    ``sleep 60 & exit 3`` is quick.
    """
    session, sleeper = _prepared(t), t.sleeper()
    with at_most(3, "exit with a child"):
        result = session.run(f"{sleeper.command} & echo hi; exit 3", timeout=10)
    assert (result.exit_code, result.stdout) == (3, "hi\n")
    sleeper.assert_alive(t.env)
    _assert_state(t, session, "exit with a child")
    session.run(sleeper.kill)


def errexit(t: Trial) -> None:
    """``set -euo pipefail`` with a failure: the failure's status, and the session works on with its state."""
    session = _prepared(t)
    pipefail = "set -eu; (set -o pipefail) 2>/dev/null && set -o pipefail; "
    result = session.run(pipefail + "echo a; false; echo b")
    assert (result.exit_code, result.stdout) == (1, "a\n")
    assert result.shell is ShellEvent.RESTARTED
    result = session.run("(exit 5); echo not reached under set -e", timeout=5)
    assert result.exit_code in {0, 5}
    session.run("set +e", timeout=5)
    assert session.run("false; echo on").stdout == "on\n"
    _assert_state(t, session, "set -e")


def nounset(t: Trial) -> None:
    """``set -u`` and an unset name end a shell; the session goes on."""
    session = _prepared(t)
    result = session.run("echo a; echo $no_such_name_here; echo b", timeout=5)
    assert result.exit_code != 0
    assert result.stdout.startswith("a\n")
    assert "no_such_name_here" in result.stderr
    _assert_state(t, session, "set -u")


def exec_replaces_the_shell(t: Trial) -> None:
    """``exec`` of a program: its output, its status, its end is the command's end.

    State from before is there.
    """
    session = _prepared(t)
    for command, status, out in (
        ("exec true", 0, ""),
        ("exec false", 1, ""),
        ("exec sleep 0.3", 0, ""),
        ("echo a; exec sh -c 'echo b; exit 9'", 9, "a\nb\n"),
        ("exec sh -c 'kill -9 $$'", 137, ""),
    ):
        with at_most(6, command):
            result = session.run(command, timeout=5)
        assert (result.exit_code, result.stdout, result.timed_out) == (status, out, False), command
        assert result.shell is not None, command
        _assert_state(t, session, command)


def exec_of_nothing(t: Trial) -> None:
    """``exec`` of a program that does not exist is 127 (or 126), and the session goes on."""
    session = _prepared(t)
    result = session.run("exec /no/such/program", timeout=5)
    assert result.exit_code in {126, 127}
    _assert_state(t, session, "exec of nothing")


def killed_shell(t: Trial) -> None:
    """``kill -9 $$``: status 137, SIGKILL, the loss is reported, the state from before is there."""
    session = _prepared(t)
    for name, number in (("KILL", 9), ("TERM", 15), ("HUP", 1), ("SEGV", 11)):
        with at_most(6, f"kill -{name} $$"):
            result = session.run(f"echo before; kill -{name} $$; sleep 0.5", timeout=5)
        assert result.stdout == "before\n", name
        if result.shell is None:  # interactive-like shells may ignore TERM and HUP
            assert name in {"TERM", "HUP"}, name
        else:
            assert (result.exit_code, result.signal) == (128 + number, f"SIG{name}"), name
        _assert_state(t, session, f"kill -{name} $$")


def killed_from_outside_between_commands(t: Trial) -> None:
    """A shell that was killed while nothing ran.

    The next command runs, once, in a new shell with the state.
    """
    session, root = _prepared(t), t.directory()
    pid = session.run("echo $$").stdout.strip()
    t.env.run(f"kill -9 {pid}; sleep 0.2").check()
    result = session.run(f"echo x >>{root}/ran; cat {root}/ran", timeout=7)
    assert (result.exit_code, result.stdout) == (0, "x\n")
    assert result.shell is not None
    _assert_state(t, session, "a kill from outside")


def child_that_kills_the_shell_later(t: Trial) -> None:
    """A background child that kills the shell while another command runs.

    A result or a clear error, no hang.
    """
    session = _prepared(t)
    session.run("(sleep 0.5; kill -9 $$) & echo armed").check()
    with at_most(6, "a command whose shell is killed"):
        result = session.run("echo a; sleep 1; echo b", timeout=5)
    assert (result.exit_code, result.signal) == (137, "SIGKILL")
    assert result.stdout.startswith("a\n")
    assert result.shell is not None
    _assert_state(t, session, "a kill by a child")


def return_break_continue(t: Trial) -> None:
    """``return 5``, ``break 5`` and ``continue`` outside of anything are results."""
    session = _prepared(t)
    for command in ("return 5", "return", "break", "break 5", "continue", "continue 3"):
        with at_most(4, command):
            result = session.run(f"echo before; {command}", timeout=3)
        assert (result.stdout, result.timed_out) == ("before\n", False), command
        _assert_state(t, session, command)


def exit_trap(t: Trial) -> None:
    """A user's EXIT trap runs when the shell exits, once, and does not hide the status."""
    session, root = _prepared(t), t.directory()
    result = session.run(f"trap 'echo bye; echo x >>{root}/trapped' EXIT; exit 3", timeout=5)
    assert (result.exit_code, result.stdout) == (3, "bye\n")
    _assert_state(t, session, "a trapped exit")
    assert session.run(f"trap - EXIT; cat {root}/trapped").stdout == "x\n"


def exit_trap_of_an_earlier_command(t: Trial) -> None:
    """The same when the trap was set by a command before; setting it prints nothing."""
    session = _prepared(t)
    assert session.run("trap 'echo bye' EXIT").output == ""
    assert session.run("echo between").output == "between\n"
    result = session.run("exit 6", timeout=5)
    assert (result.exit_code, result.stdout) == (6, "bye\n")
    _assert_state(t, session, "a trapped exit")


def exit_trap_that_exits_otherwise(t: Trial) -> None:
    """A trap that itself exits decides the status; one that hangs is ended by the time limit."""
    session = _prepared(t)
    assert session.run("trap 'exit 8' EXIT; exit 3", timeout=5).exit_code == 8
    _assert_state(t, session, "a trap that exits")
    session.run("trap - EXIT")
    with at_most(3, "a trap that hangs"):
        result = session.run("trap 'echo in; sleep 60' EXIT; exit 3", timeout=1)
    assert result.stdout == "in\n"
    _assert_state(t, session, "a trap that hangs")


@terms(bash)
def bash_state_survives(t: Trial) -> None:
    """Bash gives everything: arrays, attributes, ``shopt``.

    Functions with odd names and bodies survive ``exit``.
    """
    session = t.session()
    session.run(
        f"A=(1 {quoted(_ODD)} 3); declare -A M=([{quoted('x y')}]={quoted(_ODD)}); declare -i N=4; "
        "declare -r R=fixed; shopt -s nullglob; set -- p1 'p 2'; "
        "odd-name() { cat <<END\n  $1 'quoted' \"\\$x\"\nEND\n}; export -f odd-name; umask 027"
    ).check()
    assert session.run("exit 1").shell is ShellEvent.RESTARTED
    assert session.run('printf "%s|" "${A[@]}" "${M[x y]}"').stdout == f"1|{_ODD}|3|{_ODD}|"
    assert session.run("N+=3; echo $N $R /no/such/*").stdout == "7 fixed\n"
    assert session.run("(R=x) 2>/dev/null; echo $?").stdout == "1\n"
    assert session.run("odd-name arg").stdout == "  arg 'quoted' \"$x\"\n"
    assert session.run("bash -c 'odd-name exported'").stdout == "  exported 'quoted' \"$x\"\n"
    assert session.run("umask").stdout.strip() == "0027"


def large_state_survives(t: Trial) -> None:
    """300 KB of variables are kept as well."""
    session = t.session()
    session.run(f"BIG={'0123456789' * 30_000}").check()
    session.run("exit 1")
    assert session.run("echo ${#BIG}").stdout == "300000\n"


def state_that_cannot_be_saved_is_told(t: Trial) -> None:
    """Where what a command changed cannot be saved, its result says so, until it can be again."""
    env = t.fresh()
    env.run("A=1").check()
    env.run(f"M={env.backend.scratch}/main; B=2").check()
    block = 'for f in "$M"/default.*[0-3]; do n=${f%?}; done; for i in 0 1 2 3; do rm -rf "$n$i"; mkdir "$n$i"; done'
    assert env.run(f"{block}; C=3").shell is ShellEvent.STATE_UNSAVED
    for _ in range(5):
        result = env.run("D=4")
        assert (result.ok, result.shell) == (True, ShellEvent.STATE_UNSAVED)
    assert env.run('echo "$A$B$C$D"').stdout == "1234\n"
    assert env.run('rmdir "$n"[0-3]; E=5').shell is None
    assert env.run("exit 3").shell is ShellEvent.RESTARTED
    assert env.run('echo "$A$B$C$D$E"').stdout == "12345\n"
