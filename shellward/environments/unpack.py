"""Unpacks a tar that a sandbox has made. The sandbox is not to be trusted with this machine's files.

Nothing is written, linked or changed outside the target, nor through a link that came with the archive.
"""

import errno
import os
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path

_CHUNK = 1 << 18

Placed = tuple[tarfile.TarInfo, Path]


def unpack_tar(tar: tarfile.TarFile, into: Path) -> None:
    """Unpack into a directory, which is made when missing.

    Raises:
        OSError: EINVAL for a member that leads out, or is a device; else as of the file system.
    """
    links: list[Placed] = []
    directories: list[Placed] = []
    into.mkdir(parents=True, exist_ok=True)
    for member in tar:
        place = into.joinpath(*_inner(member.name, member))
        _no_link_above(place, into)
        if member.isdir():
            place.mkdir(exist_ok=True, parents=True)
            directories.append((member, place))
        elif member.issym() or member.islnk():
            links.append((member, place))
        else:
            _make_file(tar, member, place)
    _make_links(links, into)
    for member, place in _leaves_first(directories):
        _no_link_above(place / "x", into)
        place.chmod(member.mode)
        os.utime(place, (member.mtime, member.mtime))


def _inner(name: str, member: tarfile.TarInfo) -> tuple[str, ...]:
    parts = Path(name).parts
    if name.startswith("/") or ".." in parts:
        raise OSError(errno.EINVAL, "the archive has a path that leads out of it", member.name)
    return parts


def _no_link_above(place: Path, into: Path) -> None:
    for parent in place.parents:
        if parent == into:
            return
        if parent.is_symlink():
            raise OSError(errno.EINVAL, "the archive has a file below one of its own links", str(place))


def _leaves_first(placed: Iterable[Placed]) -> list[Placed]:
    return sorted(placed, key=lambda pair: -len(pair[1].parts))


def _make_links(links: list[Placed], into: Path) -> None:
    """Make hard links before symbolic ones, and those from the leaves up, so that none is made through another."""
    for member, place in links:
        if member.islnk():
            target = into.joinpath(*_inner(member.linkname, member))
            _no_link_above(target, into)
            place.unlink(missing_ok=True)
            os.link(target, place, follow_symlinks=False)
    for member, place in _leaves_first(links):
        if member.issym():
            _no_link_above(place, into)
            place.unlink(missing_ok=True)
            place.symlink_to(member.linkname)


def _make_file(tar: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if member.isfifo():
        os.mkfifo(place, member.mode)
        return
    source = tar.extractfile(member) if member.isreg() else None
    if source is None:
        raise OSError(errno.EINVAL, "a device cannot be downloaded", member.name)
    place.unlink(missing_ok=True)
    with place.open("xb") as out:
        shutil.copyfileobj(source, out, _CHUNK)
    place.chmod(member.mode)
    os.utime(place, (member.mtime, member.mtime))
