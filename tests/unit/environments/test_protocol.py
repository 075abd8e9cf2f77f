"""The conversation with a shell, for any output, any cutting of the two streams, and death at any point."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shellward.core.errors import ConnectionLost
from shellward.core.types import StreamName
from shellward.environments.encoding import Request
from shellward.environments.protocol import Conversation, Died, Event, Finished, Output, Phase, Ready

OUT, ERR = StreamName.STDOUT, StreamName.STDERR
RS, NUL = b"\x1e", b"\0"
KEY = 32


class Peer:
    """The other end: says what holder.sh and the shell say, on both streams."""

    def __init__(self, shell: str = "bash") -> None:
        self.conversation = Conversation(mark="m", state="")
        self.key = self.conversation.outgoing().strip()
        self.shell = shell

    def hello(self) -> tuple[bytes, bytes]:
        return RS + self.key + b" H " + self.shell.encode() + NUL, RS + self.key + NUL

    def ready(self, cwd: bytes = b"/home", state: bytes = b"-", pid: int = 42) -> tuple[bytes, bytes]:
        return RS + self.key + b" R %d %d - %s %s" % (pid, pid - 1, state, cwd) + NUL, RS + self.key + NUL

    def died(self, status: int) -> tuple[bytes, bytes]:
        return RS + self.key + b" D %d" % status + NUL, RS + self.key + NUL

    def finished(self, status: int = 0, cwd: bytes = b"/home", bad: int = 0) -> tuple[bytes, bytes]:
        nonce = self.nonce
        return RS + nonce + b" %d %d %s" % (status, bad, cwd) + NUL, RS + nonce + NUL

    @property
    def nonce(self) -> bytes:
        return self.conversation._nonce

    def started(self) -> "Peer":
        for out, err in (self.hello(), self.ready()):
            self.feed(OUT, out)
            self.feed(ERR, err)
        assert self.conversation.phase is Phase.IDLE
        self.conversation.outgoing()
        return self

    def run(self) -> "Peer":
        self.conversation.send(Request(text="true"))
        self.conversation.outgoing()
        return self

    def feed(self, stream: StreamName, data: bytes) -> list[Event]:
        return list(self.conversation.feed(stream, data))


def imitations(draw: st.DrawFn, peer: Peer) -> bytes:
    """What imitates a marker most closely, without holding a whole real one: that cannot be known inside."""
    key = draw(st.sampled_from([peer.key, peer.nonce or peer.key]))
    cut = draw(st.integers(0, KEY - 1))
    changed = bytes([key[cut] ^ 1])
    return draw(
        st.sampled_from(
            [
                RS,
                RS * 3,
                NUL,
                RS + NUL,
                RS + key[:cut],
                RS + key[:cut] + NUL,
                RS + key[:cut] + RS,
                RS + key[:cut] + changed + key[cut + 1 :] + b" 0 0 /" + NUL,
                RS + b" " + key + b" 0 0 /" + NUL,
                key[cut:],
                key + NUL,
                RS + RS + key[:cut],
                RS + key.upper().translate(bytes.maketrans(b"0123456789", b"GHIJKLMNOP")) + NUL,
                RS + b"f" * KEY + b" 0 0 /" + NUL,
            ],
        ),
    )


@st.composite
def outputs(draw: st.DrawFn, peer: Peer) -> bytes:
    parts = draw(st.lists(st.none() | st.binary(max_size=40), max_size=8))
    data = b"".join(imitations(draw, peer) if part is None else part for part in parts)
    for key in (peer.key, peer.nonce):  # put together by accident
        while key and RS + key in data:
            data = data.replace(RS + key, RS)
    return data


@dataclass(frozen=True)
class Cut:
    """One read from the channel."""

    stream: StreamName
    data: bytes


@st.composite
def cuttings(draw: st.DrawFn, out: bytes, err: bytes) -> list[Cut]:
    """Any way of cutting both streams into pieces, and any order between the two."""
    pieces: list[list[Cut]] = []
    for stream, data in ((OUT, out), (ERR, err)):
        size = len(data)
        near = st.integers(max(0, size - 120), size) if size else st.just(0)
        marks = sorted({0, size, *draw(st.lists(st.integers(0, size) | near, max_size=12))})
        if draw(st.booleans()) and size < 400:
            marks = [*range(size + 1)]  # byte by byte
        pieces.append([Cut(stream, data[a:b]) for a, b in pairwise(marks)])
    order = draw(st.permutations([OUT] * len(pieces[0]) + [ERR] * len(pieces[1])))
    queues = {OUT: iter(pieces[0]), ERR: iter(pieces[1])}
    return [next(queues[stream]) for stream in order]


def play(peer: Peer, cuts: list[Cut]) -> Iterator[Event]:
    for cut in cuts:
        yield from peer.feed(cut.stream, cut.data)


def printed(events: list[Event], stream: StreamName) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, Output) and event.stream is stream)


@given(st.data())
@settings(max_examples=400)
def test_a_command_yields_its_output_and_then_its_end(data: st.DataObject) -> None:
    peer = Peer().started().run()
    out, err = data.draw(outputs(peer)), data.draw(outputs(peer))
    status = data.draw(st.integers(0, 255))
    cwd = data.draw(st.binary(max_size=30).filter(lambda text: NUL not in text))
    end_out, end_err = peer.finished(status, b"/" + cwd, 2)
    events = list(play(peer, data.draw(cuttings(out + end_out, err + end_err))))
    assert printed(events, OUT) == out
    assert printed(events, ERR) == err
    assert all(isinstance(event, Output) for event in events[:-1])
    end = events[-1]
    assert isinstance(end, Finished)
    assert (end.status, end.wrong_cwd) == (status, 2)
    assert end.cwd.encode("utf-8", "surrogateescape") == b"/" + cwd
    assert peer.conversation.phase is Phase.IDLE


@given(st.data())
@settings(max_examples=200)
def test_commands_one_after_the_other(data: st.DataObject) -> None:
    """What a background child prints between two commands belongs to neither."""
    peer = Peer().started()
    for number in range(1, data.draw(st.integers(2, 4)) + 1):
        between = data.draw(st.binary(max_size=30))
        assert list(play(peer, data.draw(cuttings(between, between)))) == []
        peer.run()
        out, err = data.draw(outputs(peer)), data.draw(outputs(peer))
        # An RS at its end, and the key itself in the output behind it, is a marker; nobody knows the key.
        assume(not (between.endswith(RS) and (peer.key in out or peer.key in err)))
        end_out, end_err = peer.finished(number)
        events = list(play(peer, data.draw(cuttings(out + end_out, err + end_err))))
        assert printed(events, OUT) == out
        assert printed(events, ERR) == err
        assert [event.status for event in events if isinstance(event, Finished)] == [number]
        assert peer.conversation.count == number


@given(st.data())
@settings(max_examples=300)
def test_death_at_any_point(data: st.DataObject) -> None:
    """The shell dies before, in the middle of, or after its end marker; the next one comes."""
    peer = Peer().started().run()
    out, err = data.draw(outputs(peer)), data.draw(outputs(peer))
    end_out, end_err = peer.finished(5)
    got_out = data.draw(st.integers(0, KEY) | st.just(len(end_out)))
    got_err = data.draw(st.integers(0, KEY) | st.just(len(end_err)))
    died, ready = peer.died(137), peer.ready(b"/again", b"7", 43)
    cuts = data.draw(cuttings(out + end_out[:got_out] + died[0], err + end_err[:got_err] + died[1]))
    events = list(play(peer, cuts))
    assert peer.conversation.phase is Phase.BOOT
    # The holder throws away what the dead shell did not read, up to a line with the key; the next one boots.
    assert peer.conversation.outgoing().startswith(b"\n" + peer.key + b"\n")
    events += play(peer, data.draw(cuttings(*ready)))
    ends = [event for event in events if not isinstance(event, Output)]
    whole = got_out == len(end_out) and got_err == len(end_err)
    # A death that is read together with a whole end may hide that end, but not the output.
    assert ends[0] in ([Finished(5, "/home", 0)] if whole else []) + [Died(137)]
    assert ends[-1] == Ready("bash", 43, 42, 7, "/again")
    assert peer.conversation.phase is Phase.IDLE
    assert printed(events, OUT).startswith(out)
    assert printed(events, ERR).startswith(err)


@pytest.mark.parametrize("cwd", [b"/a b", b"/ ", b"/a  b c", b"/\n \x1e"])
def test_a_directory_may_have_spaces_in_its_name(cwd: bytes) -> None:
    peer = Peer().started().run()
    end_out, end_err = peer.finished(cwd=cwd)
    (end,) = peer.feed(OUT, end_out) + peer.feed(ERR, end_err)
    assert end == Finished(0, cwd.decode(), 0)


@pytest.mark.parametrize("stream", [OUT, ERR])
def test_death_in_the_middle_of_a_marker(stream: StreamName) -> None:
    peer = Peer().started().run()
    ends, died = dict(zip((OUT, ERR), peer.finished(), strict=True)), peer.died(137)
    events = peer.feed(stream, ends[stream][:-1])
    events += peer.feed(OUT, died[0]) + peer.feed(ERR, died[1])
    assert Died(137) in events


@given(st.data())
@settings(max_examples=200)
def test_nothing_is_output_after_the_end(data: st.DataObject) -> None:
    peer = Peer().started().run()
    end_out, end_err = peer.finished()
    more = data.draw(st.binary(min_size=1, max_size=60))
    first_err = data.draw(st.booleans())
    # One stream has ended, the other not yet: what the first says now is a background child's.
    stream, other = (ERR, OUT) if first_err else (OUT, ERR)
    ends = {OUT: end_out, ERR: end_err}
    assert peer.feed(stream, ends[stream] + more) == []
    assert peer.feed(stream, more) == []
    assert [type(event) for event in peer.feed(other, ends[other] + more)] == [Finished]
    assert peer.feed(stream, more) == []
    assert peer.feed(other, more) == []


@given(st.data())
@settings(max_examples=200)
def test_the_beginning_may_come_in_any_pieces(data: st.DataObject) -> None:
    """A login banner or a shell's warning before the first marker is no output of anybody."""
    peer = Peer("busybox sh")
    noise = data.draw(st.binary(max_size=30))
    hello, ready = peer.hello(), peer.ready(b"/a b", b"3", 7)
    first = data.draw(cuttings(noise + hello[0], hello[1] + noise))
    assert list(play(peer, first)) == []
    assert peer.conversation.phase is Phase.BOOT
    assert peer.conversation.dialect.name == "sh"
    assert peer.key in peer.conversation.outgoing()
    events = list(play(peer, data.draw(cuttings(noise + ready[0], noise + ready[1]))))
    assert events == [Ready("sh", 7, 6, 3, "/a b")]
    assert peer.conversation.count == 3


FIELDS = st.binary(max_size=30) | st.lists(
    st.sampled_from([b"R", b"D", b"H", b"0", b"1", b"-", b"-1", b"=", b"+", b"0=+", b"", b"\xff", b"9" * 5000, b"/"]),
    max_size=7,
).map(b" ".join)


@given(FIELDS, FIELDS, st.sampled_from(["hello", "boot", "idle", "running"]), st.booleans(), st.booleans())
@settings(max_examples=600)
def test_fields_of_any_form_are_an_event_or_a_lost_connection(
    out: bytes, err: bytes, when: str, nonce: bool, glued: bool
) -> None:
    """A command can bend the descriptors that markers are written to, and the variables that they hold."""
    peer = Peer()
    if when == "boot":
        peer.feed(OUT, peer.hello()[0])
        peer.feed(ERR, peer.hello()[1])
    elif when != "hello":
        peer.started()
    if when == "running":
        peer.run()
    begin = RS + ((peer.nonce if nonce else b"") or peer.key) + (b"" if glued else b" ")
    try:
        events = peer.feed(OUT, begin + out.replace(NUL, b"") + NUL) + peer.feed(ERR, begin + err + NUL)
    except ConnectionLost:
        return
    for event in events:
        match event:
            case Finished() | Died():
                assert 0 <= event.status < 1000
            case Ready():
                assert event.pid >= 0


def test_a_command_is_only_sent_to_an_idle_shell() -> None:
    peer = Peer()
    with pytest.raises(RuntimeError, match="HELLO"):
        peer.conversation.send(Request(text="true"))
    peer.started().run()
    with pytest.raises(RuntimeError, match="RUNNING"):
        peer.conversation.send(Request(text="true"))


def test_a_bad_request_changes_nothing() -> None:
    peer = Peer().started()
    with pytest.raises(ValueError, match="NUL"):
        peer.conversation.send(Request(text="a\0b"))
    assert peer.conversation.phase is Phase.IDLE
    assert peer.conversation.outgoing() == b""
    assert peer.conversation.count == 0


def test_each_command_has_a_nonce_of_its_own() -> None:
    """The end of an earlier command, printed by a later one, ends nothing."""
    peer = Peer().started()
    seen = set()
    earlier = b""
    for _ in range(50):
        peer.run()
        assert peer.nonce not in seen
        assert len(peer.nonce) == KEY
        seen.add(peer.nonce)
        end_out, end_err = peer.finished()
        events = peer.feed(OUT, earlier + end_out) + peer.feed(ERR, earlier[:34] + end_err)
        assert printed(events, OUT) == earlier
        assert isinstance(events[-1], Finished)
        earlier = end_out


def test_text_that_ends_in_what_may_be_a_marker_is_held_back_and_no_more() -> None:
    peer = Peer().started().run()
    events = peer.feed(OUT, b"text" + RS + peer.nonce[:5])
    assert printed(events, OUT) == b"text"
    events = peer.feed(OUT, b"no")
    assert printed(events, OUT) == RS + peer.nonce[:5] + b"no"
    # What is no beginning of a marker does not wait: the first byte is to be seen at once.
    for tail in (RS, NUL, RS + b"x", RS * 40):
        assert printed(peer.feed(OUT, b"a" + tail + b"z"), OUT).startswith(b"a")


class Counted(bytes):
    """Bytes that count how often they are searched and what is copied of them."""

    work = 0

    def find(self, *args: object) -> int:
        place = bytes.find(self, *args)  # type: ignore[arg-type]
        begin = args[1] if len(args) > 1 else 0
        Counted.work += (place if place >= 0 else len(self)) - int(begin)  # type: ignore[call-overload]
        return place


@pytest.mark.parametrize(
    "piece",
    [
        RS * 4096,
        (RS + b"0" * 31) * 128,
        (RS + b"f" * KEY + b" 0 0 /" + NUL) * 100,
        (RS + NUL) * 2048,
        b"x" * 4095 + RS,
    ],
    ids=["rs", "beginnings", "markers", "rs-nul", "rs-at-the-end"],
)
def test_a_flood_of_imitations_is_searched_once(piece: bytes) -> None:
    """Work grows with the data, not with its square: each byte is looked at a bounded number of times."""
    peer = Peer().started().run()
    Counted.work = total = 0
    for _ in range(64):
        peer.feed(OUT, Counted(piece))
        total += len(piece)
    assert Counted.work <= 8 * total


def test_an_unfinished_marker_is_not_searched_again_with_every_piece() -> None:
    """The real key and no NUL behind it yet: only the shell itself can do that, with a very long cwd."""
    peer = Peer().started().run()
    end_out, end_err = peer.finished(cwd=b"/" + b"d" * 200_000)
    for at in range(0, len(end_out), 997):
        assert peer.feed(OUT, end_out[at : at + 997]) == []
    (end,) = peer.feed(ERR, end_err)
    assert isinstance(end, Finished)
    assert len(end.cwd) == 200_001


def test_a_large_output_in_small_pieces() -> None:
    peer = Peer().started().run()
    size = 0
    for _ in range(20_000):
        for event in peer.feed(OUT, RS * 50 + b"y" * 50):
            assert isinstance(event, Output)
            size += len(event.data)
    end_out, end_err = peer.finished()
    events = peer.feed(OUT, end_out) + peer.feed(ERR, end_err)
    assert size + len(printed(events, OUT)) == 2_000_000
