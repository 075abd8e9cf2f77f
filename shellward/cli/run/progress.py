"""What is being waited for: one line on a terminal while an environment is being made, if that takes long."""

import contextlib
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shellward.cli.run.options import Options

_QUIET: Final = 1.0
"""Seconds that making an environment may take before something is said about it."""
_USUAL_WIDTH: Final = 80
_SEQUENCE: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\r\n]*"
)
"""What tells a terminal to do something: colours, movements, titles. Their ends and all else go as not printable."""


class Progress:
    """See the module. One thread draws the line now and then; any thread may tell steps, and end it.

    The line goes before anybody else writes to the terminal: who wipes it later wipes the command's output.
    """

    def __init__(self, options: "Options") -> None:
        self._began = time.monotonic()
        image = "" if options.chosen is None else str(options.chosen.config.get("image") or "")
        what = options.attach or " from ".join(filter(None, (f"a {options.kind} environment", image)))
        self._text = f"{'attaching to' if options.attach else 'making'} {what}"
        self._step = ""
        self._drawing = threading.Lock()
        self._shown = False
        self._over = not os.isatty(2)

    def step(self, line: str) -> None:
        """Hear what is being done."""
        if line.strip():
            self._step = line

    def show(self) -> None:
        """Say what is being waited for, and for how long already; nothing once it is over."""
        waited = time.monotonic() - self._began
        if self._over or waited < _QUIET:
            return
        begun = f"shellward: {last_line(self._text)} ({waited:.0f} s)"
        line = cut(": ".join(filter(None, (begun, last_line(self._step)))), _width() - 1)
        with self._drawing:
            if not self._over:
                self._shown = True
                _draw(line)

    def end(self) -> None:
        """Take the line away, for good."""
        with self._drawing:
            self._over = True
            if self._shown:
                self._shown = False
                _draw("")


def last_line(text: str) -> str:
    """Return the last line with something in it, as far as it can be printed: registries and builds say anything."""
    lines = ("".join(filter(str.isprintable, line)).strip() for line in _SEQUENCE.sub("", text).splitlines())
    return next((line for line in reversed([*lines]) if line), "")


def cut(text: str, width: int) -> str:
    """Return as much of the beginning as a terminal shows in ``width`` columns; some characters take two."""
    from rich.cells import cell_len

    for end, character in enumerate(text):
        width -= cell_len(character)
        if width < 0:
            return text[:end]
    return text


def _width() -> int:
    with contextlib.suppress(OSError):
        return os.get_terminal_size(2).columns or _USUAL_WIDTH  # 0: nobody has told the terminal how wide it is
    return _USUAL_WIDTH


def _draw(line: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone
        os.write(2, f"\r\x1b[K{line}".encode("utf-8", "backslashreplace"))
