"""Files over SSH: large ones go over SFTP where the server has it, and through the channel where it has not."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.ssh import sftp

from .conftest import PORT, Make
from .proxy import Proxy

SIZE = 3_000_000


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What came of each attempt to send a file over SFTP."""
    ends: list[bool] = []
    put = sftp.put

    def watched(*args: Any) -> bool:
        ends.append(put(*args))
        return ends[-1]

    monkeypatch.setattr(sftp, "put", watched)
    return ends


@pytest.mark.parametrize(("port", "over_sftp"), [(PORT, True), (PORT + 1, False)])
def test_with_and_without_sftp(make: Make, sent: list[bool], tmp_path: Path, port: int, over_sftp: bool) -> None:
    environment = make(port=port)
    local = tmp_path / "with spaces\nand 'more'"
    local.write_bytes(os.urandom(SIZE))
    local.chmod(0o640)
    os.utime(local, (1_000_000_000, 1_000_000_000))
    seen: list[tuple[int, int | None]] = []
    target = "/tmp/shellward sftp\nfile"
    environment.upload(local, target, progress=lambda done, total: seen.append((done, total)))
    assert sent == [over_sftp]
    assert seen[-1] == (SIZE, SIZE)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    info = environment.stat(target)
    assert (info.size, info.mode, info.modified.timestamp()) == (SIZE, 0o640, 1_000_000_000)
    environment.download(target, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == local.read_bytes()
    # A link is written through; the mode of what was there is kept.
    environment.run(["ln", "-sf", target, "/tmp/shellward-sftp-link"]).check()
    environment.write_file("/tmp/shellward-sftp-link", b"y" * SIZE)
    assert environment.stat(target).mode == 0o640
    assert environment.read_file(target) == b"y" * SIZE
    environment.run(["rm", target, "/tmp/shellward-sftp-link"]).check()
    assert environment.run("ls -A /tmp | grep '^[.]shellward[.]'").stdout == ""


def test_what_cannot_be_written_says_why_and_leaves_nothing(make: Make) -> None:
    environment = make()
    for path, kind in (
        ("/etc/shellward", PermissionError),
        ("/tmp", IsADirectoryError),
        ("/tmp/shellward-none/such/dir", FileNotFoundError),
        ("/etc/passwd/x", NotADirectoryError),
    ):
        with pytest.raises(kind):
            environment.write_file(path, b"x" * SIZE)
    environment.write_file("/dev/null", b"x" * SIZE)

    def broken() -> Iterator[bytes]:
        yield b"x" * SIZE
        raise KeyError("of the source")

    from shellward.environments import files

    with pytest.raises(KeyError):
        files._write(environment, "/tmp/shellward-broken", broken(), size=None, mode=None, parents=False)
    assert environment.run("ls -A /tmp | grep -e '^[.]shellward[.]' -e shellward-broken").stdout == ""


def test_a_connection_lost_while_a_file_is_sent(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**through)
    environment.write_file("/tmp/shellward-kept", b"old")

    def breaking(done: int, _total: int | None) -> None:
        if done > SIZE // 2:
            proxy.drop()

    big = b"x" * 20_000_000
    local = Path(os.environ["SHELLWARD_HOME"]).with_name("big")
    local.write_bytes(big)
    with pytest.raises(EnvironmentUnavailable):
        environment.upload(local, "/tmp/shellward-kept", progress=breaking)
    assert environment.read_file("/tmp/shellward-kept") == b"old"
    assert environment.run("rm /tmp/shellward-kept; ls -A /tmp | grep '^[.]shellward[.]'").stdout == ""


@pytest.mark.slow
def test_a_gigabyte_with_progress(make: Make, tmp_path: Path) -> None:
    environment = make()
    local = tmp_path / "big"
    with local.open("wb") as out:
        out.truncate(1 << 30)
    seen: list[int] = []
    environment.upload(local, "/tmp/shellward-gigabyte", progress=lambda done, _total: seen.append(done))
    assert seen[-1] == 1 << 30
    seen.clear()
    environment.download("/tmp/shellward-gigabyte", tmp_path / "back", progress=lambda done, _total: seen.append(done))
    assert seen[-1] == (tmp_path / "back").stat().st_size == 1 << 30
    environment.run("rm /tmp/shellward-gigabyte").check()
