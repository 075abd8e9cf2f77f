"""What the tests of the command line share; helpers are in commandline.py."""

import json
import sys
from collections.abc import Callable, Iterator

import pytest
from commandline import IN_DOCKER, PROMPT, cli, environ

from shellward.environments.base import PtySize
from shellward.environments.environment import Environment
from shellward.environments.pty import PtySession
from shellward.environments.registry import create


@pytest.fixture(scope="module")
def outer() -> Iterator[Environment]:
    with create("local") as made:
        yield made


@pytest.fixture
def person(outer: Environment) -> Iterator[PtySession]:
    """A person's own terminal, with a shell that shows how the terminal is left."""
    variables = {**environ(), "PS1": "outer> ", "PY": sys.executable}
    with outer.pty("exec bash --norc --noprofile -i", size=PtySize(rows=30, columns=100), env=variables) as session:
        assert session.wait_for("outer>")
        session.write('before=$(stty -g); check() { [ "$(stty -g)" = "$before" ] && echo same-$1; }\r')
        assert session.wait_for(PROMPT)
        yield session


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Remove the processes of a test, and the environments that were made for them."""
    yield
    for each in json.loads(cli("ps", "--all", "--json").stdout):
        cli("rm", "--force", each["session_id"])
        if each["environment"] != "local":
            cli("env", "rm", each["environment"])


@pytest.fixture
def kept() -> Iterator[Callable[..., str]]:
    """Makes environments that outlive their client, and removes them."""
    handles: list[str] = []

    def keep(*words: str, command: str = "true") -> str:
        made = cli("run", *IN_DOCKER, "--keep", "--json", *words, "--", command)
        assert made.returncode == 0, (made.stdout, made.stderr)
        handles.append(json.loads(made.stdout)["handle"])
        return handles[-1]

    yield keep
    for handle in handles:
        cli("env", "rm", handle)
