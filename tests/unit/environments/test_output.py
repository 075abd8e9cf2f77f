"""What is kept of a command's output: caps by characters, UTF-8 at every border, a file when there is more."""

import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shellward import environments
from shellward.core.limits import KEPT_OUTPUT
from shellward.core.types import Chunk, StreamName
from shellward.environments import output
from shellward.environments.output import Collector, Decoder, Kept, OutputFiles, Spool

OUT, ERR = StreamName.STDOUT, StreamName.STDERR
MARK = "[CUT]"
texts = st.text(st.sampled_from("aé€😀\n"), max_size=60)
raw = texts.map(str.encode) | st.binary(max_size=80)


def kept(limit: int | None, data: bytes, sizes: list[int]) -> tuple[str, bytes, bool, list[int]]:
    """Feed data in pieces of these sizes, over and over."""
    keeper, at, turn = Kept(limit), 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        keeper.add(data[at : at + size])
        at, turn = at + size, turn + 1
    notes: list[int] = []

    def note(left_out: int) -> str:
        notes.append(left_out)
        return MARK

    return *keeper.finish(note), notes


@given(data=raw, sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4))
def test_everything_is_kept_without_a_limit(data: bytes, sizes: list[int]) -> None:
    assert kept(None, data, sizes) == (data.decode("utf-8", "replace"), data, False, [])


@given(text=texts, limit=st.integers(1, 70), sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4))
@settings(max_examples=500)
def test_head_and_tail_are_counted_in_characters(text: str, limit: int, sizes: list[int]) -> None:
    got, data, cut, notes = kept(limit, text.encode(), sizes)
    if len(text) <= limit:
        assert (got, data, cut) == (text, text.encode(), False)
        return
    head = int(limit * 0.4)
    tail = limit - head
    assert cut
    assert got == text[:head] + MARK + (text[-tail:] if tail else "")
    assert data == got.replace(MARK, "", 1).encode()
    assert notes == [len(text.encode()) - len(data)]


@given(data=raw, limit=st.integers(1, 70), sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4))
@settings(max_examples=500)
def test_invalid_bytes_are_replaced_and_never_more_than_the_limit_is_returned(
    data: bytes, limit: int, sizes: list[int]
) -> None:
    got, part, cut, notes = kept(limit, data, sizes)
    assert len(got.replace(MARK, "", 1)) <= limit or not cut
    assert cut == (len(data.decode("utf-8", "replace")) > limit)
    if not cut:
        assert (got, part) == (data.decode("utf-8", "replace"), data)
    else:
        (left_out,) = notes
        assert left_out == len(data) - len(part)
        assert any(data.startswith(part[:at]) and data.endswith(part[at:]) for at in range(len(part) + 1))


def test_a_cap_of_nothing_is_truncation_too() -> None:
    assert kept(0, b"abc", [3]) == (MARK, b"", True, [3])


def test_the_cap_is_the_shares_that_the_specification_names() -> None:
    collector = Collector(50_000, keep_file=None)
    collector.add(OUT, b"a" * 60_000 + b"z" * 60_000)
    stdout = str(collector.finish()["stdout"])
    head, _, rest = stdout.partition("\n[... ")
    note, _, tail = rest.partition(" ...]\n")
    assert (len(head), len(tail)) == (20_000, 30_000)
    assert note == "70000 bytes left out"


def held(keeper: Kept) -> int:
    return sum(map(len, keeper._head)) + sum(map(len, keeper._tail))


@pytest.mark.parametrize("size", [1, 100, 65_536, 1 << 20])
def test_memory_is_flat(size: int) -> None:
    """A gigabyte goes through, of which the same piece is fed by reference."""
    collector = Collector(50_000)
    piece = b"x" * size
    for _ in range(min(2**30 // size, 200_000)):
        collector.add(OUT, piece)
    parts = [collector._kept[OUT], collector._both]
    for part in parts:
        assert held(part) <= 3 * 50_000 * 4 + size
    assert len(parts[0]._head) <= 50_000 * 4 + 1
    fields = collector.finish()
    assert sys.getsizeof(fields["stdout"]) < 500_000
    assert fields["truncated"]


def test_memory_is_flat_for_output_that_comes_byte_by_byte() -> None:
    keeper = Kept(50_000)
    for number in range(400_000):
        keeper.add(number.to_bytes(3, "big"))
    objects = [*keeper._head, *keeper._tail]
    assert sum(map(sys.getsizeof, objects)) < 8 * 50_000 * 4


def test_both_streams_are_kept_apart_and_together() -> None:
    collector = Collector(None)
    for stream, data in ((OUT, b"1"), (ERR, b"2"), (OUT, b"\xc3"), (ERR, b"3"), (OUT, b"\xa9")):
        collector.add(stream, data)
    fields = collector.finish()
    assert (fields["stdout"], fields["stderr"]) == ("1é", "23")
    assert fields["output_bytes"] == b"12\xc33\xa9"
    assert (fields["truncated"], fields["full_output"]) == (False, None)


def test_a_file_only_when_more_than_the_cap_was_printed(tmp_path: Path) -> None:
    made: list[Path] = []

    def place() -> Path:
        made.append(tmp_path / f"{len(made)}.txt")
        return made[-1]

    collector = Collector(10, keep_file=place)
    collector.add(OUT, b"0123456789")
    assert collector.finish()["full_output"] is None
    assert made == []
    collector = Collector(10, keep_file=place)
    collector.add(OUT, b"0123456789")
    collector.add(ERR, b"more")
    fields = collector.finish()
    assert fields["truncated"]  # of both together
    assert (fields["stdout"], fields["stderr"]) == ("0123456789", "more")
    assert fields["full_output"] == made[0]
    assert made[0].read_bytes() == b"0123456789more"
    assert made[0].stat().st_mode & 0o777 == 0o600
    assert f"everything is in {made[0]}" in str(fields["output"])


def test_the_file_goes_again_when_what_looked_too_long_in_bytes_was_not_in_characters(tmp_path: Path) -> None:
    collector = Collector(10, keep_file=lambda: tmp_path / "file")
    collector.add(OUT, "é".encode() * 10)
    assert (tmp_path / "file").exists()
    fields = collector.finish()
    assert (fields["stdout"], fields["truncated"], fields["full_output"]) == ("é" * 10, False, None)
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("data", [b"", b"x", b"x" * 100])
def test_everything_that_was_asked_for_is_in_the_file(tmp_path: Path, data: bytes) -> None:
    collector = Collector(10, keep_file=lambda: tmp_path / "file", everything=True)
    if data:
        collector.add(OUT, data)
    assert collector.finish()["full_output"] == tmp_path / "file"
    assert (tmp_path / "file").read_bytes() == data


def test_an_older_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old" * 100)
    collector = Collector(10, keep_file=lambda: tmp_path / "file", everything=True)
    collector.add(OUT, b"new")
    collector.finish()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_an_older_file_is_replaced_by_an_empty_output_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    collector = Collector(10, keep_file=lambda: tmp_path / "file", everything=True)
    assert collector.finish()["full_output"] == tmp_path / "file"
    assert (tmp_path / "file").read_bytes() == b""


def test_a_file_that_nobody_asked_for_ends_at_its_limit(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "file", 10)
    for piece in (b"1234", b"5678", b"90AB", b"CD"):
        spool.add(piece)
    spool.close()
    spool.close()
    assert (tmp_path / "file").read_bytes() == b"1234567890"
    assert not spool.complete
    collector = Collector(10, keep_file=lambda: tmp_path / "other")
    collector.add(OUT, b"x" * (KEPT_OUTPUT + 1))
    assert f"the first {KEPT_OUTPUT >> 20} MiB is in" in str(collector.finish()["stdout"])


def test_a_full_disk_is_an_error_and_not_a_short_file() -> None:
    spool = Spool(Path("/dev/full"), None)
    with pytest.raises(OSError, match="No space left"):
        spool.add(b"x")
    spool.close()


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    collector = Collector(10, keep_file=lambda: tmp_path / "absent" / "file", everything=True)
    with pytest.raises(FileNotFoundError):
        collector.add(OUT, b"x")
    collector.close()


@given(data=raw, cuts=st.lists(st.integers(0, 80), max_size=6))
def test_the_decoder_breaks_no_character(data: bytes, cuts: list[int]) -> None:
    decoder = Decoder()
    marks = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    text = "".join(decoder.text(data[a:b]) for a, b in pairwise(marks))
    assert text + decoder.text(b"", final=True) == data.decode("utf-8", "replace")


def test_the_newest_files_of_an_environment_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "KEPT_OUTPUTS", 3)
    with environments.create("local") as env:
        results = [env.run(f"echo {n}; printf %500d 0", max_output=10) for n in range(7)]
        files = [result.full_output for result in results]
        assert all(file is not None for file in files)
        assert [file.exists() for file in files if file] == [False] * 4 + [True] * 3
        newest = files[-1]
        assert newest is not None
        assert newest.read_text().startswith("6\n")
        assert "newest" in (newest.parent / "README").read_text()
        with pytest.raises(FileNotFoundError):
            (files[0] or newest).read_text()
    assert not newest.parent.exists()


def test_the_largest_files_make_room_but_for_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "KEPT_OUTPUTS_BYTES", 1000)
    with environments.create("local") as env:

        def kept(size: int) -> Path:
            file = env.run(f"printf %{size}d 0", max_output=10).full_output
            assert file is not None
            return file

        files = [kept(400), kept(400), kept(400), kept(5000)]
        assert [file.exists() for file in files] == [False, False, False, True]
        assert files[-1].stat().st_size == 5000


def test_a_file_that_is_written_is_not_counted_and_one_of_the_callers_own_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "KEPT_OUTPUTS", 1)
    with environments.create("local") as env:
        own = env.run("printf %500d 0", max_output=10, full_output=tmp_path / "own").full_output
        with env.stream("printf %500d 0; read -r line; printf %500d 1", stdin=open_end(), max_output=10) as stream:
            next(stream)
            for _ in range(3):
                env.run("printf %500d 0", max_output=10)
            stream.wait()
        assert stream.result is not None
        assert stream.result.full_output is not None
        assert stream.result.full_output.stat().st_size == 1000
        assert own is not None
        assert own.stat().st_size == 500


def open_end() -> Iterator[bytes]:
    yield b""
    time.sleep(0.3)
    yield b"line\n"


def test_outputs_that_were_given_up_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "KEPT_OUTPUTS", 2)
    with environments.create("local") as env:
        first = env.run("printf %500d 0", max_output=10).full_output
        assert first is not None

        def stop(_chunk: Chunk) -> None:
            raise LookupError

        for _ in range(6):
            with pytest.raises(LookupError):
                env.run("printf %500d 0", max_output=10, on_output=stop)
        assert len(list(first.parent.glob("*.txt"))) <= 2


def test_a_command_does_not_end_for_want_of_a_file_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: OutputFiles) -> Path:
        del self
        return Path("/dev/full/x")

    monkeypatch.setattr(OutputFiles, "new", full)
    with environments.create("local") as env:
        result = env.run("printf %500d 0; echo end", max_output=100)
        assert result.ok
        assert result.full_output is None
        assert "bytes left out; no file could keep them: Not a directory" in result.stdout
        assert result.stdout.endswith("end\n")
        with pytest.raises(NotADirectoryError):
            env.run("printf %500d 0", max_output=10, full_output=True)
