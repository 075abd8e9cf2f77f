"""Builtins of the shell that change what later words mean: cd, export, read, eval, source, trap, ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.loading import texts
from shellward.command.operands import has, operands, short_values
from shellward.command.outputs import FILTERS
from shellward.command.texts import TEXTS, subscripts
from shellward.command.trees import runs_from_tree
from shellward.command.values import decimal, unknown
from shellward.command.wordreader import STDIN_PATHS

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


_MARKER = re.compile("\ue000[^\ue001]*\ue001")
"""What is unknown (values.py): its text is not to be split."""
_HELD = "\ue011"


def _cd(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    rest = [word for word in inv.argv[1:] if word == "-" or not re.fullmatch(r"-[LPe@]+|--", word)]
    if inv.name == "popd":
        t.state.chdir("-")
    elif rest:
        t.state.chdir(rest[0])
    elif inv.name == "cd":
        t.state.chdir("~")
    return ""


def _declare(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    flags = "".join(word[1:] for word in inv.argv[1:] if word.startswith("-"))
    for word in inv.argv[1:]:
        t.subscript(word, inv.span)
        name, equals, value = word.partition("=")
        if not equals or word.startswith("-"):
            continue
        if inv.name == "alias":
            t.state.put(t.state.aliases, name, value)
        elif "n" in flags and inv.name in {"declare", "typeset", "local"}:
            t.state.put(t.state.refs, name, value)
        else:
            t.state.assign(name.rstrip("+"), value)
            t.command_variable(name, value, inv.span)
    return None if "p" in flags or len(inv.argv) == 1 else ""


def _unset(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    functions = "-f" in inv.argv
    subscripts(t, inv)
    for word in inv.argv[1:]:
        if inv.name == "unalias":
            t.state.drop(t.state.aliases, word)
        elif not word.startswith("-"):
            t.state.drop(t.state.vars, word)
            if functions:
                t.state.drop(t.state.functions, word)
    return ""


def _set(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    if "--" in inv.argv:
        t.state.positional = inv.argv[inv.argv.index("--") + 1 :]
    elif len(inv.argv) > 1 and not inv.argv[1].startswith(("-", "+")):
        t.state.positional = inv.argv[1:]
    return None


def _shift(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    count = decimal(inv.argv[1]) if len(inv.argv) > 1 and inv.argv[1].isdecimal() else 1
    t.state.positional = t.state.positional[count:]
    return ""


def _eval(t: Tracer, inv: Invocation, want: bool) -> str | None:
    text = " ".join(inv.argv[1:])
    span = inv.spans[1] if inv.spans and len(inv.spans) == 2 else inv.span
    return t.run_text(text.removeprefix("-- "), span, stdin=inv.stdin, want=want)


def _source(t: Tracer, inv: Invocation, want: bool) -> str | None:
    rest = [word for word in inv.argv[1:] if word != "--"]
    if not rest:
        return ""
    path = t.state.path(rest[0])
    if path in STDIN_PATHS and inv.stdin is not None:
        return t.run_code("sh", inv.stdin, inv, rest[1:], want=want)
    if path not in STDIN_PATHS and (found := texts(t.state, rest[0])):
        return "".join([_read_in(t, inv, at, text, rest[1:], want=want) for at, text in found])
    if t.state.trees:
        runs_from_tree(t, inv, rest[0])
    return None


def _read_in(  # as run_code()
    t: Tracer, inv: Invocation, path: str, text: str, args: list[str], *, want: bool
) -> str:
    """Follow a file that the shell reads; one that reads itself adds nothing."""
    mark = f"./{path}"
    if mark in t.state.calls:
        return ""
    t.state.calls.append(mark)
    printed = t.run_code("sh", text, inv, args, want=want)
    t.state.calls.pop()
    return printed


def _trap(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    rest = [word for word in inv.argv[1:] if word not in {"--", "-l", "-p"}]
    if len(rest) > 1 and rest[0] not in {"-", ""}:
        t.deferred.append((rest[0], inv.spans[1] if inv.spans and len(inv.spans) > 1 else inv.span))
    return ""


def _read(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    text = inv.stdin
    subscripts(t, inv)
    rest = operands(inv.argv, "cCdinNpuOs" if inv.name in {"mapfile", "readarray"} else "dinNptu")
    names = rest or ["REPLY"]
    if inv.name in {"mapfile", "readarray"}:
        given = dict(short_values(inv.argv, "dC"))
        mark = given.get("d")
        if "C" in given:
            t.run_text(given["C"], inv.span, via=(*inv.via, inv.name))
        whole = text or unknown("in")
        pieces = whole.splitlines() if mark is None else whole.split(mark[:1] or "\0")
        t.state.assign(rest[0] if rest else "MAPFILE", [piece.rstrip("\n") for piece in pieces if piece][:256])
        return ""
    if text is None:
        for name in names:
            t.state.assign(name, unknown("in", "read"))
        return ""
    line = text.split("\0" if "-d" in inv.argv else "\n", 1)[0]
    separators = t.state.get("IFS")
    split = separators if isinstance(separators, str) and separators.strip() else None
    markers = _MARKER.findall(line)
    line = _MARKER.sub(_HELD, line)
    if has(inv.argv, "a"):
        pieces = line.split() if split is None else re.split("[" + re.escape(split) + "]", line)
    elif split is None:
        pieces = line.split(None, len(names) - 1) if len(names) > 1 else [line.strip()]
    else:
        pieces = re.split("[" + re.escape(split) + "]", line, maxsplit=len(names) - 1) if len(names) > 1 else [line]
    held = iter(markers)
    pieces = [re.sub(_HELD, lambda _: next(held), piece) for piece in pieces[:256]]
    if has(inv.argv, "a"):
        t.state.assign(names[-1], pieces)
        return ""
    missing = unknown("in", "read") if markers else ""
    for at, name in enumerate(names):
        t.state.assign(name, pieces[at] if at < len(pieces) else missing)
    return ""


def _printf(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    subscripts(t, inv)
    if inv.argv[1:2] == ["-v"] and len(inv.argv) > 3:
        t.state.assign(inv.argv[2], FILTERS["printf"](["printf", *inv.argv[3:]], None, t.state))
        return ""
    return None


def _hash(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    if inv.argv[1:2] == ["-p"] and len(inv.argv) > 3:
        t.state.put(t.state.aliases, inv.argv[3], inv.argv[2])
    return ""


def _wait(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    subscripts(t, inv)
    return ""


BUILTINS: dict[str, Handler] = {
    "cd": _cd, "pushd": _cd, "popd": _cd, "export": _declare, "declare": _declare, "typeset": _declare, "local": _declare,
    "readonly": _declare, "alias": _declare, "unset": _unset, "unalias": _unset, "set": _set, "shift": _shift,
    "eval": _eval, "source": _source, ".": _source, "trap": _trap, "read": _read, "mapfile": _read, "readarray": _read,
    "printf": _printf, "hash": _hash, "wait": _wait, **TEXTS,
}  # fmt: skip
"""Handlers by builtin."""
