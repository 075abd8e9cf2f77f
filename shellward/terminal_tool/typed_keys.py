"""What a program types at a guarded terminal, where a shell or an interpreter reads it: judged line by line.

The keys of a line go through as they come, so that the program can show them; Enter is what runs it, and waits
for the judgement of the line. The line is followed as an editor would have it, as far as that is certain. After a
key whose work depends on what only the program knows (history, completion, the cursor in the middle), the line is
unknown, and Enter is asked about as something that cannot be read.

Other keys run a line, too. A key counts as Enter unless a table here says that it runs nothing, in the editors of
readline and libedit, emacs' mode and vi's, and in the terminal's own line editor (termios(3)).
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from shellward.terminal_tool.audience import Audience
from shellward.terminal_tool.recalls import leaves_open

_ENTER: Final = frozenset("\r\n")
_RUBS_OUT: Final = frozenset("\x7f\b")
_KILLS_WORD: Final = "\x17"
_KILLS_LINE: Final = "\x15"
_CANCELS: Final = "\x03"
_END: Final = "\x04"
_COMPLETES: Final = "\t"
_DRAWS: Final = "\x0c"
_ESCAPE: Final = "\x1b"
_PREFIX: Final = "\x18"
_QUOTES: Final = frozenset("\x16\x11")
"""Ctrl-V, and Ctrl-Q where output is not stopped by Ctrl-S: the next key stands for itself."""
HARMLESS: Final = {
    "\x00": "sets a mark",
    "\x01": "to the start of the line",
    "\x02": "back a character",
    "\x03": "gives the line up",
    "\x05": "to the end of the line",
    "\x06": "on a character",
    "\x07": "gives a search up",
    "\x08": "rubs a character out; where the terminal itself edits, it may be one of the line",
    "\x0b": "cuts to the end",
    "\x0c": "draws anew; in vi's mode it is a character",
    "\x0e": "the next line of the history",
    "\x10": "the line before in the history",
    "\x11": "lets output go on, or has the next key stand for itself",
    "\x12": "searches the history backwards",
    "\x13": "stops output, or searches the history",
    "\x14": "swaps two characters",
    "\x15": "cuts to the start",
    "\x16": "has the next key stand for itself",
    "\x17": "cuts a word",
    "\x19": "puts back what was cut",
    "\x1a": "stops the program",
    "\x1c": "ends the program",
    "\x1d": "to a character, which is the next key",
    "\x1f": "takes a change back",
    "\x7f": "rubs a character out",
}
"""Control keys that run no line, and what they do to it. Ctrl-O, Ctrl-X and its second key, Tab, Ctrl-^ are not here.

Tab runs what stands in ``$(..)`` where the shell expands before it completes (zsh), or its completion does (bash).
"""
HARMLESS_AFTER_ESCAPE: Final = frozenset(
    " \"$%'()+,-/0123456789:;<>?ABCDEFGHIJKLMNPQRSTUWXYZ^`abcdefghijklmnopqrstuwyz{|}~\x07\x08\x7f\x03"
)
"""Keys that run nothing as commands of vi, nor with Meta. Others do, or complete: v (an editor, then what it leaves),
# (may take a comment's sign away), @ (a macro), x (a command by its name), Ctrl-E (runs what stands in ``$(..)``)."""
_RUNS_AS_META: Final = frozenset(0x80 | ord(key) for key in "\x05#")
"""Bytes that readline takes for Ctrl-E and # with Meta in the C locale, also as parts of characters."""
_SEQUENCE: Final = re.compile(
    r"\x1b(?:\[(?:[0-9]{0,3}(?:;[0-9]{1,3})?[A-DFHIOPRSZ]|(?:[1-9]|1[0-57-9]|2[0134])(?:;[0-9])?~)|O[A-DFHP-S])"
)
"""Arrows, function keys, focus. Enter of the keypad (``ESC O M``), and keys as ``CSI u`` has them, are not known."""
_MORE: Final = re.compile(r"\x1b(?:\[[0-9;<=>?]{0,12}|O)")
_REBINDS: Final = re.compile(r"bind|trap|stty|inputrc|\bzle\b|readline|signal|termios|\btty\b", re.IGNORECASE)
"""What may give keys another meaning, or have Ctrl-C do nothing."""
_RUNS_IN_EDITORS: Final = frozenset("@Q")
"""Keys that run what was typed before, in vi: a register, or the last one."""
_MOST_LINE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of the line.

    Attributes:
        keys: all that was typed since the last Enter.
        line: what stands in it.
        unknown: it may be another.
        pasting: inside of a bracketed paste.
        prefix: keys that wait for the next one.
        commands: the editor may take characters for commands, as vi's does after Escape.
        completed: the last key was Tab.
        rebound: keys may have got another meaning.
        in_quotes: single quotes may be open from an earlier line.
    """

    keys: str = ""
    line: str = ""
    unknown: bool = False
    pasting: bool = False
    prefix: str = ""
    commands: bool = False
    completed: bool = False
    rebound: bool = False
    in_quotes: bool = False


class TypedKeys:
    """Judges what is typed. Called by one thread, with bytes; returns them, when they may be sent.

    Args:
        audience: judges lines, as those read them who are in the terminal's foreground.
    """

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._state = _State()

    def __call__(self, data: bytes) -> bytes:
        """Look at what is to be typed.

        Raises:
            ApprovalDenied: a line may not run. None of this was sent; what was typed before stands in the line
                still, and Ctrl-C takes it away.
        """
        before = self._state
        self._audience.begin()
        try:
            for key in data.decode("utf-8", "surrogateescape"):
                self._key(key)
        except BaseException:
            self._state = before
            raise
        return data

    def _set(self, **changes: object) -> None:
        self._state = replace(self._state, **changes)  # type: ignore[arg-type]

    def _key(self, key: str) -> None:
        if key not in _ENTER:
            self._set(keys=(self._state.keys + key)[-_MOST_LINE:])
        state = self._state
        if state.prefix:
            self._after(state.prefix, key)
        elif key in _ENTER:
            self._enter(key)
        elif key in (_ESCAPE, _PREFIX) or key in _QUOTES:
            self._set(prefix=key, unknown=state.unknown or key != _ESCAPE)
        elif key >= " " and key != "\x7f":
            self._add(key)
        else:
            self._edit(key)
        if state.completed and key != _COMPLETES:
            self._set(completed=False)

    def _after(self, prefix: str, key: str) -> None:
        """Take the key behind one that waits for it."""
        keys = prefix + key
        if prefix == _PREFIX or prefix in _QUOTES:
            self._set(prefix="")
            if prefix == _PREFIX or (key not in HARMLESS and (key < " " or self._state.rebound)):
                self._judge_now()  # also Enter: not every program lets a key stand for itself
        elif keys in {"\x1b[200~", "\x1b[201~"}:
            self._set(prefix="", pasting=keys == "\x1b[200~")
        elif _SEQUENCE.fullmatch(keys):
            self._set(prefix="", unknown=True, commands=True)
        elif _MORE.fullmatch(keys):
            self._set(prefix=keys)
        elif key == _ESCAPE:
            self._set(prefix=key, unknown=True, commands=True)
        else:
            self._set(prefix="", unknown=True, commands=True)
            if prefix != _ESCAPE or key not in HARMLESS_AFTER_ESCAPE:
                self._judge_now()

    def _edit(self, key: str) -> None:
        state = self._state
        if state.rebound or key not in HARMLESS:
            if key == _END:
                if state.line or state.unknown:
                    self._judge_now()  # at a plain terminal Ctrl-D sends what stands in the line
            elif key != _COMPLETES or not state.completed:
                self._judge_now()
                self._set(unknown=True, completed=key == _COMPLETES)
        elif key == _CANCELS:
            self._state = _State(pasting=state.pasting)
        elif key in _RUBS_OUT:
            # One key may take a character away with its accents, or a byte of it; Ctrl-H may be a character.
            certain = not state.line or (key == "\x7f" and state.line[-1] < "\x7f")
            self._set(line=state.line[:-1], unknown=state.unknown or not certain)
        elif key == _KILLS_LINE:
            self._set(line="")
        elif key == _DRAWS:
            self._set(line=state.line + key)
        elif key != _KILLS_WORD or state.line:
            self._set(unknown=True)  # also Ctrl-W: what a word is, programs see differently

    def _add(self, key: str) -> None:
        state = self._state
        if (state.commands and key not in HARMLESS_AFTER_ESCAPE) or (
            key >= "\x80" and _RUNS_AS_META & set(key.encode("utf-8", "surrogateescape"))
        ):
            self._judge_now()
        line = state.line + key
        self._set(line=line)
        if key in _RUNS_IN_EDITORS and self._audience.single_keys:
            self._judge_now()
        if len(line) > _MOST_LINE:
            self._set(unknown=True, line="")

    def _enter(self, key: str) -> None:
        state = self._state
        self._judge_now(take=not state.pasting)
        if state.pasting:  # a program that knows nothing of pastes runs each line
            self._set(line=state.line + "\n", keys="")
            return
        rebound = state.rebound or _REBINDS.search(state.line) is not None
        still = state.unknown and key == "\n"  # in a search it ends the search, and what was found stands there
        in_quotes = leaves_open(state.line, in_quotes=state.in_quotes)
        self._state = _State(rebound=rebound, unknown=still, in_quotes=in_quotes)

    def _judge_now(self, *, take: bool = False) -> None:
        """Judge what stands in the line, as if it ran now."""
        state = self._state
        if not (state.line or state.unknown or state.keys):
            return
        texts = dict.fromkeys((state.line, state.line.replace(_DRAWS, "")))
        for number, line in enumerate(texts, 1):
            self._audience.judge(
                line,
                state.keys,
                unknown=state.unknown,
                in_quotes=state.in_quotes,
                take=take and number == len(texts),
            )
