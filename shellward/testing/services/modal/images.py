"""Root file systems for emulated sandboxes: those of images of the Docker Engine, and what snapshots lay over them.

What a Dockerfile adds to its base (``RUN``, ``COPY``) is recorded and not carried out: there is no network here.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

STAND_INS: Final = {"python": "shellward/sandbox:latest", "debian": "shellward/sandbox:latest"}
"""Which image is taken for those that Modal's own are made from, by name without a tag."""


class NoSuchImage(Exception):  # noqa: N818  # what a build answers with
    """There is no root file system for that name."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """What sandboxes begin with.

    Attributes:
        id: as the protocol names it.
        layers: directories, the topmost first.
        env: variables that the image sets.
        workdir: where its commands begin.
        commands: the Dockerfile it was asked for with.
    """

    id: str
    layers: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    commands: tuple[str, ...] = ()


def cache() -> Path:
    """Where unpacked images are kept between runs, for this user alone."""
    root = Path(os.environ.get("SHELLWARD_TEST_IMAGES") or tempfile.gettempdir())
    if not os.access(root, os.W_OK):
        root = Path(tempfile.gettempdir())
    directory = root / f"shellward-modal-images-{os.getuid()}"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def base_of(commands: list[str]) -> str:
    """Say which image a Dockerfile begins from; empty: it names none."""
    for line in commands:
        found = re.match(r"\s*FROM\s+(?:--\S+\s+)*(\S+)", line, re.IGNORECASE)
        if found:
            return found[1]
    return ""


def unpack(name: str) -> tuple[str, dict[str, str], str]:
    """Return directory, variables and working directory of an image that the Docker Engine has.

    Raises:
        NoSuchImage: it has none of that name, or there is no engine.
    """
    name = STAND_INS.get(name.partition("@")[0].partition(":")[0].rpartition("/")[2], name)
    try:
        found = subprocess.run(["docker", "image", "inspect", name], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise NoSuchImage(f"image {name!r}: {said.strip()}") from error
    described = json.loads(found.stdout)[0]
    settings = described["Config"]
    target = cache() / described["Id"].removeprefix("sha256:")[:24]
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            _export(described["Id"], target)
    variables = dict(each.partition("=")[::2] for each in settings.get("Env") or ())
    return str(target), variables, settings.get("WorkingDir") or "/"


def _export(image: str, target: Path) -> None:
    made = subprocess.run(["docker", "create", image, "true"], capture_output=True, text=True, check=True)
    container = made.stdout.strip()
    unfinished = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        unfinished.chmod(0o755)
        with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as export:
            tar = ["tar", "-x", "--numeric-owner", "--exclude=dev/*", "-C", str(unfinished)]
            subprocess.run(tar, stdin=export.stdout, check=True)
        unfinished.rename(target)
    finally:
        subprocess.run(["docker", "rm", "-f", container], capture_output=True, check=True)
        shutil.rmtree(unfinished, ignore_errors=True)


def copy_layer(source: str, target: str) -> None:
    """Copy the changes of a sandbox with all that overlayfs notes in them (whiteouts, attributes)."""
    subprocess.run(["cp", "-a", "--reflink=auto", source, target], check=True, capture_output=True)
