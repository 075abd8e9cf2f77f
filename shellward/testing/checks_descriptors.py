"""Law 2 and 4: descriptors that a command closes, redirects or leaves open."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from shellward.core.errors import EnvironmentUnavailable
from shellward.testing.trial import at_most, bash, terms

if TYPE_CHECKING:
    from shellward.environments.session import Session
    from shellward.testing.trial import Trial

DEPENDS_ON = "shell"


def _assert_speaks(session: Session, after: str) -> None:
    for _ in range(2):
        with at_most(6, f"the command after {after!r}"):
            result = session.run("echo out; echo err >&2; cat; (exit 5)", timeout=5, stdin="in\n")
        assert (result.stdout, result.stderr, result.exit_code) == ("out\nin\n", "err\n", 5), after


def closing_the_standard_ones(t: Trial) -> None:
    """``exec 0<&- 1>&- 2>&-``, alone and together.

    A result with the right status, and the next command speaks.
    """
    session = t.session()
    for command in ("exec 0<&-", "exec 1>&-", "exec 2>&-", "exec >&- 2>&-", "exec <&- >&- 2>&-"):
        with at_most(6, command):
            result = session.run(f"{command}; (exit 3)", timeout=5)
        assert (result.exit_code, result.timed_out) == (3, False), command
        assert result.output == "", command
        _assert_speaks(session, command)


def closing_them_and_leaving(t: Trial) -> None:
    """The same, and then the shell exits, is replaced or fails."""
    session = t.session()
    session.run("MARK=kept").check()
    for command, status in (("exit 3", 3), ("exec true", 0), ("set -e; false", 1), ("kill -9 $$", 137)):
        with at_most(6, command):
            result = session.run(f"exec <&- >&- 2>&-; {command}", timeout=5)
        assert (result.exit_code, result.timed_out) == (status, False), command
        session.run("set +e", timeout=5)
        _assert_speaks(session, command)
        assert session.run("echo $MARK").stdout == "kept\n", command


def redirecting_the_standard_ones(t: Trial) -> None:
    """``exec >file; echo x`` fills the file and holds for its command only; the next one is heard again."""
    session, root = t.session(), t.directory()
    result = session.run(f"exec >{root}/out 2>{root}/err; echo x; echo y >&2; (exit 3)")
    assert (result.output, result.exit_code) == ("", 3)
    _assert_speaks(session, "exec >file")
    assert session.run(f"cat {root}/out {root}/err").stdout == "x\ny\n"
    result = session.run("exec 2>&1; echo a; echo b >&2")
    assert (result.stdout, result.stderr) == ("a\nb\n", "")
    _assert_speaks(session, "exec 2>&1")
    session.run("exec </dev/zero; true")
    _assert_speaks(session, "exec </dev/zero")
    session.run("exec >/dev/full; echo lost", timeout=5)
    _assert_speaks(session, "exec >/dev/full")


def closing_all_others(t: Trial) -> None:
    """A command that closes every descriptor from 3 on in the shell itself.

    A result or a new shell, never a hang.
    """
    session = t.session()
    session.run("MARK=kept").check()
    top = 255 if t.place.shell == "bash" else 9
    close = "; ".join(f"exec {number}>&-" for number in range(3, top + 1))
    with at_most(8, "closing all descriptors"):
        result = session.run(f"{{ {close}; }} 2>/dev/null; echo heard; (exit 6)", timeout=7)
    assert not result.timed_out
    _assert_speaks(session, "closing all descriptors")
    assert session.run("echo $MARK").stdout == "kept\n"


def changing_places(t: Trial) -> None:
    """A command that swaps the shell's own descriptors: a result, or the error for a lost shell.

    The next command speaks.
    """
    session = t.session()
    session.run("MARK=kept").check()
    own = ("250", "251") if t.place.shell == "bash" else ("8", "9")
    for command in (f"exec 6>&{own[0]} {own[0]}>&{own[1]} {own[1]}>&6", f"exec {own[1]}>&{own[0]}"):
        with at_most(8, command), contextlib.suppress(EnvironmentUnavailable):
            session.run(command, timeout=5)
        _assert_speaks(session, command)
    assert session.run("echo $MARK").stdout == "kept\n"


def closing_them_in_a_loop(t: Trial) -> None:
    """The same by ``eval`` over what /proc/self/fd shows, as scripts that daemonise do."""
    session = t.session()
    script = 'for f in /proc/$$/fd/*; do n=${f##*/}; case $n in 0|1|2) ;; *) eval "exec $n>&-" 2>/dev/null;; esac; done'
    with at_most(8, script):
        result = session.run(f"{script}; (exit 6)", timeout=7)
    assert not result.timed_out, "a shell that runs in circles was not noticed"
    _assert_speaks(session, script)


def replacing_all_others(t: Trial) -> None:
    """Descriptors 3 to 9 redirected to files: ours are not written into the user's files."""
    session, root = t.session(), t.directory()
    session.run("; ".join(f"exec {number}>{root}/{number}" for number in range(3, 10)), timeout=5)
    _assert_speaks(session, "exec 3>file ... 9>file")
    session.run("; ".join(f"exec {number}>&-" for number in range(3, 10)), timeout=5)
    _assert_speaks(session, "exec 3>&- ... 9>&-")
    assert t.env.run(f"cat {root}/?").stdout == ""


def children_cannot_read_ours(t: Trial) -> None:
    """Programs get 0, 1 and 2; whatever else they inherit can only be written to."""
    session = t.session()
    for command in ("ls -l /proc/self/fd", "sh -c 'ls -l /proc/self/fd'", "ls -l /proc/self/fd | cat"):
        rows = [line.split() for line in session.run(command).stdout.splitlines() if " -> " in line]
        modes = {row[row.index("->") - 1]: row[0] for row in rows}
        assert {"0", "1", "2"} <= set(modes)
        readable = [name for name, mode in modes.items() if mode[1] == "r" and name not in {"0", "1", "2", "3"}]
        assert not readable, f"{command}: readable descriptors {readable} (3 is the directory that ls reads)"


def daemons_are_let_go(t: Trial) -> None:
    """A background program that closes nothing does not keep the session, its close or its end waiting."""
    sleeper = t.sleeper()
    with t.env.session() as session:
        session.run(f"setsid {sleeper.command} & exec 7>&1 8>&2; {sleeper.command} &")
        with at_most(3, "a command"):
            session.run("echo next").check()
        with at_most(5, "closing"):
            session.close()
    t.env.run(sleeper.kill)


@terms(bash)
def process_substitution(t: Trial) -> None:
    """Process substitution and coprocesses work and end with their command."""
    session = t.session()
    assert session.run("cat <(echo a) <(echo b); echo c > >(cat); wait $!; cat <<<d").stdout.split() == list("abcd")
    result = session.run(
        "coproc cat; echo x >&${COPROC[1]}; read -u ${COPROC[0]} y; echo $y; kill $COPROC_PID", timeout=5
    )
    assert result.stdout == "x\n"
    _assert_speaks(session, "a coprocess")


def full_pipe_of_the_reader(t: Trial) -> None:
    """``yes | head`` and other broken pipes end as in any shell (SIGPIPE is not ignored)."""
    with at_most(5, "yes | head"):
        result = t.env.run("yes | head -n 2; echo end", timeout=5)
    assert (result.stdout, result.stderr) == ("y\ny\nend\n", "")
    assert t.env.run("sh -c 'kill -PIPE $$'; echo $?").stdout.endswith("141\n")
