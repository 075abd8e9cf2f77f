"""The prompt in a terminal: what would run, why it was stopped, and one key for the answer.

Reads keys from the controlling terminal only, and only those typed after the question was shown: what was
pasted or typed before is thrown away. Without a terminal there is nobody to ask, and the caller denies.
"""

import contextlib
import getpass
import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Final

from shellward.approval.context import Answer, ApprovalRequest
from shellward.approval.show import escape, pieces, safe
from shellward.core.gate import Finding

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES: Final = {"plain": "", "danger": "bold red reverse", "code": "yellow", "masked": "dim"}
_MAX_LINES: Final = 60
"""Lines of a command shown at first; ``e`` shows all of it."""
_MAX_RUN: Final = 400
"""Characters in a row without a finding that are shown at first: more would push the rest off the screen."""
_MAX_FINDINGS: Final = 10
"""Findings shown at first, the worst ones."""
_TERMINAL: Final = threading.Lock()
"""A program has one terminal: questions of several threads come one after the other."""
_CTRL_C: Final = "\x03"
_CTRL_D: Final = "\x04"


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
        output: where to draw instead of standard error.

    Returns:
        The answer; ``nobody`` when there is no terminal, time is up, or it was withdrawn.
    """
    if not has_terminal():
        return Answer("nobody", note="standard input is not a terminal")
    keys = _Keys(sys.stdin.fileno(), cancel_fd, time.monotonic() + request.timeout)
    if not _TERMINAL.acquire(timeout=request.timeout):
        return Answer("nobody", note=f"no answer within {request.timeout:g} seconds")
    try:
        with _one_key_at_a_time(keys.fd):
            return _ask(request, keys, output or sys.stderr)
    finally:
        _TERMINAL.release()


def _ask(request: ApprovalRequest, keys: "_Keys", output: IO[str]) -> Answer:
    from rich.console import Console

    console = Console(file=output, highlight=False, markup=False, emoji=False)
    draw(console, request)
    while (key := keys.read()) is not None:
        answer = _answer(key, request, console)
        if answer is None:
            continue
        if answer.scope == "always" and not _confirmed(keys, request, answer, console):
            draw_keys(console, request)
            continue
        console.print(f"allowed ({answer.scope})" if answer.kind == "allow" else "denied", style="bold")
        return answer
    console.print("no answer: denied", style="bold")
    return Answer("nobody", note=f"no answer within {request.timeout:g} seconds")


def _answer(key: str, request: ApprovalRequest, console: "Console") -> Answer | None:
    by = whoami()
    if key in {"o", "y"}:
        return Answer("allow", "once", by=by)
    if key == "s":
        return Answer("allow", "session", by=by)
    if key == "a":
        return Answer("allow", "always", by=by)
    if key in {"n", "N"} and request.part:
        return Answer("allow", "session" if key == "n" else "always", part=True, by=by)
    if key in {"d", "q", _CTRL_C, _CTRL_D, "\x1b"}:
        return Answer("deny", by=by)
    if key == "e":
        explain(console, request)
        draw_keys(console, request)
    return None


def _confirmed(keys: "_Keys", request: ApprovalRequest, answer: Answer, console: "Console") -> bool:
    """Ask once more before something is remembered for good."""
    what = request.part if answer.part else request.exact
    console.print(f"  remember for good: {_short(safe(what))}\n  [y] yes  [any other key] no", style="bold")
    return keys.read() == "y"


def whoami() -> str:
    """Name the person at this terminal, for the record."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.getuid()}"
    with contextlib.suppress(OSError, AttributeError, ValueError):
        return f"{name}@{os.ttyname(sys.stdin.fileno()).removeprefix('/dev/')}"
    return name


@contextlib.contextmanager
def _one_key_at_a_time(fd: int) -> Iterator[None]:
    old = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSAFLUSH)  # flush: keys typed before the question are no answer to it
        mode = termios.tcgetattr(fd)
        mode[3] &= ~termios.ISIG  # Ctrl-C is an answer (deny), not a way to leave the terminal in disorder
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, old)


class _Keys:
    """Single keys from a terminal, until a deadline or until the question is withdrawn."""

    def __init__(self, fd: int, cancel_fd: int | None, deadline: float) -> None:
        self.fd = fd
        self._cancel_fd = cancel_fd
        self._deadline = deadline

    def read(self) -> str | None:
        """Wait for one key; None when time is up, the question was withdrawn, or the terminal is gone."""
        watched = [self.fd] if self._cancel_fd is None else [self.fd, self._cancel_fd]
        left = self._deadline - time.monotonic()
        ready = select.select(watched, [], [], left)[0] if left > 0 else []
        if self.fd not in ready or self._cancel_fd in ready:
            return None
        try:
            data = os.read(self.fd, 1024)
        except OSError:
            return None
        if not data:
            return None
        # A key that sends several bytes (an arrow, a paste) is no answer.
        return data.decode("ascii", "replace") if len(data) == 1 else ""


def draw(console: "Console", request: ApprovalRequest) -> None:
    """Print the question."""
    context = request.context
    console.print()
    console.print("Shellward: a command needs your approval", style="bold yellow")
    _draw_command(console, request, _MAX_LINES)
    worst = sorted(request.findings, key=lambda finding: -finding.severity)
    _draw_findings(console, request, worst[:_MAX_FINDINGS])
    if len(worst) > _MAX_FINDINGS:
        console.print(f"  ({len(worst) - _MAX_FINDINGS} more findings; [e] shows all)", style="bold")
    where = " ".join(filter(None, (context.backend, safe(context.target))))
    console.print(f"  in       {where}{f', {safe(context.cwd)}' if context.cwd else ''}")
    console.print(f"  reaches  {', '.join(request.reach) or 'nothing outside'}")
    if context.reason:
        console.print(f'  the agent says: "{safe(context.reason[:500])}"', style="italic")
    draw_keys(console, request)


def _draw_findings(console: "Console", request: ApprovalRequest, findings: Sequence[Finding]) -> None:
    for finding in findings:
        console.print(f"  {finding.severity.name.lower():8} {escape(finding.description)} ({escape(finding.rule)})")
        if finding.inner and finding.inner.strip() != request.command.strip():
            console.print(f"           runs    {safe(finding.inner[:500])}")
        if finding.via:
            console.print(f"           through {_short(safe(' '.join(finding.via)))}")
        if finding.affects:
            affects = ", ".join(safe(target) for target in finding.affects[:20])
            console.print(f"           affects {_short(affects)}")
        if finding.why:
            console.print(f"           why     {escape(finding.why)}")


def _short(text: str) -> str:
    """Cut out the middle of what is too long to be shown at first, and say so."""
    if len(text) <= _MAX_RUN:
        return text
    half = _MAX_RUN // 2
    return f"{text[:half]} <{len(text) - 2 * half} characters more; [e] shows all> {text[-half:]}"


def draw_keys(console: "Console", request: ApprovalRequest) -> None:
    """Print what each key means, with what would be remembered."""
    console.print("  [o] once  [s] this session  [a] always  [d] deny  [e] explain", style="bold")
    if request.exact:
        console.print(f"      s, a remember {_short(safe(request.exact))}")
    if request.part:
        console.print(f"  [n] this session, [N] always: {_short(safe(request.part))}")


def explain(console: "Console", request: ApprovalRequest) -> None:
    """Print everything: the whole command, and what it would really run."""
    _draw_command(console, request, None)
    console.print("  what the shell would run:", style="bold")
    for line in _masked_lines(request.normalized):
        console.print(f"  | {line}")
    _draw_findings(console, request, request.findings)


def _masked_lines(text: str) -> list[str]:
    return "".join(piece.text for piece in pieces(text, ())).split("\n")


def _draw_command(console: "Console", request: ApprovalRequest, limit: int | None) -> None:
    from rich.text import Text

    lines = _lines(request, whole=limit is None)
    hidden = 0
    for number, line in enumerate(lines):
        marked = any("reverse" in str(span.style) for span in line.spans)
        if limit is not None and number >= limit and not marked:
            hidden += 1
            continue
        console.print(Text.assemble(("  | ", "dim"), line), soft_wrap=True)
    if hidden:
        console.print(f"  ({hidden} more lines without findings; [e] shows all)", style="bold")


def _lines(request: ApprovalRequest, *, whole: bool) -> "list[Text]":
    from rich.text import Text

    text = Text()
    for piece in pieces(request.command, request.findings):
        shown = piece.text
        if not whole and piece.kind != "masked" and len(shown) > _MAX_RUN:
            shown = "\n".join(map(_short, shown.split("\n")))
        text.append(shown, style=_STYLES[piece.kind])
    return list(text.split("\n", allow_blank=True))
