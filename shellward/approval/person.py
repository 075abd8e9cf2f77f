"""The prompt in a terminal: what would run, why it was stopped, and one key for the answer.

Reads keys from the controlling terminal only, and only those typed after the question was shown: what was
pasted or typed before is thrown away. Without a terminal there is nobody to ask, and the caller denies. What each
key means is in ``keys``.
"""

import contextlib
import getpass
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Final

from shellward.approval import keys
from shellward.approval.context import Answer, ApprovalRequest
from shellward.approval.keyboard import Keyboard, one_key_at_a_time
from shellward.approval.plainly import deed, unlike_others
from shellward.approval.show import escape, pieces, safe
from shellward.core.gate import Finding

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from shellward.approval.keys import Choice

_STYLES: Final = {"plain": "", "danger": "bold red reverse", "code": "yellow", "masked": "dim"}
_MAX_LINES: Final = 60
"""Lines of a command shown at first; ``e`` shows all of it."""
_MAX_RUN: Final = 400
"""Characters in a row without a finding that are shown at first: more would push the rest off the screen."""
_MAX_FINDINGS: Final = 10
"""Findings shown at first, the worst ones."""
_MAX_AFFECTED: Final = 20
"""Targets of a finding shown at first."""
_LEAST_WIDTH: Final = 20
_TERMINAL: Final = threading.Lock()
"""A program has one terminal: questions of several threads come one after the other."""
_HOW_LONG: Final = {"once": "once", "session": "for this session", "always": "always"}


def has_terminal() -> bool:
    """Whether a person can be asked here: standard input is a terminal and this program may read from it."""
    try:
        if not os.isatty(sys.stdin.fileno()):
            return False
        # A background job that reads its terminal is stopped by the kernel (SIGTTIN), so it must not try.
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False


def ask(request: ApprovalRequest, *, cancel_fd: int | None = None, output: IO[str] | None = None) -> Answer:
    """Show the question on the terminal and wait for a key.

    Args:
        request: what to ask.
        cancel_fd: a descriptor that becomes readable when the question is withdrawn.
        output: where to draw instead of standard error, or of the terminal where standard error is none.

    Returns:
        The answer; ``nobody`` when there is no terminal, time is up, or it was withdrawn.
    """
    if not has_terminal():
        return Answer("nobody", note="standard input is not a terminal")
    keyboard = Keyboard(sys.stdin.fileno(), cancel_fd, time.monotonic() + request.timeout)
    if not _TERMINAL.acquire(timeout=request.timeout):
        return Answer("nobody", note=f"no answer within {request.timeout:g} seconds")
    try:
        with _drawn_on(output) as file, one_key_at_a_time(keyboard.fd):
            return _Question(request, keyboard, file).put()
    finally:
        _TERMINAL.release()


@contextlib.contextmanager
def _drawn_on(output: IO[str] | None) -> Iterator[IO[str]]:
    """Have a place to draw that the person sees: nobody answers a question that went into a file."""
    if output is not None or sys.stderr.isatty():
        yield output or sys.stderr
        return
    with open(os.ttyname(sys.stdin.fileno()), "w", encoding="utf-8", errors="backslashreplace") as terminal:  # noqa: PTH123
        yield terminal


class _Question:
    """One question on the screen, until it is answered."""

    def __init__(self, request: ApprovalRequest, keyboard: Keyboard, output: IO[str]) -> None:
        from rich.console import Console

        self._request = request
        self._keyboard = keyboard
        self._console = Console(file=output, highlight=False, markup=False, emoji=False)

    def put(self) -> Answer:
        """Ask and wait."""
        draw(self._console, self._request)
        self._prompt()
        while (typed := self._keyboard.read()) is not None:
            if typed == keys.SHOW_ALL:
                self._console.print("everything", style="bold")
                explain(self._console, self._request)
                draw_keys(self._console, self._request)
                self._prompt()
            choice = keys.by_key(typed, self._request)
            if choice is None:
                continue
            if choice.wide and not self._confirmed(choice):
                draw_keys(self._console, self._request)
                self._prompt()
                continue
            said = "denied" if choice.kind == "deny" else f"allowed {_HOW_LONG[choice.scope]}"
            self._console.print(said, style="bold")
            return choice.answer(whoami())
        self._console.print("no answer: denied", style="bold")
        return Answer("nobody", note=f"no answer within {self._request.timeout:g} seconds")

    def _prompt(self) -> None:
        shown = [choice.keys[0] for choice in keys.offered(self._request)]
        self._ready(f"Allow it? [{' '.join([*shown[1:2], shown[0], *shown[2:], keys.SHOW_ALL])}] ")

    def _confirmed(self, choice: "Choice") -> bool:
        """Show exactly what would be covered, and ask once more."""
        self._console.print(choice.name, style="bold")
        draw_covered(self._console, self._request, choice)
        self._ready(f"Sure? [{keys.YES}] yes, [any other key] back ")
        typed = self._keyboard.read()
        if typed == keys.YES:
            return True
        self._console.print("back")
        return False

    def _ready(self, prompt: str) -> None:
        """Print the last words of a question. Keys count from then on, not those typed while it was drawn."""
        self._console.file.flush()
        self._keyboard.forget()
        self._console.print(prompt, style="bold", end="", soft_wrap=True)
        self._console.file.flush()


def whoami() -> str:
    """Name the person at this terminal, for the record."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.getuid()}"
    with contextlib.suppress(OSError, AttributeError, ValueError):
        return f"{name}@{os.ttyname(sys.stdin.fileno()).removeprefix('/dev/')}"
    return name


def draw(console: "Console", request: ApprovalRequest) -> None:
    """Print the question."""
    context = request.context
    console.print()
    _row(console, "", "Shellward: a command needs your approval", style="bold yellow")
    _draw_command(console, request, _MAX_LINES)
    worst = sorted(request.findings, key=lambda finding: -finding.severity)
    for finding in worst[:_MAX_FINDINGS]:
        _draw_finding(console, request, finding, whole=False)
    if len(worst) > _MAX_FINDINGS:
        _row(console, "  ", f"({len(worst) - _MAX_FINDINGS} more findings; e shows all)", style="bold")
    where = " ".join(filter(None, (context.backend, safe(context.target))))
    _row(console, "  in       ", f"{safe(context.cwd)} ({where})" if context.cwd else where)
    if unusual := unlike_others(context.backend, request.reach):
        _row(console, "  reaches  ", unusual)
    if context.reason:
        _row(console, "  ", f'the agent says: "{_short(safe(context.reason))}"', style="italic")
    draw_keys(console, request)


def draw_keys(console: "Console", request: ApprovalRequest) -> None:
    """Print what each key means."""
    deny, *allowing = keys.offered(request)
    for choice in (allowing[0], deny, *allowing[1:]):
        more = " .." if choice.wide else ", as do q, Esc and Ctrl-C" if choice is deny else ""
        _row(console, f"  {choice.keys[0]}  ", choice.name + more)
    _row(console, f"  {keys.SHOW_ALL}  ", "show everything")


def draw_covered(console: "Console", request: ApprovalRequest, choice: "Choice") -> None:
    """Print exactly what an answer would cover, and for how long."""
    long = f"{_HOW_LONG[choice.scope]}{', written to config.yaml' if choice.scope == 'always' else ''}"
    _row(console, "", f"Covers {long}:")
    for line in escape(keys.covers(choice, request), keep_newlines=True).split("\n"):
        _row(console, "  | ", _short(safe(line)))
    rules = dict.fromkeys(finding.rule for finding in request.findings)
    _row(console, "  ", f"while nothing is found in it but {_listed(rules, _MAX_AFFECTED)}")


def explain(console: "Console", request: ApprovalRequest) -> None:
    """Print everything: the whole command, and what it would really run."""
    _draw_command(console, request, None)
    _row(console, "  ", "what the shell would run:", style="bold")
    for line in _masked_lines(request.normalized):
        _row(console, "  | ", line)
    for finding in request.findings:
        _draw_finding(console, request, finding, whole=True)
    for choice in keys.offered(request):
        if choice.wide and choice.scope == "session":
            _row(console, f"  {choice.keys[0]}  ", f"covers {safe(keys.covers(choice, request))}")


def _draw_finding(console: "Console", request: ApprovalRequest, finding: Finding, *, whole: bool) -> None:
    cut = str if whole else _short
    head = f"  {finding.severity.name.lower():9}"
    _row(console, head, f"{escape(finding.description)} ({escape(finding.rule)})", style="bold")
    runs = deed(finding)
    if runs.strip() and runs.strip() != request.command.strip():
        _row(console, "           runs    ", cut(safe(runs)))
    if finding.via:
        _row(console, "           through ", cut(safe(" ".join(finding.via))))
    if finding.affects:
        shown = len(finding.affects) if whole else _MAX_AFFECTED
        _row(console, "           affects ", cut(_listed(finding.affects, shown)))
    if finding.why:
        _row(console, "           why     ", escape(finding.why))


def _listed(names: Sequence[str] | dict[str, None], most: int) -> str:
    several = [safe(name) for name in names]
    more = [f"and {len(several) - most} more"] if len(several) > most else []
    return ", ".join([*several[:most], *more])


def _short(text: str) -> str:
    """Cut out the middle of what is too long to be shown at first, and say so."""
    if len(text) <= _MAX_RUN:
        return text
    half = _MAX_RUN // 2
    return f"{text[:half]} <{len(text) - 2 * half} characters more; e shows all> {text[-half:]}"


def _masked_lines(text: str) -> list[str]:
    return "".join(piece.text for piece in pieces(text, ())).split("\n")


def _draw_command(console: "Console", request: ApprovalRequest, limit: int | None) -> None:
    lines = _lines(request, whole=limit is None)
    hidden = 0
    for number, line in enumerate(lines):
        marked = any("reverse" in str(span.style) for span in line.spans)
        if limit is not None and number >= limit and not marked:
            hidden += 1
            continue
        _row(console, "  | ", line)
    if hidden:
        _row(console, "  ", f"({hidden} more lines without findings; e shows all)", style="bold")


def _lines(request: ApprovalRequest, *, whole: bool) -> "list[Text]":
    from rich.text import Text

    text = Text()
    for piece in pieces(request.command, request.findings):
        shown = piece.text
        if not whole and piece.kind != "masked" and len(shown) > _MAX_RUN:
            shown = "\n".join(map(_short, shown.split("\n")))
        text.append(shown, style=_STYLES[piece.kind])
    return list(text.split("\n", allow_blank=True))


def _row(console: "Console", head: str, text: "str | Text", *, style: str = "") -> None:
    """Print a text behind a head, as many lines as it takes, all of them indented: none looks like one of ours.

    Nothing is lost where a line is broken, blanks neither.
    """
    from rich.text import Text

    body = Text(text, style=style) if isinstance(text, str) else text
    narrow = console.width - len(head) < _LEAST_WIDTH
    width = max(_LEAST_WIDTH, console.width - (4 if narrow else len(head)))
    for number, line in enumerate(body.divide(_breaks(body.plain, width))):
        if narrow and not number:
            console.print(Text(head.rstrip() + ":", style="dim"))
        lead = "    " if narrow else head if not number or "|" in head else " " * len(head)
        console.print(Text.assemble((lead, "dim" if "|" in head else ""), line), soft_wrap=True)


def _breaks(text: str, width: int) -> list[int]:
    """Find where a text is to be broken so that no line is wider: behind a blank, else anywhere."""
    from rich.cells import get_character_cell_size

    breaks: list[int] = []
    start, used, blank = 0, 0, 0
    for at, char in enumerate(text):
        cells = get_character_cell_size(char)
        if used + cells > width:
            # A blank far to the left leaves half a line empty, and a path is easier to read in one piece.
            start = blank if blank > start else at
            breaks.append(start)
            used = sum(map(get_character_cell_size, text[start:at]))
        used += cells
        if char == " ":
            blank = at + 1
    return breaks
