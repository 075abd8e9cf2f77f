"""What a program forgot to close ends with it, also when nothing holds it any more."""

import subprocess
import sys
import uuid

import pytest

from shellward.testing.place import docker_labelled, local_processes


def program(body: str) -> None:
    subprocess.run([sys.executable, "-c", f"from shellward import environments\n{body}"], check=True, timeout=60)


def test_on_this_machine() -> None:
    seconds = f"{uuid.uuid4().int % 100_000 + 700_000}.5"
    program(f"environments.create('local').run('sleep {seconds} & true')")
    assert not [row for row in local_processes() if seconds in row.args]


@pytest.mark.docker
def test_a_container() -> None:
    name = uuid.uuid4().hex
    body = (
        f"environments.create('docker', image='shellward/sandbox:latest', labels={{'forgotten': '{name}'}}).run('true')"
    )
    program(body)
    assert docker_labelled(f"forgotten={name}") == []
