"""Law 1: the command travels as data. A syntax error is a result, and no text can break the framing."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from shellward.core.errors import ShellwardError
from shellward.testing.trial import at_most, bash, quoted, terms

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "shell"

_BROKEN = (
    'echo "',
    "echo '",
    "echo `",
    "echo $(",
    "echo $((",
    "echo ${",
    "(",
    ")",
    "{",
    "}",
    "if",
    "if true",
    "if true; then",
    "fi",
    "done",
    "esac",
    "for",
    "for x in",
    "while true; do",
    "case x in",
    "case x in x)",
    "&&",
    "||",
    "|",
    ";;",
    "&& true",
    "true &&",
    "true |",
    "f() {",
    "f(",
    "echo hi >",
    "<",
    "; ;",
    ") ; echo spliced",
    "'; echo spliced; '",
    '"; echo spliced; "',
    "} ; echo spliced",
    "fi; echo spliced",
    "done; echo spliced",
)


def broken_syntax_is_a_result(t: Trial) -> None:
    """Syntax errors and unbalanced quotes end with a status of their own.

    The session and its state live on.
    """
    session = t.session()
    session.run("MARK=kept; cd /tmp").check()
    for command in _BROKEN:
        result = session.run(command, timeout=5)
        assert not result.timed_out, command
        assert result.exit_code != 0, command
        assert result.stderr, command
        assert "spliced" not in result.stdout, command
        after = session.run("echo $MARK; pwd")
        assert (after.exit_code, after.stdout, after.stderr) == (0, "kept\n/tmp\n", ""), command


def broken_syntax_leaves_the_shell(t: Trial) -> None:
    """A syntax error does not cost the session its shell, where the shell can help it.

    A plain variable and the shell's pid are as before.
    """
    session = t.session()
    pid = session.run("echo $$").stdout
    for command in ('echo "', "if", ")"):  # "echo $(" breaks bash 5.2 itself, which is replaced then
        assert session.run(command).shell is None, command
    assert session.run("echo $$").stdout == pid


@terms(bash)
def broken_bash_syntax(t: Trial) -> None:
    """The same for constructs that only bash has."""
    session = t.session()
    for command in (
        "[[",
        "[[ a =~ (",
        "((",
        "echo <(",
        "x=(",
        "echo ${a[",
        "coproc",
        "function",
        "select",
        "echo ${!}",
    ):
        assert not session.run(command, timeout=5).timed_out, command
        assert session.run("echo ok").stdout == "ok\n", command


def open_ends_are_contained(t: Trial) -> None:
    """Here-docs, comments, backslashes and ``&`` at the end swallow nothing of ours."""
    session = t.session()
    for command, expected in (
        ("cat <<END\nopen", "open"),
        ("cat <<END\nclosed\nEND", "closed\n"),
        ("cat <<'END'\n$HOME `x`\nEND\n", "$HOME `x`\n"),
        ("cat <<END; echo b\na\nEND", "a\nb\n"),
        ("echo a # comment", "a\n"),
        ("# first\necho b\n# last", "b\n"),
        ("echo c \\", "c \\\n"),
        ("echo d \\\n  e", "d e\n"),
        ("echo f &", None),
        ("echo g;", "g\n"),
        ("\n\necho h\n\n", "h\n"),
        ("echo 'i\n\nj'", "i\n\nj\n"),
        ("if true\nthen\n\techo k\nfi", "k\n"),
        ("f_() {\n echo l\n}\nf_", "l\n"),
        ("echo m\necho n", "m\nn\n"),
        ("echo 'it''s'", "its\n"),
        ("! true; echo $?", "1\n"),
        ("exit_() { :; }; echo o", "o\n"),
        ("eval 'echo p'", "p\n"),
        ("echo 'eval \"echo q'", 'eval "echo q\n'),
    ):
        result = session.run(command, timeout=5)
        assert not result.timed_out, command
        if expected is not None:
            assert result.stdout.rstrip("\n") == expected.rstrip("\n"), command
        assert session.run("wait; echo ok").stdout.endswith("ok\n"), command


def every_character_survives(t: Trial) -> None:
    """Every printable and control character of a command reaches the shell, quoted and as data."""
    text = string.printable + "é€😀\u2028\ufeff\x01\x02\x1b[0m\x7f" + "'" * 5 + '"' * 5 + "\\" * 5
    result = t.env.run(f"printf %s {quoted(text)}")
    assert result.stdout == text
    result = t.env.run(f"cat <<'XXEND'\n{text}\nXXEND")
    assert result.stdout == text + "\n"


def no_history_expansion(t: Trial) -> None:
    """Nothing that only an interactive shell does happens to the command (``!``, ``~`` in words, prompts)."""
    result = t.env.run('echo "a!b!!c" "!$" x~y ^a^b')
    assert result.stdout == "a!b!!c !$ x~y ^a^b\n"


def bytes_that_are_not_utf8(t: Trial) -> None:
    """A command may hold bytes that are not UTF-8 (as lone surrogates, PEP 383); they arrive as they were."""
    result = t.env.run("printf %s 'a\udcff\udcc3b'")
    assert result.stdout_bytes == b"a\xff\xc3b"
    assert result.stdout == "a\ufffd\ufffdb"
    assert t.env.run(["printf", "%s", "\udcfe"]).stdout_bytes == b"\xfe"


def nul_in_a_command(t: Trial) -> None:
    """A NUL cannot be in a command: a clear error or a result, never a hang.

    Never something else that runs.
    """
    for command in ("echo a\0b", ["echo", "a\0b"]):
        with at_most(5, "a command with a NUL"):
            try:
                result = t.env.run(command, timeout=4)
            except (ShellwardError, ValueError):
                continue
            assert not result.timed_out
    assert t.env.run("echo ok").stdout == "ok\n"


def megabyte_command(t: Trial) -> None:
    """A command of 1 MB runs, whole, in reasonable time; also with its text on many lines."""
    session = t.session()
    body = "0123456789abcdef" * 65_536
    with at_most(15, "a command of 1 MB"):
        result = session.run(f"x='{body}'; echo ${{#x}}; echo end")
    assert (result.exit_code, result.stdout) == (0, f"{len(body)}\nend\n")
    lines = "\n".join(f"n=$((n+1)) # {'x' * 80}" for _ in range(11_000))
    with at_most(15, "a command of 11,000 lines"):
        result = session.run(f"n=0\n{lines}\necho $n")
    assert (result.exit_code, result.stdout) == (0, "11000\n")


def nested_subshells(t: Trial) -> None:
    """100 nested subshells and 100 nested substitutions are one command."""
    with at_most(20, "100 nested subshells"):
        result = t.env.run("( " * 100 + "echo deep; exit 7" + " )" * 100)
    assert (result.exit_code, result.stdout) == (7, "deep\n")
    command = "echo deep"
    for _ in range(100):
        command = f"echo $({command})"
    with at_most(20, "100 nested substitutions"):
        assert t.env.run(command).stdout == "deep\n"


def errors_name_the_users_line(t: Trial) -> None:
    """Messages of the shell are about the user's command: nothing of our framing shows."""
    for command in ("shellward-no-such-command", "echo )", "cd /no/such/dir", "true\nshellward-no-such"):
        result = t.session().run(command)
        assert result.stderr
        assert len(result.stderr) < 300, result.stderr
        for ours in ("__", "/proc/", "fd/", "nonce"):
            assert ours not in result.stderr, result.stderr
