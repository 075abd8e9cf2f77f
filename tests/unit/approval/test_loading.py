"""Variables by which programs load code: what counts by its path alone, and what does not."""

import pytest

from shellward.approval import detect_dangerous_command

COUNT = [
    "BASH_ENV=/home/me/x bash -c true",
    "ENV=/home/me/x sh -i",
    "LD_PRELOAD=/home/me/x.so ls",
    "LD_LIBRARY_PATH=/home/me/lib ls",
    "export LD_LIBRARY_PATH=/tmp/x:$LD_LIBRARY_PATH",
    "PYTHONSTARTUP=/home/me/x python3",
    "PERL5OPT=-Mlib=/home/me/l perl x",
    "NODE_OPTIONS='--require /home/me/x.js' node y.js",
    "NODE_OPTIONS=--import=/home/me/x.mjs npm test",
    "RUBYOPT=-r/home/me/x ruby y.rb",
    "GIT_SSH_COMMAND=/home/me/x git fetch",
    "GIT_EXTERNAL_DIFF=/home/me/x git diff",
    "GIT_PAGER='/home/me/x -R' git log",
    "GIT_EXEC_PATH=/home/me/x git log",
    "GIT_CONFIG_GLOBAL=/home/me/x git log",
    "export GIT_SSH=/home/me/x",
    "PATH=.:$PATH git status",
    "PATH=/tmp/x:$PATH git status",
]
DO_NOT = [
    "ENV=production npm start",
    "LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH ./app",
    "LD_LIBRARY_PATH=./lib ./app",
    "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
    "GIT_SSH_COMMAND='ssh -i /home/me/.ssh/key' git fetch",
    "GIT_SSH_COMMAND=/usr/bin/ssh git fetch",
    "GIT_PAGER=cat git log",
    "GIT_CONFIG_GLOBAL=/dev/null git log",
    "PYTHONSTARTUP=~/.pythonrc python3",
    "PATH=$HOME/bin:$PATH git status",
    "PERL5OPT=-Mstrict perl x.pl",
]


@pytest.mark.parametrize("command", COUNT)
def test_code_by_a_path_counts(command: str) -> None:
    assert detect_dangerous_command(command, cwd="/home/me/p")


@pytest.mark.parametrize("command", DO_NOT)
def test_other_values_do_not(command: str) -> None:
    assert not detect_dangerous_command(command, cwd="/home/me/p")
