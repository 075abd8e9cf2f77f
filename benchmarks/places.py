"""The environments that are measured, and the same places reached in the usual way."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from figures import Settings, Skipped, quietly

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable, MissingDependency

if TYPE_CHECKING:
    from shellward.environments import Environment

SIF: Final = Path(os.environ.get("SHELLWARD_TEST_IMAGES", "/var/cache/shellward-tests"), "sandbox.sif")
"""What ``tests/services/apptainer image`` makes."""
SSHD: Final = Path(os.environ.get("SHELLWARD_SSHD_DIR", "/tmp/shellward-sshd"))
SSH_HOST: Final = "shellward-target"
READ: Final = 65536
"""Bytes that a bare pipe read asks for."""


@contextmanager
def place(kind: str, settings: Settings) -> Iterator["Environment"]:
    """Make a warm environment of a kind; it ends with the block.

    Raises:
        Skipped: there is no Docker engine, image or command here.
    """
    if kind == "docker" and shutil.which("docker") is None:
        raise Skipped("the docker command, which is the baseline, is not installed")
    try:
        environment = environments.create(kind, **_config(kind, settings))
    except (EnvironmentUnavailable, MissingDependency) as error:
        raise Skipped(str(error)) from error
    with environment:
        environment.run("true").check()
        yield environment


def _config(kind: str, settings: Settings) -> dict[str, str]:
    if kind == "docker":
        return {"image": settings.image, "pull": "never"}
    if kind == "singularity":
        return {"image": str(SIF)}
    if kind != "ssh":
        return {}
    if not (SSHD / "config").exists():
        raise Skipped("no SSH server for tests is here: tests/services/sshd start")
    return {"host": SSH_HOST, "config_file": str(SSHD / "config")}


def usual(environment: "Environment", *words: str) -> list[str]:
    """Return the words that run a program in the same place without Shellward."""
    if environment.kind == "local":
        return list(words)
    if environment.kind == "singularity":
        return ["apptainer", "-s", "exec", f"instance://{environment.handle.partition(':')[2]}", *words]
    if environment.kind == "ssh":
        return ["ssh", "-F", str(SSHD / "config"), SSH_HOST, shlex.join(words)]
    return ["docker", "exec", environment.handle.rpartition(":")[2].rpartition("/")[2], *words]


def bare_pipe(argv: Sequence[str]) -> Iterator[bytes]:
    """Read a program's standard output as plainly as Python can.

    Raises:
        RuntimeError: the program failed.
    """
    with subprocess.Popen(argv, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None  # noqa: S101  # opened with a pipe, above
        descriptor = process.stdout.fileno()
        while data := os.read(descriptor, READ):
            yield data
    if process.returncode:
        raise RuntimeError(f"{argv[0]} ended with exit status {process.returncode}")


def image_there(settings: Settings) -> None:
    """See that ``docker run`` finds the image.

    Raises:
        Skipped: it does not.
    """
    if shutil.which("docker") is None:
        raise Skipped("the docker command, which is the baseline, is not installed")
    try:
        quietly(["docker", "image", "inspect", settings.image])
    except RuntimeError as error:
        raise Skipped(str(error)) from error
