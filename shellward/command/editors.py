"""Editors, pagers, debuggers and consoles: programs with a way out to the shell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.loading import seek
from shellward.command.operands import operands, unquoted
from shellward.command.values import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shellward.command.exkeys import Ways
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


_WRITES = "cat buffer >"
_CALLS_BY_NAME = re.compile(
    r"\bexe\w*\s+(?:[^'\"\s]|.*['\"]\s*\.)|\bcall\s*\(|\bfunc(?:tion|ref)\s*\(|=>|\b(?:libcall(?:nr)?|systemlist|rename|writefile)\s*\("
    r"|\b(?:system|delete)\s*\(\s*[^'\"\s]|\b(?:system|delete)\s*\([^()]*['\"]\s*\."
    r"|\b(?:term_start|job_start|jobstart|termopen|eval)\s*\("
)
"""What calls, in a script of vi's, whatever text or name it is given."""
_EXECUTES = re.compile(r"exe\w*\s+(?:'((?:[^']|'')*)'|\"([^\"\\]*)\")\s*\Z")


def _out(t: Tracer, inv: Invocation, told: Iterable[Ways], *, writes: bool = True) -> None:
    """Follow what lines of a program run outside of it."""
    lines = dict.fromkeys(line for ways in told for line in ways.lines)
    for line in [line for line in lines if writes or not line.startswith(_WRITES)][:_MOST_OUT]:
        if line.strip():
            t.run_text(unquoted(line), inv.span, via=(*inv.via, inv.name))


_MOST_OUT = 100
"""So many lines that programs run outside of themselves are followed."""


def _pager(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``less +!command``: what a pager is told to do when it starts."""
    for word in inv.argv[1:]:
        match = re.match(r"\+{1,2}(?:.*?)!(.+)", word)
        if match:
            t.run_text(match.group(1), inv.span, via=(*inv.via, inv.name))
    return None


def _editor(t: Tracer, inv: Invocation, _want: bool) -> str | None:  # noqa: C901, PLR0912
    """``vim -c ':!cmd'``, ``ex``, ``ed`` with commands on standard input."""
    argv = inv.argv
    scripts = [w[1:] for w in argv[1:] if w.startswith("+") and len(w) > 1]
    for at, word in enumerate(argv[:-1]):
        if word in {"--cmd", "-S"} or re.fullmatch(r"-\w*c", word):
            scripts.append(argv[at + 1])
        if word in {"-S", "-s", "-u", "-U"}:
            scripts += (seek(t.state, argv[at + 1]) or "").splitlines()[:_MOST_LINES]
    if inv.stdin and inv.name in {"ed", "ex", "red", "vi", "vim"}:
        scripts += inv.stdin.splitlines()[:200]
    writes = empties = False
    for script in scripts:
        text = script.strip().lstrip(":")
        if given := _EXECUTES.match(text):
            text = (given[1] or given[2] or "").strip().lstrip(":")
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
        # Input of ed and scripts of vi are not told from text that they insert: it is what they run that counts.
        told = _reader("ed" if inv.name in {"ed", "red"} else "ex_command")(text)
        _out(t, inv, [told], writes=target is None)
        if _CALLS_BY_NAME.search(text) and told.unknown:
            t.effect(["@run", "sh", "piped", f"file:{inv.name}"], inv.span)
        writes = writes or bool(re.match(r"(?:w|wq|x|xit|update|up|wa|wqa)!?$|.*\|\s*(?:w|wq|x)!?$", text))
    if writes:
        for path in _editor_files(argv):
            t.effect(["@empty" if empties else ">", t.state.path(path)], inv.span)
    return None


def _editor_files(argv: list[str]) -> list[str]:
    rest = operands(argv, "cSTuUW")
    return [word for word in rest if not word.startswith("+")]


_MOST_LINES = 400
"""So many lines of a file of commands are followed."""


def _of_options(t: Tracer, inv: Invocation, *options: str) -> list[str]:
    """List what the files hold that options name: ``-f file``, ``-ffile``, ``--file=file``."""
    found = []
    for at, word in enumerate(inv.argv[1:], 1):
        for option in options:
            path = "".join(inv.argv[at + 1 : at + 2]) if word == option else ""
            if word.startswith(f"{option}="):
                path = word[len(option) + 1 :]
            elif len(option) == 2 and word.startswith(option):
                path = path or word[2:]
            if path and (text := seek(t.state, path)):
                found.append(text)
    return found


def _sed(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``e`` runs, ``w`` writes."""
    files = _of_options(t, inv, "-f", "--file")
    scripts = [inv.argv[at + 1] for at, w in enumerate(inv.argv[:-1]) if w in {"-e", "--expression"}] or operands(
        inv.argv, "efl"
    )[:1]
    for script in [*scripts, *files]:
        if inv.stdin and re.fullmatch(r"\s*(?:\d*|\$)\s*e\s*", script):
            t.run_text(inv.stdin, inv.span, via=(*inv.via, "sed"))
        for match in re.finditer(r"(?:^|[;{\n]|(?<=[\d$/]))[ \t]*+e\s+([^\n;}]+)", script):
            t.run_text(match.group(1), inv.span, via=(*inv.via, "sed"))
        for match in re.finditer(r"(?:^|[;{\n/]|(?<=[\d$]))[ \t]*+[gpI\d]{0,8}[wW]\s+(\S[^\n;}]*)", script):
            t.effect([">", t.state.path(match.group(1).strip())], inv.span)
        flag = re.match(r"[^s]*s(.)(?:\\.|(?!\1)[^\\])*+\1((?:\\.|(?!\1)[^\\])*+)\1[gIpm\d]*e", script, re.DOTALL)
        if flag and re.search(r"&|\\\d", flag.group(2)):  # what is read is run
            t.effect(["@run", "sh", "piped", "file:sed"], inv.span)
        elif flag and re.match(r"[^s]*s(.)(?:\^|\.\*|\$)\1", script):
            t.run_text(flag.group(2) + unknown("file", "sed"), inv.span, via=(*inv.via, "sed"))
        elif flag:
            t.run_text(re.sub(r"\\(\W)", r"\1", flag.group(2)), inv.span, via=(*inv.via, "sed"))
    return None


def _reader(name: str) -> Callable[[str], Ways]:
    """Return who reads lines of a program; the tables of programs take longer to load than most commands to judge."""
    from shellward.command import consoles

    found: Callable[[str], Ways] = getattr(consoles, name)
    return found


def _in_pieces(lines: list[str]) -> Iterator[str]:
    """Cut what is very long into pieces that overlap: some expressions look back and forth within a line."""
    for line in lines:
        for start in range(0, max(1, len(line)), _PIECE):
            yield line[start : start + _PIECE + _OVERLAP]


_PIECE = 2048
_OVERLAP = 512


def _shell_escapes(name: str) -> Handler:
    """Make a handler for consoles in which some lines or arguments are given to a shell."""

    def handler(t: Tracer, inv: Invocation, _want: bool) -> str | None:
        files: list[str] = []
        for at, word in enumerate(inv.argv[1:], 1):
            path = word.partition("=")[2] if word.startswith("--file=") else ""
            if word in {"-f", "--file", "-i", "-init"} and at + 1 < len(inv.argv):
                path = inv.argv[at + 1]
            path = path or (match.group(1) if (match := re.match(r"(?:\.read|\\i|source)\s+(\S+)", word)) else "")
            content = seek(t.state, path) if path else None
            if content is not None:
                t.effect(["@sql", inv.name, content], inv.span)
                files.append(content)
        for text in [*inv.argv[1:], inv.stdin or "", *files]:
            if _REACHES_OUT.search(text):
                _out(t, inv, map(_reader(name), _in_pieces(text.splitlines()[:_MOST_LINES])))
        return None

    return handler


_REACHES_OUT = re.compile(
    r"[!|`]|^\s*\.\s*\w|\\[A-Za-z]|system|shell|program|pager|tee|writefile|into\s|\bget|recv|copy",
    re.IGNORECASE | re.MULTILINE,
)
"""What a text has in it when it may reach out of its program; most have not."""


def _gdb(t: Tracer, inv: Invocation, want: bool) -> str | None:
    argv = inv.argv
    files = _of_options(t, inv, "-x", "-command", "--command", "-ix", "-s", "-S", "--source")
    lines = [line.strip() for text in files for line in text.splitlines()[:_MOST_LINES]]
    if inv.stdin:
        lines += inv.stdin.splitlines()[:_MOST_LINES]
    for at, word in enumerate([*argv[:-1], *[""] * len(lines)]):
        given = at >= len(argv) - 1
        if given or word in {"-ex", "-eval-command", "--eval-command", "-iex", "-o", "-O"}:
            text = lines[at - len(argv) + 1] if given else argv[at + 1]
            told = _reader("lldb" if inv.name == "lldb" else "gdb")(text)
            _out(t, inv, [told])
            if told.unknown and _PUT_TOGETHER.match(text):
                t.effect(["@run", "sh", "piped", f"file:{inv.name}"], inv.span)
    if "--args" in argv:
        at = argv.index("--args") + 1
        return t.child(inv, argv[at:], at, want=want)
    return None


_PUT_TOGETHER = re.compile(
    r"\s*(?:ev(?:a|al)?\s.*(?:%|she|!)|interp\S*\s.*(?:she|!|py)|alias\s.*=\s*(?:she|!|py)|(?:guile|gu)\s)"
)
"""Commands of gdb whose text runs as another command."""


EDITORS: dict[str, Handler] = {
    **dict.fromkeys(["less", "more", "most"], _pager),
    **dict.fromkeys(["sqlite3", "sqlite"], _shell_escapes("sqlite")),
    "psql": _shell_escapes("psql"),
    **dict.fromkeys(["mysql", "mariadb"], _shell_escapes("mysql")),
    **dict.fromkeys(["ftp", "tnftp", "sftp"], _shell_escapes("ftp")),
    "lftp": _shell_escapes("lftp"),
    "lldb": _gdb,
    "gdb": _gdb,
    "sed": _sed,
    "gsed": _sed,
    **dict.fromkeys(["vim", "vi", "nvim", "ex", "ed", "red", "view", "gvim", "vimdiff"], _editor),
}  # fmt: skip
"""Handlers by program."""
