"""Shell options, traps and names that a command may leave behind, and that must not wedge the session.

Each check makes the shell as hostile as the user's own commands can, and asks for two things: results come in
time, with the right status; and nothing but the user's output is in them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from shellward.testing.trial import at_most, bash, terms

if TYPE_CHECKING:
    from shellward.core.types import Result
    from shellward.environments.session import Session
    from shellward.testing.trial import Trial

DEPENDS_ON = "shell"

_SAY = "/bin/echo said; (exit 7)"


def _assert_obeys(session: Session, after: str) -> None:
    for _ in range(2):
        with at_most(6, f"the command after {after!r}"):
            result = session.run("/bin/echo said", timeout=5)
        assert (result.stdout, result.exit_code) == ("said\n", 0), f"after {after!r}: {result}"


def _endure(t: Trial, *commands: str) -> None:
    for command in commands:
        with t.env.session() as session:
            session.run("MARK=1").check()
            with at_most(6, repr(command)):
                result = session.run(command, timeout=5)
            assert not result.timed_out, command
            _assert_obeys(session, command)


def options(t: Trial) -> None:
    """``set -e -u -f -a -C -b -m`` and friends left on: the framing does not depend on the user's options."""
    _endure(t, *(f"set -{flag}" for flag in "eufaCbm"), "set -eufaC", "set -o ignoreeof", "set -eu; false")


def _traced(result: Result) -> list[str]:
    return [line.lstrip("+").strip() for line in result.stderr.splitlines()]


def trace(t: Trial) -> None:
    """``set -x`` traces the user's commands and nothing else."""
    session = t.session()
    first = session.run("set -x; echo one")
    assert (first.exit_code, first.stdout, _traced(first)) == (0, "one\n", ["echo one"])
    second = session.run("echo two; (exit 3)")
    assert (second.exit_code, second.stdout, _traced(second)) == (3, "two\n", ["echo two", "exit 3"])
    off = session.run("set +x; echo three")
    assert (off.stdout, _traced(off)) == ("three\n", ["set +x"])
    assert session.run("echo four").stderr == ""


@terms(bash)
def trace_with_own_prompt(t: Trial) -> None:
    """A PS4 with substitutions and BASH_XTRACEFD on a closed descriptor do no harm."""
    _endure(
        t,
        "PS4='$(echo trace) '; set -x",
        "BASH_XTRACEFD=2; set -x",
        "exec 17>/dev/null; BASH_XTRACEFD=17; set -x",
    )


def verbose(t: Trial) -> None:
    """``set -v`` shows at most what the user typed: none of our framing."""
    session = t.session()
    session.run("set -v", timeout=5)
    result = session.run("echo one", timeout=5)
    assert (result.exit_code, result.stdout) == (0, "one\n")
    assert result.stderr in {"", "echo one\n"}


def no_execution(t: Trial) -> None:
    """``set -n`` stops a shell from executing anything: that is noticed in time, and healed."""
    session = t.session()
    session.run("MARK=kept; cd /tmp").check()
    with at_most(8, "set -n"):
        result = session.run("set -n; echo not executed", timeout=7)
    assert "not executed" not in result.stdout
    with at_most(8, "the command after set -n"):
        after = session.run("echo $MARK; pwd", timeout=7)
    assert after.stdout == "kept\n/tmp\n"


@terms(bash)
def bash_options(t: Trial) -> None:
    """Bash's own: posix, extdebug, ``set -k -t -T -E -r -h +B``.

    Every ``shopt`` that changes how words are read.
    """
    _endure(
        t,
        "set -o posix",
        "set -k",
        "set -t",
        "set -T",
        "set -E",
        "set +B +h +H",
        "set -p",
        "shopt -s extdebug",
        "shopt -s nullglob failglob dotglob extglob nocaseglob nocasematch globstar",
        "shopt -s xpg_echo",
        "shopt -s lastpipe inherit_errexit",
        "shopt -s compat31 2>/dev/null; BASH_COMPAT=3.2",
        "shopt -u expand_aliases sourcepath interactive_comments",
        "shopt -s localvar_inherit localvar_unset assoc_expand_once 2>/dev/null; true",
        "set -o vi",
        "set -o history",
    )


@terms(bash)
def restricted_shell(t: Trial) -> None:
    """``set -r`` cannot be undone in that shell (no ``>``, no ``/`` in names).

    Results still come, in time.
    """
    session = t.session()
    with at_most(6, "set -r"):
        session.run("set -r", timeout=5)
    for _ in range(2):
        with at_most(6, "a command in a restricted shell"):
            assert session.run("echo said", timeout=5).stdout == "said\n"


def word_splitting(t: Trial) -> None:
    """IFS of any kind: empty, unset, digits, letters of our own words."""
    _endure(
        t,
        "IFS=",
        "unset IFS",
        "IFS=0123456789",
        "IFS=abcdefghijklmnopqrstuvwxyz",
        "IFS=' '",
        "IFS='\n'",
        "IFS=/",
        "IFS=-",
        "IFS=_",
        "IFS=\\$",
        "export IFS=x",
    )


def standard_names_gone(t: Trial) -> None:
    """PATH emptied or wrong; HOME, PWD, OLDPWD, ENV, TMPDIR, LANG unset or nonsense."""
    _endure(
        t,
        "PATH=",
        "PATH=/nonexistent",
        "unset PATH",
        "export PATH=/nonexistent; hash -r",
        "unset PWD OLDPWD HOME",
        "PWD=/nonsense; OLDPWD=nonsense",
        "HOME=/nonexistent; TMPDIR=/nonexistent; export HOME TMPDIR",
        "unset LANG LC_ALL TERM SHELL USER",
        "LC_ALL=C; export LC_ALL",
        "LC_ALL=xx_YY.nonsense; export LC_ALL",
        "ENV=/nonexistent; BASH_ENV=/nonexistent; export ENV BASH_ENV",
        "OPTIND=x; PS1=; PS2=; PS4=",
    )


def directory_is_told_without_pwd(t: Trial) -> None:
    """The reported directory is the real one, whatever the command did to PWD."""
    session = t.session()
    session.run("cd /tmp; PWD=/nonsense")
    session.run("cd /", timeout=5).check()
    assert session.cwd == "/"
    session.run("cd /tmp; unset PWD")
    assert session.cwd == "/tmp"


def everything_unset(t: Trial) -> None:
    """Every variable, function and alias that can be unset, unset."""
    _endure(
        t,
        "unalias -a",
        "for v in $(set | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'); do unset $v; done 2>&-; :",
        "for v in $(env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'); do unset $v; done; true",
        "for f in $(set | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\) ().*/\\1/p'); do unset -f $f; done; true",
    )


@terms(bash)
def declarations_after_aliases_are_gone(t: Trial) -> None:
    """What is declared stays declared, though all aliases were removed."""
    session = t.session()
    session.run("unalias -a")
    session.run("declare -A m=([k]=v); typeset q=1")
    assert session.run('echo "${m[k]}$q"').stdout == "v1\n"


@terms(bash)
def everything_unset_in_bash(t: Trial) -> None:
    """The same with bash's own lists, and everything made readonly, and every trap taken off."""
    _endure(
        t,
        "unset -v $(compgen -v) 2>/dev/null; true",
        "unset -f $(compgen -A function) 2>/dev/null; true",
        "readonly -f $(compgen -A function) 2>/dev/null; true",
        "readonly $(compgen -v) 2>/dev/null; true",
        "trap - $(compgen -A signal) 2>/dev/null; trap - EXIT ERR DEBUG RETURN",
        "enable -n eval printf read echo command builtin trap exec test [ cd kill",
        "enable -n command builtin enable; true",
    )


_NAMES = """
printf read eval echo cd command builtin trap exec exit set unset export test [ : . source pwd kill
wait local return shift declare typeset alias unalias umask type hash true false let shopt mapfile
enable cat base64 sleep
"""
_BUILTINS = _NAMES.split()


def functions_named_like_builtins(t: Trial) -> None:
    """A function that has a builtin's or a tool's name is the user's own affair."""
    for name in _BUILTINS:
        if name in {"[", ":", "."} and t.place.shell != "bash":
            continue
        with t.env.session() as session:
            with at_most(6, f"a function {name}"):
                session.run(f"{name}() {{ return 9; }}", timeout=5)
            _assert_obeys(session, f"{name}() {{ return 9; }}")


def aliases_of_builtins(t: Trial) -> None:
    """An alias of a builtin, a keyword or a tool is the user's own affair."""
    for name in (
        *(set(_BUILTINS) - {"[", ":", "."}),
        "if",
        "then",
        "fi",
        "while",
        "do",
        "done",
        "case",
        "esac",
        "{",
    ):
        with t.env.session() as session:
            with at_most(6, f"an alias {name}"):
                session.run(f"alias {name}='false x'", timeout=5)
            _assert_obeys(session, f"alias {name}")


@terms(bash)
def all_functions_at_once(t: Trial) -> None:
    """Functions for all of them at once, ``command``, ``builtin``, ``eval`` and ``unset`` included."""
    session = t.session()
    body = "; ".join(f"{name}() {{ return 9; }}" for name in _BUILTINS)
    session.run(body, timeout=5)
    _assert_obeys(session, "functions for everything")


def talking_functions(t: Trial) -> None:
    """Functions named like builtins that print do not print into other commands' output."""
    session = t.session()
    for name in ("printf", "read", "cd", "kill", "trap", "umask", "type", "hash", "cat", "sleep", "pwd"):
        session.run(f"{name}() {{ /bin/echo noise; /bin/echo noise >&2; }}", timeout=5)
    result = session.run(_SAY, timeout=5)
    assert (result.stdout, result.stderr, result.exit_code) == ("said\n", "", 7)


def traps(t: Trial) -> None:
    """Traps on every signal, ignoring or talking, do not disturb results or limits."""
    session = t.session()
    session.run("trap '' TERM INT HUP QUIT PIPE USR1 USR2 ALRM; trap 'echo noise' CHLD CONT", timeout=5)
    result = session.run(_SAY, timeout=5)
    assert result.exit_code == 7
    assert "said\n" in result.stdout
    with at_most(2, "a limit of 1 s with TERM ignored"):
        assert session.run("sleep 30", timeout=1).timed_out
    session.run("trap - CHLD CONT", timeout=5)
    _assert_obeys(session, "traps and a limit")


@terms(bash)
def bash_traps(t: Trial) -> None:
    """DEBUG, ERR and RETURN traps run for the user's commands, and their output is nobody else's."""
    session = t.session()
    session.run('log() { LOG+="$BASH_COMMAND|"; }; trap log DEBUG', timeout=5)
    session.run("true", timeout=5)
    seen = session.run('trap - DEBUG; printf %s "$LOG"', timeout=5).stdout
    assert "true|" in seen
    session.run("trap 'echo ERR' ERR", timeout=5)
    assert session.run("true", timeout=5).output == ""
    assert session.run("false", timeout=5).output == "ERR\n"
    assert session.run("true", timeout=5).output == ""
    _endure(t, "trap 'echo RETURN' RETURN", "trap 'false' DEBUG; shopt -s extdebug", "trap 'exit 3' ERR")


@terms(bash)
def prompt_hooks(t: Trial) -> None:
    """PROMPT_COMMAND, command_not_found_handle, TMOUT and a broken BASH_ENV are left alone or harmless."""
    _endure(
        t,
        "PROMPT_COMMAND='echo prompt'",
        "command_not_found_handle() { echo handled; return 0; }",
        "TMOUT=1; sleep 1.5",
        "SHELLOPTS_=x; GLOBIGNORE='*'; FIGNORE=x; EXECIGNORE='*'",
        "POSIXLY_CORRECT=1; export POSIXLY_CORRECT",
        "BASHOPTS_=; LINENO=x; RANDOM=; unset RANDOM SECONDS LINENO",
        "history -c; HISTFILE=/tmp/no; set -o history",
    )


def idle_time_is_no_matter(t: Trial) -> None:
    """A session that was idle works on (TMOUT and the like are not in force)."""
    session = t.session()
    session.run("TMOUT=1; export TMOUT", timeout=5)
    session.run("sleep 2.2", timeout=5)
    _assert_obeys(session, "TMOUT")


def resource_limits(t: Trial) -> None:
    """Limits that the user set for the shell (descriptors, file size, core, stack) end in results.

    Not in hangs.
    """
    _endure(t, "ulimit -n 16", "ulimit -f 1", "ulimit -c 0", "ulimit -s 512", "ulimit -t 5")


def command_line_of_shell_tools(t: Trial) -> None:
    """Commands that read the terminal, or ask for one, do not wait for ever."""
    session = t.session()
    for command in ("tty", "stty -a", "read -t 1 x </dev/tty", "cat /dev/tty", "test -t 0 || test -t 1"):
        with at_most(6, command):
            assert not session.run(command, timeout=5).timed_out, command
    _assert_obeys(session, "looking for a terminal")


@terms(bash)
def readonly_names_of_ours(t: Trial) -> None:
    """``readonly`` on a variable of the framing.

    At the worst it costs the shell, which is told of, and one command that says so with its status.
    """
    for name in ("__sw_n", "__sw_c=1", "__sw_h", "__sw_in", "__sw_s", "__sw_q=1", "__sw_z=1", "__sw_X"):
        session = t.session()
        session.run("MARK=kept").check()
        seen = []
        with at_most(20, f"readonly {name}"):
            with contextlib.suppress(OSError):  # __sw_q says that the directory cannot be entered
                seen.append(session.run(f"readonly {name}; echo ran", timeout=5))
            seen += [session.run("echo $MARK; cat", stdin="in\n", timeout=5) for _ in range(3)]
        assert (seen[-1].stdout, seen[-1].exit_code, seen[-1].shell) == ("kept\nin\n", 0, None), name
        for result in seen:
            assert result.stdout or (result.exit_code, result.shell is None) == (125, False), f"{name}: {result}"
