"""A client in a process of its own: moves bytes once, prints its memory before, at its peak, and the seconds, as JSON.

Arguments: kind, ``stdout``, ``upload`` or ``download``, the number of bytes, and an image where it is not the default.
"""

import contextlib
import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path

from memory_client import memory

from shellward import environments
from shellward.environments import Environment

_CHUNK = 1 << 20


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fill(path: Path, size: int) -> None:
    line = bytes(range(256)) * (_CHUNK // 256)
    with path.open("wb") as file:
        for _ in range(size // _CHUNK):
            file.write(line)


def _stdout(environment: Environment, path: Path, _other: Path) -> str:
    environment.run("cat /tmp/bytes", full_output=str(path)).check()
    return _digest(path)


def _upload(environment: Environment, _path: Path, other: Path) -> str:
    environment.upload(other, "/tmp/up")
    return environment.run("sha256sum /tmp/up").stdout.split()[0]


def _download(environment: Environment, path: Path, _other: Path) -> str:
    environment.download("/tmp/bytes", path)
    return _digest(path)


def main(kind: str, direction: str, size: int, *image: str) -> None:
    """Run it."""
    config = {"image": image[0]} if image else {}
    with environments.create(kind, **config) as environment, tempfile.TemporaryDirectory() as directory:
        source, sink = Path(directory, "source"), Path(directory, "sink")
        _fill(source, size)
        if direction != "upload":
            environment.upload(source, "/tmp/bytes")
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew (proc(5)); else it is that so far
        before = memory("VmRSS")
        start = time.perf_counter()
        come = {"stdout": _stdout, "upload": _upload, "download": _download}[direction](environment, sink, source)
        seconds = time.perf_counter() - start
        peak = memory("VmHWM")
        if come != _digest(source):
            raise SystemExit("bytes were lost or changed")
    sys.stdout.write(json.dumps([before, max(before, peak), seconds]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
