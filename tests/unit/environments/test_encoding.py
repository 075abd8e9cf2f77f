"""Quoting, checked against the shells that it is for: real bash, dash and busybox sh."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shellward.core.errors import ConfigError
from shellward.environments.encoding import (
    Request,
    dialect_of,
    encode_text,
    join,
    only_program,
    printf_escape,
    quote,
    quote_ascii,
    script,
)

SHELLS = {"bash": ["bash", "--norc"], "dash": ["dash"], "busybox": ["busybox", "sh"]}
SHELL = pytest.mark.parametrize("shell", SHELLS)
UGLY = [
    b"",
    b"'",
    b"''''",
    b"\\",
    b"\\'",
    b"\\\\n",
    b"$HOME `id` $(id) ${x}",
    b"\n",
    b"\n\n",
    b"\r\n\t\x1b\x07\x7f\x01",
    b"!!",
    b"-n",
    b"--",
    b"~",
    b"*",
    b"%s%%",
    b"a'b\"c",
    "ä€😀".encode(),
    b"\xc3",
    b"\xff\xfe'\x80\\",
    b"\x81\x82abc0",
    b"\xe4f",
    b"$'x'",
    bytes(range(1, 256)),
]
no_nul = st.one_of(
    st.sampled_from(UGLY),
    st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"")),
    st.text("'\"\\$`\n !#é01x", max_size=20).map(str.encode),
)
ANY = settings(max_examples=60, deadline=None)


def says(shell: str, text: bytes, locale: str = "C.UTF-8") -> bytes:
    """Return what a shell prints for a script that it reads from its standard input."""
    env = {"PATH": os.environ["PATH"], "LC_ALL": locale}
    done = subprocess.run(SHELLS[shell], input=text, capture_output=True, check=True, env=env)
    assert done.stderr == b""
    return done.stdout


def test_the_shells_are_there() -> None:
    """A test that has nothing to check against would be green for nothing."""
    assert [name for name in SHELLS if shutil.which(name) is None] == []


@SHELL
@given(words=st.lists(no_nul, min_size=1, max_size=12))
@example(words=UGLY)
@ANY
def test_quote(shell: str, words: list[bytes]) -> None:
    text = b"printf '%s\\0' " + b" ".join(map(quote, words)) + b"\n"
    assert says(shell, text) == b"".join(word + b"\0" for word in words)


@SHELL
@given(word=no_nul)
@ANY
def test_quote_for_eval(shell: str, word: bytes) -> None:
    """Twice quoted is twice undone: the way of a command through eval."""
    inner = b"printf %s " + quote(word)
    assert says(shell, b"eval " + quote(inner) + b"\n") == word


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@given(words=st.lists(no_nul, min_size=1, max_size=12))
@example(words=UGLY)
@ANY
def test_quote_ascii(locale: str, words: list[bytes]) -> None:
    text = b"printf '%s\\0' " + b" ".join(map(quote_ascii, words)) + b"\n"
    assert text.isascii()
    assert says("bash", text, locale) == b"".join(word + b"\0" for word in words)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@SHELL
@given(data=st.binary(max_size=60) | no_nul)
@example(data=bytes(range(256)))
@example(data=b"\0" + b"777")
@example(data=b"\xff0")
@example(data=b"\\c stop")
@example(data=b"%d")
@ANY
def test_printf_escape(shell: str, locale: str, data: bytes) -> None:
    escaped = printf_escape(data)
    assert escaped.isascii()
    assert b"\0" not in escaped
    assert says(shell, b"printf %b " + quote(escaped) + b"\n", locale) == data


@SHELL
@given(words=st.lists(no_nul, max_size=8))
@example(words=UGLY)
@ANY
def test_join(shell: str, words: list[bytes]) -> None:
    argv = ["printf", "%s\\0", *(word.decode("utf-8", "surrogateescape") for word in words)]
    line = join(argv).encode("utf-8", "surrogateescape")
    assert says(shell, line + b"\n") == (b"".join(word + b"\0" for word in words) or b"\0")


@SHELL
@pytest.mark.parametrize("name", ["-odd", "a b", "x=y", "'", "ü", "if", "printf"])
def test_join_runs_the_program_and_no_function_builtin_or_keyword(shell: str, name: str, tmp_path: Path) -> None:
    program = tmp_path / name
    program.write_text('#!/bin/sh\necho ran "$@"\n')
    program.chmod(0o755)
    path = quote(os.fsencode(tmp_path))
    text = b"printf() { echo function; }\nPATH=" + path + b":$PATH\n" + join([name, "one"]).encode() + b"\n"
    assert says(shell, text) == b"ran one\n"


def test_join_needs_a_program() -> None:
    with pytest.raises(ConfigError, match="at least the program's name"):
        join([])
    with pytest.raises(ConfigError, match=r"an argument cannot hold a NUL character \(at offset 1\)"):
        join(["echo", "a\0b"])


def test_text_is_encoded_with_the_bytes_that_surrogates_stand_for() -> None:
    assert encode_text("a\udcff") == b"a\xff"
    with pytest.raises(ConfigError, match="NUL"):
        encode_text("\0")


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "a=b", "ä", "a\n", "BASH_FUNC_x%%"])
def test_a_variable_needs_a_name_that_shells_know(name: str) -> None:
    for dialect in (dialect_of("bash"), dialect_of("sh")):
        with pytest.raises(ConfigError, match="env: "):
            dialect.command(Request(text="true", env={name: "x"}), nonce=b"0" * 32, count=1, mark="m")


def test_a_command_never_stands_in_the_framing() -> None:
    """Whatever the text, the line that ends the command is ours, whole, and comes last."""
    nonce = b"f" * 32
    for text in ("'", "\n\n__sw_\n", "cat <<X", "}", "exit", '"', "\\"):
        for request in (
            Request(text=text),
            Request(text=text, subshell=True),
            Request(text=text, merge_stderr=True, cwd="/", env={"A": text}),
            Request(text=text, subshell=True, state="/p"),
        ):
            for name in ("bash", "sh"):
                data = dialect_of(name).command(request, nonce=nonce, count=1, mark="m")
                assert data.count(nonce) == 1
                assert data.rstrip(b"\n").endswith((nonce, b"||exit 125"))


@pytest.mark.parametrize(
    ("shell", "name"),
    [
        ("bash", "bash"),
        ("/usr/bin/bash", "bash"),
        ("bash5 -x", "bash"),
        ("dash", "sh"),
        ("busybox sh", "sh"),
        ("", "sh"),
        ("/opt/bash/bin/sh", "sh"),
    ],
)
def test_dialect_of(shell: str, name: str) -> None:
    assert dialect_of(shell).name == name


@pytest.mark.parametrize("name", ["bash.sh", "posix.sh", "holder.sh", "kill.sh", "lease.sh"])
def test_a_script_travels_without_comments_and_still_parses(name: str) -> None:
    text = script(name)
    assert "\n#" not in text
    for shell in [SHELLS["bash"]] if name == "bash.sh" else SHELLS.values():
        subprocess.run([*shell, "-n"], input=text.encode(), check=True)


def test_every_builtin_and_keyword_of_bash_is_known_to_be_no_program() -> None:
    listed = subprocess.run(["bash", "-c", "compgen -bk"], capture_output=True, text=True, check=True).stdout.split()
    assert len(listed) > 60
    assert {name for name in listed if only_program(f"{name} x".encode())} == {"true", "false", "echo"}


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("ls", "ls"),
        ("/bin/ls -l 'a b' *", "/bin/ls"),
        ("a-b.c+d:e x=1", "a-b.c+d:e"),
        ("X=1 ls", None),
        ("ls;X=1", None),
        ("ls\nX=1", None),
        ("ls $x", None),
        ("ls `x`", None),
        (" ls", None),
        ("'ls'", None),
        ("~/ls", None),
        ("ls \\x", None),
        ("ls é", None),
        ("", None),
        ("ls " + "x" * 1000, None),
    ],
)
def test_a_command_that_only_runs_a_program_is_told_from_others(text: str, program: str | None) -> None:
    found = only_program(text.encode())
    assert found == (program.encode() if program else None)
