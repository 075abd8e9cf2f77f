"""What a command brings along besides its text: variables, standard input, words."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Terminal

Refused = Callable[[Callable[[], object]], ApprovalDenied]


@pytest.mark.parametrize(
    ("command", "env"),
    [
        ("$X -rf {victim}", {"X": "rm"}),
        ('sh -c "$X"', {"X": "rm -rf {victim}"}),
        ("true", {"LD_PRELOAD": "/tmp/x.so"}),
        ("bash -c true", {"BASH_ENV": "{victim}/file"}),
        ("true", {"PATH": "/tmp/bin:/usr/bin:/bin"}),
        ("set -x; true", {"PS4": "$(rm -rf {victim})"}),
        ("shellward run make", {"SHELLWARD_APPROVAL__MODE": "off"}),
    ],
)
def test_variables_weigh(terminal: Terminal, victim: Path, refused: Refused, command: str, env: dict[str, str]) -> None:
    given = {name: value.format(victim=victim) for name, value in env.items()}
    error = refused(lambda: terminal.run(command.format(victim=victim), env=given))
    assert "export " in error.decision.command


def test_ordinary_variables_are_none_of_its_business(terminal: Terminal) -> None:
    value = "rm -rf /srv/no/such '\"$(x)"
    assert terminal.run('echo "$A"', env={"A": value, "LANG": "C"}).stdout == f"{value}\n"


PROGRAMS = [
    ("bash", "echo one\nrm -rf {victim}\n"),
    ("sh -s", "rm -rf {victim}"),
    ("cat | sh", "rm -rf {victim}\n"),
    ("python3 -", "import shutil\nshutil.rmtree('{victim}')\n"),
    ("xargs rm -rf", "{victim}\n"),
    ("while read -r l; do $l; done", "rm -rf {victim}\n"),
    ("bash", "X=rm\n$X -rf {victim}\n"),
    ("bash", "f() {{\nrm -rf {victim}\n}}\nf\n"),
]


@pytest.mark.parametrize(("command", "text"), PROGRAMS)
@pytest.mark.parametrize("kind", ["text", "bytes", "pieces", "bytewise", "file"])
def test_a_program_on_standard_input_weighs(  # noqa: PLR0917
    bash: Terminal, victim: Path, refused: Refused, tmp_path: Path, command: str, text: str, kind: str
) -> None:
    data = text.format(victim=victim).encode()
    file = tmp_path / "input"
    file.write_bytes(data)
    with file.open("rb", buffering=0) as opened:
        given = {
            "text": data.decode(),
            "bytes": data,
            "pieces": data.splitlines(keepends=True),
            "bytewise": [bytes((byte,)) for byte in data],
            "file": opened,
        }[kind]
        refused(lambda: bash.run(command, stdin=given, timeout=20))
    assert bash.run("echo ok").stdout == "ok\n"


@pytest.mark.parametrize("stdin", ["rm -rf /srv/no/such\n", [b"rm -rf /srv/no/such\n"]])
def test_data_on_standard_input_does_not_weigh(bash: Terminal, stdin: str | list[bytes]) -> None:
    assert bash.run("cat", stdin=stdin).stdout == "rm -rf /srv/no/such\n"
    assert bash.run("grep -c rm", stdin=stdin).stdout == "1\n"


def test_lines_reach_a_running_shell_as_they_come(bash: Terminal, victim: Path) -> None:
    """A harmless line is answered before the next one is written; a dangerous one ends the command."""
    heard: list[str] = []
    answered = threading.Event()

    def typed() -> Iterator[bytes]:
        yield b"echo first\n"
        assert answered.wait(20)
        yield b"echo sec"
        yield b"ond\n"
        yield f"rm -rf {victim}\necho third\n".encode()

    def hear(chunk) -> None:  # type: ignore[no-untyped-def]
        heard.append(chunk.text)
        answered.set()

    with pytest.raises(ApprovalDenied) as caught:
        bash.run("bash", stdin=typed(), on_output=hear, timeout=30)
    assert victim.exists()
    assert "".join(heard).startswith("first\n")
    assert "third" not in "".join(heard)
    assert "what came before it has run" in str(caught.value)


def test_a_last_line_without_an_end_is_sent(bash: Terminal) -> None:
    assert bash.run("bash", stdin=[b"echo one\n", b"echo two"]).stdout == "one\ntwo\n"


def test_input_that_never_ends_does_not_hold_up_the_end(bash: Terminal) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"echo one\nexit 4\n")
    with open(reading, "rb", buffering=0) as source:  # noqa: PTH123
        result = bash.run("bash", stdin=source, timeout=20)
    os.close(writing)
    assert (result.exit_code, result.stdout) == (4, "one\n")


@pytest.mark.parametrize(
    "words", [["if", "rm"], ["X=rm", "a"], ["rm -rf /srv/no/such"], ["echo", "a;rm -rf /srv/no/such"], ["\n"]]
)
def test_words_are_no_shell_text(terminal: Terminal, words: list[str]) -> None:
    terminal.run(words)


def test_words_pass_functions_and_aliases(bash: Terminal, victim: Path, refused: Refused) -> None:
    bash.run("rm() { echo safe; }; ls() { command rm -rf " + str(victim) + "; }")
    refused(lambda: bash.run(["rm", "-rf", str(victim)]))
    assert bash.run(["ls", str(victim)]).stdout == "file\n"
