"""``upload`` and ``download``: files and whole trees, with everything that a tree may hold."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shellward.testing.checks_files import NAMES
from shellward.testing.trial import at_most, raises

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellward.testing.trial import Trial

DEPENDS_ON = "host"


@contextmanager
def _here() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="shellward-check-") as directory:
        yield Path(directory)


def _build(root: Path) -> None:
    root.mkdir()
    for number, name in enumerate(NAMES):
        (root / name).write_bytes(f"{number}\n".encode() + bytes(range(256)))
    (root / "empty dir").mkdir()
    (root / "a" / "b\nc" / "-d").mkdir(parents=True)
    (root / "a" / "b\nc" / "-d" / "deep").write_bytes(b"x" * 300_000)
    (root / "executable").write_bytes(b"#!/bin/sh\n")
    (root / "executable").chmod(0o755)
    (root / "secret").write_bytes(b"s")
    (root / "secret").chmod(0o600)
    (root / "closed").mkdir(mode=0o700)
    (root / "empty file").touch()
    (root / "link").symlink_to("plain")
    (root / "broken link").symlink_to("no such\nthing")
    (root / "link to dir").symlink_to("a")
    (root / "absolute link").symlink_to("/etc/hostname")
    os.utime(root / "plain", (1_000_000_000, 1_000_000_000))


def _picture(root: Path) -> dict[str, tuple[str, int, bytes]]:
    picture = {}
    for path in sorted(root.rglob("*")):
        mode = path.lstat().st_mode & 0o777
        name = str(path.relative_to(root))
        if path.is_symlink():
            picture[name] = ("link", 0, os.fsencode(path.readlink()))
        elif path.is_dir():
            picture[name] = ("dir", mode, b"")
        else:
            picture[name] = ("file", mode, path.read_bytes())
    return picture


def tree_up_and_down(t: Trial) -> None:
    """A tree with odd names, links, empty directories and modes goes up and comes down as it was."""
    root = t.directory()
    with _here() as here:
        _build(here / "tree")
        t.env.upload(here / "tree", f"{root}/there")
        t.env.download(f"{root}/there", here / "back")
        before, after = _picture(here / "tree"), _picture(here / "back")
        assert set(after) == set(before)
        for name, entry in before.items():
            assert after[name] == entry, name


def target_is_the_path_itself(t: Trial) -> None:
    """``remote`` and ``local`` are the target, not its parent.

    A single file goes the same way, with its mode.
    """
    root = t.directory()
    with _here() as here:
        (here / "a file").write_bytes(b"content")
        (here / "a file").chmod(0o750)
        t.env.upload(here / "a file", f"{root}/other name")
        assert t.env.read_file(f"{root}/other name") == b"content"
        assert t.env.stat(f"{root}/other name").mode == 0o750
        t.env.download(f"{root}/other name", here / "back")
        assert (here / "back").read_bytes() == b"content"
        assert (here / "back").stat().st_mode & 0o777 == 0o750
        for name in NAMES:
            t.env.upload(here / "a file", f"{root}/{name}")
            t.env.download(f"{root}/{name}", here / name)
            assert (here / name).read_bytes() == b"content", name


def strings_and_relative_paths(t: Trial) -> None:
    """Paths may be str; relative remote ones are taken from ``env.cwd``."""
    env = t.fresh()
    root = t.directory(env)
    env.run(f"cd {root}").check()
    with _here() as here:
        (here / "f").write_text("x")
        env.upload(str(here / "f"), "-relative")
        assert env.read_file(f"{root}/-relative") == b"x"
        env.download("-relative", str(here / "g"))
        assert (here / "g").read_text() == "x"
    env.run(f"cd /; rm -rf {root}")


def wrong_paths(t: Trial) -> None:
    """Missing sources and targets that cannot be: the matching OSError; nothing half-done is left."""
    root = t.directory()
    with _here() as here:
        (here / "f").write_text("x")
        (here / "d").mkdir()
        with raises(FileNotFoundError):
            t.env.upload(here / "missing", f"{root}/x")
        with raises(FileNotFoundError):
            t.env.download(f"{root}/missing", here / "x")
        with raises(FileNotFoundError):
            t.env.download(f"{root}/missing/more", here / "x")
        t.env.write_file(f"{root}/file", "x")
        with raises(NotADirectoryError, FileExistsError):
            t.env.upload(here / "f", f"{root}/file/below")
        with raises(FileNotFoundError):
            t.env.download(f"{root}/file", here / "no" / "such" / "parent")
        with raises(IsADirectoryError):
            t.env.download(f"{root}/file", here / "d")
        t.env.run(f"mkdir {root}/dir").check()
        with raises(IsADirectoryError):
            t.env.upload(here / "f", f"{root}/dir")
        assert sorted(path.name for path in here.iterdir()) == ["d", "f"]
        assert t.env.run(f"ls -A {root} {root}/dir").stdout.split() == [
            f"{root}:",
            "dir",
            "file",
            f"{root}/dir:",
        ]


def progress_is_reported(t: Trial) -> None:
    """``progress(done, total)`` rises to the size of what was moved, both ways."""
    root = t.directory()
    with _here() as here:
        (here / "f").write_bytes(b"x" * 3_000_000)
        for up in (True, False):
            steps: list[tuple[int, int | None]] = []

            def note(done: int, total: int | None, steps: list[tuple[int, int | None]] = steps) -> None:
                steps.append((done, total))

            if up:
                t.env.upload(here / "f", f"{root}/f", progress=note)
            else:
                t.env.download(f"{root}/f", here / "g", progress=note)
            assert [done for done, _ in steps] == sorted(done for done, _ in steps)
            assert steps[-1][0] == 3_000_000
            assert {total for _, total in steps} <= {None, 3_000_000}


def replacing_is_atomic_for_files(t: Trial) -> None:
    """An existing file is replaced whole; a download that fails leaves the local file as it was."""
    root = t.directory()
    with _here() as here:
        (here / "f").write_bytes(b"new" * 100_000)
        t.env.write_file(f"{root}/f", "old")
        t.env.upload(here / "f", f"{root}/f")
        assert t.env.read_file(f"{root}/f") == b"new" * 100_000
        (here / "local").write_text("mine")
        with raises(FileNotFoundError):
            t.env.download(f"{root}/missing", here / "local")
        assert (here / "local").read_text() == "mine"


def many_small_files(t: Trial) -> None:
    """2000 small files are one transfer, not 2000."""
    root = t.directory()
    with _here() as here:
        (here / "many").mkdir()
        for number in range(2000):
            (here / "many" / f"{number}").write_text(f"{number}")
        with at_most(15, "2000 files up"):
            t.env.upload(here / "many", f"{root}/many")
        with at_most(15, "2000 files down"):
            t.env.download(f"{root}/many", here / "back")
        assert _picture(here / "back") == _picture(here / "many")


def links_do_not_lead_out(t: Trial) -> None:
    """A hostile tree (links that point out, files through them) writes nothing outside the target."""
    root = t.directory()
    with _here() as here:
        (here / "victim").mkdir()
        t.env.run(
            f"cd {root}; mkdir tree; ln -s {here}/victim tree/out; "
            f"ln -s ../../../../../../{here}/victim tree/up; mkdir tree/sub; echo x >tree/sub/f; cd -"
        ).check()
        t.env.download(f"{root}/tree", here / "got")
        assert not list((here / "victim").iterdir())
        assert (here / "got" / "out").is_symlink()
        assert (here / "got" / "sub" / "f").read_text() == "x\n"


def sockets_and_fifos(t: Trial) -> None:
    """A FIFO in a tree does not hang the transfer: it is left out or an OSError."""
    root = t.directory()
    with _here() as here:
        t.env.run(f"mkdir {root}/tree; mkfifo {root}/tree/p; echo x >{root}/tree/f").check()
        with at_most(10, "a tree with a FIFO"):
            try:
                t.env.download(f"{root}/tree", here / "got")
            except OSError:
                return
        assert (here / "got" / "f").read_text() == "x\n"
