"""Lines of debuggers, database clients and their like: what each would run outside of its program. Pure.

For programs whose commands may be anything, those that stay inside are listed, and what is not listed is unknown.
Names may be shortened as far as each program allows it.
"""

import re
from typing import Final

from shellward.command.exkeys import MOST_LINES, Ways, ex_command, filtering, quoted, spelled, writing

__all__ = ["debugger", "ed", "ex_command", "ftp", "gdb", "lftp", "lldb", "mail", "mysql", "psql", "sqlite"]


def _found(patterns: tuple[re.Pattern[str], ...], line: str) -> tuple[str, ...]:
    matches = [match for pattern in patterns for match in pattern.finditer(line)]
    return tuple(text for match in matches for text in match.groups() if text and text.strip())


def _words(line: str) -> list[str]:
    return [word.strip("'\"") for word in line.split()]


def _output(words: str) -> tuple[str, ...]:
    """Say what sending output to words does: a pipe, a file, or nothing."""
    words = words.strip().strip("'\"").strip()
    if words.startswith("|"):
        return (filtering(words[1:].strip()),)
    return (writing(words),) if words else ()


# -- ed, and programs with ! ----------------------------------------------------------------------------

_ED_FILE: Final = re.compile(r"(?:^|[\d$.%,;/'?a-z])\s*(?:wq?|W|[eEf])\s+([^\s!].*)")
_ED_READS: Final = re.compile(r"^[\d$.%,;+'/?a-z\s-]*wq?\s*!(.+)")


def ed(line: str) -> Ways:
    """Lines of ed; what is inserted is not told from commands."""
    lines = tuple(line[found.end() :] for found in re.finditer(r"[!|]", line))[:MOST_LINES]
    lines += tuple(filtering(found[1]) for found in _ED_READS.finditer(line))
    lines += tuple(writing(found[1].strip()) for found in _ED_FILE.finditer(line))
    return Ways(lines, unknown=re.match(r"\s*[\d$.,;%]*\s*(?:wq?|r|[eEf])?\s*!.*(?<!\\)[!%]", line) is not None)


_MAILS: Final = re.compile(r"^\s*~?(?:s|sa|save|w|wr|write|co|copy|S|Save|C|Copy)\s+(?:.*\s)?(\S+)$")
_MAIL_RUNS: Final = re.compile(r"^\s*(?:sh|she|shel|shell|pi|pipe)\s+(.+)")
_MAIL_UNKNOWN: Final = re.compile(r"^\s*(?:se|set|so|source|fold\w*|~[:_<dFfiMmRr]\S*)(?:\s|\Z).*")


def mail(line: str) -> Ways:
    """Lines of mail."""
    found = ed(line)
    more = tuple(writing(each[1]) for each in _MAILS.finditer(line)) + _found((_MAIL_RUNS,), line)
    return Ways(found.lines + more, found.unknown or _MAIL_UNKNOWN.match(line) is not None)


_FTP_TAKES: Final = frozenset(
    ("get", "recv", "reget", "newer", "fget", "ls", "dir", "nlist", "mls", "mdir", "mlsd", "mlst", "pls", "pdir")
)
_FTP_CHANGES: Final = frozenset(("lcd", "lmkdir", "lumask", "macdef", "set", "edit", "proxy"))


def ftp(line: str) -> Ways:
    """Lines of ftp and sftp: what is fetched is written under its last word."""
    lines = tuple(line[found.end() :] for found in re.finditer(r"[!|]", line))[:MOST_LINES]
    first, *words = _words(line) or [""]
    names = [word for word in words if not word.startswith("-")]
    named = {name for name in (*_FTP_TAKES, *_FTP_CHANGES) if first and name.startswith(first)}
    if named & _FTP_TAKES and len(names) > 1:
        lines += (_output(names[-1])) if names[-1].startswith("|") else (writing(names[-1]),)
    return Ways(lines, unknown=first.startswith("$") or (bool(named) and named <= _FTP_CHANGES))


_LFTP_INSIDE: Final = frozenset(
    [
        "ls",
        "cls",
        "nlist",
        "rels",
        "renlist",
        "cd",
        "pwd",
        "open",
        "user",
        "put",
        "mput",
        "reput",
        "mkdir",
        "rmdir",
        "rm",
        "mrm",
        "mv",
        "du",
        "find",
        "cat",
        "zcat",
        "more",
        "bookmark",
        "exit",
        "bye",
        "quit",
        "help",
        "?",
        "close",
        "jobs",
        "wait",
        "fg",
        "bg",
        "history",
        "cache",
        "version",
        "get",
        "mget",
        "pget",
        "get1",
        "chmod",
        "ln",
        "login",
        "lpwd",
        "anon",
        "debug",
        "torrent",
    ]
)


def lftp(line: str) -> Ways:
    """Lines of lftp, whose own language has pipes, jobs and aliases."""
    first, *words = _words(line) or [""]
    if first.startswith("!") or first == "shell":
        return Ways((line.strip().removeprefix("!").removeprefix("shell").strip(),))
    lines = tuple(filtering(found[1]) for found in re.finditer(r"\|\s*(.+)", line))[:MOST_LINES]
    lines += tuple(line[found.end() :] for found in re.finditer("!", line))[:MOST_LINES]
    lines += tuple(writing(found[1]) for found in re.finditer(r">+\s*(\S+)", line))[:MOST_LINES]
    plain = first in _LFTP_INSIDE and not re.search(r"[;&(`$]", line)
    if first in {"get", "get1", "pget", "mget", "cls", "debug", "torrent", "find"} and any(
        w.startswith("-") for w in words
    ):
        plain = False
    return Ways(lines, unknown=bool(first) and not plain)


# -- gdb and lldb ---------------------------------------------------------------------------------------


_GDB_INSIDE: Final = spelled(
    " bt backtrace whe[re] i[nfo] b[reak] br[eak] tb[reak] rb[reak] hb[reak] thb[reak] d[elete] disa[ble] disable"
    " en[able] cond[ition] ign[ore]"
    " cl[ear] c[ontinue] fg n[ext] s[tep] si stepi ni nexti fin[ish] u[ntil] adv[ance] k[ill] l[ist] disas[semble]"
    " f[rame] up down"
    " disp[lay] undisp[lay] wa[tch] rw[atch] aw[atch] x pt[ype] what[is] wha[tis] t[hread] inferior inf[o] h[elp]"
    " apr[opos] q[uit] exit"
    " det[ach] han[dle] sig[nal] j[ump] ret[urn] catch cat[ch] tc[atch] ec[ho] end if while else loop_break"
    " loop_continue set-done"
    " layout foc[us] refresh wi[nh] winheight kill info tui-done commands com[mands] reverse-step reverse-next"
    " reverse-continue rs rn rc"
    " checkpoint restart stop sho[w] show nos[harelibrary] sharedlibrary start starti r[un] ru[n]"
    " p print call ins[pect] inspect o[utput] out[put] printf dprintf prin[t] cal[l] frame-done pwd"
) - {"cat", "com", "sta"}  # fmt: skip
_GDB: Final = (
    re.compile(r"(?:^|\s)(?:she|shel|shell)\s+(.+)"),
    re.compile(r"(?:^|\s)!(.+)"),
    re.compile(r"(?:^|\s)(?:pipe|\|)\s.*\|(.+)"),
    re.compile(r"(?:^|\s)(?:make?)\s+(.+)"),
    re.compile(r"(?:^|\s)tar\w*\s+\S+\s+\|(.+)"),
    re.compile(r"\b(?:system|popen|execl?p?|_shell)\s*\(\s*\"((?:[^\"\\]|\\.)*)\""),
    re.compile(r"plat\w*\s+(?:she\w*|process\s+launch)\s+(.+)"),
    re.compile(r"^\s*set\s+exec-wrapper\s+(.+)"),
)
_GDB_STARTS: Final = re.compile(r"^\s*(?:r|ru|run|start|starti|set\s+args)\s+(.+)")
_GDB_CODE: Final = re.compile(r"^\s*(?:py|pyt|pyth|pytho|python|pi|python-interactive)\s+(.+)")
_CALLS: Final = re.compile(r"([A-Za-z_$][\w$]*|\))\s*\(")
_TOUCHES: Final = re.compile(
    r"_?(?:system|popen|posix_spawn\w*|v?fork|clone|exec\w*|dlopen|dlmopen|__libc_dlopen\w*|syscall|unlink\w*|remove|rmdir|rename\w*|open\w*"
    r"|creat\w*|f?re?open|truncate\w*|f?truncate\w*|write\w*|fputs|puts|kill\w*|l?chown|chmod\w*|f?chmod|link\w*|symlink\w*|mount|umount\d?"
    r"|setenv|putenv|chdir|ptrace|mmap|mprotect|wordexp|shell|g_spawn\w*|PyRun\w*|eval\w*|sprintf|strcpy|memcpy|NS\w+)\Z"
)
_CONVENIENCE: Final = frozenset(
    [
        "$_strlen",
        "$_streq",
        "$_memeq",
        "$_regex",
        "$_as_string",
        "$_any_caller_is",
        "$_caller_is",
        "$_isvoid",
        "$_cimag",
        "$_creal",
    ]
)
_WORDS_IN_C: Final = frozenset(
    ("sizeof", "if", "while", "return", "int", "char", "long", "short", "unsigned", "float", "double", "void")
)
_LITERAL: Final = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")
_SYSTEM: Final = re.compile(r"\b(?:system|_shell)\s*\(\s*\"(?:[^\"\\]|\\.)*\"\s*\)")
_GDB_SETS: Final = re.compile(
    r"\s*set\s+(?:var(?:iable)?\s+\S.*|\$\w+\s*=.*|(?:pagination|pag|confirm|width|height|listsize|print\s\S+|p\s\S+|disassembly-flavor|style"
    r"|breakpoint|scheduler-locking|non-stop|follow-fork-mode|detach-on-fork|disassemble-next-line|step-mode|verbose|language|radix"
    r"|history\s(?:size|save|expansion)|output-radix|input-radix|max-value-size|can-use-hw-watchpoints|args)\b.*)"
)


def _calls_unknown(text: str) -> bool:
    """Tell whether an expression of C calls something that reaches out of the program, or that is not known."""
    for found in _CALLS.finditer(re.sub(r"\"(?:[^\"\\]|\\.)*\"", '""', text)):
        name = found[1]
        if name == ")":  # a cast before a bracket, or a pointer that is called
            if re.match(r"\(\s*\*|.*\*\s*\)\s*\)", text):
                return True
        elif name in _WORDS_IN_C or name in _CONVENIENCE:
            continue
        elif name.startswith("$") or _TOUCHES.match(name):
            return True
    return False


def gdb(line: str) -> Ways:
    """Lines of gdb."""
    code = _GDB_CODE.match(line)
    lines = _found(_GDB, line) + ((f"python3 -c {quoted(code[1])}",) if code else ())
    if starts := _GDB_STARTS.match(line):  # gdb starts its program by a shell
        lines += (f"true {starts[1]}",)
    first = re.match(r"\s*([A-Za-z_][\w-]*|[!|#])?", line)
    name = (first[1] if first else "") or ""
    rest = line.strip()
    if not rest or name in {"!", "#"} or code or (name in {"she", "shel", "shell"}):
        return Ways(lines)
    if name in {"|", "pipe", "ma", "mak", "make"}:
        return Ways(lines, unknown=not lines)
    known = name in _GDB_INSIDE or _GDB_SETS.match(line) is not None
    if name == "set" and "exec-wrapper" in line:
        known = True
    if not known:
        return Ways(lines, unknown=not lines)
    rest = re.sub(r"\A[\w-]+(?:/\w*)?", "", rest)
    if _CALLS.search(rest):  # whatever is called may hand the text on
        lines += _found((_LITERAL,), rest)
    applied = name[:1] in "tf" and re.search(r"\bap(?:p|pl|ply)?\b", rest) is not None
    return Ways(tuple(dict.fromkeys(lines)), unknown=(applied and not lines) or _calls_unknown(_SYSTEM.sub("", rest)))


_LLDB_INSIDE: Final = spelled(
    " bt b br[eakpoint] breakpoint c[ontinue] n[ext] s[tep] si ni f[rame] fin[ish] thread th[read] up down"
    " di[sassemble] dis v var x reg[ister]"
    " ima[ge] image watchpoint w[atchpoint] l[ist] so[urce-list] q[uit] exit h[elp] version ap[ropos] k[ill]"
    " det[ach] t th[read] type"
)
_LLDB: Final = (
    re.compile(r"\b(?:pl\w*\s+)?(?:sh|she|shel|shell)\s+(.+)"),
    re.compile(r"\bpl\w*\s+(?:sh\w*|s)\s+(.+)"),
    re.compile(r"\blaunch\b.*?--\s+(.+)"),
    re.compile(r"\b(?:system|popen|execl?p?)\s*\(\s*\"((?:[^\"\\]|\\.)*)\""),
)
_LLDB_CODE: Final = re.compile(r"^\s*(?:sc|scr|scri|scrip|script)\s+(.+)")


def lldb(line: str) -> Ways:
    """Lines of lldb."""
    text = line.strip()
    lines = _found(_LLDB, text)
    if code := _LLDB_CODE.match(text):
        return Ways((f"python3 -c {quoted(code[1])}",))
    if starts := re.match(r"(?:r|run|process\s+launch|pr\w*\s+la\w*)\s+(?:--\s+)?(.+)", text):
        lines += (f"true {starts[1]}",)
    name = re.match(r"[A-Za-z_?]*", text)
    if not text or (name and name[0] in {"r", "run"}):
        return Ways(lines)
    if name and name[0] in {"p", "po", "print", "call", "e", "expr", "expression"}:
        return Ways(lines, unknown=_calls_unknown(text))
    adds = re.search(r"\bcommand|\s(?:-o|-s|-F|--one-liner|--outfile)\b", text) is not None
    return Ways(lines, unknown=adds or (not (name and name[0] in _LLDB_INSIDE) and not lines))


# -- databases ------------------------------------------------------------------------------------------

_SQLITE_COMMANDS: Final = [
    "archive",
    "auth",
    "backup",
    "bail",
    "binary",
    "cd",
    "changes",
    "check",
    "clone",
    "connection",
    "crlf",
    "crnl",
    "databases",
    "dbconfig",
    "dbinfo",
    "dbstat",
    "dbtotxt",
    "dump",
    "echo",
    "eqp",
    "excel",
    "exit",
    "expert",
    "explain",
    "filectrl",
    "fullschema",
    "headers",
    "help",
    "import",
    "imposter",
    "indexes",
    "indices",
    "intck",
    "iotrace",
    "limit",
    "lint",
    "load",
    "log",
    "mode",
    "nonce",
    "nullvalue",
    "once",
    "open",
    "output",
    "parameter",
    "print",
    "progress",
    "prompt",
    "quit",
    "read",
    "recover",
    "restore",
    "save",
    "scanstats",
    "schema",
    "selecttrace",
    "selftest",
    "separator",
    "session",
    "sha3sum",
    "shell",
    "show",
    "stats",
    "system",
    "tables",
    "testcase",
    "testctrl",
    "timeout",
    "timer",
    "trace",
    "treetrace",
    "unmodule",
    "user",
    "version",
    "vfsinfo",
    "vfslist",
    "vfsname",
    "wheretrace",
    "width",
    "www",
]
_SQLITE_INSIDE: Final = frozenset(
    [
        "auth",
        "bail",
        "binary",
        "changes",
        "connection",
        "crlf",
        "crnl",
        "databases",
        "dbconfig",
        "dbinfo",
        "dump",
        "echo",
        "eqp",
        "exit",
        "explain",
        "fullschema",
        "headers",
        "help",
        "indexes",
        "indices",
        "intck",
        "limit",
        "lint",
        "mode",
        "nullvalue",
        "parameter",
        "print",
        "progress",
        "prompt",
        "quit",
        "recover",
        "scanstats",
        "schema",
        "separator",
        "sha3sum",
        "show",
        "stats",
        "tables",
        "timeout",
        "timer",
        "version",
        "vfsinfo",
        "vfslist",
        "vfsname",
        "width",
        "dbstat",
        "expert",
    ]
)
_SQL_WRITES: Final = (
    re.compile(r"\bwritefile\s*\(\s*'((?:[^']|'')*)'", re.IGNORECASE),
    re.compile(r"\battach\s+(?:database\s+)?'((?:[^']|'')*)'", re.IGNORECASE),
    re.compile(r"\bvacuum\s+(?:\w+\s+)?into\s+'((?:[^']|'')*)'", re.IGNORECASE),
    re.compile(r"\binto\s+(?:out|dump)file\s+['\"]((?:[^'\"]|'')*)['\"]", re.IGNORECASE),
    re.compile(r"\bcopy\b.{0,300}?\bto\s+e?'((?:[^']|'')*)'", re.IGNORECASE),
)
_SQL_UNKNOWN: Final = re.compile(
    r"\b(?:load_extension|edit|fts3_tokenizer|sys_exec|sys_eval|lo_export|dblink_exec|xp_cmdshell)\s*\(|\bwritefile\s*\(\s*[^'\s]"
    r"|\battach\s+(?:database\s+)?[^'\s:]*\(|\bvacuum\s+(?:\w+\s+)?into\s+[^'\s]",
    re.IGNORECASE,
)


def _sql(line: str) -> Ways:
    return Ways(tuple(map(writing, _found(_SQL_WRITES, line))), _SQL_UNKNOWN.search(line) is not None)


def sqlite(line: str) -> Ways:
    """Lines of sqlite3: a command of its own may be shortened to any length that begins its name."""
    match = re.match(r"\s*\.\s*(\w*)\s*(.*)", line, re.DOTALL)
    if match is None:
        return _sql(line)
    name, rest = match[1].lower(), match[2].strip()
    named = {each for each in _SQLITE_COMMANDS if each.startswith(name)} if name else set()
    lines: tuple[str, ...] = ()
    unknown = not named
    if named & {"shell", "system"} and rest:
        lines += (" ".join(_words(rest)), rest)
    if named & {"output", "once", "log", "trace", "backup", "save", "clone", "open"}:
        options, where = [], rest
        while where.startswith("-"):
            option, _, where = where.partition(" ")
            options.append(option)
            where = where.strip()
        if where and where.split()[-1] not in {"stdout", "stderr", "off", "on", ":memory:"}:
            lines += _output(where if where.strip("'\"").startswith("|") else where.split()[-1].strip("'\""))
        unknown = unknown or any(option.lstrip("-") in {"e", "x", "w"} for option in options)
    if named & {"import", "read"}:
        piped = re.search(r"\|\s*([^'\"]+)", rest)
        if piped:
            lines += (piped[1].strip(),)
        elif "read" in named and rest:
            unknown = True
    escapes = named - _SQLITE_INSIDE
    handled = {"shell", "system", "output", "once", "log", "trace", "backup", "save", "clone", "open", "import", "read"}
    return Ways(lines, unknown or bool(escapes - handled and not (named & _SQLITE_INSIDE and name in _SHORTEST)))


_SHORTEST: Final = frozenset(("e", "ex", "h", "q", "d", "w", "t", "s", "sc", "i", "m", "n", "p", "v", "c", "ch"))
"""Abbreviations by which people mean a command that stays inside; sqlite3 takes the first of its table."""

_PSQL: Final = (
    re.compile(r"\\!(.+)"),
    re.compile(r"\\(?:o|out|g|gx|w|write)\s*(?:\([^)]*\)\s*)?\|(.+)"),
    re.compile(r"\bprogram\s+(?:e?'((?:[^']|'')*)'|\$\$(.*?)\$\$)", re.IGNORECASE),
)
_PSQL_COMMAND: Final = re.compile(r"\\([A-Za-z_?!\\]+)([^\\]*)")
_PSQL_INSIDE: Final = re.compile(
    r"(?:d[A-Za-z]*|l|list|lp|x|q|quit|c|connect|conninfo|timing|a|H|html|t|T|f|C|pset|h|help|\?|copyright|encoding|z|zp|s[fv]|errverbose"
    r"|if|elif|else|endif|echo|qecho|warn|p|print|r|reset|gset|gdesc|gx|g|crosstabview|watch|set|unset|prompt|password|copy|bind|parse"
    r"|o|out|w|write|s|lo_list|lo_unlink|dl|n|t|r)\Z"
)
_PSQL_FILES: Final = re.compile(r"\\(?:o|out|w|write|g|gx|s|lo_export\s+\d+)\s+(?:\([^)]*\)\s*)?([^\s|\\;(][^\s\\;]*)")
_PSQL_COPY: Final = re.compile(r"\\copy\b.{0,300}\bto\s+(?!program\b|stdout\b|pstdout\b)(\S+)", re.IGNORECASE)


def psql(line: str) -> Ways:
    """Lines of psql."""
    lines = _found(_PSQL, line)
    lines += tuple(map(writing, (path.strip("'\"") for path in _found((_PSQL_FILES, _PSQL_COPY), line))))
    statement = _sql(line)
    unknown = statement.unknown or re.match(r"\s*:['\"]?[A-Za-z_]", line) is not None
    without = re.sub(r"\\!.*", "", line)
    for name, words in _PSQL_COMMAND.findall(without):
        unknown = unknown or (name != "\\" and _PSQL_INSIDE.match(name) is None)
        unknown = unknown or ("|" in words and re.search(r"\|.*(?<!:):['\"]?[A-Za-z_]", words) is not None)
        unknown = unknown or (name == "set" and re.match(r"\s*(?:PSQL_|PAGER|EDITOR|PROMPT\d)", words) is not None)
    if "\\" in without:  # between backticks are a shell's commands, which its variables may be part of
        ticks = re.findall(r"`([^`]*)`", without)
        lines += tuple(ticks)
        unknown = unknown or without.count("`") % 2 == 1 or any(re.search(r":['\"{]?\w", each) for each in ticks)
    return Ways(lines + statement.lines, unknown)


_MYSQL_RUNS: Final = (
    re.compile(r"\\!(.+)"),
    re.compile(r"(?:^|;|\*/)\s*system\s+(.+)", re.IGNORECASE),
)
_MYSQL_PIPES: Final = (re.compile(r"(?:\\P|(?:^|;)\s*pager)\s*(.+)", re.IGNORECASE),)
_MYSQL_WRITES: Final = (re.compile(r"(?:\\T|(?:^|;)\s*tee)\s*(\S.*)", re.IGNORECASE),)
_MYSQL_UNKNOWN: Final = re.compile(r"\\[.e]|(?:^|;)\s*(?:source|edit)(?:\s|\Z)", re.IGNORECASE)


def mysql(line: str) -> Ways:
    """Lines of mysql."""
    statement = _sql(line)
    lines = _found(_MYSQL_RUNS, line) + tuple(map(filtering, _found(_MYSQL_PIPES, line)))
    lines += tuple(map(writing, _found(_MYSQL_WRITES, line)))
    return Ways(lines + statement.lines, statement.unknown or _MYSQL_UNKNOWN.search(line) is not None)


# -- Perl's debugger ------------------------------------------------------------------------------------

_DEBUGGER_CODE: Final = re.compile(r"^\s*(?:\{\{?|<<?|>>?|a\s+(?:\d+|\.)?|b\s+\S+|w|x|p|m|t|W)\s*(.+)")
_DEBUGGER_PIPE: Final = re.compile(r"^\s*\|+(.+)")


def debugger(line: str) -> Ways:
    """Perl's: lines are Perl, but for ``!! cmd``, ``| cmd`` (its output to a pager), and what keeps code for later."""
    lines = _found((re.compile(r"^\s*!!\s*(.+)"),), line)
    if lines:
        return Ways(lines)
    lines += tuple(f"perl -e {quoted(each)}" for each in _found((_DEBUGGER_CODE, _DEBUGGER_PIPE), line))
    lines += _found((_DEBUGGER_PIPE,), line)
    unknown = re.match(r"\s*(?:\\?source\s|save\s|=|[oO]\s|!|R\s*\Z|rerun|man\s|doc\s|e\s|E\s)", line) is not None
    return Ways(lines, unknown)
