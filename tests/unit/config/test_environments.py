"""Which environment commands run in: one table for all who ask, and what no settings file may do."""

from pathlib import Path
from typing import Any

import pytest

from shellward.config import load
from shellward.config.environments import choose
from shellward.config.loader import ALIASES, UNUSED
from shellward.config.schema import KINDS
from shellward.core.errors import ConfigError
from shellward.environments import registry

SSH = {"TERMINAL_SSH_HOST": "h", "TERMINAL_SSH_USER": "u", "TERMINAL_SSH_PORT": "22"}
LIMITS = {"TERMINAL_CONTAINER_CPU": "1.5", "TERMINAL_CONTAINER_MEMORY": "1500"}
NO_LIMITS = {"TERMINAL_CONTAINER_CPU": "0", "TERMINAL_CONTAINER_MEMORY": "0"}
NAMED = """
environments:
  build: {kind: ssh, host: builder, user: ci, port: 2222}
  sandbox:
    kind: docker
    image: box
    network: none
    read_only: true
    user: nobody
    env: {A: '1'}
    mounts: [{source: /a, target: /b, read_only: true}]
"""
SANDBOX = {
    "image": "box",
    "network": "none",
    "read_only": True,
    "user": "nobody",
    "env": {"A": "1"},
    "mounts": [{"source": "/a", "target": "/b", "read_only": True}],
}
MIB = 1 << 20


def write(home: Path, text: str, name: str = "config.yaml") -> Path:
    home.mkdir(exist_ok=True)
    file = home / name
    file.write_text(text)
    return file


# Variables, what was named, what the caller says; the kind, its settings, and how it is told.
TABLE: list[tuple[dict[str, str], str | None, dict[str, Any], str, dict[str, Any], str]] = [
    # nobody says anything
    ({}, None, {}, "local", {}, "local"),
    ({"TERMINAL_CWD": "/srv"}, None, {}, "local", {"cwd": "/srv"}, "local (/srv)"),
    ({"TERMINAL_ENV": ""}, None, {}, "local", {}, "local"),
    # the settings say it
    ({"TERMINAL_ENV": "docker"}, None, {}, "docker", {}, "docker"),
    ({"TERMINAL_ENV": "docker", "SHELLWARD_TERMINAL__ENV": "local"}, None, {}, "local", {}, "local"),
    (
        {"TERMINAL_ENV": "docker", "TERMINAL_DOCKER_IMAGE": "a/b", "TERMINAL_CWD": "/w"},
        None,
        {},
        "docker",
        {"image": "a/b", "cwd": "/w"},
        "docker (a/b)",
    ),
    ({"TERMINAL_ENV": "docker", "TERMINAL_CWD": "."}, None, {}, "docker", {}, "docker"),
    (
        {"TERMINAL_ENV": "docker", "TERMINAL_DOCKER_VOLUMES": '["/a:/b", "/c:/d:ro"]'},
        None,
        {},
        "docker",
        {
            "mounts": [
                {"source": "/a", "target": "/b", "read_only": False},
                {"source": "/c", "target": "/d", "read_only": True},
            ]
        },
        "docker",
    ),
    ({"TERMINAL_ENV": "ssh", **SSH}, None, {}, "ssh", {"host": "h", "user": "u", "port": 22}, "ssh (u@h:22)"),
    # a kind is named: what the settings say of it is taken with it, and the directory of another kind is not
    (SSH | {"TERMINAL_CWD": "/here"}, "ssh", {}, "ssh", {"host": "h", "user": "u", "port": 22}, "ssh (u@h:22)"),
    (
        {"TERMINAL_SSH_HOST": "h", "TERMINAL_SSH_KEY": "/k"},
        "ssh",
        {},
        "ssh",
        {"host": "h", "identity_file": "/k"},
        "ssh (h)",
    ),
    ({"TERMINAL_ENV": "docker", "TERMINAL_CWD": "/w"}, "local", {}, "local", {}, "local"),
    ({"TERMINAL_ENV": "docker", "TERMINAL_CWD": "/w"}, "docker", {}, "docker", {"cwd": "/w"}, "docker"),
    (
        {"TERMINAL_SINGULARITY_IMAGE": "x.sif"},
        "singularity",
        {},
        "singularity",
        {"image": "x.sif"},
        "singularity (x.sif)",
    ),
    ({"TERMINAL_MODAL_IMAGE": "m"}, "modal", {}, "modal", {"image": "m"}, "modal (m)"),
    ({"TERMINAL_DAYTONA_IMAGE": "d"}, "daytona", {}, "daytona", {"image": "d"}, "daytona (d)"),
    # limits, in the units of each kind; 0 is no limit
    (LIMITS, "docker", {}, "docker", {"cpus": 1.5, "memory": 1500 * MIB}, "docker"),
    (LIMITS, "singularity", {}, "singularity", {"cpus": 1.5, "memory": 1500 * MIB}, "singularity"),
    (LIMITS, "modal", {}, "modal", {"cpus": 1.5, "memory": 1500 * MIB}, "modal"),
    (
        LIMITS | {"TERMINAL_DAYTONA_IMAGE": "d"},
        "daytona",
        {},
        "daytona",
        {"image": "d", "cpus": 2, "memory": 2},
        "daytona (d)",
    ),
    (LIMITS, "local", {}, "local", {}, "local"),
    *(
        (NO_LIMITS, kind, {}, kind, {"cpus": None, "memory": None}, kind)
        for kind in KINDS
        if kind not in {"local", "ssh"}
    ),
    # what the caller says wins, tables are joined, mounts are added
    (
        {"TERMINAL_DOCKER_IMAGE": "a/b", **LIMITS},
        "docker",
        {"image": "mine", "cpus": 4.0},
        "docker",
        {"image": "mine", "cpus": 4.0, "memory": 1500 * MIB},
        "docker (mine)",
    ),
    ({"TERMINAL_SSH_USER": "u"}, "ssh", {"host": "mine"}, "ssh", {"host": "mine", "user": "u"}, "ssh (u@mine)"),
    # names of the settings: what stands there, and nothing of the kind's settings
    (SSH, "build", {}, "ssh", {"host": "builder", "user": "ci", "port": 2222}, "build: ssh (ci@builder:2222)"),
    (
        {"TERMINAL_DOCKER_IMAGE": "a/b", "TERMINAL_CWD": "/w", **LIMITS},
        "sandbox",
        {},
        "docker",
        SANDBOX,
        "sandbox: docker (box)",
    ),
    (
        {"TERMINAL_ENV": "sandbox", "TERMINAL_CWD": "/w"},
        None,
        {},
        "docker",
        SANDBOX | {"cwd": "/w"},
        "sandbox: docker (box)",
    ),
    (
        {},
        "sandbox",
        {"env": {"B": "2"}, "mounts": [{"source": "/x", "target": "/y"}], "network": "bridge"},
        "docker",
        SANDBOX
        | {
            "env": {"A": "1", "B": "2"},
            "mounts": [{"source": "/a", "target": "/b", "read_only": True}, {"source": "/x", "target": "/y"}],
            "network": "bridge",
        },
        "sandbox: docker (box)",
    ),
]


@pytest.mark.parametrize("row", TABLE)
def test_one_table_for_all(own_home: Path, row: tuple[Any, ...]) -> None:
    variables, named, given, kind, config, told = row
    write(own_home, NAMED)
    choice = choose(load(environ=variables), named).over(given)
    assert (choice.kind, choice.config, str(choice)) == (kind, config, told)


@pytest.mark.parametrize(
    ("variables", "named", "source"),
    [
        ({}, None, ""),
        ({}, "docker", ""),
        ({}, "local", ""),
        ({"TERMINAL_ENV": "docker"}, None, "$TERMINAL_ENV"),
        ({"TERMINAL_ENV": "docker"}, "docker", ""),
        ({"TERMINAL_DOCKER_IMAGE": "x"}, "docker", "$TERMINAL_DOCKER_IMAGE"),
        ({"TERMINAL_SSH_USER": "x"}, "docker", ""),
        ({"TERMINAL_CWD": "/"}, None, "$TERMINAL_CWD"),
        ({"SHELLWARD_TERMINAL__ENV": "local"}, None, ""),
        ({}, "sandbox", "config.yaml:2"),
        ({"SHELLWARD_TERMINAL__ENV": "sandbox"}, None, "$SHELLWARD_TERMINAL__ENV"),
    ],
)
def test_it_is_obvious_when_the_settings_have_no_part_in_it(
    own_home: Path, variables: dict[str, str], named: str | None, source: str
) -> None:
    write(own_home, NAMED)
    choice = choose(load(environ=variables), named)
    assert choice.is_obvious == (not source)
    assert not source or choice.source.endswith(source)


def test_what_the_caller_says_is_not_of_the_settings() -> None:
    loaded = load(environ={"TERMINAL_DOCKER_IMAGE": "x", "TERMINAL_DOCKER_VOLUMES": "/a:/b"})
    choice = choose(loaded, "docker")
    assert choice.source == "$TERMINAL_DOCKER_IMAGE"
    mine = choice.over({"image": "mine", "mounts": [{"source": "/c", "target": "/d"}]})
    assert (str(mine), mine.source) == ("docker (mine)", "$TERMINAL_DOCKER_VOLUMES")
    alone = choose(load(environ={"TERMINAL_DOCKER_IMAGE": "x"}), "docker").over({"image": "mine"})
    assert alone.is_obvious


@pytest.mark.parametrize(
    ("variables", "named", "message"),
    [
        ({"TERMINAL_ENV": "ssh"}, None, "TERMINAL_SSH_HOST"),
        ({"TERMINAL_ENV": "moon"}, None, r"\$TERMINAL_ENV: terminal.env: must be one of local, docker, .*, sandbox"),
        ({"TERMINAL_ENV": "dokcer"}, None, "did you mean docker"),
        ({"TERMINAL_DOCKER_VOLUMES": "/a"}, "docker", "docker_volumes"),
        ({"TERMINAL_DOCKER_VOLUMES": "/a:/b:rx"}, "docker", "docker_volumes"),
        ({"TERMINAL_CONTAINER_CPU": "-1"}, "docker", r"\$TERMINAL_CONTAINER_CPU: terminal.cpus"),
        ({}, "sandbx", "unknown kind 'sandbx'.*did you mean sandbox"),
    ],
)
def test_settings_that_are_wrong(own_home: Path, variables: dict[str, str], named: str | None, message: str) -> None:
    write(own_home, NAMED)
    with pytest.raises(ConfigError, match=message):
        choose(load(environ=variables), named).over({})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("environments: [a]", "environments: must be a mapping"),
        ("environments: {a: docker}", "environments.a: must be a mapping with kind"),
        ("environments: {a: {image: x}}", "environments.a: must be a mapping with kind"),
        ("environments: {a: {kind: dokcer}}", "environments.a.kind: must be one of local, docker"),
        ("environments: {docker: {kind: docker}}", "environments.docker: this is a kind"),
        ("environments: {'a b': {kind: docker}}", "environments.a b: a name is"),
        ("environments: {a: {kind: docker, env: {D: 2026-01-01}}}", "environments.a.env.D: must be text"),
    ],
)
def test_named_environments_that_are_wrong(own_home: Path, text: str, message: str) -> None:
    write(own_home, text)
    with pytest.raises(ConfigError, match=message):
        load()


def test_an_empty_table_is_none(own_home: Path) -> None:
    write(own_home, "environments:\n")
    assert load().config.environments == {}


def test_a_project_cannot_name_environments(own_home: Path, tmp_path: Path) -> None:
    write(own_home, "project_files: true\n")
    write(tmp_path, "environments: {a: {kind: local}}", ".shellward.yaml")
    with pytest.raises(ConfigError, match="environments cannot be set by a project"):
        load(cwd=tmp_path)


def test_the_kinds_are_those_that_there_are() -> None:
    assert tuple(registry.BACKENDS) == KINDS


# -- .env beside the settings ------------------------------------------------------------------------------


def test_variables_from_a_file(own_home: Path) -> None:
    text = """# mine
export TERMINAL_ENV=docker   # here
TERMINAL_DOCKER_IMAGE='a b'
TERMINAL_CWD = "/w # x"
TERMINAL_TIMEOUT=7
OPENAI_API_KEY=secret
SHELLWARD_APPROVAL__MODE=off
not a line
"""
    file = write(own_home, text, ".env")
    loaded = load(environ={"TERMINAL_TIMEOUT": "9"})
    assert choose(loaded).config == {"image": "a b", "cwd": "/w # x"}
    assert loaded.config.terminal.timeout == 9
    assert loaded.sources["terminal.env"] == f"{file}:2"
    assert loaded.config.approval.mode == "manual"
    assert loaded.unused == (f"{file}:7: SHELLWARD_APPROVAL__MODE is not used: only TERMINAL_* is read from this file",)


def test_an_empty_variable_puts_the_one_of_the_file_away(own_home: Path) -> None:
    write(own_home, "TERMINAL_ENV=docker\n", ".env")
    assert load(environ={}).config.terminal.env == "docker"
    assert load(environ={"TERMINAL_ENV": ""}).config.terminal.env == "local"


def test_our_variable_wins_over_the_file(own_home: Path) -> None:
    write(own_home, "TERMINAL_ENV=docker\n", ".env")
    assert load(environ={"SHELLWARD_TERMINAL__ENV": "ssh"}).config.terminal.env == "ssh"


def test_a_file_that_cannot_be_read(own_home: Path) -> None:
    own_home.mkdir()
    (own_home / ".env").mkdir()
    with pytest.raises(ConfigError, match=r"\.env: cannot be read"):
        load()


# -- variables that are not used ---------------------------------------------------------------------------


def test_each_variable_that_is_known_and_not_used_is_told_once() -> None:
    environ = {"TERMINAL_CONTAINER_PERSISTENT": "true", "TERMINAL_DOCKER_NETWORK": "false", "TERMINAL_EMULATOR": "x"}
    unused = load(environ={**environ, "TERMINAL_MODAL_MODE": ""}).unused
    assert [each.partition(" ")[0] for each in unused] == ["$TERMINAL_CONTAINER_PERSISTENT", "$TERMINAL_DOCKER_NETWORK"]
    assert "network: none" in unused[1]


def test_no_variable_is_both() -> None:
    assert not ALIASES.keys() & UNUSED.keys()


# -- a program that goes on --------------------------------------------------------------------------------


def test_files_that_change_move_nothing_in_a_program_that_goes_on(own_home: Path) -> None:
    write(own_home, NAMED + "terminal: {env: sandbox}\n")
    write(own_home, "TERMINAL_SSH_HOST=right\n", ".env")

    def place(named: str | None = None) -> tuple[str, object]:
        choice = choose(load(held=True, environ={}), named)
        return choice.kind, dict(choice.config)

    before = place(), place("build"), place("ssh")
    assert before[0] == ("docker", SANDBOX)
    write(own_home, "environments: {build: {kind: local}}\nterminal: {cwd: /}\napproval: {mode: smart}\n")
    write(own_home, "TERMINAL_SSH_HOST=wrong\nTERMINAL_ENV=local\n", ".env")
    assert (place(), place("build"), place("ssh")) == before
    assert load(held=True).config.approval.mode == "smart"  # of that section others take care
    (own_home / "config.yaml").unlink()
    (own_home / ".env").unlink()
    assert (place(), place("build"), place("ssh")) == before
    assert load(environ={}).config.terminal.env == "local"  # for who wants to know what a new program will have


def test_variables_that_the_program_itself_sets_hold(own_home: Path) -> None:
    write(own_home, "terminal: {env: docker}\n")
    assert choose(load(held=True, environ={})).kind == "docker"
    assert choose(load(held=True, environ={"TERMINAL_ENV": "local"})).kind == "local"
