"""``shellward attach``: a person joins the terminal of a background process, and leaves it running."""

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from shellward.cli.process import ids
from shellward.core.errors import EnvironmentUnavailable, Unsupported

if TYPE_CHECKING:
    from shellward.cli.at_terminal import OwnTerminal
    from shellward.environments.process import Process
    from shellward.terminal_tool.guard import Terminal

_READ: Final = 1 << 16
_EPILOG: Final = """\b
Examples:
  shellward start --pty -- python3
  shellward attach p3f2
  shellward attach --detach-key C-b p3f2

Exit codes: 0 when you left it; else the process's own; 125 Shellward itself failed; 2 wrong usage."""


@click.command("attach", epilog=_EPILOG)
@click.argument("name", metavar="ID", shell_complete=ids)
@click.option("--detach-key", default="C-]", show_default=True, metavar="KEY", help="Leave the process running.")
def command(name: str, *, detach_key: str) -> int:
    """Join the terminal of a process that was started with --pty: its screen here, your keys there.

    The keys are yours: the gate does not ask you about them. Your terminal is put back as it was, on every way out.
    """
    from shellward.cli.at_terminal import Terminated, ending_by_signal
    from shellward.terminal.keys import encode_key

    if not (os.isatty(0) and os.isatty(1)):
        raise click.UsageError("attach needs a terminal; without one there are: shellward logs -f, shellward send")
    key = encode_key(detach_key)
    try:
        with ending_by_signal():
            return _attach(name, key, detach_key)
    except Terminated as ended:
        return 128 + ended.number


def _attach(name: str, key: bytes, shown: str) -> int:
    from shellward.cli.at_terminal import OwnTerminal
    from shellward.cli.process import exit_status, registry
    from shellward.cli.say import OK, say

    with registry() as known:
        entry = known.find(name)
        process = known.process(entry.id)
        if not process.pty:
            advice = f"try: shellward logs -f {entry.id}, shellward send {entry.id} TEXT"
            raise Unsupported("attach to a process without a terminal", process.environment.kind, advice)
        if not process.poll().running:
            say(f"{entry.id} has ended; what it printed: shellward logs {entry.id}")
            return exit_status(known.wait(entry.id, 0))
        say(f"{entry.id}: {shown} leaves it")
        with OwnTerminal() as own:
            over = _join(process, own, key)
        if not over:
            say(f"left {entry.id} running; again: shellward attach {entry.id}")
            return OK
        return exit_status(known.wait(entry.id, 5.0))


def _join(process: "Process", own: "OwnTerminal", key: bytes) -> bool:
    """Lend the terminal until the process has ended; False when the person has left before."""
    from shellward.cli.at_terminal import Joined, own_size

    screen, offset = process.screen_now()
    own.write(b"\x1b[?1049h" if screen.alternate else b"")
    text = "\r\n".join(screen.lines).encode("utf-8", "replace")
    own.write(b"\x1b[H\x1b[2J%s\x1b[%d;%dH" % (text, screen.row + 1, screen.column + 1))
    own.write(b"" if screen.cursor_visible else b"\x1b[?25l")
    followed = Followed(process, offset)
    try:
        rows, columns = own_size()
        if (rows, columns) == (screen.rows, screen.columns):
            followed.resize(rows, columns - 1)  # what draws a whole screen draws it anew, colours and all
        followed.resize(rows, columns)
        over = Joined(followed, own, lambda data: None if key in data else data).run()
    finally:
        followed.close()
    if over and followed.error is not None:
        raise followed.error
    return over


class Followed:
    """The terminal of a background process, as ``Joined`` wants it.

    Attributes:
        ended: everything that it printed was read.
        error: why no more of it can be read; None when it has ended.
    """

    def __init__(self, process: "Process", offset: int) -> None:
        self._process = process
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        self.ended = False
        self.error: Exception | None = None
        threading.Thread(target=self._copy, args=(offset,), name="shellward-attach", daemon=True).start()

    def _copy(self, offset: int) -> None:
        try:
            for piece in self._process.follow(offset):
                view = memoryview(piece)
                while view:
                    view = view[os.write(self._writer, view) :]
        except BrokenPipeError:  # the person has left
            pass
        except (EnvironmentUnavailable, OSError) as error:
            self.error = error
        finally:
            os.close(self._writer)

    def fileno(self) -> int:
        """Return a descriptor that is readable when there is something to read."""
        return self._reader

    def read(self, timeout: float) -> bytes:
        """Return what has come."""
        del timeout
        try:
            data = os.read(self._reader, _READ)
        except BlockingIOError:
            return b""
        self.ended = not data
        return data

    def write(self, data: bytes) -> None:
        """Pass on what the person has typed. See ``Process.write``."""
        terminal: Terminal = self._process.environment  # type: ignore[assignment]  # the registry's are guarded
        with suppress(BrokenPipeError):  # it has ended, which is told in a moment
            terminal.type_by_person(self._process, data)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the terminal."""
        from shellward.environments.base import PtySize

        with suppress(ProcessLookupError):
            self._process.resize(PtySize(rows=max(rows, 1), columns=max(columns, 1)))

    def close(self) -> None:
        """Read no more of it."""
        os.close(self._reader)
