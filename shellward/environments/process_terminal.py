"""The terminal of a background process: its size, its screen, its keys. Part of ``Process``."""

import errno
import time
from typing import TYPE_CHECKING, Final, cast

from shellward.core.errors import Unsupported
from shellward.terminal.keys import CURSOR_KEYS, encode_key, encode_paste
from shellward.terminal.screen import SCROLLBACK, Screen

if TYPE_CHECKING:
    from shellward.environments.base import PtySize
    from shellward.environments.foreground import Foreground
    from shellward.environments.process import Process
    from shellward.terminal.screen import Snapshot

_DRAWN: Final = 1 << 20
"""Bytes of output that a screen is drawn from."""
_START_LIMIT: Final = 5.0
"""Seconds in which its holder makes a terminal for a process that has begun."""
_LOOK: Final = 0.02


class ProcessTerminal:
    """Part of ``Process``: what it can do when it was started with ``pty``."""

    def _all(self) -> "Process":
        return cast("Process", self)

    def resize(self, size: "PtySize") -> None:
        """Change the size of its terminal.

        Raises:
            ConfigError: no terminal has that size.
            Unsupported: it has none.
            ProcessLookupError: it has ended.
            EnvironmentUnavailable: the sandbox is gone.
        """
        from shellward.environments.pty_calls import size_of

        self._needs_terminal("resize")
        size = size_of(size)
        if self._all().ask("sw_resize", str(size.rows), str(size.columns)).strip() != "ok":
            raise ProcessLookupError(errno.ESRCH, "it has ended", self._all().id)

    def screen(self, *, scrollback: int = SCROLLBACK) -> "Snapshot":
        """Return what is on its terminal's screen, as a person would see it; drawn from the last MiB of its output.

        Args:
            scrollback: how many lines that scrolled off are kept.

        Raises:
            Unsupported: it has no terminal.
            FileNotFoundError: it was removed.
            EnvironmentUnavailable: the sandbox is gone.
        """
        return self._drawn(scrollback)[0].snapshot()

    def screen_now(self) -> "tuple[Snapshot, int]":
        """Return its screen, and the offset of the output that comes after what it was drawn from.

        Who joins the terminal shows the one and follows the other. Raises as ``screen`` does.
        """
        screen, offset = self._drawn(0)
        return screen.snapshot(), offset

    def send_keys(self, *keys: str, timeout: float = 10.0) -> int:
        """Press keys at its terminal, by the names that tmux has: ``Enter``, ``Up``, ``C-c``, ``F1``, or a character.

        Raises:
            ConfigError: there is no such key; none was sent.
            Unsupported: it has no terminal.
            BlockingIOError, BrokenPipeError, EnvironmentUnavailable: see ``write``.
        """
        self._needs_terminal("send keys to")
        application = (
            any(key.rpartition("-")[2] in CURSOR_KEYS for key in keys) and self._drawn(0)[0].application_cursor
        )
        return self._all().write(b"".join(encode_key(key, application_cursor=application) for key in keys), timeout)

    def paste(self, text: str, timeout: float = 10.0) -> int:
        """Paste at its terminal: as a bracketed paste where the program has asked for that. See ``write``."""
        self._needs_terminal("paste into")
        bracketed = self._drawn(0)[0].bracketed_paste
        return self._all().write(encode_paste(text.encode("utf-8", "surrogateescape"), bracketed=bracketed), timeout)

    def signal_foreground(self, signal: str) -> None:
        """Send a signal to the foreground job of its terminal; ``signal`` sends one to the process itself.

        Args:
            signal: its name: ``INT``, ``TERM``, ``STOP``, ...

        Raises:
            ConfigError: there is no such signal.
            ProcessLookupError: it has ended, or nothing is in the foreground.
            PermissionError: the job is another user's, as with sudo.
            Unsupported: it has no terminal, or the sandbox does not show what is at its terminals.
            EnvironmentUnavailable: the sandbox is gone.
        """
        from shellward.environments.process import signal_text

        self._foreground("signal the foreground job of").signal(signal_text(signal))

    def echo(self) -> bool:
        """Return whether its terminal shows what is typed; where a password is asked for, it mostly does not.

        Raises:
            ProcessLookupError: it has ended.
            Unsupported: it has no terminal, the sandbox does not show it, or has no ``stty``.
            EnvironmentUnavailable: the sandbox is gone.
        """
        return self._foreground("see the echo of").echo()

    def set_echo(self, on: bool) -> None:  # what it is set to
        """Let its terminal show what is typed, or not. The program may change it, as shells do at their prompt.

        Raises:
            ProcessLookupError, Unsupported, EnvironmentUnavailable: see ``echo``.
        """
        self._foreground("set the echo of").echo(on)

    def _foreground(self, what: str) -> "Foreground":
        from shellward.environments.foreground import Foreground

        self._needs_terminal(what)
        process = self._all()
        control = process.environment.control(process.user)
        until = time.monotonic() + _START_LIMIT
        while (since := process.ask("sw_supervised").strip()) == "wait" and time.monotonic() < until:
            time.sleep(_LOOK)

        def ask(text: str) -> str:
            return control.ask("foreground.sh", text, once=True)

        started = int(since) if since.isdecimal() else 0
        return Foreground(ask, f"SHELLWARD_PROCESS={process.id}", started, process.environment.kind, process.id)

    def _needs_terminal(self, what: str) -> None:
        process = self._all()
        if not process.pty:
            raise Unsupported(f"{what} a process without a terminal", process.environment.kind)

    def _drawn(self, scrollback: int) -> "tuple[Screen, int]":
        self._needs_terminal("show the screen of")
        rows, columns = (int(word) for word in self._all().ask("sw_size").split())
        screen = Screen(rows, columns, scrollback=scrollback)
        log = self._all().log(limit=_DRAWN)
        screen.skip(log.data)
        return screen, log.next
