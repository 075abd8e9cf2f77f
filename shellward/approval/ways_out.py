"""Ways out of programs that are no shells: what a line typed into an editor, a pager or a debugger would run. Pure.

A way out is told as the shell line that does the same. What cannot be told from the keys alone (a line from the
program's own history, a file that it would read commands from, a command that is not in its table) is told as unknown.
"""

import re
from collections.abc import Callable
from typing import Final

from shellward.command import consoles
from shellward.command.exkeys import MOST_LINES, MOST_TEXT, Ways, ex_command, filtering, vi_keys, writing

_VI: Final = (
    "vi",
    "vim",
    "nvim",
    "view",
    "vimdiff",
    "rvim",
    "rview",
    "gvim",
    "nvi",
    "elvis",
    "vim.basic",
    "vim.tiny",
    "vim.nox",
    "vim.gtk3",
)
_LESS: Final = ("less", "more", "man", "pg", "most", "lesspipe", "pager", "info", "tig")
_FAMILIES: Final = {
    **dict.fromkeys(_VI, "vi"),
    "ex": "ex",
    **dict.fromkeys(_LESS, "less"),
    **dict.fromkeys(("ed", "red", "telnet", "dc"), "ed"),
    **dict.fromkeys(("mail", "mailx", "s-nail", "mutt"), "mail"),
    **dict.fromkeys(("sftp", "ftp", "tnftp"), "ftp"),
    "lftp": "lftp",
    **dict.fromkeys(("gdb", "cgdb"), "gdb"),
    "lldb": "lldb",
    **dict.fromkeys(("sqlite3", "sqlite"), "sqlite"),
    "psql": "psql",
    **dict.fromkeys(("mysql", "mariadb"), "mysql"),
    "perl": "debugger",
}
_HISTORY: Final = re.compile(r"[\x00\x0e\x10\x12]")
"""Keys that fetch what was typed before; NUL stands for the sequence of an arrow or a function key."""
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])")
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0a-\x1f]")
_CODE: Final = "(?:py|pyt|pyth|pytho|python|py3|python3|pyx|pythonx|perl|pe|ruby|rub|lua)"
_VI_CODE: Final = re.compile(
    r":\s*[^:|]{0,40}?\b(?:cal|call|ec|echo|echom|exe|exec|execu|execut|execute|let|norm|normal|so|sou|sour|sourc|source|ru|runtime|"
    rf"au|autocmd|map|nmap|nn|nnoremap|im|imap|ino|inoremap|no|noremap|com|command|fu|function|py3?file|pyf|luafile|luaf|{_CODE})!?\s+(.*)"
)
_VI_CALLS: Final = re.compile(
    r"\b(?:system|systemlist|libcall|libcallnr|term_start|job_start|jobstart|termopen|writefile|delete|rename)\b|[:!@]"
)
_VI_OPTIONS: Final = re.compile(
    r":\s*se\w*\s.*\b(?:sh|shell|kp|keywordprg|ep|equalprg|fp|formatprg|mp|makeprg|gp|grepprg|shcf|shellcmdflag)="
)


def has_ways_out(program: str) -> bool:
    """Tell whether a program is one of those whose ways out are known.

    Args:
        program: its name, without a directory.
    """
    return program in _FAMILIES


def is_vi(program: str) -> bool:
    """Tell whether a program is vi or of its kin, a key of which may run what was typed before (``@a``)."""
    return _FAMILIES.get(program) in {"vi", "ex"}


def ways_out(program: str, keys: str, mode: str = "") -> Ways:
    """Find what a line would run.

    Args:
        program: the program's name, without a directory.
        keys: all that was typed since the last Enter, as it came.
        mode: what the program takes keys for, as the line before has left it.
    """
    family = _FAMILIES.get(program)
    text = _SEQUENCE.sub("\0", keys)
    if family is None:
        return Ways()
    if family == "vi":
        return _vi(text, mode)
    if family == "less":
        return _less(text)
    if _HISTORY.search(text) or "\x1b" in text or len(text) > MOST_TEXT:
        return Ways(unknown=True)
    return _BY_LINE[family](_edited(text))


def _edited(text: str) -> str:
    line: list[str] = []
    for key in text:
        if key == "\x15":
            line.clear()
        elif key == "\x7f":
            del line[-1:]
        elif not _UNSEEN.match(key):
            line.append(key)
    return "".join(line)


def _vi(text: str, mode: str) -> Ways:
    """Read keys as commands where they may be; what seems to be inserted is looked through for commands as well."""
    found, inserted = vi_keys(text, mode)
    guessed = _guessed(inserted)
    return Ways((*found.lines, *guessed.lines), found.unknown or guessed.unknown, found.mode)


def _guessed(text: str) -> Ways:
    """Look for commands in what is inserted: it is not, where a buffer cannot be changed or keys mean other things."""
    begin = re.search(r"[:!]", text)
    if begin is None:
        return Ways()
    command = text[begin.start() :]
    unknown = len(command) > MOST_TEXT
    command = command[:MOST_TEXT]
    lines: list[str] = []
    for found in re.finditer("!", command):
        rest = command[found.end() :]
        lines += [rest[skip:] for skip in range(4) if rest[skip:].strip()]  # behind a movement
        if len(lines) > MOST_LINES:
            return Ways(tuple(lines), unknown=True)
    if match := _VI_CODE.search(command):
        unknown = unknown or _VI_CALLS.search(match[1]) is not None or re.match(r"\s*:\s*so", command) is not None
    unknown = unknown or _VI_OPTIONS.search(command) is not None or "=system" in command
    return Ways(tuple(lines), unknown)


_LESS_MOVES: Final = re.compile(r"[\sjkgGdufbnNyezwFr\d\x00]*")


def _less(text: str) -> Ways:
    """Pagers: commands are keys, and begin anywhere. Escape gives a command up, unless it was quoted."""
    if not re.search(r"[\x0b\x11\x16]", text):
        text = re.split(r"[\x1b\x03]", text)[-1]
    moved = _LESS_MOVES.match(text)
    begin = moved.end() if moved else 0
    command = text[begin:]
    unknown = (_HISTORY.search(command) is not None and re.search(r"[!#|:=sSoO-]", command) is not None) or len(
        command
    ) > MOST_TEXT
    command = _edited(command[:MOST_TEXT])
    lines: list[str] = []
    if saved := re.match(r"(?:s|o|O|-+[oO]|-+(?:log-file|LOG-FILE)[=\s]?)(.+)", command):
        lines += [writing(saved[1].strip(" =\n"))]
    elif command.startswith(":exec"):
        lines += [command.removeprefix(":exec").strip()]
    for found in re.finditer(r"[!#|]", command):
        rest = command[found.end() :]
        given = [rest[skip:] for skip in range(4) if rest[skip:].strip()]  # behind a mark
        if command[found.start()] == "|":
            given += [filtering(each) for each in given[:2]]
        lines += given
        unknown = unknown or (not found.start() and _NAMED.search(rest) is not None)
        if len(lines) > MOST_LINES:
            return Ways(tuple(lines), unknown=True)
    return Ways(tuple(lines), unknown)


_NAMED: Final = re.compile(r"(?<!\\)[%!]|(?<!\\)#\B")
"""In a pager's command: the name of its file, or the command before."""

_BY_LINE: Final[dict[str, Callable[[str], Ways]]] = {
    "ex": ex_command, "ed": consoles.ed, "mail": consoles.mail, "ftp": consoles.ftp, "lftp": consoles.lftp,
    "gdb": consoles.gdb, "lldb": consoles.lldb, "sqlite": consoles.sqlite, "psql": consoles.psql,
    "mysql": consoles.mysql, "debugger": consoles.debugger,
}  # fmt: skip
