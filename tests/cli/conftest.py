"""What the tests of the command line share; helpers are in commandline.py."""

import json
from collections.abc import Callable, Iterator

import pytest
from commandline import IN_DOCKER, cli


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
