"""What runs by way of variables, of the search path, of copies under another name, and of FIFOs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Result, Terminal

Refused = Callable[[Callable[[], Result]], ApprovalDenied]


@pytest.fixture
def refused(refused: Refused) -> Refused:
    """Check that something is refused for what it does, not because looking at it failed."""

    def check(act: Callable[[], Result]) -> ApprovalDenied:
        error = refused(act)
        assert "unknown.detector-failed" not in {finding.rule for finding in error.decision.findings}
        return error

    return check


@pytest.mark.parametrize(
    "command",
    [
        "GIT_SSH_COMMAND=$PWD/s git ls-remote host:x",
        "GIT_EXTERNAL_DIFF=$PWD/s git diff",
        "GIT_PAGER=./s git log",
        "PAGER=$PWD/s git log",
        "EDITOR=$PWD/s git commit",
        "EDITOR=$PWD/s crontab -e",
        "MANPAGER=$PWD/s man ls",
        "RSYNC_RSH=$PWD/s rsync host:x y",
        "export GIT_PAGER=$PWD/s; git log",
        "BASH_ENV=$PWD/s bash -c true",
        "ENV=$PWD/s sh -i </dev/null",
        "PATH=.:$PATH git",
        "PATH=$PWD:$PATH git",
        "PATH=/tmp/x:$PATH git",
        "env PATH=$PWD:$PATH git",
    ],
)
def test_a_new_program_that_a_variable_names(bash: Terminal, victim: Path, refused: Refused, command: str) -> None:
    bash.run("cat >s; chmod +x s; cp s git", stdin=f"#!/bin/sh\nrm -rf {victim}\n")
    refused(lambda: bash.run(command))


def test_a_variable_of_an_earlier_command(bash: Terminal, victim: Path, refused: Refused) -> None:
    bash.run("export GIT_PAGER=./s")
    bash.run("cat >s; chmod +x s", stdin=f"#!/bin/sh\nrm -rf {victim}\n")
    refused(lambda: bash.run("git log"))


@pytest.mark.parametrize(
    "make",
    [
        "cp /bin/rm tidy",
        "install -m 755 /bin/rm tidy",
        "cat /bin/rm >tidy; chmod +x tidy",
        "ln -s /bin/rm tidy",
        "cp /bin/rm tidy; echo >>tidy",
    ],
)
def test_a_known_program_under_another_name(bash: Terminal, victim: Path, refused: Refused, make: str) -> None:
    bash.run(make)
    error = refused(lambda: bash.run(f"./tidy -rf {victim}"))
    assert "files.rm-recursive" in {finding.rule for finding in error.decision.findings}
    bash.run("PATH=$PWD:$PATH")
    refused(lambda: bash.run(f"tidy -rf {victim}"))


def test_a_shell_under_another_name(bash: Terminal, victim: Path, refused: Refused) -> None:
    bash.run("cp /bin/bash tidy; cat >s", stdin=f"rm -rf {victim}\n")
    refused(lambda: bash.run("./tidy s"))


@pytest.mark.parametrize(
    "command", ["mkfifo ff; bash ff & cat >ff", "mkfifo ff; bash <ff & cat >ff", "mknod ff p; sh ff"]
)
def test_a_shell_that_reads_a_pipe_which_the_line_makes(bash: Terminal, refused: Refused, command: str) -> None:
    refused(lambda: bash.run(command, timeout=20))


def test_a_shell_that_reads_a_pipe_from_before(bash: Terminal, refused: Refused) -> None:
    bash.run("mkfifo ff")
    refused(lambda: bash.run("bash ff", timeout=20))


@pytest.mark.parametrize(
    "command",
    [
        "EDITOR=/usr/bin/true VISUAL=vim git --version",
        "GIT_PAGER=cat git --version",
        "GIT_CONFIG_GLOBAL=/dev/null git --version",
        "ENV=production true",
        "PATH=/usr/bin:$PATH git --version",
        "LD_LIBRARY_PATH=./lib true",
        "NODE_OPTIONS=--max-old-space-size=4096 true",
        "mkfifo ff; cat ff & echo x >ff; wait",
    ],
)
def test_ordinary_variables_run_unasked(bash: Terminal, command: str) -> None:
    assert bash.run(command, timeout=20).exit_code == 0
