"""What exit statuses mean, and of which command of a line; checked with the real programs where they are here."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.terminal_tool.exit_codes import meaning


@pytest.mark.parametrize(
    ("command", "exit_code", "said"),
    [
        ("grep x f", 1, "nothing matched"),
        ("cat f | grep -c x", 1, "nothing matched"),
        ("cd /x && rg x", 1, "nothing matched"),
        ("make; grep x f", 1, "nothing matched"),
        ("LC_ALL=C grep x f 2>/dev/null", 1, "nothing matched"),
        ("sudo -n /usr/bin/grep x f", 1, "nothing matched"),
        ("env A=1 B=2 grep x f", 1, "nothing matched"),
        ("grep x f", 2, "an error"),
        ("diff a b", 1, "differ"),
        ("test -f x", 1, "false"),
        ("[ -f x ]", 1, "false"),
        ("[[ -f x ]]", 1, "false"),
        ("find / -name x", 1, "could not be read"),
        ("curl -sS https://x", 6, "resolved"),
        ("curl https://x", 28, "time limit"),
        ("wget https://x/y", 8, "404"),
        ("rsync -a a b", 23, "not transferred"),
        ("rsync -a a b", 24, "vanished"),
        ("git diff --exit-code", 1, "differences"),
        ("git -C /x --no-pager diff --quiet", 1, "differences"),
        ("git grep x", 1, "nothing matched"),
        ("git merge x", 1, "conflicts"),
        ("git status", 128, "fatal error of git"),
        ("pytest -q", 5, "no tests"),
        ("timeout 5 sleep 9", 124, "time limit"),
        ("ssh host true", 255, "ssh itself failed"),
        ("jq -e .x", 1, "false or null"),
        ("jq -re .x", 1, "false or null"),
        ("nothing", 127, "not found"),
        ("./file", 126, "cannot be run"),
        ("work", 137, "SIGKILL"),
        ("work", 139, "crashed"),
        ("$program x", 127, "not found"),
    ],
)
def test_known_ones(command, exit_code, said) -> None:
    found = meaning(command, exit_code)
    assert found is not None
    assert said in found


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        ("grep x f", 0),
        ("make test && grep x f", 1),
        ("grep x f || make", 1),
        ("grep x f | wc -l", 1),
        ("! grep x f", 1),
        ("(grep x f)", 1),
        ("grep x f &", 1),
        ("if grep x f; then false; fi", 1),
        ("grep 'x", 1),
        ("python -c 'import sys; sys.exit(1)'", 1),
        ("git diff", 1),
        ("jq .x", 1),
        ("make", 1),
        ("$program x", 1),
        ("", 1),
        ("x", 3),
        ("x", -1),
        ("x", 255),
        ("grep x f #" + "x" * 30_000, 1),
    ],
)
def test_where_it_cannot_be_told_nothing_is_said(command, exit_code) -> None:
    assert meaning(command, exit_code) is None


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("grep zzzz /etc/passwd", "nothing matched"),
        ("grep x /not/there", "an error"),
        ("diff /etc/passwd /etc/group >/dev/null", "differ"),
        ("diff /etc/passwd /not/there", "an error"),
        ("cmp -s /etc/passwd /etc/group", "differ"),
        ("test 1 = 2", "false"),
        ("[ 1 = 2 ]", "false"),
        ("test a -eq", "an error in the expression"),
        ("find /not/there", "could not be read"),
        ("curl -s http://nothing.invalid/", "resolved"),
        ("curl -s http://127.0.0.1:9/", "no connection"),
        ("curl -s htt:p//", None),
        ("git -C / status", "fatal error of git"),
        ("git diff --no-index --quiet /etc/passwd /etc/group", "differences"),
        ("timeout 0.1 sleep 5", "time limit"),
        ("expr 1 - 1", "empty or 0"),
        ("rsync /not/there /tmp/x", "not transferred"),
        ("getent passwd no-such-user", "not in the database"),
        ("pgrep -x no-such-process", "no process"),
        ("echo x | xargs false", "failed"),
        ("not-a-command-at-all", "not found"),
        ("/etc/passwd", "cannot be run"),
        ("kill -9 $$", "SIGKILL"),
        ("let 0", "value is 0"),
    ],
)
def test_the_real_programs(command, said) -> None:
    program = command.split()[0]
    if program in {"curl", "rsync", "git", "expr"} and shutil.which(program) is None:
        exit_code = 127  # then that is what the shell says, and what is to be said of it
        said = "not found"
    else:
        exit_code = subprocess.run(["bash", "-c", command], capture_output=True, check=False).returncode
    if exit_code < 0:
        exit_code = 128 - exit_code
    found = meaning(command, exit_code)
    assert said is None or (found is not None and said in found), (exit_code, found)


@given(st.text(max_size=60), st.integers(-5, 300))
def test_no_command_is_too_strange(command, exit_code) -> None:
    found = meaning(command, exit_code)
    assert found is None or found
