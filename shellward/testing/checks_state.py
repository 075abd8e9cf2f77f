"""Law 3: state persists from command to command as in a person's terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shellward.testing.trial import at_most, bash, quoted, raises, terms

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "shell"

_ODD = "a 'b' \"c\" $d `e` \\f\n\tg é  "


def directory_and_variables(t: Trial) -> None:
    """Working directory, exported and plain variables persist, with any value."""
    session = t.session()
    session.run(f"cd /tmp; PLAIN={quoted(_ODD)}; export EXPORTED={quoted(_ODD)}").check()
    assert session.cwd == "/tmp"
    assert session.run('pwd; printf %s "$PLAIN"').stdout == f"/tmp\n{_ODD}"
    assert session.run("sh -c 'printf %s \"$EXPORTED\"'").stdout == _ODD
    assert session.run("sh -c 'echo ${PLAIN-unset}'").stdout == "unset\n"
    session.run("unset PLAIN; cd -").check()
    assert session.run("echo ${PLAIN-unset}").stdout == "unset\n"


def functions_and_aliases(t: Trial) -> None:
    """Functions and aliases persist; aliases are expanded as in a person's terminal."""
    session = t.session()
    session.run('greet() { echo "hello $1"; }').check()
    session.run("alias shout='echo LOUD'").check()
    assert session.run("greet you").stdout == "hello you\n"
    assert session.run("shout x").stdout == "LOUD x\n"
    session.run("unset -f greet; unalias shout").check()
    assert session.run("greet 2>/dev/null").exit_code == 127


def options_and_positions(t: Trial) -> None:
    """Shell options and positional parameters persist."""
    session = t.session()
    session.run("set -f; set -u; set -- one 'two three'").check()
    assert session.run('echo *; echo "$#:$2"').stdout == "*\n2:two three\n"
    session.run("set +f; set +u").check()
    assert session.run("echo $unset_name-").stdout == "-\n"
    session.run("umask 027").check()
    assert session.run("umask").stdout.strip()[-3:] == "027"


@terms(bash)
def arrays_and_attributes(t: Trial) -> None:
    """What only bash has persists too: arrays, integers, readonly names, ``shopt``."""
    session = t.session()
    session.run(f"A=(1 {quoted(_ODD)} 3); declare -A M=([k]=v [{quoted('x y')}]={quoted(_ODD)}); declare -i N=4")
    session.run("declare -r R=fixed; shopt -s nullglob extglob").check()
    assert session.run('printf %s "${A[1]}"; printf "|%s" "${M[x y]}"').stdout == f"{_ODD}|{_ODD}"
    assert session.run("N+=3; echo $N").stdout == "7\n"
    assert session.run("R=x; echo not").stdout == "not\n" or session.run("echo $R").stdout == "fixed\n"
    assert session.run("echo $R /no/such/*/x").stdout == "fixed\n"


def virtual_environment(t: Trial) -> None:
    """An activated virtualenv stays active: what its script sets and defines is there in the next command."""
    session, root = t.session(), t.directory()
    t.env.write_file(
        f"{root}/activate",
        f"""deactivate() {{ PATH="$_OLD_PATH"; export PATH; unset VIRTUAL_ENV; unset -f deactivate; }}
VIRTUAL_ENV={root}; export VIRTUAL_ENV
_OLD_PATH="$PATH"; PATH="$VIRTUAL_ENV/bin:$PATH"; export PATH
hash -r 2>/dev/null
""",
    )
    t.env.run(f"mkdir {root}/bin").check()
    t.env.write_file(f"{root}/bin/mytool", "#!/bin/sh\necho from $VIRTUAL_ENV\n", mode=0o755)
    session.run(f". {root}/activate").check()
    assert session.run("mytool").stdout == f"from {root}\n"
    assert session.run(["mytool"]).stdout == f"from {root}\n"
    session.run("deactivate").check()
    assert session.run("mytool").exit_code == 127


def background_job_of_an_earlier_command(t: Trial) -> None:
    """A job started by one command can be waited for and ended by a later one."""
    session, sleeper = t.session(), t.sleeper()
    session.run("(sleep 0.3; exit 7) & job=$!").check()
    with at_most(3, "wait"):
        assert session.run("wait $job; echo $?", timeout=5).stdout == "7\n"
    session.run(f"{sleeper.command} & job=$!").check()
    sleeper.assert_alive(t.env)
    session.run("kill $job").check()
    sleeper.assert_gone(t.env)


def same_shell_goes_on(t: Trial) -> None:
    """The shell is warm: one process serves command after command."""
    session = t.session()
    pids = {session.run("echo $$").stdout for _ in range(5)}
    assert len(pids) == 1


def sessions_are_apart(t: Trial) -> None:
    """``session()`` is another warm shell with its own state."""
    one, two = t.session(), t.session()
    one.run("X=one; cd /; f() { echo one; }").check()
    two.run("X=two; cd /tmp; f() { echo two; }").check()
    assert one.run("echo $X; pwd; f").stdout == "one\n/\none\n"
    assert two.run("echo $X; pwd; f").stdout == "two\n/tmp\ntwo\n"
    assert (one.cwd, two.cwd) == ("/", "/tmp")


def closed_session(t: Trial) -> None:
    """A session can be closed alone: its shell ends, the others live, using it is an error.

    Closing twice fine.
    """
    with t.env.session("other") as other:
        pid = other.run("echo $$").stdout.strip()
        assert t.env.run(f"kill -0 {pid}").ok
    assert not t.env.run(f"for i in 1 2 3 4 5 6 7 8 9; do kill -0 {pid} || exit 1; sleep 0.1; done").ok
    with at_most(3, "run after close"), raises(Exception) as caught:  # any clear error
        other.run("echo no")
    assert str(caught.value)
    other.close()
    assert t.env.run("echo yes").stdout == "yes\n"


def directory_that_vanished(t: Trial) -> None:
    """The session survives that its own directory is removed."""
    session, root = t.session(), t.directory()
    session.run(f"mkdir {root}/d; cd {root}/d; rmdir ../d").check()
    assert session.run("echo still here", timeout=5).stdout == "still here\n"
    assert session.run("cd /; pwd", timeout=5).stdout == "/\n"
    assert session.cwd == "/"


def directory_without_permission(t: Trial) -> None:
    """The session survives a directory whose path cannot be walked any more."""
    session, root = t.session(), t.directory()
    session.run(f"mkdir -p {root}/a/b; cd {root}/a/b; chmod 000 {root}/a").check()
    assert session.run("echo still here", timeout=5).stdout == "still here\n"
    session.run(f"chmod 755 {root}/a; cd {root}").check()


def subshells_change_nothing(t: Trial) -> None:
    """What a subshell, a pipe or a background job changes stays there."""
    session = t.session()
    session.run("X=1; cd /tmp").check()
    session.run("(X=2; cd /); { X=3; cd /; } | cat; (X=4; cd /) & wait").check()
    assert session.run("echo $X; pwd").stdout == "1\n/tmp\n"


def scripts_are_sourced_and_executed(t: Trial) -> None:
    """A script that is executed has its own state, one that is sourced has the session's."""
    session, root = t.session(), t.directory()
    t.env.write_file(f"{root}/s.sh", "#!/bin/sh\nSET_HERE=yes; cd /\n", mode=0o755)
    session.run(f"{root}/s.sh").check()
    assert session.run("echo ${SET_HERE-no}").stdout == "no\n"
    session.run(f". {root}/s.sh").check()
    assert session.run("echo ${SET_HERE-no}; pwd").stdout == "yes\n/\n"


def standard_variables(t: Trial) -> None:
    """HOME, PATH, PWD are what programs expect, and nothing of ours is in the environment of programs."""
    result = t.session().run("env; cd; pwd")
    names = {line.partition("=")[0] for line in result.stdout.splitlines()}
    assert {"PATH", "PWD"} <= names
    strangers = {name for name in names if name.startswith(("_shellward", "__", "BASH_FUNC"))}
    assert not strangers
