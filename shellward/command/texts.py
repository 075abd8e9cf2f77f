"""Builtins that are given text which the shell runs, now or later: callbacks, key bindings, history, subscripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.escapes import unescape_ansi
from shellward.command.operands import operands, short_values, unquoted
from shellward.command.values import unknown

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


def subscripts(t: Tracer, inv: Invocation) -> None:
    """Follow ``test -v 'a[$(cmd)]'``, ``let 'a[$(cmd)]=1'`` and their like: a subscript is expanded once more."""
    for word in inv.argv[1:]:
        t.subscript(word, inv.span)


def _let(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    subscripts(t, inv)
    return ""


def _test(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    subscripts(t, inv)
    return None


def _getopts(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``getopts letters name words``: the first letter that the words give, with its value."""
    if len(inv.argv) < 3:
        return ""
    words = inv.argv[3:] or t.state.positional
    first = words[0] if words else ""
    given = first[1] if len(first) > 1 and first[0] == "-" else ""
    known = given if given and given in inv.argv[1] else ""
    t.state.assign(inv.argv[2], known or unknown("var", "getopts"))
    if known and f"{known}:" in inv.argv[1]:
        t.state.assign("OPTARG", first[2:] or "".join(words[1:2]))
    return ""


def _completes(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``compgen -C cmd``, ``compgen -W words``, ``complete -C cmd name``."""
    for letter, value in short_values(inv.argv, "CWF"):
        if letter == "C":
            t.run_text(value, inv.span, via=(*inv.via, inv.name))
        elif letter == "W" and ("$(" in value or "`" in value):
            t.run_text(f'echo "{value}"', inv.span, via=(*inv.via, inv.name))
        elif letter == "F" and value in t.state.functions:
            t.child(inv, [value], 0, want=want)
    return None


def _bind(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    r"""``bind -x '"key": cmd'``: a key that runs a command; ``bind '"key":"text\n"'``: one that types it."""
    if not any(re.match(r"-[a-zA-Z]*x", word) for word in inv.argv[1:]):
        for word in inv.argv[1:]:
            typed = re.match(r"\s*(?:\"(?:[^\"\\]|\\.)*+\"|[^\s:]+)\s*:\s*([\"'])(.*?)\1?\s*\Z", word, re.DOTALL)
            if typed:  # readline's escapes: \C-m is Enter
                text = re.sub(r"\\(?:C-|[mM]-|e).?", "\n", typed[2])
                t.run_text(unescape_ansi(text), inv.span, via=(*inv.via, inv.name))
    for _, value in short_values(inv.argv, "x"):
        key = re.match(r"\s*(?:\"(?:[^\"\\]|\\.)*\"|[^\s:]+)\s*:\s*(.+)", value, re.DOTALL)
        if key:
            t.run_text(unquoted(key.group(1)), inv.span, via=(*inv.via, inv.name))
    return None


def _history(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``history -s text`` puts a line there, and ``fc`` may run it."""
    if "-s" in inv.argv:
        t.state.put(t.state.files, _LAST_LINE, " ".join(inv.argv[inv.argv.index("-s") + 1 :]))
    return None


_LAST_LINE = ".history#last"


def _fc(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``fc -s old=new``, ``fc -e - first``: a line of the history runs again; only lists with ``-l``."""
    options = [word for word in inv.argv[1:] if word.startswith("-")]
    if any("l" in word for word in options):
        return None
    last = t.state.files.get(_LAST_LINE)
    if last is None:
        t.effect(["@run", "sh", "history"], inv.span)
        return ""
    for word in operands(inv.argv, "e"):
        old, equals, new = word.partition("=")
        last = last.replace(old, new, 1) if equals and old else last
    t.run_text(last, inv.span, via=(*inv.via, "fc"))
    return ""


TEXTS: dict[str, Handler] = {
    "let": _let, "test": _test, "[": _test, "getopts": _getopts, "compgen": _completes, "complete": _completes,
    "bind": _bind, "history": _history, "fc": _fc,
}  # fmt: skip
"""Handlers by builtin."""
