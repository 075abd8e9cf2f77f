"""Writes are atomic: a reader sees the old content or the new, and a write that fails leaves the old."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from shellward.testing.trial import at_most, fault, raises, terms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from shellward.environments.environment import Environment
    from shellward.testing.place import SmallDisk
    from shellward.testing.trial import Trial

DEPENDS_ON = "host"


def readers_never_see_half(t: Trial) -> None:
    """While one writes, readers inside see one of the contents, whole."""
    env = t.fresh()
    root = t.directory(env)
    env.write_file(f"{root}/f", b"a" * 400_000)
    watch = (
        f"while [ ! -e {root}/stop ]; do cat {root}/f >{root}/copy; size=$(wc -c <{root}/copy); "
        f"rest=$(tr -d a <{root}/copy | wc -c); echo $size:$rest; done; echo end"
    )
    seen: list[str] = []
    thread = threading.Thread(target=lambda: seen.append(env.run(watch, timeout=30).stdout))
    thread.start()
    contents = (b"b" * 400_000, b"a" * 400_000)
    for number in range(24):
        env.write_file(f"{root}/f", contents[number % 2])
    env.write_file(f"{root}/stop", "")
    thread.join()
    halves = set(seen[0].replace(" ", "").split()) - {"400000:0", "400000:400000", "end"}
    assert not halves, halves
    assert seen[0].endswith("end\n")


def hard_link_shows_replacement(t: Trial) -> None:
    """A file that is open for reading keeps the old content: it was replaced, not overwritten in place."""
    session, root = t.session(), t.directory()
    t.env.write_file(f"{root}/f", "old content\n")
    job = f"(exec 5<{root}/f; while [ ! -e {root}/go ]; do sleep 0.05; done; cat <&5 >{root}/seen) & job=$!"
    session.run(job).check()
    session.run("sleep 0.2")
    t.env.write_file(f"{root}/f", "new\n")
    t.env.write_file(f"{root}/go", "")
    session.run("wait $job", timeout=10)
    assert t.env.read_file(f"{root}/seen") == b"old content\n"


def nothing_is_left_beside(t: Trial) -> None:
    """Temporary files of a write are gone afterwards, also when it failed."""
    root = t.directory()
    for _ in range(3):
        t.env.write_file(f"{root}/f", b"x" * 600_000)
    t.env.run(f"mkdir {root}/d").check()
    with raises(IsADirectoryError):
        t.env.write_file(f"{root}/d", b"x" * 600_000)
    names = t.env.run(f"ls -A {root}; ls -A {root}/d").stdout.split()
    assert names == ["d", "f"]


@terms(fault("small_disk"))
def full_disk_leaves_the_old_content(t: Trial) -> None:
    """A write that does not fit is OSError (ENOSPC); the old content is there, and no debris."""
    with _small(t) as (env, path):
        env.write_file(f"{path}/f", "old")
        for size in (3_000_000, 1_100_000):
            with at_most(20, "a write that does not fit"), raises(OSError) as caught:
                env.write_file(f"{path}/f", b"x" * size)
            assert caught.value.errno == 28, caught.value
            assert env.read_file(f"{path}/f") == b"old"
            assert env.run(f"ls -A {path}").stdout == "f\n"
        env.write_file(f"{path}/g", b"y" * 500_000)
        assert env.stat(f"{path}/g").size == 500_000


@terms(fault("small_disk"))
def full_disk_and_commands(t: Trial) -> None:
    """With the disk full, commands still run, fail with their own messages, and state persists."""
    with _small(t) as (env, path):
        result = env.run(f"X=kept; cd {path}; head -c 3000000 /dev/zero >fill; echo $?", timeout=20)
        assert "0" not in result.stdout.split()
        assert result.stderr
        assert env.run("echo $X; pwd").stdout == f"kept\n{path}\n"
        assert env.run("exit 3").exit_code == 3
        assert env.run("echo $X").stdout == "kept\n"
        env.run("rm fill; cd /").check()


def _small(t: Trial) -> AbstractContextManager[tuple[Environment, str]]:
    import contextlib

    hook = t.place.faults.small_disk
    assert not isinstance(hook, str)

    @contextlib.contextmanager
    def manage() -> Iterator[tuple[Environment, str]]:
        small: SmallDisk
        with hook() as small, t.place.create(**small.config) as env:
            yield env, small.path

    return manage()
