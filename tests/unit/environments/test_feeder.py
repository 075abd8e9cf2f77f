"""Standard input that is pumped: sources that raise, block or end early, and nothing left behind."""

import contextlib
import io
import os
import select
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shellward.core.errors import ConnectionLost
from shellward.core.types import StreamName
from shellward.environments import Environment, create
from shellward.environments.base import Piece
from shellward.environments.feeder import Feeder
from shellward.environments.pipes import PipeChannel
from shellward.testing.trial import eventually


@pytest.fixture
def environment() -> Iterator[Environment]:
    with create("local") as made:
        made.run("true")
        yield made


def held() -> tuple[int, int]:
    return len([*Path("/proc/self/fd").iterdir()]), threading.active_count()


def test_all_kinds_of_sources(environment: Environment, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096
    (tmp_path / "file").write_bytes(data)
    with (tmp_path / "file").open("rb") as file:
        for source in (data, io.BytesIO(data), iter([data[:10], b"", data[10:]]), file):
            result = environment.run("cat", stdin=source, max_output=None)
            assert result.stdout_bytes == data


def test_a_source_that_raises(environment: Environment) -> None:
    def broken(lines: int) -> Iterator[bytes]:
        for _ in range(lines):
            yield b"line\n"
        raise LookupError("no more")

    before = held()
    for turn in range(12):
        began = time.monotonic()
        with pytest.raises(LookupError, match="no more"):
            environment.run("cat", stdin=broken(turn % 3), timeout=3)
        assert time.monotonic() - began < 2
        assert environment.run("echo on").stdout == "on\n"
    assert held() == before


@pytest.mark.parametrize("lines", [0, 2])
def test_a_source_that_raises_what_a_closed_channel_raises(environment: Environment, lines: int) -> None:
    """A ValueError of the caller's own (UnicodeDecodeError is one) is not the end of the command."""

    def broken() -> Iterator[bytes]:
        for _ in range(lines):
            yield b"line\n"
        raise ValueError("of mine")

    with pytest.raises(ValueError, match="of mine"):
        environment.run("wc -c", stdin=broken(), timeout=3)
    assert environment.run("echo on").stdout == "on\n"


def test_pieces_that_are_text_are_said_to_be(environment: Environment) -> None:
    for source in (["text"], io.StringIO("text")):
        with pytest.raises(TypeError, match="stdin: its pieces have to be bytes, not str"):
            environment.run("wc -c", stdin=source, timeout=3)  # type: ignore[arg-type]


def test_a_command_that_ends_before_it_has_read_everything(environment: Environment) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"y\n" * 1000

    before = held()
    assert environment.run("head -n 1", stdin=endless()).stdout == "y\n"
    assert environment.run("true", stdin=endless()).exit_code == 0
    assert held() == before


def test_a_pipe_that_stays_silent_delays_nobody(environment: Environment) -> None:
    reader, writer = os.pipe()
    try:
        before = held()
        began = time.monotonic()
        with os.fdopen(reader, "rb", closefd=False) as source:
            assert environment.run("echo done", stdin=source).stdout == "done\n"
        assert time.monotonic() - began < 1
        assert held() == before
    finally:
        os.close(reader)
        os.close(writer)


def test_a_source_that_blocks_in_its_own_code_delays_the_end_by_a_second_at_most(environment: Environment) -> None:
    free = threading.Event()

    def stuck() -> Iterator[bytes]:
        yield b"x\n"
        free.wait(20)

    began = time.monotonic()
    assert environment.run("head -n 1", stdin=stuck()).stdout == "x\n"
    assert time.monotonic() - began < 2.5
    free.set()


def test_a_timeout_ends_a_command_that_waits_for_its_input(environment: Environment) -> None:
    reader, writer = os.pipe()
    before = held()
    with os.fdopen(reader, "rb", closefd=False) as source:
        result = environment.run("cat", stdin=source, timeout=0.3)
    assert result.timed_out
    assert held()[0] <= before[0]
    os.close(reader)
    os.close(writer)


class Stuck:
    """A backend, and a channel whose process takes no input until it is let go."""

    kind = "stuck"

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def open(self, *_: object, **__: object) -> "Stuck":
        return self

    def read(self, _: float) -> list[Piece]:
        return [Piece(StreamName.STDOUT, b"\n")]

    def write(self, _: bytes) -> None:
        self.go_on.wait(30)
        raise ConnectionLost("over")

    def close(self) -> None:
        pass


def test_a_pump_that_ends_late_leaves_nothing() -> None:
    stuck = Stuck()
    before = held()
    with Feeder(stuck, "x", iter([b"data"]), user=None, mark="x", on_error=lambda: None):  # type: ignore[arg-type]
        pass
    assert held() != before
    stuck.go_on.set()
    assert eventually(lambda: held() == before, 20)


def test_a_writer_hears_that_the_channel_was_closed() -> None:
    class Life:
        def __init__(self) -> None:
            self.end, self.tell = os.pipe()

        def fileno(self) -> int:
            return self.end

        def wait(self, timeout: float | None = None) -> int | None:
            del timeout

        def close(self) -> None:
            os.close(self.end)

    life = Life()
    reader, stdin = os.pipe()
    (stdout, out), (stderr, err) = os.pipe(), os.pipe()
    channel = PipeChannel("x", stdin, stdout, stderr, life)
    ended: list[str] = []

    def write() -> None:
        with contextlib.suppress(ConnectionLost):
            channel.write(bytes(1 << 20))
        ended.append("yes")

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    poller = select.poll()
    poller.register(stdin, select.POLLOUT)
    assert eventually(lambda: not poller.poll(0), 20)  # it is full
    channel.close()
    writer.join(20)
    for each in (reader, out, err, life.tell):
        os.close(each)
    assert ended
