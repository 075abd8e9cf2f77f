"""What a program types at a guarded terminal, where a shell or an interpreter reads it: judged line by line.

The keys of a line go through as they come, so that the program can show them; Enter is what runs it, and waits
for the judgement of the line. The line is followed as an editor would have it, as far as that is certain. After a
key whose work depends on what only the program knows (history, completion, the cursor in the middle), the line is
unknown, and Enter is asked about as something that cannot be read.
"""

import re
from collections.abc import Callable
from typing import Final

from shellward.approval.detect import Detection
from shellward.approval.detecting import Unreadable
from shellward.terminal_tool.typed import TypedInput

_ENTER: Final = frozenset("\r\n")
_RUBS_OUT: Final = frozenset("\x7f\b")
_KILLS_WORD: Final = "\x17"
_KILLS_LINE: Final = "\x15"
_CANCELS: Final = "\x03"
_END: Final = "\x04"
_HARMLESS: Final = frozenset("\x0c\x11\x13")
"""Ctrl-L draws anew; Ctrl-Q and Ctrl-S let output go on and stop it."""
_PASTE: Final = re.compile("\x1b\\[20([01])~")
_MOST_LINE: Final = 1 << 20


class UnknownLineError(Exception):
    """The line that Enter would run cannot be known."""


class TypedKeys:
    """Judges what is typed. Called by one thread, with bytes; returns them, when they may be sent.

    Args:
        typed: judges lines, all so far as one program.
        decide: decides about what cannot be read; raises ApprovalDenied.
    """

    def __init__(self, typed: TypedInput, decide: Callable[[Detection], object]) -> None:
        self._typed = typed
        self._decide = decide
        self._line = ""
        self._unknown = False
        self._pasting = False

    def __call__(self, data: bytes) -> bytes:
        """Look at what is to be typed.

        Raises:
            ApprovalDenied: a line may not run. None of this was sent; what was typed before stands in the line
                still, and Ctrl-C takes it away.
        """
        before = (self._line, self._unknown, self._pasting)
        try:
            self._follow(data.decode("utf-8", "surrogateescape"))
        except BaseException:
            self._line, self._unknown, self._pasting = before
            raise
        return data

    def _follow(self, text: str) -> None:
        at = 0
        while at < len(text):
            if (paste := _PASTE.match(text, at)) is not None:
                self._pasting = paste[1] == "0"
                at = paste.end()
                continue
            self._key(text[at])
            at += 1

    def _key(self, key: str) -> None:
        if key in _ENTER:
            if self._pasting:
                self._add("\n")
            else:
                self._enter()
        elif key == _END:
            if self._line or self._unknown:
                self._enter()  # at a plain terminal Ctrl-D sends what stands in the line
        elif key.isprintable() or key >= "\x80":
            self._add(key)
        else:
            self._edit(key)

    def _edit(self, key: str) -> None:
        if key == _CANCELS:
            self._line, self._unknown = "", False
        elif key in _RUBS_OUT:
            self._line = self._line[:-1]
        elif key == _KILLS_LINE:
            self._line = ""
        elif key not in _HARMLESS and (key != _KILLS_WORD or self._line):
            self._unknown = True  # also Ctrl-W: what a word is, programs see differently

    def _add(self, key: str) -> None:
        self._line += key
        if len(self._line) > _MOST_LINE:
            self._unknown, self._line = True, ""

    def _enter(self) -> None:
        if self._unknown:
            text = self._line or "(a line from the program's history)"
            self._decide(Detection(text, Unreadable(text, UnknownLineError()).findings))
        elif self._line:
            self._typed((self._line + "\n").encode("utf-8", "surrogateescape"))
        self._line, self._unknown = "", False
