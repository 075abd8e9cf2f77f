"""The conversation with a warm shell: bytes in, events out. No I/O, so it can be tested with any chunking.

Markers are an RS character (0x1e), 32 hexadecimal digits that only the two ends know, fields, and a NUL. The
digits of a command's end marker are new for each command; those of the channel's own markers ("the shell is
ready", "the shell has died") are the channel's key. Both streams carry each marker, so it is known what was
printed before it on either.
"""

import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from shellward.core.errors import ConnectionLost
from shellward.core.types import StreamName
from shellward.environments.encoding import DIALECTS, Dialect, Request, dialect_of

_RS = b"\x1e"
_KEY = 32
_SPACE = 0x20
_DIGITS = 3
_NUMBER = 15
_READY = re.compile(rb"(\d{1,10}) (\d{1,10}) (\S{1,20}) (-|\d{1,15}) (.*)", re.DOTALL)
_DIED = re.compile(rb"\d{1,3}")


def _token() -> bytes:
    return secrets.token_hex(_KEY // 2).encode()


STDOUT, STDERR = StreamName.STDOUT, StreamName.STDERR


class Output(NamedTuple):
    """Bytes that are the command's own."""

    stream: StreamName
    data: bytes


@dataclass(frozen=True, slots=True)
class Ready:
    """A shell is there and waits for a command.

    Attributes:
        shell: ``bash`` or ``sh``.
        pid: its process id in the sandbox.
        holder: that of its parent, which lives as long as the channel.
        state: number of the command whose saved state it took over; None: it began afresh.
        cwd: where it stands.
    """

    shell: str
    pid: int
    holder: int
    state: int | None
    cwd: str


class Finished(NamedTuple):
    """The command is done and the shell lives.

    Attributes:
        status: exit status.
        cwd: where the shell stands.
        wrong_cwd: an errno, when the directory it was to run in cannot be entered, and it has not run; else 0.
        saved: False when it could not change the state, or ``kept`` is False: the one saved before it holds.
        kept: False when it may have changed the state, and there was no room to save that.
        held: number of another shell's state that this one holds; 0: it has taken one over and cannot hold it; None: it
            has not.
    """

    status: int
    cwd: str
    wrong_cwd: int
    saved: bool = True
    kept: bool = True
    held: int | None = None


@dataclass(frozen=True, slots=True)
class Died:
    """The shell has ended, with this exit status; ``Ready`` of the next one follows."""

    status: int


Event = Output | Ready | Finished | Died


class Phase(Enum):
    """Where a conversation stands."""

    HELLO = auto()
    BOOT = auto()
    IDLE = auto()
    RUNNING = auto()


class _Scanner:
    """Splits one stream into output and the markers whose key is expected.

    Attributes:
        held: the beginning of what may become a marker.
    """

    def __init__(self) -> None:
        self.held = b""
        self._stray = 0
        self._keys: tuple[bytes, ...] = ()

    def expect(self, *signs: bytes) -> None:
        self._keys = signs

    def begin(self) -> None:
        """A command begins: what was held back until now is not its output, but may become a marker yet."""
        self._stray = len(self.held)

    def feed(self, data: bytes) -> Iterator[bytes | list[bytes]]:
        """Yield output (bytes) and markers (their key and fields) in order."""
        if self.held:
            data = self.held + data
            self.held = b""
            data = self._without_stray(data)
        if _RS not in data:
            yield data
            return
        begin = 0
        while (place := self._next(data, begin)) >= 0:
            end = data.find(b"\0", place)
            later = self._next(data, place + 1)
            if 0 <= later < end:  # its shell died in the middle of it
                yield data[begin:place]
                begin = later
                continue
            if place > begin:
                yield data[begin:place]
                begin = place
            if end < 0:
                self.held = data[place:]
                return
            yield data[place + 1 : end].split(b" ", 1)
            begin = end + 1
        hold = self._partial(data, begin)
        if hold < len(data):
            self.held = data[hold:]
        if hold > begin:
            yield data[begin:hold]

    def _without_stray(self, data: bytes) -> bytes:
        stray, self._stray = self._stray, 0
        if not stray or any(data.startswith(key) for key in self._keys):
            return data
        if any(key.startswith(data) for key in self._keys):
            self._stray = stray
            return data
        return data[stray:]

    def _next(self, data: bytes, begin: int) -> int:
        """Where the next expected key begins, or -1."""
        places = [place for key in self._keys if (place := data.find(key, begin)) >= 0]
        return min(places, default=-1)

    def _partial(self, data: bytes, begin: int) -> int:
        """Where an expected key may have begun that is cut off; the end of the data when there is none."""
        place = data.find(_RS, max(begin, len(data) - _KEY))
        while place >= 0:
            if any(key.startswith(data[place:]) for key in self._keys):
                return place
            place = data.find(_RS, place + 1)
        return len(data)


class Conversation:
    """One warm shell, seen from the client's end of the channel.

    Feed it what comes from the channel, and send what ``outgoing()`` returns after each step.

    Args:
        mark: ``SHELLWARD_COMMAND`` of its processes begins with this.
        state: path in the sandbox, without a number at its end, where the shell saves its state after each
            command; empty for a shell that keeps none.
    """

    def __init__(self, *, mark: str, state: str) -> None:
        self.mark = mark
        self.state = state
        self.phase = Phase.HELLO
        self.dialect: Dialect = dialect_of("sh")
        self.count = 0
        self.saved = 0
        """Number of the command whose state was saved last."""
        self._key = _token()
        self._nonce = b""
        self._sign = b""
        self._own_sign = _RS + self._key
        self._next = b""
        self._scanners = {STDOUT: _Scanner(), STDERR: _Scanner()}
        self._ended: dict[StreamName, bytes] = {}
        self._fields = b""
        self._out = [self._key + b"\n"]
        self._expect()

    def outgoing(self) -> bytes:
        """Return what is to be sent now; empty when there is nothing."""
        data = b"".join(self._out)
        self._out.clear()
        return data

    def state_path(self) -> str:
        """Return the state's path with the shell's dialect in it: bash cannot read dash's, nor dash bash's."""
        return f"{self.state}.{self.dialect.name}" if self.state else ""

    def send(self, request: Request) -> None:
        """Run a command; only when the phase is IDLE. Its end is a ``Finished``, or ``Died`` and ``Ready``."""
        if self.phase is not Phase.IDLE:
            raise RuntimeError(f"a command was sent in phase {self.phase.name}")
        nonce = self._next or _token()
        self._next = b""
        data = self.dialect.command(request, nonce=nonce, count=self.count + 1, mark=self.mark)
        self._nonce = nonce
        self.count += 1
        self._out.append(data)
        self.phase = Phase.RUNNING
        self._expect()
        self._scanners[STDOUT].begin()
        self._scanners[STDERR].begin()

    def prepare(self) -> None:
        """Do what the next ``send`` would do first, while there is time."""
        self._next = self._next or _token()

    def feed(self, stream: StreamName, data: bytes) -> Iterable[Event]:
        """Take bytes from one stream; return what they mean, in order.

        Raises:
            ConnectionLost: a marker says nothing that can be understood: a command has bent the shell's own
                descriptors or variables, so nothing that this shell says can be relied on. Begin anew.
        """
        events = self._last_piece(stream, data)
        return self._scanned(stream, data) if events is None else events

    def _last_piece(self, stream: StreamName, data: bytes) -> list[Event] | None:
        """Take at once what many commands end with, the marker and nothing else; None when it is not that."""
        sign = self._sign
        if not sign or self._scanners[stream].held or data[-1:] != b"\0":
            return None
        end = len(sign)
        if not data.startswith(sign) or data.find(b"\0", end) != len(data) - 1 or data.find(_RS, end) >= 0:
            return None
        fields = data[end:-1]
        if fields and fields[0] != _SPACE:
            return None
        event = self._marker(stream, self._nonce, fields[1:])
        return [] if event is None else [event]

    def _scanned(self, stream: StreamName, data: bytes) -> Iterator[Event]:
        for item in self._scanners[stream].feed(data):
            if isinstance(item, bytes):
                if self.phase is Phase.RUNNING and stream not in self._ended:
                    yield Output(stream, item)
                continue
            event = self._marker(stream, item[0], b"".join(item[1:]))
            if event is not None:
                yield event

    def _expect(self) -> None:
        if self._nonce:
            self._sign = _RS + self._nonce
            signs: tuple[bytes, ...] = (self._own_sign, self._sign)
        else:
            self._sign = b""
            signs = (self._own_sign,)
        self._scanners[STDOUT].expect(*signs)
        self._scanners[STDERR].expect(*signs)
        self._ended.clear()
        self._fields = b""

    def _marker(self, stream: StreamName, key: bytes, fields: bytes) -> Event | None:
        if key not in (self._key, self._nonce):
            raise _lost()
        # A death overrides the end of the command before it, which the other stream may have missed.
        if self._ended.get(stream) != self._key:
            self._ended[stream] = key
        if stream is STDOUT:
            self._fields = fields
        if self._ended.get(STDOUT) != self._ended.get(STDERR):
            return None
        fields = self._fields
        if key == self._nonce:
            return self._finish(fields)
        return self._channel_marker(fields)

    def _finish(self, fields: bytes) -> Finished:
        # By hand, since a regular expression costs more than all the rest here.
        status, _, rest = fields.partition(b" ")
        signs, space, cwd = rest.partition(b" ")
        # Where $PWD does not name the directory, the shell's own "pwd" has told it, with a newline after it.
        told = signs.endswith(b"+")
        wrong = signs[:-1] if told else signs
        wrong, holds, number = wrong.partition(b"^") if b"^" in wrong else (wrong, b"", b"0")
        failed = wrong.endswith(b"!")
        wrong = wrong[:-1] if failed else wrong
        unsaved = wrong.endswith(b"=")
        wrong = wrong[:-1] if unsaved else wrong
        if not (space and status.isdigit() and wrong.isdigit() and len(status) <= _DIGITS and len(wrong) <= _DIGITS):
            raise _lost()
        if not (number.isdigit() and len(number) <= _NUMBER):
            raise _lost()
        self._nonce = b""
        self.phase = Phase.IDLE
        self._expect()
        place = cwd.removesuffix(b"\n") if told else cwd
        saved = not (unsaved or failed)
        if saved:
            self.saved = self.count
        held = int(number) if holds else None
        return Finished(int(status), place.decode("utf-8", "surrogateescape"), int(wrong), saved, not failed, held)

    def _channel_marker(self, fields: bytes) -> Event | None:
        kind, _, rest = fields.partition(b" ")
        self._nonce = b""
        self._expect()
        if kind == b"R":
            return self._ready(rest)
        if kind == b"H" and rest.strip():
            self.dialect = dialect_of(rest.decode("utf-8", "replace"))
        elif kind == b"D" and _DIED.fullmatch(rest):
            self._out.append(b"\n" + self._key + b"\n")
        else:
            raise _lost()
        self.phase = Phase.BOOT
        self._out.append(self.dialect.boot(key=self._key, mark=self.mark, state=self.state_path()))
        return Died(int(rest)) if kind == b"D" else None

    def _ready(self, fields: bytes) -> Ready:
        match = _READY.fullmatch(fields)
        if match is None:
            raise _lost()
        pid, holder, flavour, state, cwd = match.groups()
        self.dialect = DIALECTS.get(flavour.decode("utf-8", "replace"), self.dialect)
        self.phase = Phase.IDLE
        number = None if state == b"-" else int(state)
        self.count = max(self.count, number or 0)
        self.saved = number or 0
        return Ready(self.dialect.name, int(pid), int(holder), number, cwd.decode("utf-8", "surrogateescape"))


def _lost() -> ConnectionLost:
    return ConnectionLost("the shell's answer cannot be understood: a command has changed what it is given with")
