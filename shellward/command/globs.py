"""Shell patterns as regular expressions."""

from __future__ import annotations

import re


def glob_regex(pattern: str, *, greedy: bool = True) -> re.Pattern[str] | None:
    """Translate a shell pattern; None when it is too costly to match."""
    if len(pattern) > 80 or pattern.count("*") > 4:
        return None
    star = ".*" if greedy else ".*?"
    out: list[str] = []
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == "*":
            out.append(star)
        elif c == "?":
            out.append(".")
        elif c == "[" and (end := pattern.find("]", i + 2)) > 0:
            body = pattern[i + 1 : end].replace("\\", "\\\\").replace("[:alpha:", "A-Za-z").replace("[:digit:", "0-9")
            negated = body[0] in "!^"
            body = re.sub(r"([\[&|~])", r"\\\1", body[negated:])
            body = re.sub(r"-(?=-)", r"\\-", body)  # two hyphens: Python warns of a set difference to come
            out.append(f"[{'^' if negated else ''}{body}]")
            i = end
        elif c == "\\" and i + 1 < len(pattern):
            i += 1
            out.append(re.escape(pattern[i]))
        else:
            out.append(re.escape(c))
        i += 1
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error:
        return None
