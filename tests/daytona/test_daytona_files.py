"""Files that go past the shell, by the toolbox: whole or not at all, whatever their name, and whatever breaks."""

import errno
import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.errors import ConnectionLost
from shellward.environments.environment import Environment
from shellward.testing.services.launch import Launched

SIZE = 3_000_000
REQUESTS = 2  # each carries at most 2 MiB


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(os.urandom(SIZE))
    path.chmod(0o640)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


def uploads(service: Launched) -> int:
    return sum(call.endswith("/files/bulk-upload") for call in service.calls())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def there(env: Environment, path: str) -> str:
    return env.run(["sha256sum", path]).check().stdout.lstrip("\\").split()[0]


@pytest.mark.parametrize("name", ["plain", "with space", "line\nbreak", "'\"$(x)`y`", "ünï", "-rf", " blank "])
def test_a_large_file_goes_by_the_toolbox(service: Launched, env: Environment, source: Path, name: str) -> None:
    before = uploads(service)
    env.run("mkdir /tmp/d").check()
    env.upload(source, f"/tmp/d/{name}")
    assert uploads(service) == before + REQUESTS
    assert there(env, f"/tmp/d/{name}") == digest(source)
    info = env.stat(f"/tmp/d/{name}")
    assert (info.size, info.mode, info.modified.timestamp()) == (SIZE, 0o640, 1_600_000_000)
    assert [each.name for each in env.list_dir("/tmp/d")] == [name]


def test_a_name_that_is_no_text_goes_by_the_shell(service: Launched, env: Environment, source: Path) -> None:
    before = uploads(service)
    name = os.fsdecode(b"/tmp/\xff\xfe/file")
    env.run(["mkdir", name.removesuffix("/file")]).check()
    env.upload(source, name)
    assert uploads(service) == before
    assert env.stat(name).size == SIZE


def test_what_was_there_keeps_its_mode_and_its_links(env: Environment) -> None:
    env.run("cd /tmp; echo old >file; chmod 751 file; ln -s file link").check()
    env.write_file("/tmp/link", b"x" * SIZE)
    assert env.stat("/tmp/file").mode == 0o751
    assert env.run("readlink /tmp/link").stdout == "file\n"
    assert env.run("wc -c </tmp/file").stdout.strip() == str(SIZE)


def test_nobody_else_can_read_it_on_its_way(env: Environment) -> None:
    """The toolbox itself makes files that all may read."""
    env.run("mkdir -m 755 /tmp/d; umask 077").check()
    looking = env.start(
        "while :; do find /tmp/d -type f -perm /077 ! -path '*.tmp.*/*'; done >/tmp/seen 2>/dev/null", stdin=None
    )
    for _ in range(5):
        env.write_file("/tmp/d/secret", os.urandom(SIZE), mode=0o600)
    looking.kill()
    assert env.run("cat /tmp/seen").stdout == ""


def test_a_user_of_the_sandbox_s_own(service: Launched, source: Path) -> None:
    before = uploads(service)
    with environments.create("daytona", user="nobody", cwd="/tmp") as env:
        env.upload(source, "file")
        assert env.run("stat -c %U file").stdout == "nobody\n"
        assert there(env, "/tmp/file") == digest(source)
        with pytest.raises(PermissionError):
            env.upload(source, "/etc/file")
    assert uploads(service) == before + REQUESTS


def test_a_connection_that_breaks_leaves_what_was_there(service: Launched, env: Environment, source: Path) -> None:
    env.write_file("/tmp/file", b"old")
    service.faults(cut=1_000_000)
    with pytest.raises(ConnectionLost):
        env.upload(source, "/tmp/file")
    service.faults()
    assert env.read_file("/tmp/file") == b"old"
    assert env.run("ls -A /tmp | grep -v '^shellward-'").stdout == "file\n"
    env.upload(source, "/tmp/file")
    assert there(env, "/tmp/file") == digest(source)


@pytest.mark.parametrize("fault", [{"unavailable": 100}, {"limited": 100}])
def test_a_toolbox_that_takes_nothing_is_not_needed(
    service: Launched, env: Environment, source: Path, fault: dict[str, object]
) -> None:
    """The shell carries it."""
    env.write_file("/tmp/warm", b"x" * SIZE)
    env.run("true")
    service.faults(**fault, match="/process/execute")
    try:
        env.upload(source, "/tmp/file")
    finally:
        service.faults()
    assert there(env, "/tmp/file") == digest(source)


def test_a_full_disk_is_told_and_leaves_nothing(service: Launched) -> None:
    del service
    volumes = [{"name": "full-1m", "target": "/small"}]
    with environments.create("daytona", volumes=volumes) as env:
        env.write_file("/small/file", b"old")
        with pytest.raises(OSError, match="No space left") as caught:
            env.write_file("/small/file", b"x" * SIZE)
        assert caught.value.errno == errno.ENOSPC
        assert env.read_file("/small/file") == b"old"
        assert [each.name for each in env.list_dir("/small")] == ["file"]


def test_what_cannot_be_read_here_is_told_as_it_is(env: Environment) -> None:
    class BrokenError(Exception):
        pass

    def pieces() -> Iterator[bytes]:
        yield b"x" * SIZE
        raise BrokenError

    from shellward.environments import files

    with pytest.raises(BrokenError):
        files._write(env, "/tmp/file", pieces(), size=None, mode=None, parents=False)
    assert env.run("ls -A /tmp | grep -v '^shellward-'").stdout == ""


def test_twenty_files_at_once(env: Environment, tmp_path: Path) -> None:
    sources = []
    for number in range(20):
        path = tmp_path / str(number)
        path.write_bytes(os.urandom(500_000))
        sources.append(path)
    env.run("mkdir /tmp/many").check()
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda path: env.upload(path, f"/tmp/many/{path.name}"), sources))
    said = env.run("cd /tmp/many && sha256sum * && ls -A | wc -l").check().stdout.splitlines()
    assert said[-1].strip() == "20"
    assert {line.split()[1]: line.split()[0] for line in said[:-1]} == {each.name: digest(each) for each in sources}
