"""Where commands run: what the settings say holds for run, start and shell, and is said when it is not obvious."""

import json
from pathlib import Path

import pytest
from commandline import IMAGE, PROMPT, at_terminal, cli, environ

from shellward.environments.pty import PtySession

NAMED = '{"here": {"kind": "local", "cwd": "/usr", "env": {"A": "named"}}}'
SAID = b"shellward: on local (/usr), from $TERMINAL_CWD\n"


def test_nothing_is_said_of_what_is_obvious() -> None:
    done = cli("run", "--", "true")
    assert (done.returncode, done.stderr) == (0, b"")


def test_run_is_where_the_settings_say() -> None:
    done = cli("run", "pwd", env=environ(TERMINAL_CWD="/usr"))
    assert (done.stdout, done.stderr) == (b"/usr\n", SAID)


@pytest.mark.docker
def test_run_is_in_docker_when_a_variable_says_so(tmp_path: Path) -> None:
    variables = environ(TERMINAL_ENV="docker", TERMINAL_DOCKER_IMAGE=IMAGE)
    look = f"test -e {tmp_path} && echo here || echo inside"
    done = cli("run", look, env=variables)
    assert (done.stdout, done.stderr) == (b"inside\n", f"shellward: on docker ({IMAGE}), from $TERMINAL_ENV\n".encode())
    here = cli("run", "--env", "local", look, env=variables)
    assert (here.stdout, here.stderr) == (b"here\n", b"")


@pytest.mark.parametrize("flag", ["--json", "-q", "--quiet"])
def test_nothing_is_said_when_nobody_wants_to_hear_it(flag: str) -> None:
    variables = environ(TERMINAL_CWD="/usr", TERMINAL_MODAL_MODE="auto")
    done = cli("run", flag, "--", "pwd", env=variables)
    assert done.stderr == b""
    assert b"/usr" in done.stdout


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("flag", ["--json", "-q", None])
def test_start_is_where_the_settings_say(flag: str | None) -> None:
    started = cli("start", *filter(None, [flag]), "--", "pwd", env=environ(TERMINAL_CWD="/usr"))
    assert started.stderr == (b"" if flag else SAID)
    name = json.loads(started.stdout)["session_id"] if flag == "--json" else started.stdout.decode().strip()
    assert cli("wait", name).returncode == 0
    assert cli("logs", name).stdout == b"/usr\n"


def test_a_shell_is_where_the_settings_say(person: PtySession) -> None:
    person.write("export TERMINAL_CWD=/usr\r")
    assert person.wait_for(PROMPT)
    at_terminal(person, "shell", "--", "pwd")
    assert person.wait_for("same-0")
    assert "shellward: on local (/usr), from $TERMINAL_CWD" in str(person.screen())


@pytest.mark.parametrize("words", [("--env", "here"), ()])
def test_names_of_the_settings(words: tuple[str, ...]) -> None:
    variables = environ(SHELLWARD_ENVIRONMENTS=NAMED, **({} if words else {"TERMINAL_ENV": "here"}))
    done = cli("run", *words, "--set", "env.B=mine", "--", "echo $PWD $A $B", env=variables)
    assert done.stdout == b"/usr named mine\n"
    source = "$SHELLWARD_ENVIRONMENTS" if words else "$TERMINAL_ENV"
    assert done.stderr == f"shellward: on here: local (/usr), from {source}\n".encode()


@pytest.mark.docker
def test_options_of_a_kind_hold_for_a_name() -> None:
    box = {"kind": "docker", "image": IMAGE, "network": "none", "read_only": True, "user": "nobody"}
    variables = environ(SHELLWARD_ENVIRONMENTS=json.dumps({"box": box}))
    look = "id -un; touch /x 2>/dev/null || echo read-only; ls /sys/class/net"
    assert cli("run", "--env", "box", look, env=variables).stdout.split() == [b"nobody", b"read-only", b"lo"]


def test_secrets_of_environments_are_not_shown() -> None:
    table = {"a": {"kind": "daytona", "api_key": "hush", "env": {"TOKEN": "hush"}, "image": "seen"}}
    variables = environ(SHELLWARD_ENVIRONMENTS=json.dumps(table), TERMINAL_MODAL_MODE="auto")
    for words in ((), ("--json",)):
        done = cli("config", "show", *words, env=variables)
        assert (b"hush" in done.stdout, b"seen" in done.stdout) == (False, True)
        assert (b"TERMINAL_MODAL_MODE" in done.stderr) is not bool(words)


@pytest.mark.parametrize("command", ["run", "start"])
def test_ssh_has_the_host_of_the_settings(command: str) -> None:
    variables = environ(TERMINAL_SSH_HOST="127.0.0.1", TERMINAL_SSH_PORT="1", TERMINAL_SSH_USER="nobody")
    done = cli(command, "--env", "ssh", "--", "true", env=variables)
    assert done.returncode == 125
    assert b"on ssh (nobody@127.0.0.1:1), from $TERMINAL_SSH_HOST\n" in done.stderr
    assert b"127.0.0.1" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", ["run", "start"])
def test_what_is_wrong_ends_it_before_anything_runs(command: str, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for words, variables, message in (
        (("--env", "hree"), {}, b"unknown kind 'hree'; known are local, docker, "),
        ((), {"TERMINAL_ENV": "moon"}, b"$TERMINAL_ENV: terminal.env: must be one of local, docker, "),
        (("--env", "ssh"), {}, b"TERMINAL_SSH_HOST"),
    ):
        done = cli(command, *words, "--", f"touch {mark}", env=environ(SHELLWARD_ENVIRONMENTS=NAMED, **variables))
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not mark.exists()


def test_json_says_that_nothing_has_run() -> None:
    done = cli("run", "--json", "--env", "hree", "--", "true")
    assert json.loads(done.stdout) | {"error": ""} == {"error": "", "kind": "ConfigError", "ran": "no"}


def test_variables_that_are_not_used_are_told_once_each() -> None:
    done = cli("run", "true", env=environ(TERMINAL_CONTAINER_PERSISTENT="true", TERMINAL_DOCKER_NETWORK="false"))
    assert [line.split()[1] for line in done.stderr.splitlines()] == [
        b"$TERMINAL_CONTAINER_PERSISTENT",
        b"$TERMINAL_DOCKER_NETWORK",
    ]


def test_an_environment_that_is_there_is_not_of_the_settings() -> None:
    done = cli("run", "--attach", "x:1", "--env", "local", "--", "true")
    assert (done.returncode, b"--env is for a new environment" in done.stderr) == (2, True)


def test_completion_knows_the_names_of_the_settings() -> None:
    asked = {"_SHELLWARD_COMPLETE": "bash_complete", "COMP_WORDS": "shellward run --env h", "COMP_CWORD": "3"}
    assert cli(env=environ(SHELLWARD_ENVIRONMENTS=NAMED, **asked)).stdout == b"plain,here\n"
    assert cli(env=environ(SHELLWARD_ENVIRONMENTS="[", **asked)).stdout == b"\n"


@pytest.mark.parametrize("command", ["run", "start", "shell", "mcp"])
def test_help_lists_all_kinds(command: str) -> None:
    from shellward.environments.registry import BACKENDS

    text = cli(command, "--help").stdout.decode()
    assert all(kind in text for kind in BACKENDS)
