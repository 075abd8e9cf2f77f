"""Commands that took longer in the foreground than they may: they go on, in the shell that they were begun in.

Their client looks after them, so they end with it, unlike what was begun in the background. All that they print is in
a file on the client's side.
"""

import contextvars
import secrets
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.types import Log, ProcessInfo, ProcessState, signal_name
from shellward.environments.owner import owner
from shellward.terminal_tool.hearing import ON_OUTPUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.approval.withdrawal import Withdrawal
    from shellward.core.types import Chunk, Result
    from shellward.environments.stream import Stream
    from shellward.terminal_tool.hearing import OnOutput


def is_moved(name: str) -> bool:
    """Whether an id is one of these: others begin with ``p``."""
    return name.startswith("f")


class Moved:
    """One such command. Thread-safe.

    Args:
        stream: the command, which this follows from here on.
        command: as it was submitted.
        cwd: where it was begun.
        task: whose it is.
        on_end: is called once, with this, in the thread that follows it.

    Raises:
        EnvironmentUnavailable: its session cannot have another shell; the command goes on as it was.
    """

    def __init__(
        self, stream: "Stream", *, command: str, cwd: str, task: str, on_end: "Callable[[Moved], None] | None" = None
    ) -> None:
        self._stream = stream
        stream.set_aside()
        self._file = stream.keep_all()
        self._on_end = on_end
        self._killed = False
        self._info = ProcessInfo(
            id=f"f{secrets.token_hex(6)}",
            command=command,
            cwd=cwd,
            pid=0,
            born="",
            state=ProcessState.RUNNING,
            started=datetime.now(UTC),
            owner=owner(),
            task=task,
            closed_stdin=True,
        )
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[threading.Event] = []
        self._listening: list[OnOutput] = []
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._follow,), name=f"shellward-moved-{self.id}", daemon=True
        )
        self._thread.start()

    @property
    def id(self) -> str:
        """What the process tool calls it by."""
        return self._info.id

    @property
    def info(self) -> ProcessInfo:
        """What is known of it now."""
        size = self._file.stat().st_size if self._file is not None and self._file.exists() else 0
        return replace(self._info, bytes_out=size)

    @property
    def file(self) -> Path | None:
        """Everything that it has printed."""
        return self._file

    def log(self, offset: int | None, limit: int) -> Log:
        """Return a piece of its output; see ``Process.log``."""
        if self._file is None or not self._file.exists():
            return Log(b"", 0, 0)
        with self._file.open("rb") as file:
            size = file.seek(0, 2)
            first = max(0, size - limit) if offset is None else max(0, size + offset) if offset < 0 else offset
            file.seek(min(first, size))
            return Log(file.read(limit), min(first, size), size)

    def wait(self, timeout: float, call: "Withdrawal") -> ProcessInfo:
        """Wait for its end, ``timeout`` seconds at the most, or until the call is taken back."""
        woken = threading.Event()
        call.listen(woken.set)
        listening = [each for each in (ON_OUTPUT.get(),) if each is not None]
        with self._lock:
            self._waiting.append(woken)
            self._listening += listening
            if self.ended.is_set():
                woken.set()
        woken.wait(timeout)
        with self._lock:
            self._waiting.remove(woken)
            for each in listening:
                self._listening.remove(each)
        return self.info

    def kill(self) -> ProcessInfo:
        """End it with its tree, in the sandbox.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        self._killed = not self.ended.is_set()
        self._stream.end("killed", "TERM")
        self.ended.wait(10.0)
        return self.info

    def join(self) -> None:
        """Wait until nothing of it is left here; its command has ended, or its environment has."""
        self._thread.join(10.0)

    def _follow(self) -> None:
        try:
            result = self._stream.wait(on_output=self._hear)
        except (ConnectionLost, EnvironmentUnavailable):
            result = None
        self._info = self._over(result)
        with self._lock:
            self.ended.set()
            for woken in self._waiting:
                woken.set()
        if self._on_end is not None:
            self._on_end(self)

    def _hear(self, chunk: "Chunk") -> None:
        with self._lock:
            for each in self._listening:
                each(chunk)

    def _over(self, result: "Result | None") -> ProcessInfo:
        now = datetime.now(UTC)
        if result is None:
            return replace(self._info, state=ProcessState.LOST, reason="lost", ended=now)
        return replace(
            self._info,
            state=ProcessState.ENDED,
            exit_code=result.exit_code,
            signal=signal_name(result.exit_code),
            reason="killed" if self._killed or result.interrupted else "exited",
            ended=now,
        )
