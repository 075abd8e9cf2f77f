"""Single files: read, write, list, stat. Binary-safe, odd names, and the OSError that fits."""

from __future__ import annotations

import errno
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from shellward.core.errors import ConfigError
from shellward.core.types import FileType
from shellward.testing.trial import at_most, ordinary_user, quoted, raises, terms

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"

NAMES = (
    "plain",
    "two words",
    " leading and trailing ",
    "new\nline",
    "ends in newline\n",
    "-leading-dash",
    "--help",
    "-",
    "quote'\"`",
    "$HOME $(id) `id`",
    "back\\slash\\n",
    "*?[a]{b,c}",
    ".hidden",
    "...",
    "tab\tand\x01control\x7f",
    "é€😀",
    "not-utf8-\udcff\udcc3",
    "a=b;c&d|e>f<g#h!i~",
    "x" * 255,
)
"""File names that a sloppy implementation gets wrong."""


def bytes_go_in_and_come_out(t: Trial) -> None:
    """``write_file`` and ``read_file`` are binary-safe: NUL, invalid UTF-8, no newline, nothing at all."""
    root = t.directory()
    for data in (
        b"",
        b"x",
        b"\0",
        b"\n",
        bytes(range(256)) * 50,
        b"no newline",
        b"\xff\xfe\r\n\r\n",
        b"-n\n",
        b"%s\\n",
    ):
        t.env.write_file(f"{root}/f", data)
        assert t.env.read_file(f"{root}/f") == data
        assert t.env.stat(f"{root}/f").size == len(data)
    t.env.write_file(f"{root}/f", "text é")
    assert t.env.read_file(f"{root}/f") == "text é".encode()


def sizes_around_every_border(t: Trial) -> None:
    """Files of sizes around the usual buffer borders, and of 8 MB, come back as they were."""
    root = t.directory()
    pattern = bytes(range(251)) * 34_000
    for size in (
        511,
        512,
        4095,
        4096,
        65_535,
        65_536,
        65_537,
        131_072,
        262_143,
        262_144,
        262_145,
        1_048_577,
        8_388_608,
    ):
        t.env.write_file(f"{root}/f", pattern[:size])
        assert t.env.read_file(f"{root}/f") == pattern[:size], size


def odd_names(t: Trial) -> None:
    """Names with spaces, newlines, quotes, leading dashes, and bytes that are not UTF-8."""
    root = t.directory()
    for number, name in enumerate(NAMES):
        t.env.write_file(f"{root}/{name}", f"{number}")
        assert t.env.read_file(f"{root}/{name}") == f"{number}".encode(), name
        info = t.env.stat(f"{root}/{name}")
        assert (info.name, info.path, info.type, info.size) == (
            name,
            f"{root}/{name}",
            FileType.FILE,
            len(str(number)),
        )
    listed = t.env.list_dir(root)
    assert [info.name for info in listed] == sorted(NAMES)
    assert [info.path for info in listed] == [f"{root}/{name}" for name in sorted(NAMES)]


def relative_names(t: Trial) -> None:
    """Relative paths are taken from ``env.cwd``, also those that begin with a dash or a tilde."""
    env = t.fresh()
    root = t.directory(env)
    env.run(f"cd {root}").check()
    for name in ("rel", "-rf", "~", "./dot", "sub/../up"):
        env.run("mkdir -p sub")
        env.write_file(name, name)
        assert env.read_file(name) == name.encode()
    assert env.run(f"cat {root}/rel {root}/-rf '{root}/~' {root}/dot {root}/up").stdout == "rel-rf~./dotsub/../up"
    assert {info.name for info in env.list_dir(".")} == {"rel", "-rf", "~", "dot", "up", "sub"}
    env.run(f"cd /; rm -rf {root}")


def pieces_of_a_file(t: Trial) -> None:
    """``read_file`` with an offset and a length gives what a slice would, and the errors that the whole file has."""
    root = t.directory()
    data = bytes(range(256)) * 2600  # longer than what goes in one piece, or through a pipe at once
    t.env.write_file(f"{root}/f", data)
    t.env.write_file(f"{root}/empty", b"")
    for offset in (0, 1, 255, 4096, 65_535, 400_001, len(data) - 1, len(data), len(data) + 7, 1 << 40):
        for length in (0, 1, 511, 300_000, 1 << 40, None):
            expected = data[offset:] if length is None else data[offset : offset + length]
            assert t.env.read_file(f"{root}/f", offset=offset, length=length) == expected, (offset, length)
    for offset in (-1, -70_000, -len(data), -len(data) - 7):
        assert t.env.read_file(f"{root}/f", offset=offset) == data[offset:], offset
        assert t.env.read_file(f"{root}/f", offset=offset, length=100) == data[offset:][:100], offset
    t.env.run(f"truncate -s 5000000000 {root}/far && printf end >>{root}/far").check()
    assert t.env.read_file(f"{root}/far", offset=4_999_999_999, length=2) == b"\0e"
    assert t.env.read_file(f"{root}/far", offset=5_000_000_001) == b"nd"
    assert t.env.read_file(f"{root}/far", offset=-5_000_000_000, length=2) == b"\0\0"
    assert t.env.read_file(f"{root}/far", offset=-2) == b"nd"
    for offset, length in ((0, 10), (3, None), (-3, None)):
        assert t.env.read_file(f"{root}/empty", offset=offset, length=length) == b""
    t.env.run(f"mkfifo {root}/fifo; mkdir {root}/d").check()
    for name, wrong in (
        ("none", FileNotFoundError),
        ("none/below", FileNotFoundError),
        ("f/below", NotADirectoryError),
        ("d", IsADirectoryError),
        ("fifo", OSError),
    ):
        for offset, length in ((0, 0), (5, 5), (-5, None)):
            with raises(wrong):
                t.env.read_file(f"{root}/{name}", offset=offset, length=length)
    for options in ({"length": -1}, {"offset": 1 << 63}, {"offset": "3"}, {"length": 1.5}):
        with raises(ConfigError):
            t.env.read_file(f"{root}/f", **options)


def directories_above_are_made(t: Trial) -> None:
    """``parents`` makes the directories that are missing above a file; without it they are an error."""
    root = t.directory()
    local = Path(tempfile.mkdtemp(prefix="shellward-check-"))
    t.defer(lambda: shutil.rmtree(local))
    (local / "f").write_bytes(b"up")
    for size in (2, 300_000):  # past the shell, too
        data = b"x" * size
        with raises(FileNotFoundError):
            t.env.write_file(f"{root}/{size}/a b/-c/f", data)
        t.env.write_file(f"{root}/{size}/a b/-c/f", data, parents=True)
        assert t.env.read_file(f"{root}/{size}/a b/-c/f") == data
        t.env.write_file(f"{root}/{size}/a b/-c/f", data + b"y", parents=True)
        assert t.env.stat(f"{root}/{size}/a b/-c/f").size == size + 1
        with raises(NotADirectoryError):
            t.env.write_file(f"{root}/{size}/a b/-c/f/below", data, parents=True)
        with raises(NotADirectoryError):
            t.env.write_file(f"{root}/{size}/a b/-c/f/far/below", data, parents=True)
    with raises(FileNotFoundError):
        t.env.upload(local / "f", f"{root}/up/there")
    t.env.upload(local / "f", f"{root}/up/there", parents=True)
    assert t.env.read_file(f"{root}/up/there") == b"up"
    env = t.fresh()
    root = t.directory(env)
    env.run(f"cd {root}").check()
    env.write_file("new/one", b"1", parents=True)
    env.write_file("plain", b"2", parents=True)
    assert (env.read_file(f"{root}/new/one"), env.read_file(f"{root}/plain")) == (b"1", b"2")


def modes_are_kept(t: Trial) -> None:
    """``mode=`` sets the permissions; without it an existing file keeps its own, a new one gets the usual."""
    root = t.directory()
    for mode in (0o600, 0o644, 0o755, 0o400, 0o777):
        t.env.write_file(f"{root}/m{mode}", "x", mode=mode)
        assert t.env.stat(f"{root}/m{mode}").mode == mode
    t.env.run(f"echo old >{root}/kept; chmod 751 {root}/kept").check()
    t.env.write_file(f"{root}/kept", "new")
    assert t.env.stat(f"{root}/kept").mode == 0o751
    t.env.write_file(f"{root}/new", "new")
    assert t.env.stat(f"{root}/new").mode & 0o700 == 0o600


def missing_is_file_not_found(t: Trial) -> None:
    """What is missing is FileNotFoundError, with its path; nothing is created."""
    root = t.directory()
    for call in (t.env.read_file, t.env.list_dir, t.env.stat):
        with raises(FileNotFoundError) as caught:
            call(f"{root}/missing")
        assert "missing" in str(caught.value)
        assert caught.value.errno == errno.ENOENT
    with raises(FileNotFoundError):
        t.env.write_file(f"{root}/no/such/dir/f", "x")
    assert t.env.list_dir(root) == []


def wrong_kind_of_path(t: Trial) -> None:
    """A directory is not read or written as a file, a file not listed as a directory nor walked through."""
    root = t.directory()
    t.env.run(f"mkdir {root}/d; echo x >{root}/f").check()
    with raises(IsADirectoryError):
        t.env.read_file(f"{root}/d")
    with raises(IsADirectoryError):
        t.env.write_file(f"{root}/d", "x")
    with raises(NotADirectoryError):
        t.env.list_dir(f"{root}/f")
    for call in (t.env.read_file, t.env.stat, t.env.list_dir):
        with raises(NotADirectoryError):
            call(f"{root}/f/x")
    with raises(NotADirectoryError):
        t.env.write_file(f"{root}/f/x", "x")
    with raises(OSError):
        t.env.read_file(f"{root}/{'y' * 300}")
    with raises(OSError, ValueError):
        t.env.read_file(f"{root}/a\0b")


@terms(ordinary_user)
def denied_is_permission_error(t: Trial) -> None:
    """What the environment's user may not do is PermissionError."""
    changes = {"user": t.place.other_user} if not t.place.same_machine else None
    if changes is None:
        return
    env = t.fresh(**changes)
    for attempt in (
        lambda: env.write_file("/etc/shellward-denied", "x"),
        lambda: env.read_file("/etc/shadow"),
        lambda: env.list_dir("/root"),
    ):
        with raises(PermissionError):
            attempt()


def links_are_told_apart(t: Trial) -> None:
    """``stat`` and ``list_dir`` do not follow links; reading and writing through one does."""
    root = t.directory()
    t.env.run(
        f"echo x >{root}/f; ln -s f {root}/l; ln -s nowhere {root}/broken; mkdir {root}/d; mkfifo {root}/p"
    ).check()
    kinds = {info.name: info.type for info in t.env.list_dir(root)}
    assert kinds == {
        "f": FileType.FILE,
        "l": FileType.SYMLINK,
        "broken": FileType.SYMLINK,
        "d": FileType.DIRECTORY,
        "p": FileType.OTHER,
    }
    assert t.env.stat(f"{root}/l").type is FileType.SYMLINK
    assert t.env.stat(f"{root}/broken").type is FileType.SYMLINK
    assert t.env.read_file(f"{root}/l") == b"x\n"
    with raises(FileNotFoundError):
        t.env.read_file(f"{root}/broken")
    t.env.write_file(f"{root}/l", "through")
    assert t.env.read_file(f"{root}/f") == b"through"
    assert t.env.stat(f"{root}/l").type is FileType.SYMLINK, "the link was replaced by a file"


def special_files_do_not_hang(t: Trial) -> None:
    """Reading what never ends or never begins (a FIFO without a writer) is an error or comes back in time."""
    root = t.directory()
    t.env.run(f"mkfifo {root}/p").check()
    with at_most(8, "reading a FIFO"), raises(OSError):
        t.env.read_file(f"{root}/p")
    assert t.env.run("echo ok").stdout == "ok\n"


def empty_and_large_directories(t: Trial) -> None:
    """An empty directory is an empty list; one with 3000 entries is complete and sorted."""
    root = t.directory()
    assert t.env.list_dir(root) == []
    t.env.run(f"cd {root}; i=1000; while [ $i -lt 4000 ]; do : >n$i; i=$((i+1)); done; cd -").check()
    with at_most(15, "listing 3000 entries"):
        names = [info.name for info in t.env.list_dir(root)]
    assert names == [f"n{i}" for i in range(1000, 4000)]


def what_stat_says(t: Trial) -> None:
    """Size, mode, owner and time of change are those that the sandbox shows."""
    root = t.directory()
    t.env.run(f"printf 12345 >{root}/f; chmod 640 {root}/f; touch -d '2020-02-03 04:05:06' {root}/f").check()
    info = t.env.stat(f"{root}/f")
    shown = t.env.run(f"stat -c '%s %a %u %g %Y' {quoted(root + '/f')}").stdout.split()
    assert [str(info.size), f"{info.mode:o}", str(info.uid), str(info.gid)] == shown[:4]
    assert info.modified.tzinfo is not None
    assert int(info.modified.timestamp()) == int(shown[4])
    t.env.write_file(f"{root}/f", "now")
    assert abs(t.env.stat(f"{root}/f").modified - datetime.now(UTC)) < timedelta(seconds=30)
    sticky = t.env.stat("/tmp")
    assert (sticky.type, sticky.mode & 0o777) == (FileType.DIRECTORY, 0o777)
    assert t.env.stat("/").type is FileType.DIRECTORY


def paths_with_dots_and_slashes(t: Trial) -> None:
    """Trailing slashes, doubled slashes and dots mean what they mean everywhere."""
    root = t.directory()
    t.env.run(f"mkdir {root}/d; echo x >{root}/d/f").check()
    assert [info.name for info in t.env.list_dir(f"{root}/d/")] == ["f"]
    assert t.env.read_file(f"{root}//d/./../d/f") == b"x\n"
    assert t.env.stat(f"{root}/d/").type is FileType.DIRECTORY


def files_of_proc(t: Trial) -> None:
    """Files whose size is said to be 0 (in /proc) are read to their end."""
    assert b"MemTotal" in t.env.read_file("/proc/meminfo")


def files_while_a_command_runs(t: Trial) -> None:
    """File calls do not wait for the command that runs."""
    env = t.fresh()
    root = t.directory(env)
    with env.stream("sleep 5; echo end", timeout=20), at_most(4, "files beside a command"):
        env.write_file(f"{root}/f", "x")
        assert env.read_file(f"{root}/f") == b"x"
        assert len(env.list_dir(root)) == 1


def hostile_session_does_not_matter(t: Trial) -> None:
    """File calls do not depend on what the user did to the default session (PATH, functions, options)."""
    env = t.fresh()
    root = t.directory(env)
    env.run(
        "PATH=/nonexistent; set -f; IFS=x; cat() { echo no; }; alias mv=false; set -e; set -u; umask 0; cd /",
        timeout=5,
    )
    env.write_file(f"{root}/f", b"x" * 300_000)
    assert env.read_file(f"{root}/f") == b"x" * 300_000
    assert [info.name for info in env.list_dir(root)] == ["f"]
    env.run(f"/bin/rm -rf {root}")
