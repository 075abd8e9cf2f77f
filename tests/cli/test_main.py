"""The entry point: help, version, wrong words, completion, the documents, and what starting costs."""

import json
import re
import shutil
import subprocess
import sys

import click
import pytest
from commandline import ROOT, SHELLWARD, cli, environ

import shellward
from shellward.cli.main import root

HEAVY = (
    "shellward.environments",
    "docker",
    "requests",
    "rich",
    "msgspec",
    "json",
    "asyncio",
    "shellward.approval",
    "shellward.command",
    "shellward.config",
    "ruamel",
    "httpx",
    "sqlite3",
)


def commands(group: click.Group = root, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    found: list[tuple[tuple[str, ...], click.Command]] = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        found.append(((*path, name), command))
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
    return found


EVERY = [pytest.param(path, command, id=" ".join(path)) for path, command in commands()]


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_the_commands(flag: str) -> None:
    done = cli(flag)
    assert done.returncode == 0
    assert done.stderr == b""
    for name in root.list_commands(click.Context(root)):
        assert f"\n  {name} " in done.stdout.decode()
    assert b"Examples:" in done.stdout


@pytest.mark.parametrize(("path", "command"), EVERY)
def test_every_command_has_help_with_an_example(path: tuple[str, ...], command: click.Command) -> None:
    done = cli(*path, "--help")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert f"Usage: shellward {' '.join(path)}" in text
    assert f"  shellward {' '.join(path)}" in text.partition("Examples:")[2] or path == ("completion",)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


@pytest.mark.parametrize(("path", "command"), EVERY)
def test_every_command_and_option_is_documented(path: tuple[str, ...], command: click.Command) -> None:
    document = (ROOT / "docs" / "cli.md").read_text()
    sections = dict(re.findall(r"^#+ `shellward ([^`]*?)`\n(.*?)(?=^#|\Z)", document, re.MULTILINE | re.DOTALL))
    assert " ".join(path) in sections
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert f"`{parameter.opts[0]}" in sections[" ".join(path)], parameter.opts


def test_help_imports_no_engine_and_no_sdk() -> None:
    done = cli("--help", env=environ(PYTHONPROFILEIMPORTTIME="1"))
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "shellward.cli.main" in imported
    assert "click" in imported
    heavy = {name for name in imported for part in HEAVY if name == part or name.startswith(f"{part}.")}
    assert not heavy


def test_version() -> None:
    done = cli("--version")
    assert done.returncode == 0
    assert done.stdout.startswith(f"shellward {shellward.__version__} (Python 3.".encode())


@pytest.mark.parametrize("words", [(), ("env",)])
def test_nothing_said_is_answered_with_help_and_a_failure(words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"Commands:" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rnu",), b"no such command: 'rnu'; did you mean 'run'?; see: shellward --help"),
        (("env", "zap"), b"no such command: 'zap'; there are ls, rm, prune; see: shellward env --help"),
        (("run",), b"missing argument 'CMD...'; see: shellward run --help"),
        (("run", "--imag", "x", "y"), b"no such option '--imag'"),
        (("run", "--timeout", "0", "true"), b"'0' is not a time above 0"),
        (("run", "--timeout", "soon", "true"), b"'soon' is not a time above 0"),
        (("run", "--env-var", "1x=2", "true"), b"'1x' is not a name that a variable can have"),
        (("run", "--env-var", "NOT_SET_HERE", "true"), b"NOT_SET_HERE is not set here"),
        (("run", "--mount", "/a", "true"), b"'/a' is not of the form SRC:DST"),
        (("run", "--mount", "/a:b", "true"), b"'/a:b' is not of the form SRC:DST"),
        (("run", "--set", "x", "true"), b"'x' is not of the form KEY=VALUE"),
        (("run", "--set", "lesae=3", "true"), b"unknown setting 'lesae'"),
        (("run", "--image", "x", "true"), b"local: unknown setting 'image'"),
        (("run", "--env", "dokcer", "true"), b"unknown kind 'dokcer'; known are local, docker"),
        (("run", "--attach", "docker:1", "--image", "x", "true"), b"--image is for a new environment"),
        (("run", "--attach", "docker:1", "--set", "a=b", "true"), b"--set is for a new environment"),
        (("run", "--max-output", "5", "true"), b"--max-output goes with --json"),
        (("run", "--session", "a", "--user", "b", "true"), b"--session and --user do not go together"),
        (("env", "rm"), b"name the environments to remove, or give --all"),
        (("doctor", "--require", "moon"), b"unknown kind 'moon'"),
        (("completion", "tcsh"), b"'tcsh' is not one of"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_one_line_and_code_2(words: tuple[str, ...], said: bytes) -> None:
    done = cli(*words)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"shellward: ")
    assert done.stderr.count(b"\n") == 1
    assert said in done.stderr


def test_wrong_usage_as_json() -> None:
    done = cli("run", "--json", "--timeout", "soon", "true")
    assert done.returncode == 2
    assert done.stderr == b""
    assert json.loads(done.stdout)["kind"] == "UsageError"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str) -> None:
    done = cli("completion", shell)
    assert done.returncode == 0
    assert b"_SHELLWARD_COMPLETE" in done.stdout
    program = shutil.which(shell)
    if program is not None:  # zsh and fish are not everywhere; what is there reads its script
        checked = subprocess.run([program, "-n"], input=done.stdout, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("shellward ", {"run", "env", "doctor", "completion"}),
        ("shellward env p", {"prune"}),
        ("shellward run --ti", {"--timeout"}),
        ("shellward run --env l", {"local"}),
    ],
)
def test_completion_answers(typed: str, offered: set[str]) -> None:
    words = typed.split(" ")
    answered = cli(env=environ(_SHELLWARD_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1)))
    assert {line.partition(",")[2] for line in answered.stdout.decode().splitlines()} >= offered


def test_reader_that_goes_away_is_no_traceback() -> None:
    with subprocess.Popen([*SHELLWARD, "run", "--help"], env=environ(), stdout=-1, stderr=-1) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_bug_of_ours_is_a_line_unless_more_is_asked_for() -> None:
    program = "import sys; from shellward.cli import main as m;m.root.main = lambda *a, **k: 1 / 0; m.main(['doctor'])"
    run = [sys.executable, "-c", program]
    short = subprocess.run(run, env=environ(), capture_output=True, check=False)
    assert short.returncode == 125
    assert short.stderr.startswith(b"shellward: internal error: ZeroDivisionError")
    long = subprocess.run(run, env=environ(SHELLWARD_TRACEBACK="1"), capture_output=True, check=False)
    assert b"Traceback" in long.stderr


def test_no_colours_unless_on_a_terminal() -> None:
    for words in (("doctor",), ("run", "--help"), ("env", "ls", "--env", "local")):
        assert b"\x1b" not in cli(*words, env=environ(FORCE_COLOR="")).stdout
