"""Images: what ``image`` names, as a file or directory that an instance can be started from.

What is fetched or built is kept as a SIF in the cache. Two programs that want the same at the same time make it once.
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from shellward.config.paths import cache_dir
from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.base import OnStep
from shellward.environments.singularity.binary import failed, variables
from shellward.environments.singularity.config import SingularityConfig

_SCHEMES: Final = ("docker", "docker-daemon", "docker-archive", "oci", "oci-archive", "oras", "library", "shub")
_KEPT: Final = 4000


def resolve(binary: str, config: SingularityConfig, progress: OnStep | None = None) -> str:
    """Return the path of the image that ``config`` names, fetched or built first where needed.

    Raises:
        EnvironmentUnavailable: it is not there, or cannot be made; says what to do.
    """
    image = config.image
    scheme = image.partition(":")[0]
    if scheme in _SCHEMES:
        return _cached(binary, config, image, _key(image.encode()), progress)
    path = Path(image).expanduser().absolute()
    if not path.exists():
        known = ", ".join(f"{each}:" for each in _SCHEMES[:3])
        raise EnvironmentUnavailable(f"image {image!r} is not there; it is a file, a directory, or begins with {known}")
    if path.suffix == ".def":
        return _cached(binary, config, str(path), _recipe_key(path), progress)
    return str(path)


def _key(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:24]


def _recipe_key(path: Path) -> str:
    """Make a key of a definition and of the files that it copies in.

    Not with spython's parser: it refuses every definition that does not begin with a Docker image.
    """
    text = path.read_bytes()
    parts, section = [text], ""
    for line in text.decode("utf-8", "replace").splitlines():
        words = line.split("#")[0].split()
        if words and words[0].startswith("%"):
            # Of another stage's files (%files from NAME) this one's sections say all.
            section = words[0] if words[1:2] != ["from"] else ""
        elif words and section == "%files":
            parts += _seen(path.parent, words[0].strip("\"'"))
    return _key(*parts)


def _seen(directory: Path, pattern: str) -> list[bytes]:
    """Say what is there now of a source of ``%files``; what is not there, the build complains of."""
    found: list[bytes] = []
    for source in sorted(glob.glob(str(directory / pattern))):  # noqa: PTH207  # Path.glob refuses absolute patterns
        for file in [Path(source), *sorted(Path(source).rglob("*"))]:
            with contextlib.suppress(OSError):
                seen = file.lstat()
                found.append(f"{file} {seen.st_size} {seen.st_mtime_ns} {seen.st_mode}".encode())
    return found


def _cached(binary: str, config: SingularityConfig, source: str, key: str, progress: OnStep | None) -> str:
    directory = cache_dir() / "singularity"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    sif = directory / f"{key}.sif"
    if config.pull == "never":
        if not sif.exists():
            raise EnvironmentUnavailable(f"image {config.image!r} is not in the cache, and pull is never")
        return str(sif)
    began = time.time()
    with (directory / f"{key}.lock").open("w") as lock:
        _lock(lock.fileno(), progress, config)
        # What another program has made while we waited is as new as what we would make.
        if not sif.exists() or (config.pull == "always" and sif.stat().st_mtime < began):
            _build(binary, source, sif, config, progress)
    return str(sif)


def _lock(descriptor: int, progress: OnStep | None, config: SingularityConfig) -> None:
    """Take the lock; whoever holds it builds, and has no more time for that than we."""
    said = False
    deadline = time.monotonic() + config.build_timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise EnvironmentUnavailable(
                    f"image {config.image!r} has been built by another program for {config.build_timeout:.0f} s"
                ) from None
            if progress is not None and not said:
                progress("another program builds this image; waiting for it")
            said = True
            time.sleep(0.1)  # flock(2) has no time limit
        else:
            return


def _build(binary: str, source: str, sif: Path, config: SingularityConfig, progress: OnStep | None) -> None:
    """Build ``sif``; it is there whole or not at all.

    Not with spython's ``Client.build`` and ``pull``: they know the program as ``singularity`` only, have no time limit,
    and a failure ends the interpreter.
    """
    part = sif.with_suffix(f".part-{os.getpid()}")
    argv = [binary, "build", "--force", *(["--fakeroot"] if config.fakeroot else []), str(part), source]
    what = f"image {config.image!r} cannot be {'built' if source.endswith('.def') else 'fetched'}"
    for stale in sif.parent.glob(f"{sif.stem}.part-*"):  # of a program that was killed: we hold the lock
        stale.unlink(missing_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="shellward-build-") as temporary:
            status, said = _followed(argv, temporary, Path(source).parent, config, progress)
        if status:
            raise failed(what, said)
        part.replace(sif)
    finally:
        part.unlink(missing_ok=True)


def _followed(
    argv: list[str], temporary: str, cwd: Path, config: SingularityConfig, progress: OnStep | None
) -> tuple[int, str]:
    """Run a build; its exit status and the end of what it printed."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"APPTAINER_TMPDIR": temporary, **variables()},
        cwd=cwd if cwd.is_dir() else None,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101  # for mypy: a pipe was asked for
    said, deadline = b"", time.monotonic() + config.build_timeout
    try:
        os.set_blocking(process.stdout.fileno(), False)
        while True:
            said = (said + _next(process.stdout.fileno(), deadline, config, progress))[-_KEPT:]
            if process.poll() is not None:
                said += process.stdout.read() or b""
                return process.returncode, said[-_KEPT:].decode("utf-8", "replace")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()


def _next(descriptor: int, deadline: float, config: SingularityConfig, progress: OnStep | None) -> bytes:
    import select

    if time.monotonic() > deadline:
        raise EnvironmentUnavailable(
            f"image {config.image!r}: not built after {config.build_timeout:.0f} s; build_timeout gives it more time"
        )
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    if not poller.poll(500):
        return b""
    try:
        data = os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return b""
    if not data:
        time.sleep(0.05)  # it has closed its output, and ends
    for line in data.decode("utf-8", "replace").splitlines():
        if progress is not None and line.strip():
            progress(line.strip())
    return data
