"""Commands as text that cannot draw: what a person reads before saying yes.

A command comes from whoever wants it approved. Escape sequences, carriage returns, bidirectional controls and
invisible characters could make the prompt show something else than what would run (CVE-2021-42574 is the
best-known case), so everything that is not plainly visible is shown as its code. Secrets are masked.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from shellward.core.gate import Finding
from shellward.telemetry.masking import find_secrets, stand_in

_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_BLANKS: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # letters and marks that show nothing
)
_NAMES: Final = {"\x1b": "\\e", "\r": "\\r", "\t": "\\t", "\0": "\\0", "\b": "\\b", "\n": "\\n"}
_MARKS_IN_A_ROW: Final = 2
"""More combining marks than this on one letter are shown as codes: they could be piled over other lines."""


class Piece(NamedTuple):
    """A run of text of one kind.

    Attributes:
        text: safe to print.
        kind: ``plain``, ``danger`` (inside a finding's span), ``code`` (stands for something not visible) or
            ``masked``.
    """

    text: str
    kind: str


def escape_char(char: str) -> str:
    r"""Return ``char`` itself when it is plainly visible, or its code (``\e``, ``\u{202e}``)."""
    if char == " " or (char.isascii() and char.isprintable()):
        return char
    if char in _NAMES:
        return _NAMES[char]
    if unicodedata.category(char) in _INVISIBLE or char in _BLANKS or _is_selector(char):
        return f"\\u{{{ord(char):x}}}"
    return char


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def escape(text: str, *, keep_newlines: bool = False) -> str:
    """Return ``text`` with everything that is not plainly visible replaced by its code.

    Args:
        text: anything.
        keep_newlines: leave line feeds as they are.
    """
    out, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if char == "\n" and keep_newlines:
            out.append(char)
        elif marks > _MARKS_IN_A_ROW:
            out.append(f"\\u{{{ord(char):x}}}")
        else:
            out.append(escape_char(char))
    return "".join(out)


def safe(text: str) -> str:
    """Return ``text`` on one line, secrets masked and nothing invisible: for logs, lists and messages."""
    return escape(_masked(text))


def _masked(text: str) -> str:
    out, done = [], 0
    for secret in find_secrets(text):
        out += [text[done : secret.start], stand_in(secret)]
        done = secret.end
    return "".join([*out, text[done:]])


def pieces(command: str, findings: Iterable[Finding]) -> list[Piece]:
    """Cut a command into runs of text that are safe to print, the findings' spans marked.

    Args:
        command: as submitted.
        findings: whose spans are to be marked.

    Returns:
        The runs, in order; line feeds stay in them.
    """
    spans = _joined(sorted(finding.span for finding in findings))
    out: list[Piece] = []
    done = 0
    for secret in find_secrets(command):
        out += _marked(command, done, secret.start, spans)
        out.append(Piece(stand_in(secret), "masked"))
        done = secret.end
    out += _marked(command, done, len(command), spans)
    return out


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _marked(command: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    at = start
    for first, last in spans:
        if last <= at or first >= end:
            continue
        yield from _visible(command[at : max(at, first)], "plain")
        yield from _visible(command[max(at, first) : min(last, end)], "danger")
        at = min(last, end)
    yield from _visible(command[at:end], "plain")


def _visible(text: str, kind: str) -> Iterator[Piece]:
    """Yield ``text`` with runs of codes apart, so that they look different from the same letters typed."""
    run, coded, marks = "", False, 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        shown = char if char == "\n" else escape_char(char)
        if marks > _MARKS_IN_A_ROW:
            shown = f"\\u{{{ord(char):x}}}"
        if (shown != char) != coded:
            if run:
                yield Piece(run, "code" if coded else kind)
            run, coded = "", not coded
        run += shown
    if run:
        yield Piece(run, "code" if coded else kind)
