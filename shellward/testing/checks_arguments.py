"""Commands that are lists: run as they stand, without any shell in between."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from shellward.testing.trial import at_most

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "shell"

_ODD = (
    "",
    "a b",
    "  ",
    "$HOME",
    "${x}",
    "$(id)",
    "`id`",
    "*",
    "?",
    "~",
    "{a,b}",
    "-n",
    "-e",
    "--",
    "'",
    '"',
    "'\"'\"'",
    "\\",
    "\\n",
    "\n",
    "a\nb\n",
    "\t",
    ";",
    "&",
    "|",
    ">x",
    "<x",
    "#",
    "!",
    "a=b",
    "é€😀",
    "\x01\x1b\x7f",
)


def arguments_arrive_as_they_are(t: Trial) -> None:
    """``command`` as a list is run as it stands: each argument arrives exactly."""
    result = t.env.run(["printf", "<%s>\\n", *_ODD])
    assert result.exit_code == 0
    assert result.stdout == "".join(f"<{word}>\n" for word in _ODD)


def nothing_is_expanded(t: Trial) -> None:
    """No alias, function, builtin or keyword of the session stands in for the program named."""
    session = t.session()
    session.run("printf() { echo function; }; alias printf='echo alias'; cat() { echo function; }").check()
    assert session.run(["printf", "%s", "program"]).stdout == "program"
    assert session.run(["cat"], stdin="program").stdout == "program"
    for words in (["if"], ["VAR=value"], ["shellward-nothing && true"], ["{"], ["["]):
        assert session.run(words).exit_code != 0, words
    assert session.run(["test", "a", "=", "a", "-a", "b", "=", "c"]).exit_code == 1


def list_changes_no_state(t: Trial) -> None:
    """A list is a program: it cannot change the session, and it sees the session's directory and exports."""
    session = t.session()
    session.run("cd /tmp; export SEEN=yes; HIDDEN=no").check()
    assert session.run(["pwd"]).stdout == "/tmp\n"
    assert session.run(["sh", "-c", 'echo "$SEEN"']).stdout == "yes\n"
    assert session.run(["sh", "-c", 'test -n "$HIDDEN"']).exit_code == 1
    assert session.run(["sh", "-c", "cd /; exit 5"]).exit_code == 5
    after = session.run("pwd")
    assert (after.stdout, after.shell) == ("/tmp\n", None)


def missing_and_forbidden_programs(t: Trial) -> None:
    """A program that is not there is 127, one that cannot be executed 126: results, as for a shell line."""
    missing = t.env.run(["shellward-no-such-program", "x"])
    assert missing.exit_code == 127
    assert "shellward-no-such-program" in missing.stderr
    assert t.env.run(["/tmp"]).exit_code == 126


def name_with_odd_characters(t: Trial) -> None:
    """A program whose path has blanks, quotes or a leading dash can be run."""
    root = t.directory()
    for name in ("a b", "it's", "-dash", "new\nline", "é", "$x"):
        path = f"{root}/{name}"
        t.env.write_file(path, '#!/bin/sh\necho "ran $1"\n', mode=0o755)
        result = t.env.run([path, "x y"])
        assert (result.exit_code, result.stdout) == (0, "ran x y\n"), name
        assert t.env.run([f"./{name}", "z"], cwd=root).stdout == "ran z\n", name


def many_arguments(t: Trial) -> None:
    """10,000 arguments are no problem.

    An argument that the kernel refuses (128 KB) is a result or an error.
    """
    words = [str(number) for number in range(10_000)]
    result = t.env.run(["printf", "%s\\n", *words], max_output=1_000_000)
    assert result.stdout.split() == words
    with at_most(10, "an argument of 300 KB"), contextlib.suppress(OSError, ValueError):
        assert t.env.run(["/bin/echo", "x" * 300_000], timeout=8, max_output=10).exit_code != 0
    assert t.env.run("echo ok").stdout == "ok\n"


def list_with_streams_and_stdin(t: Trial) -> None:
    """Everything that ``run`` offers for a line holds for a list: both streams, stdin, cwd, env, limit."""
    result = t.env.run(
        ["sh", "-c", 'cat; echo "$V" >&2; pwd; exit 4'], stdin="in\n", cwd="/tmp", env={"V": "v"}, timeout=10
    )
    assert (result.exit_code, result.stdout, result.stderr) == (4, "in\n/tmp\n", "v\n")
    result = t.env.run(["sleep", "30"], timeout=0.5)
    assert (result.exit_code, result.timed_out) == (124, True)
    assert result.duration < 1.5
