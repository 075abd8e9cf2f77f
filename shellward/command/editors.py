"""Editors, pagers, debuggers and consoles: programs with a way out to the shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.operands import operands, unquoted

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


def _pager(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``less +!command``: what a pager is told to do when it starts."""
    for word in inv.argv[1:]:
        match = re.match(r"\+{1,2}(?:.*?)!(.+)", word)
        if match:
            t.run_text(match.group(1), inv.span, via=(*inv.via, inv.name))
    return None


def _editor(t: Tracer, inv: Invocation, _want: bool) -> str | None:  # noqa: C901
    """``vim -c ':!cmd'``, ``ex``, ``ed`` with commands on standard input."""
    argv = inv.argv
    scripts = [w[1:] for w in argv[1:] if w.startswith("+") and len(w) > 1]
    for at, word in enumerate(argv[:-1]):
        if word in {"--cmd", "-S"} or re.fullmatch(r"-\w*c", word):
            scripts.append(argv[at + 1])
    if inv.stdin and inv.name in {"ed", "ex", "red", "vi", "vim"}:
        scripts += inv.stdin.splitlines()[:200]
    writes = empties = False
    for script in scripts:
        text = script.strip().lstrip(":")
        shell = re.match(
            r"(?:silent!?\s+|[%\d,$.]+\s*)?(?:r\s*|w\s+)?!\s*(.+)|(?:call\s+)?system\(['\"](.*)['\"]\)",
            text,
            re.DOTALL,
        )
        if shell:
            t.run_text(shell.group(1) or shell.group(2), inv.span, via=(*inv.via, inv.name))
        code = re.match(r"(?:py3?|python3?|lua|ruby|perl)\s+(.*)", text, re.DOTALL)
        if code:
            t.run_code("python" if text.startswith("py") else text.split()[0], code.group(1), inv, [])
        for path, tree in re.findall(r"\bdelete\(\s*['\"]([^'\"]+)['\"]\s*(?:,\s*['\"](\w+)['\"])?", text)[:5]:
            t.child(inv, ["rm", *(["-r"] if "r" in tree else []), "--", path], 0)
        empties = empties or bool(re.match(r"(?:%|1,\$)\s*d\b", text))
        target = re.match(r"(?:w|wq|write|saveas|sav|x)!?\s+([^!\s].*)", text)
        if target:
            t.effect([">", t.state.path(target.group(1).strip())], inv.span)
        writes = writes or bool(re.match(r"(?:w|wq|x|xit|update|up|wa|wqa)!?$|.*\|\s*(?:w|wq|x)!?$", text))
    if writes:
        for path in _editor_files(argv):
            t.effect(["@empty" if empties else ">", t.state.path(path)], inv.span)
    return None


def _editor_files(argv: list[str]) -> list[str]:
    rest = operands(argv, "cSTuUW")
    return [word for word in rest if not word.startswith("+")]


def _sed(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``e`` runs, ``w`` writes."""
    scripts = [inv.argv[at + 1] for at, w in enumerate(inv.argv[:-1]) if w in {"-e", "--expression"}] or operands(
        inv.argv, "efl"
    )[:1]
    for script in scripts:
        if inv.stdin and re.fullmatch(r"\s*(?:\d*|\$)\s*e\s*", script):
            t.run_text(inv.stdin, inv.span, via=(*inv.via, "sed"))
        for match in re.finditer(r"(?:^|[;{\n]|(?<=[\d$/]))[ \t]*+e\s+([^\n;}]+)", script):
            t.run_text(match.group(1), inv.span, via=(*inv.via, "sed"))
        for match in re.finditer(r"(?:^|[;{\n/]|(?<=[\d$]))[ \t]*+[gpI\d]{0,8}[wW]\s+(\S[^\n;}]*)", script):
            t.effect([">", t.state.path(match.group(1).strip())], inv.span)
        flag = re.match(r"[^s]*s(.)(?:\\.|(?!\1)[^\\])*+\1((?:\\.|(?!\1)[^\\])*+)\1[gIpm\d]*e", script, re.DOTALL)
        if flag:
            t.run_text(re.sub(r"\\(\W)", r"\1", flag.group(2)), inv.span, via=(*inv.via, "sed"))
    return None


def _shell_escapes(pattern: str) -> Handler:
    """Make a handler for consoles in which some lines or arguments are given to a shell."""
    compiled = re.compile(pattern, re.MULTILINE)

    def handler(t: Tracer, inv: Invocation, _want: bool) -> str | None:
        for at, word in enumerate(inv.argv[1:], 1):
            path = word.partition("=")[2] if word.startswith("--file=") else ""
            if word in {"-f", "--file", "-i"} and at + 1 < len(inv.argv):
                path = inv.argv[at + 1]
            path = path or (match.group(1) if (match := re.match(r"(?:\.read|\\i|source)\s+(\S+)", word)) else "")
            content = t.state.files.get(t.state.path(path)) if path else None
            if content is not None:
                t.effect(["@sql", inv.name, content], inv.span)
        for text in [*inv.argv[1:], inv.stdin or ""]:
            if "!" in text or "shell" in text or "system" in text:
                for match in list(compiled.finditer(text))[:50]:
                    t.run_text(unquoted(match.group(1)), inv.span, via=(*inv.via, inv.name))
        return None

    return handler


def _gdb(t: Tracer, inv: Invocation, want: bool) -> str | None:
    argv = inv.argv
    for at, word in enumerate(argv[:-1]):
        if word in {"-ex", "-eval-command", "--eval-command", "-iex", "-o", "-O"}:
            text = argv[at + 1]
            shell = re.match(r"(?:!|shell|platform shell|process launch)\s*(.+)", text)
            code = re.match(r"(?:python|script|pi)\s+(.+)", text)
            if shell:
                t.run_text(shell.group(1), inv.span, via=(*inv.via, inv.name))
            if code:
                t.run_code("python", code.group(1), inv, [])
    if "--args" in argv:
        at = argv.index("--args") + 1
        return t.child(inv, argv[at:], at, want=want)
    return None


EDITORS: dict[str, Handler] = {
    **dict.fromkeys(["less", "more", "most"], _pager),
    "sqlite3": _shell_escapes(r"(?:^|\s)\.(?:shell|system)\s+(.+)$"),
    "psql": _shell_escapes(r"\\!\s*(.+)$|\\copy.*program\s+'([^']*)'"),
    "mysql": _shell_escapes(r"(?:^|;)\s*(?:\\!|system)\s+([^;\n]+)"),
    "ftp": _shell_escapes(r"^!(.+)$"),
    "lftp": _shell_escapes(r"(?:^|;)\s*!\s*([^;\n]+)"),
    "lldb": _gdb,
    "gdb": _gdb,
    "sed": _sed,
    "gsed": _sed,
    **dict.fromkeys(["vim", "vi", "nvim", "ex", "ed", "red", "view", "gvim", "vimdiff"], _editor),
}  # fmt: skip
"""Handlers by program."""
