"""Standard input that is program text and comes bit by bit: each line passes the gate before it is sent."""

from collections.abc import Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING

from shellward.approval.brought import Look
from shellward.approval.detect import Detection
from shellward.approval.inner import deed

if TYPE_CHECKING:
    from shellward.core.gate import Finding


class TypedInput:
    """Holds back what a shell or an interpreter is to read until it may. Called by one thread.

    All lines so far are judged together, as the program that they are: what one of them defines, a later one
    uses. Answers given for a finding hold for the rest of this input.

    Args:
        look: looks at the command with so much of its input.
        decide: decides about what was found; raises ApprovalDenied.
        allowed: the findings that were allowed before it began.
        whole_lines: hold back what is no whole line yet; else it is judged as it stands, and again when there is more.
        by_caller: whoever types calls this himself, so his callbacks answer; else a thread of ours does, and those
            of who has made this answer.
    """

    def __init__(
        self,
        look: Callable[[str], Look],
        decide: Callable[[Detection], object],
        allowed: tuple["Finding", ...],
        *,
        whole_lines: bool = True,
        by_caller: bool = False,
    ) -> None:
        self._whole_lines = whole_lines
        self._look = look
        self._decide = decide
        self._allowed = {deed(finding) for finding in allowed}
        self._text: list[str] = []
        self._held = b""
        self._context: Context | None = None if by_caller else copy_context()

    def __call__(self, data: bytes) -> bytes:
        """Take what came; return what may be sent. Empty data is the end: what was held back comes then.

        Raises:
            ApprovalDenied: a line may not run; nothing of it was sent.
        """
        data = self._held + data
        end = data.rfind(b"\n") + 1 if self._whole_lines and len(data) > len(self._held) else len(data)
        self._held = data[end:]
        whole = data[:end]
        if whole:
            self._text.append(whole.decode("utf-8", "surrogateescape"))
            try:
                if self._context is None:
                    self._judge()
                else:
                    self._context.run(self._judge)
            except BaseException:
                self._text.pop()  # it is not sent, so it is no part of what was
                raise
        return whole

    def check(self, data: bytes) -> None:
        """Judge what would run if it ended here, without taking it: more of it may come.

        Raises:
            ApprovalDenied: it may not run.
        """
        self._text.append(data.decode("utf-8", "surrogateescape"))
        try:
            self._judge()
        finally:
            self._text.pop()

    def _judge(self) -> None:
        detection = self._look("".join(self._text)).detection
        new = tuple(finding for finding in detection.findings if deed(finding) not in self._allowed)
        self._decide(detection.only(new))
        self._allowed |= {deed(finding) for finding in new}
