"""The parts of file transfer that need no environment: hostile archives, odd names, errors by their words."""

import errno
import io
import tarfile
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shellward.core.types import FileType, Result
from shellward.environments import files
from shellward.environments.unpack import unpack_tar


def archive(*members: tuple[str, bytes, dict[str, object]]) -> tarfile.TarFile:
    """Make an archive as nobody's tar would: each member as it is told."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data, fields in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mode = 0o644
            for key, value in fields.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(data))
    out.seek(0)
    return tarfile.open(fileobj=out, mode="r|")


def link(name: str, target: str, *, hard: bool = False) -> tuple[str, bytes, dict[str, object]]:
    return name, b"", {"type": tarfile.LNKTYPE if hard else tarfile.SYMTYPE, "linkname": target}


def directory(name: str, mode: int = 0o755) -> tuple[str, bytes, dict[str, object]]:
    return name, b"", {"type": tarfile.DIRTYPE, "mode": mode}


def extract(tmp_path: Path, *members: tuple[str, bytes, dict[str, object]]) -> Path:
    (tmp_path / "secret").write_text("untouched")
    into = tmp_path / "into"
    unpack_tar(archive(*members), into)
    return into


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "a/..", "..", "./../x"])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str, kind: bytes) -> None:
    with pytest.raises(OSError, match="leads out of it"):
        extract(tmp_path, (name, b"", {"type": kind, "linkname": "x"}))
    assert {path.name for path in tmp_path.iterdir()} == {"secret", "into"}


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_a_device_is_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(OSError, match="a device cannot be downloaded"):
        extract(tmp_path, ("null", b"", {"type": kind, "devmajor": 1, "devminor": 3}))


def test_nothing_is_written_through_a_link_of_the_archive(tmp_path: Path) -> None:
    with suppress(OSError):
        extract(tmp_path, link("out", str(tmp_path)), ("out/secret", b"stolen", {}))
    assert (tmp_path / "secret").read_text() == "untouched"


def test_nothing_is_written_through_a_link_to_a_file(tmp_path: Path) -> None:
    into = extract(tmp_path, link("f", "../secret"), ("f", b"stolen", {}))
    assert (tmp_path / "secret").read_text() == "untouched"
    assert (into / "f").is_symlink() or (into / "f").read_bytes() == b"stolen"


def test_nothing_is_written_through_a_link_that_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "into").mkdir()
    (tmp_path / "into" / "f").symlink_to(tmp_path / "secret")
    into = extract(tmp_path, ("f", b"new", {}))
    assert (tmp_path / "secret").read_text() == "untouched"
    assert (into / "f").read_bytes() == b"new"
    assert not (into / "f").is_symlink()


@pytest.mark.parametrize("target", ["../secret", "a/../../secret"])
def test_a_hard_link_out_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "into" / "a").mkdir(parents=True)
    with pytest.raises(OSError, match="leads out"):
        extract(tmp_path, link("f", target, hard=True))


def test_an_absolute_hard_link_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="leads out"):
        extract(tmp_path, link("f", str(tmp_path / "secret"), hard=True))


def test_a_hard_link_through_a_link_of_the_archive(tmp_path: Path) -> None:
    with suppress(OSError):
        extract(tmp_path, link("d", ".."), link("f", "d/secret", hard=True))
    assert (tmp_path / "secret").stat().st_nlink == 1


@pytest.mark.parametrize("hard", [False, True])
def test_a_link_is_not_made_through_a_link_of_the_archive(tmp_path: Path, hard: bool) -> None:
    """This way into ~/.ssh/authorized_keys: its file is replaced by what the archive holds."""
    with suppress(OSError):
        extract(tmp_path, ("f", b"stolen", {}), link("d", ".."), link("d/secret", "f", hard=hard))
    assert (tmp_path / "secret").read_text() == "untouched"
    assert not (tmp_path / "secret").is_symlink()


def test_modes_and_times_of_a_directory_do_not_go_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    with suppress(OSError):
        extract(tmp_path, directory("d", 0o777), link("d", "../outside"))
    assert outside.stat().st_mode & 0o777 == 0o700


def test_of_two_members_with_one_name_the_last_stays(tmp_path: Path) -> None:
    into = extract(tmp_path, ("f", b"first, and longer", {}), ("f", b"second", {}))
    assert (into / "f").read_bytes() == b"second"


def test_what_an_honest_archive_holds(tmp_path: Path) -> None:
    into = extract(
        tmp_path,
        directory("d", 0o555),
        ("d/a b\nc", b"\0x", {"mode": 0o751, "mtime": 1_000_000_000}),
        directory("deep/er"),
        ("deep/er/file", b"y", {}),
        link("l", "d/nowhere"),
        link("same", "d/a b\nc", hard=True),
        ("pipe", b"", {"type": tarfile.FIFOTYPE, "mode": 0o600}),
        ("ß\udcff", b"odd", {}),
    )
    file = into / "d" / "a b\nc"
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"\0x", 0o751)
    assert file.stat().st_mtime == 1_000_000_000
    assert (into / "d").stat().st_mode & 0o777 == 0o555
    assert (into / "l").readlink() == Path("d/nowhere")
    assert (into / "same").stat().st_ino == file.stat().st_ino
    assert (into / "pipe").is_fifo()
    assert "ß\udcff" in {path.name for path in into.iterdir()}
    (into / "d").chmod(0o755)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("cat: x: No such file or directory", FileNotFoundError),
        ("sh: 1: cannot create a/b: nonexistent directory", FileNotFoundError),
        ("x: Is a directory", IsADirectoryError),
        ("x: Not a directory", NotADirectoryError),
        ("x: Permission denied", PermissionError),
        ("x: Operation not permitted", PermissionError),
        ("x: File exists", FileExistsError),
    ],
)
def test_a_complaint_becomes_the_matching_error(words: str, error: type[OSError]) -> None:
    raised = files.error_of(Result(command="", exit_code=1, stderr=words), "/the/path")
    assert type(raised) is error
    assert raised.filename == "/the/path"


def test_a_complaint_of_another_kind_is_told_as_it_is() -> None:
    raised = files.error_of(Result(command="", exit_code=9, stderr="bus fell over\n"), "p")
    assert (raised.errno, raised.strerror) == (errno.EIO, "bus fell over")
    assert "exit status 9" in str(files.error_of(Result(command="", exit_code=9), "p"))


def test_entries_are_matched_with_their_descriptions() -> None:
    """A file that went away in between has a name and no description; names may hold anything."""
    names = [b"a", b"gone", b"n\nl 8 9", b"\xff", b"-x"]
    described = b"81a4 3 1000 1 2/./a\n41ed 4096 2000 0 0/./n\nl 8 9\na1ff 7 -5 0 0/./\xff\n11a4 0 0 0 0/./-x\n"
    found = list(files._entries(described, names, "dir/"))
    assert [(info.name, info.path, info.type) for info in found] == [
        ("a", "dir/a", FileType.FILE),
        ("n\nl 8 9", "dir/n\nl 8 9", FileType.DIRECTORY),
        ("\udcff", "dir/\udcff", FileType.SYMLINK),
        ("-x", "dir/-x", FileType.OTHER),
    ]
    assert (found[0].size, found[0].mode, found[0].uid, found[0].gid) == (3, 0o644, 1, 2)
    assert found[0].modified == datetime.fromtimestamp(1000, UTC)


def test_the_packer_leaves_nothing_behind_when_nobody_reads_on(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 3_000_000)
    before = len([*Path("/proc/self/fd").iterdir()])
    with files._packer(tmp_path, 0, None) as chunks:
        assert next(chunks)
    assert len([*Path("/proc/self/fd").iterdir()]) == before
    assert not {thread.name for thread in threading.enumerate()} & {"shellward-pack"}


def test_what_fails_in_the_packer_is_raised_where_it_is_read(tmp_path: Path) -> None:
    with files._packer(tmp_path / "absent", 0, None) as chunks, pytest.raises(FileNotFoundError):
        b"".join(chunks)
