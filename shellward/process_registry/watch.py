"""Watch patterns: what in a process's output is worth a notice, and when there are too many. Pure: no I/O, no clock."""

import re
from collections import deque
from dataclasses import dataclass
from typing import Final

from shellward.core.errors import ConfigError

MOST: Final = 8
"""So many matches in ``WITHIN`` seconds are told; more are noise."""
WITHIN: Final = 10.0
_LONGEST: Final = 16_384
"""Bytes of a line that are looked at together: a line without an end must not fill the memory."""
_SHOWN: Final = 500


@dataclass(frozen=True, slots=True)
class Match:
    """A place in the output that matched.

    Attributes:
        pattern: as it was given.
        text: the line.
        offset: of the line, in bytes.
    """

    pattern: str
    text: str
    offset: int


class Patterns:
    r"""Finds patterns in output that comes in pieces, line by line, wherever it was cut.

    A line is looked at when its end has come, or when ``end`` says that none will; one that grows too long is
    looked at in overlapping parts.

    Args:
        patterns: texts; one that stands between slashes (``/error \d+/``) is a regular expression.
        offset: of the first byte that will come.

    Raises:
        ConfigError: a regular expression cannot be read.
    """

    def __init__(self, patterns: tuple[str, ...], offset: int = 0) -> None:
        self._patterns = [(text, _compiled(text)) for text in patterns]
        self._rest = b""
        self._at = offset

    @property
    def offset(self) -> int:
        """Offset of the first byte that is still held back."""
        return self._at

    def feed(self, data: bytes) -> list[Match]:
        """Take a piece of output; return what matched in it and in what was held back before."""
        *lines, rest = (self._rest + data).split(b"\n")
        found = []
        for line in lines:
            found += self._look(line)
            self._at += len(line) + 1
        while len(rest) > _LONGEST:
            found += self._look(rest[:_LONGEST])
            self._at += _LONGEST // 2
            rest = rest[_LONGEST // 2 :]
        self._rest = rest
        return found

    def end(self) -> list[Match]:
        """Take what was held back for a line: no more will come."""
        rest, self._rest = self._rest, b""
        return self._look(rest) if rest else []

    def _look(self, line: bytes) -> list[Match]:
        text = line.decode("utf-8", "replace")
        return [Match(name, text[:_SHOWN], self._at) for name, search in self._patterns if search.search(text)]


def _compiled(text: str) -> re.Pattern[str]:
    if not isinstance(text, str) or not text:
        raise ConfigError(f"watch pattern: needs text, not {text!r}")
    if len(text) > 2 and text[0] == text[-1] == "/":  # noqa: PLR2004  # two slashes and something between
        try:
            return re.compile(text[1:-1])
        except re.error as error:
            raise ConfigError(f"watch pattern: {text!r}: {error}") from error
    return re.compile(re.escape(text))


class RateLimit:
    """Says whether one more notice is still news. The caller has the clock."""

    def __init__(self, most: int = MOST, within: float = WITHIN) -> None:
        self._times: deque[float] = deque()
        self._most, self._within = most, within

    def passes(self, now: float) -> bool:
        """Count an event; False when there were too many of late."""
        while self._times and now - self._times[0] > self._within:
            self._times.popleft()
        self._times.append(now)
        return len(self._times) <= self._most

    @property
    def count(self) -> int:
        """How many there were of late."""
        return len(self._times)
