"""Show what changed, as a unified diff that ``applying`` takes back."""

import difflib

from shellward.terminal_tool.patching.model import Text


def diff(old: str | None, new: str | None, path: str, *, context: int = 3) -> str:
    """Return the unified diff from ``old`` to ``new``; empty when they are the same.

    Args:
        old: the text before; None when there was no file.
        new: the text after; None when there is none any more.
        path: what the file is called.
        context: lines around each change.
    """
    before, after = Text.of(old or ""), Text.of(new or "")
    source = "/dev/null" if old is None else f"a/{path}"
    target = "/dev/null" if new is None else f"b/{path}"
    lines = difflib.unified_diff(_marked(before), _marked(after), source, target, n=context, lineterm="")
    return "".join(line.replace(_MARK, "\n\\ No newline at end of file") + "\n" for line in lines)


_MARK = "\0no newline"
"""Put behind a last line without an end, so that it differs from the same line with one."""


def _marked(text: Text) -> list[str]:
    lines = list(text.lines)
    if lines and not text.newline:
        lines[-1] += _MARK
    return lines
