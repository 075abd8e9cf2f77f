"""Root file systems for boxes: those of images of the Docker Engine, each laid out as a directory once."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple


class NoSuchImage(Exception):  # noqa: N818  # what a build answers with
    """There is no root file system for that name."""


class RootFs(NamedTuple):
    """An image, laid out.

    Attributes:
        directory: its files.
        env: variables that it sets.
        workdir: where its commands begin.
    """

    directory: str
    env: dict[str, str]
    workdir: str


def cache() -> Path:
    """Where unpacked images are kept between runs, for this user alone."""
    root = Path(os.environ.get("SHELLWARD_TEST_IMAGES") or tempfile.gettempdir())
    if not os.access(root, os.W_OK):
        root = Path(tempfile.gettempdir())
    directory = root / f"shellward-images-{os.getuid()}"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def rootfs(name: str, place: Path) -> RootFs:
    """Lay out an image that the Docker Engine has, once for each version of it.

    Args:
        name: of the image.
        place: directory for all of them, see ``cache``.

    Raises:
        NoSuchImage: the engine has none of that name, or there is no engine.
    """
    try:
        found = subprocess.run(["docker", "image", "inspect", name], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise NoSuchImage(f"image {name!r}: {said.strip()}") from error
    described = json.loads(found.stdout)[0]
    settings = described["Config"]
    target = place / described["Id"].removeprefix("sha256:")[:24]
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            _export(described["Id"], target)
    variables = dict(each.partition("=")[::2] for each in settings.get("Env") or ())
    return RootFs(str(target), variables, settings.get("WorkingDir") or "/")


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
