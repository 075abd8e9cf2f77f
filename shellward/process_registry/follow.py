"""Follows the output of watched processes: one thread for all of them, which sleeps until one prints."""

import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from shellward.core.types import StreamName
from shellward.process_registry.records import Entry
from shellward.process_registry.watch import Match, Patterns, RateLimit

if TYPE_CHECKING:
    from shellward.environments.base import Channel
    from shellward.environments.process import Process

_JOIN: Final = 10.0


class _Followed:
    """One process, with the channel that prints its output."""

    def __init__(self, process: "Process", entry: Entry, patterns: tuple[str, ...]) -> None:
        self.process = process
        self.entry = entry
        self.patterns = Patterns(patterns)
        self.rate = RateLimit()
        self.at = 0
        self.until: int | None = None
        self.channel: Channel = process.follower()

    @property
    def done(self) -> bool:
        """Whether everything was seen."""
        return self.until is not None and self.at >= self.until


class Followers:
    """See the module. Thread-safe.

    Args:
        matched: is told of a match.
        noisy: is told of the match that was one too many, and how many there were; it is the last.
    """

    def __init__(self, matched: Callable[[Entry, Match], None], noisy: Callable[[Entry, Match, int], None]) -> None:
        self._tell_match, self._tell_noise = matched, noisy
        self._lock = threading.Lock()
        self._followed: dict[int, _Followed] = {}
        self._ended: set[str] = set()
        self._poll = select.epoll()
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll.register(self._reader, select.EPOLLIN)
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, process: "Process", entry: Entry, patterns: tuple[str, ...]) -> None:
        """Follow a process from its first byte on.

        Raises:
            ConfigError: a pattern cannot be read.
            EnvironmentUnavailable: the sandbox is gone.
        """
        followed = _Followed(process, entry, patterns)
        with self._lock:
            number = followed.channel.fileno()
            self._followed[number] = followed
            self._poll.register(number, select.EPOLLIN)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="shellward-followers", daemon=True)
                self._thread.start()
        process.exits.subscribe(self._on_end)
        if not process.poll().running:
            self._on_end(process.id)

    def _on_end(self, name: str) -> None:
        with self._lock:
            if self._closed:
                return
            self._ended.add(name)
        with suppress(BlockingIOError):  # full, so it is readable
            os.write(self._writer, b"x")

    def close(self) -> None:
        """Follow nothing any more. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            thread = self._thread
        os.write(self._writer, b"x")
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN)
        for followed in self._followed.values():
            followed.process.exits.unsubscribe(self._on_end)
            followed.channel.close()
        self._followed.clear()
        self._poll.close()
        os.close(self._reader)
        os.close(self._writer)

    def _run(self) -> None:
        while True:
            events = self._poll.poll()
            if self._closed:
                return
            for number, _ in events:
                if number == self._reader:
                    os.read(self._reader, 1 << 16)
                    self._note_ends()
                elif (followed := self._followed.get(number)) is not None:
                    self._read(followed)
            for number, followed in list(self._followed.items()):
                if followed.done:
                    self._drop(number, followed)

    def _note_ends(self) -> None:
        with self._lock:
            ended, self._ended = self._ended, set()
        for followed in list(self._followed.values()):
            if followed.entry.id in ended or "" in ended:
                followed.until = followed.process.log(0, 0).size

    def _read(self, followed: _Followed) -> None:
        pieces = followed.channel.read(0)
        if pieces is None:
            followed.until = followed.at
            return
        for piece in pieces:
            if piece.stream is StreamName.STDOUT:
                followed.at += len(piece.data)
                if not self._tell(followed, followed.patterns.feed(piece.data)):
                    followed.patterns.end()  # nobody is to hear of the rest of the line
                    followed.until = followed.at
                    return

    def _tell(self, followed: _Followed, matches: list[Match]) -> bool:
        """Tell of matches; False when there were too many."""
        for match in matches:
            if not followed.rate.passes(time.monotonic()):
                self._tell_noise(followed.entry, match, followed.rate.count)
                return False
            self._tell_match(followed.entry, match)
        return True

    def _drop(self, number: int, followed: _Followed) -> None:
        self._tell(followed, followed.patterns.end())
        with self._lock:
            self._poll.unregister(number)
            del self._followed[number]
        followed.channel.close()
