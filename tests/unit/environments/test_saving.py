"""When bash saves its state: not after a command that can only run a program, and after every other one."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.types import ShellEvent
from shellward.environments import Environment


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Environment]:
    with environments.create("local", shell="bash", cwd=str(tmp_path)) as made:
        made.run("/bin/true; ls")  # from here on bash knows where ls is
        yield made


def saved(env: Environment) -> int:
    """Return the number of the command whose state was saved last, as the files tell it."""
    files = Path(env.backend.scratch, "main").glob("default.bash.[0-3]")
    return max(int(file.read_text().partition("\n")[0].removeprefix("#")) for file in files)


def lose_the_shell(env: Environment, pid: int | None = None) -> None:
    pid = pid or int(env.run("echo $$").stdout)
    os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 30
    while env._default.warm() and time.monotonic() < until:  # before that a command would be sent to the dead shell
        time.sleep(0.01)


@pytest.mark.parametrize(
    "command",
    ["true", "/bin/true", "ls", "ls -l /", "ls 'a b' .", "echo x=1", "ls *", "/no/such/program", "/bin/false"],
)
def test_a_program_saves_nothing(env: Environment, command: str) -> None:
    before = saved(env)
    env.run(command)
    assert saved(env) == before


@pytest.mark.parametrize(
    ("command", "look", "seen"),
    [
        ("X=1", "echo $X", "1"),
        ("X=1 Y=2", "echo $X$Y", "12"),
        ("cd /", "pwd", "/"),
        ("export X=1", "echo $X", "1"),
        ("ls; X=1", "echo $X", "1"),
        ("ls\nX=1", "echo $X", "1"),
        ("ls ${X:=1}", "echo $X", "1"),
        ("ls $((X=1))", "echo $X", "1"),
        ("ls $[X=1]", "echo $X", "1"),
        ("ls && X=1", "echo $X", "1"),
        ("umask 027", "umask", "0027"),
        ("printf -v X 1", "echo $X", "1"),
        ("read X", "echo ${X-unset}", ""),
        ("set -f", "echo *", "*"),
        ('"eval" X=1', "echo $X", "1"),
        ("\\eval X=1", "echo $X", "1"),
        ("true() { X=1; }", "true; echo $X", "1"),
        ("shopt -s nullglob", "echo /no/such*", ""),
        ("a=(0 1 2); i=0; declare -n r='a[i++]'; ls\necho $r", "echo $i", "1"),
        ("set -k; set -o posix\n: x=5", "echo $x", "5"),
        ("f() { :; }; printf 'g() { echo g; }' >lib; .\t./lib", "g", "g"),
    ],
)
def test_what_may_change_the_state_is_saved(env: Environment, command: str, look: str, seen: str) -> None:
    env.run(command)
    lose_the_shell(env)
    result = env.run(look)
    assert result.shell is ShellEvent.RESTARTED
    assert result.stdout.strip() == seen


@pytest.mark.parametrize(
    "disguise",
    [
        "ls() { X=1; }",
        "function ls { X=1; }",
        "alias ls='X=1 #'",
        "echo 'ls() { X=1; }' >lib; source ./lib",
        "echo 'ls() { X=1; }' >lib; . ./lib",
        "trap 'X=1' DEBUG",
        "echo \"trap 'X=1' DEBUG\" >lib; source ./lib",
        "eval \"$(printf 'tr%sp X=1 DEBUG' a)\"",
        "alias ls='X=1 #'; enable -n alias",
    ],
)
def test_what_is_no_program_any_more_is_saved(env: Environment, disguise: str) -> None:
    env.run(disguise)
    env.run("unset X")
    env.run("ls")
    lose_the_shell(env)
    assert env.run("trap - DEBUG; echo $X").stdout == "1\n"


def test_a_name_that_is_a_program_and_a_keyword(env: Environment) -> None:
    """It is known as a program after ``\\time``, and stays a keyword."""
    env.run("hash -p /bin/true time; hash -p /bin/true cd; hash -p /bin/true export")
    env.run("time X=1")
    env.run("export Y=2")
    env.run("cd /")
    lose_the_shell(env)
    assert env.run("echo $X$Y $PWD").stdout == "12 /\n"


@pytest.mark.parametrize(
    "setup",
    [
        "n=0; declare -n r='a[n=1]'; c='echo $r'",
        "n=0; PS4='$((n=1))+ '; set -x",
        "echo \"trap 'n=1' USR1\" >lib; . ./lib",
        "t=tra; ${t}p 'n=1' USR1",
    ],
)
def test_what_runs_beside_a_program(env: Environment, setup: str) -> None:
    env.run(setup)
    pid = env.run("echo $$").stdout.strip()
    env.run(f"env kill -USR1 {pid}" if "USR1" in setup else "echo $r")
    env.run("/bin/true")
    lose_the_shell(env, int(pid))
    assert env.run("set +x; echo $n").stdout == "1\n"


def test_a_word_that_is_still_to_be_expanded(env: Environment) -> None:
    env.run("d=a; function a/b { X=1; }")
    env.run("$d/b")
    lose_the_shell(env)
    assert env.run("echo $X").stdout == "1\n"


def test_a_limit_on_the_depth_of_functions_is_for_the_user_alone(env: Environment) -> None:
    env.run("FUNCNEST=1")
    for command in ("ls /dev/null", "(ls /dev/null)", "true; ls /dev/null", "exec 5>&1; ls /dev/null"):
        assert env.run(command).stdout == "/dev/null\n"
    assert env.run("f() { g; }; g() { :; }; f").exit_code != 0


def test_what_was_saved_before_is_whole(env: Environment) -> None:
    env.run("X=1")
    for _ in range(9):
        env.run("ls")
    lose_the_shell(env)
    result = env.run("echo $X")
    assert (result.stdout, result.shell) == ("1\n", ShellEvent.RESTARTED)
    for _ in range(9):
        env.run("ls")
    assert env.run("echo $X; kill -9 $$").shell is ShellEvent.STATE_LOST
    assert env.run("echo $X").stdout == "1\n"


def test_a_shell_that_was_lost_before_anything_was_saved(tmp_path: Path) -> None:
    with environments.create("local", shell="bash", cwd=str(tmp_path)) as env:
        env.run("true")
        lose_the_shell(env)
        assert env.run("true").shell is ShellEvent.RESTARTED


def test_the_end_of_a_program_keeps_the_state(env: Environment) -> None:
    env.run("X=1")
    env.run("sleep 0.01")
    result = env.run("sleep 9", timeout=0.1)
    assert (result.timed_out, result.shell) == (True, ShellEvent.RESTARTED)
    assert env.run("echo $X").stdout == "1\n"


def test_errexit_keeps_the_state(env: Environment) -> None:
    env.run("X=1; set -e")
    assert env.run("ls /no/such").shell is ShellEvent.RESTARTED
    assert env.run("echo $X $-").stdout.startswith("1 e")


def test_older_jobs_stay_when_programs_ran_since(env: Environment) -> None:
    job = int(env.run("sleep 300 & echo $!").stdout)
    for _ in range(6):
        env.run("ls")
    assert env.run("sleep 9", timeout=0.1).timed_out
    os.kill(job, 0)


def test_what_cannot_be_saved_whole_leaves_the_state_before_it(env: Environment) -> None:
    env.run("z=1").check()  # one of the last in a list by names
    assert env.run("trap '' XFSZ; ulimit -S -f 1; B=2").shell is ShellEvent.STATE_UNSAVED
    for _ in range(6):
        assert env.run("B=3").shell is ShellEvent.STATE_UNSAVED
    lose_the_shell(env)
    assert env.run("echo $z").stdout == "1\n"


def test_overlapping_commands_begin_with_the_state_before_the_programs(env: Environment) -> None:
    env.run("X=1")
    for _ in range(5):
        env.run("ls")
    stream = env.stream("sleep 9")
    try:
        assert env.run("echo $X").stdout == "1\n"
    finally:
        stream.close()


def everywhere(env: Environment, look: str) -> list[str]:
    """Run a command as one that overlaps, in a background process, and in a shell that takes over."""
    with env.stream("sleep 30"):
        beside = env.run(look).output
    process = env.start(look)
    process.wait(20)
    assert env.run("exit 3").shell is ShellEvent.RESTARTED
    return [beside, process.log().data.decode(), env.run(look).output]


def test_values_that_look_like_what_bash_keeps_itself(env: Environment) -> None:
    env.run("export A='my UID=5' B='x __sw_a' C=' PPID=1'; E=(1 ' GROUPS=2')")
    env.run("D=$'\\ndeclare -- UID=7\\n#functions\\nEUID=8'")
    env.run("f() { echo f; }; G=after")
    look = 'echo "$A,$B,$C,$D,${E[1]},$G"; f'
    expected = "my UID=5,x __sw_a, PPID=1,\ndeclare -- UID=7\n#functions\nEUID=8, GROUPS=2,after\nf\n"
    assert everywhere(env, look) == [expected] * 3


@pytest.mark.parametrize("option", ["on", "off"])
def test_functions_that_need_an_option_to_be_read(env: Environment, option: str) -> None:
    env.run("shopt -s extglob; V=kept")
    env.run("f() { ls -d d/!(x|y); }; g() { echo g; }; export -f g; mkdir d; touch d/x d/z")
    env.run(f"shopt -{'s' if option == 'on' else 'u'} extglob")
    look = "echo $V; f; bash -c g; shopt extglob | tr -d ' '"
    if option == "on":
        assert everywhere(env, look) == [f"kept\nd/z\ng\nextglob\t{option}\n"] * 3
    else:  # bash itself cannot read it back any more
        env.run("unset -f f")
        assert everywhere(env, "echo $V; bash -c g; shopt extglob | tr -d ' '") == ["kept\ng\nextglob\toff\n"] * 3


def test_many_variables_and_functions(env: Environment) -> None:
    env.run(
        'for i in $(seq 1500); do declare "v$i=value $i"; eval "f$i() { echo function $i; }"; done;'
        "export v7; export -f f9"
    )
    look = "echo $v1500; f1500; env | grep ^v7=; bash -c f9; compgen -v v | wc -l; compgen -A function f | wc -l"
    expected = "value 1500\nfunction 1500\nv7=value 7\nfunction 9\n1500\n1500\n"
    assert everywhere(env, look) == [expected] * 3
