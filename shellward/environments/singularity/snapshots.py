"""Snapshots: the writable layer and the temporary files of an instance, as one file.

A tar archive keeps what an overlay needs on any file system: removed files (devices 0/0) and opaque directories
(extended attributes). With ``fakeroot`` files belong to users that only their own root can see, hence ``unshare``.
"""

import os
import secrets
import subprocess
from pathlib import Path
from typing import Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.singularity import records
from shellward.environments.singularity.config import SingularityConfig
from shellward.environments.singularity.instance import clear
from shellward.environments.singularity.records import Record

_KEPT: Final = ("overlay/upper", "work/tmp", "work/var_tmp", "work/home")
_TAR: Final = ("tar", "--xattrs", "--xattrs-include=*", "--numeric-owner", "--sparse")


def _file(snapshot: str) -> Path:
    return records.directory() / "snapshots" / f"{snapshot}.tar"


def _as_root(config: SingularityConfig) -> list[str]:
    return ["unshare", "--map-root-user", "--map-auto"] if config.fakeroot and os.geteuid() else []


def save(record: Record) -> str:
    """Save an instance's files; returns the snapshot's id.

    Raises:
        EnvironmentUnavailable: there is no room for it, or a file cannot be read.
    """
    snapshot = f"snapshot-{secrets.token_hex(6)}"
    target = _file(snapshot)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    there = [name for name in _KEPT if Path(record.disk, name).is_dir()]
    try:
        with part.open("xb") as out:
            argv = [*_as_root(record.config), *_TAR, "-C", record.disk, "-cf", "-", *there]
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, check=False)
        # 1: a file has changed while it was read, or was a socket. Commands may run meanwhile.
        if done.returncode not in (0, 1):
            raise EnvironmentUnavailable(f"snapshot of {record.name} failed: {_last(done.stderr)}")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return snapshot


def check(snapshot: str) -> None:
    """Check that it is there.

    Raises:
        EnvironmentUnavailable: it is not.
    """
    if "/" in snapshot or not _file(snapshot).is_file():
        raise EnvironmentUnavailable(f"there is no snapshot {snapshot!r} in {_file('x').parent}")


def load(record: Record, snapshot: str) -> None:
    """Put the files of a snapshot in place of those of an instance, which does not run.

    Raises:
        EnvironmentUnavailable: there is no room for it.
    """
    for name in ("overlay", "work"):
        clear(f"{record.disk}/{name}")
        Path(record.disk, name).mkdir()
    with _file(snapshot).open("rb") as archive:
        argv = [*_as_root(record.config), *_TAR, "-C", record.disk, "-xpf", "-"]
        done = subprocess.run(argv, stdin=archive, capture_output=True, check=False)
    if done.returncode:
        raise EnvironmentUnavailable(f"snapshot {snapshot!r} cannot be unpacked: {_last(done.stderr)}")


def _last(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "tar says nothing"
