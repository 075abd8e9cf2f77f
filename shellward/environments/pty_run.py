"""One command at a terminal, from its start to its result: what threads and asyncio share, and the threads' driver."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, had_begun
from shellward.core.interrupts import interruptible
from shellward.core.types import Chunk, Result, StreamName, signal_name
from shellward.environments.call import Call, OnOutput
from shellward.environments.output import Decoder, OutputFiles
from shellward.environments.pty import PtySession
from shellward.environments.running import INTERRUPTED, TIMED_OUT, new_collector

AFTER_KILL: Final = 1.0
"""Seconds in which what was printed last is waited for, and an exit status."""
_END: Final = b"\x04"


class PtyRun:
    """A command that runs at a terminal, for which nobody draws a screen.

    Args:
        call: what runs.
        session: where; nothing of it was read, and it is closed with this.
        typed: what is typed, with Ctrl-D after it.
        cwd: directory of the session that it began with.
        files: where the full output goes when the call names no file of its own.
        why: says why a connection was lost.

    Attributes:
        session: see above.
        typed: all that is to be typed.
        collector: has what was printed.
        on_output: is called with each piece of output.
    """

    def __init__(
        self,
        call: Call,
        session: PtySession,
        *,
        typed: bytes,
        cwd: str,
        files: OutputFiles,
        why: Callable[[str], str],
    ) -> None:
        self.session = session
        # As a person would who has nothing (more) to say: in the middle of a line, Ctrl-D sends that.
        self.typed = typed + (_END if typed.endswith(b"\n") or not typed else _END + _END)
        self.collector = new_collector(call, files)
        self.on_output: OnOutput | None = None
        self._call = call
        self._cwd = cwd
        self._why = why
        self._decoder = Decoder()
        self._began = time.monotonic()
        session.on_data = self._output

    def left(self) -> float | None:
        """Return the seconds until its time limit; None: it has none."""
        return None if self._call.timeout is None else self._began + self._call.timeout - time.monotonic()

    def carry_out(self, on_output: OnOutput | None) -> Result:
        """Follow it to its end, whatever that is; then nothing of it is left.

        Raises:
            ConnectionLost: the sandbox went away; it may have run. Carries the output so far.
            ApprovalDenied: what is typed may not be; it was ended.
        """
        self.on_output = on_output
        try:
            return self._followed()
        except BaseException as error:
            with suppress(EnvironmentUnavailable):  # gone, and the command with it
                self.session.close()
            if isinstance(error, EnvironmentUnavailable):
                raise self.lost(error) from error
            had_begun(error)
            raise
        finally:
            self.collector.close()

    def _followed(self) -> Result:
        session = self.session
        with suppress(ConnectionLost):  # it has ended without reading
            session.write(self.typed)
        timed_out = False
        while not session.ended:
            left = self.left()
            if left is not None and left <= 0:
                timed_out = True
                session.kill()
                until = time.monotonic() + AFTER_KILL
                while not session.ended and (left := until - time.monotonic()) > 0:
                    session.take(left)
                break
            with interruptible():
                session.take(left)
        status = session.wait(AFTER_KILL if timed_out else None)
        result = self.result(status, timed_out=timed_out)
        session.close()
        return result

    def result(self, status: int | None, *, timed_out: bool) -> Result:
        """Return the result, once all is read and before the session is closed here.

        Args:
            status: its exit status; None: unknown.
            timed_out: it was ended, since its time was up.

        Raises:
            ConnectionLost: it was ended with its session, or nobody knows how it ended.
        """
        interrupted = self.session.interrupted
        if self.session.closing and not (timed_out or interrupted):
            raise ConnectionLost("the session was closed")
        if status is None and not (timed_out or interrupted):
            raise ConnectionLost("the connection to the terminal ended")
        code = TIMED_OUT if timed_out else INTERRUPTED if interrupted or status is None else status
        return Result(
            command=self._call.shown,
            exit_code=code,
            duration=time.monotonic() - self._began,
            cwd=self._cwd,
            timed_out=timed_out,
            interrupted=interrupted,
            signal=None if timed_out or interrupted else signal_name(code),
            **self.collector.finish(),  # type: ignore[arg-type]
        )

    def lost(self, error: EnvironmentUnavailable) -> ConnectionLost:
        """Return the error that says what a lost connection means for it, with the output so far."""
        duration = time.monotonic() - self._began
        said = self.collector.remains()
        partial = Result(command=self._call.shown, exit_code=-1, duration=duration, **said)  # type: ignore[arg-type]
        why = self._why(str(error))
        return ConnectionLost(f"{why} while a command ran; it may have run: {self._call.shown[:200]!r}", partial)

    def _output(self, data: bytes) -> None:
        self.collector.add(StreamName.STDOUT, data)
        if self.on_output is not None:
            self.on_output(Chunk(StreamName.STDOUT, data, self._decoder.text(data)))
