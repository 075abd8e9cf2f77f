"""What servers print: whole lines, however they come, and none without end."""

import codecs
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_hosting import Host, children, plain, within

from shellward.mcp_client import lines

LONG = 30.0


def decoder() -> codecs.IncrementalDecoder:
    with lines.limited(lambda _: None):
        return codecs.getincrementaldecoder(lines.ENCODING)("replace")


@given(st.lists(st.binary(max_size=20)))
def test_cut_anywhere_it_is_the_same_text(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    reading = decoder()
    said = [reading.decode(piece) for piece in pieces]
    assert all(each.endswith("\n") for each in said if each)
    assert "".join(said) + reading.decode(b"", final=True) == whole.decode("utf-8", "replace")
    assert reading.decode(b"", final=True) == ""


def test_what_is_sent_is_utf_8() -> None:
    decoder()
    assert "€\n".encode(lines.ENCODING) == "€\n".encode()
    assert "a\ud800".encode(lines.ENCODING, "replace") == b"a?"


@pytest.mark.parametrize("piece", [1, 7, 100, 1000])
def test_a_line_has_a_limit(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1000)
    told: list[str] = []
    with lines.limited(told.append):
        reading = codecs.getincrementaldecoder(lines.ENCODING)("replace")
    fits = b"x" * 1000 + b"\n" + b"y" * 1000
    for at in range(0, len(fits), piece):
        reading.decode(fits[at : at + piece])
    assert told == []
    with pytest.raises(ConnectionError, match="a line of more than"):
        reading.decode(b"z")
    assert len(told) == 1


def test_an_answer_without_end_ends_its_connection_and_no_other(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 4 << 20)
    before = children()
    host.connect(notes=plain(timeout=LONG), other=plain())
    assert len(children() - before) == 2
    with ThreadPoolExecutor() as pool:
        call = pool.submit(host.call, "mcp__notes__babble")
        while not call.done():
            assert host.call("mcp__other__echo", {"text": "on"}) == {"result": '{"text": "on"}'}
        assert call.result()["status"] == "lost"
    assert within(LONG, lambda: "a line of more than 4 MiB" in host.status("notes").reason)
    assert within(LONG, lambda: "mcp__notes__echo" in host.names()), "it was not started again"
    assert host.call("mcp__notes__echo", {"text": "back"}) == {"result": '{"text": "back"}'}
