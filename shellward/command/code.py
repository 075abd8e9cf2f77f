"""Reading programs given to interpreters: which calls run commands, delete, overwrite, fetch or send.

A call becomes the shell command that does the same (``shutil.rmtree('/srv')`` becomes ``rm -r -- /srv``), so that one
set of rules judges both. Which call is what is data (calls.py); what its arguments are is worked out in literals.py.
"""

from __future__ import annotations

import re
from functools import lru_cache

from shellward.command.actions import MAX_CALLS, Action
from shellward.command.anylanguage import any_calls, shell_lists
from shellward.command.callnames import canonical_names
from shellward.command.calls import CALLS, FETCHES, SHELL_QUOTES
from shellward.command.literals import Literals
from shellward.command.purecalls import Value, squeeze
from shellward.command.shapes import awk, in_loops, unquote, whole
from shellward.command.values import decimal, known_part, labels

_CALL = re.compile(r"(?<!->)(?<![\w$.:])((?:[\w$]+(?:\.|::|->|\\))*)([\w$]+!?)(?=\s*\()")
_BARE_CALL = re.compile(
    r"(?<!->)(?<![\w$.:])((?:[\w$]+(?:\.|::|->|\\))*)([\w$]+!?)(?=\s*\(|\s+[\w\"'$%\[:@<-]|\s*[\"'\[])"
)
_METHOD = re.compile(r"(?<=[)\]])((?:\.|->)(?:[\w$]+(?:\.|->)){0,3})([\w$]+!?)(?=\s*\()")
_WITH_PARENTHESES = frozenset(("python", "javascript", "php", "lua", "r", "java"))


_PRINTED = re.compile(
    r"(?<![\w.$])(print|console\.(?:log|info|warn|error|debug)|System\.out\.println|cat|message)\(\s*"
    r"(?:\"(?:[^\"\\{$#]|\\.)*\"|'(?:[^'\\{$#]|\\.)*'|\"(?:[^\"\\`]|\\.)*\"(?!\s*[+.%,f])|'(?:[^'\\`]|\\.)*'(?!\s*[+.%,]))\s*\)"
)
"""A constant text that is only printed; nothing that stands in it is called."""
_UNSCRAMBLES = re.compile(r"fromhex|b(?:16|32|64|85)decode|unhexlify|decompress|\bord\(|\bchr\(|\^\s*\d|\bbytes\(")
"""Signs that an argument is worked out so that nobody can read it."""
_WITHOUT_TABLE = frozenset(
    ("c", "r", "tcl", "java", "julia", "elixir", "lisp", "prolog", "haskell", "ocaml", "m4", "gnuplot", "go")
)
"""Languages whose calls are read by what they look like, besides the few that calls.py lists."""


@lru_cache(maxsize=32)
def _calls(language: str) -> tuple[dict[str, str], dict[str, str]]:
    """Split the call names of a language into those of any receiver and those that stand as written."""
    anywhere: dict[str, str] = {}
    exact: dict[str, str] = {}
    for kind, text in CALLS.get(language, {}).items():
        for name in text.split():
            (anywhere if name.startswith(".") else exact)[name.lstrip(".")] = kind
    return anywhere, exact


def _kind(receiver: str, name: str, anywhere: dict[str, str], exact: dict[str, str]) -> str | None:
    """Say what kind of call a name is, None when it does not matter."""
    if not receiver:
        return exact.get(name) or anywhere.get(name)
    last = re.split(r"\.|::|->|\\\\", receiver.rstrip(".:->\\"))[-1]
    for joint in (".", "::"):
        found = exact.get(f"{last}{joint}{name}")
        if found:
            return found
    return exact.get(receiver + name) or anywhere.get(name)


def scan(language: str, code: str, *, nested: bool = False) -> list[Action]:
    """List what a program would do to the world.

    Args:
        language: ``python``, ``javascript``, ``ruby``, ``perl``, ``php``, ``lua``, ``r``, ``awk``, ``tcl``, ...
        code: the program.
        nested: a piece of a program whose names were worked out already.

    Returns:
        The actions in order of the text.
    """
    actions: list[Action] = []
    if language == "awk":
        return awk(code)
    code = canonical_names(language, _PRINTED.sub(r"\1('')", code) if language in _WITH_PARENTHESES else code)
    if language not in CALLS:
        return actions
    anywhere, exact = _calls(language)
    literals: Literals | None = None
    fetches = bool(FETCHES.search(code))
    count = 0
    matches = list((_CALL if language in _WITH_PARENTHESES else _BARE_CALL).finditer(code))
    matches += _METHOD.finditer(code)
    for match in matches:
        kind = _kind(match.group(1), match.group(2), anywhere, exact)
        if kind is None:
            continue
        count += 1
        if count > MAX_CALLS:
            actions.append(Action("argv", argv=("@run", language, "too-much")))
            break
        if literals is None:
            literals = Literals(code, language)
        actions += _whole_call(literals, match, kind, fetches=fetches)
    if not nested:
        _dynamic(language, code, actions)
    _other_syntax(language, code, actions)
    for quote in SHELL_QUOTES.get(language, ()):
        found = [m for m in re.finditer(quote, code, re.MULTILINE) if m.lastindex][:MAX_CALLS]
        actions += [Action("shell", unquote(m.group(m.lastindex or 0))) for m in found]
    if language in _WITHOUT_TABLE:
        actions += any_calls(code)
    actions += shell_lists(code)
    whole(language, code, actions)
    in_loops(language, code, actions)
    return actions


_RUNS = frozenset({"eval", "process", "exec-list", "exec-mode", "spawn", "sql"})
"""Kinds of calls that run what they are given."""
_OTHER_DATABASE = re.compile(
    r"psycopg|mysql|pymssql|pyodbc|cx_Oracle|oracledb|asyncpg|duckdb|snowflake|clickhouse|connect\(\s*(?![\"']:memory:|\))|postgres|DATABASE_URL|environ"
)
"""Signs that a program reaches a database that is not in memory."""


def _whole_call(literals: Literals, match: re.Match[str], kind: str, *, fetches: bool) -> list[Action]:
    """Turn one call into actions; one of them says when what it would run was not read to its end."""
    literals.cut = False
    actions = _call(literals, match, kind, fetches=fetches)
    if literals.cut and kind in _RUNS:
        actions.append(Action("argv", argv=("@run", literals.language, "too-much")))
    return actions


def _call(literals: Literals, match: re.Match[str], kind: str, *, fetches: bool) -> list[Action]:  # noqa: C901, PLR0911
    """Turn one call into actions."""
    before = len(literals.decoded)
    values, named = literals.arguments(match.end())
    receiver, name = match.group(1), match.group(2)
    if name == "exec" and literals.language == "javascript" and "child_process" not in literals.code:
        return []  # a regular expression's method
    if kind in {"method-rm", "method-write"}:
        target = _receiver(literals, match.start())
        return _files("rm" if kind == "method-rm" else "put", [target], named) if target else []
    if kind == "eval":
        return _eval(
            literals,
            values,
            before,
            fetches=fetches and bool(values) and not known_part(squeeze(values)).strip(),
        )
    if kind == "run-net":
        return [Action("argv", argv=("@run", literals.language, "net:package"))]
    if kind == "process":
        given = literals.code[match.end() : min(literals.i, match.end() + 400)]
        if values and not known_part(squeeze(values)).strip() and _UNSCRAMBLES.search(given):
            return [Action("argv", argv=("@run", literals.language, "decoded"))]
        return _process(literals.language, name, values, named)
    if kind == "exec-list":
        listed = values[1] if len(values) > 1 and isinstance(values[1], list) else values[1:]
        return _argv((squeeze(values[0]), *[squeeze(item) for item in listed[1:]])) if values else []
    if kind == "exec-mode":  # the first one says whether to wait
        return _argv(tuple(map(squeeze, [values[1], *values[3:]]))) if len(values) > 3 else _argv_of(values[1:])
    if kind == "spawn":
        listed = values[1] if len(values) > 1 and isinstance(values[1], list) else values[1:]
        rest = (
            [squeeze(v) for v in listed]
            if isinstance(values[1:2] and values[1], list) or literals.language == "go"
            else []
        )
        return _argv((squeeze(values[0]), *rest)) if values else []
    if kind == "sql" and ":memory:" in literals.code and not _OTHER_DATABASE.search(literals.code):
        return []
    if kind == "sql":
        return [Action("argv", argv=("@sql", literals.language, squeeze(values[0])))] if values else []
    if kind == "send":
        return _send(receiver + name, values, named)
    return _files(kind, values, named, literals.language)


def _argv(argv: tuple[str, ...]) -> list[Action]:
    return [Action("argv", argv=argv)] if argv and known_part(argv[0]) else []


def _argv_of(values: list[Value]) -> list[Action]:
    """``spawnv(mode, file, words)``: the words begin with the program's name."""
    words = values[1] if len(values) > 1 and isinstance(values[1], list) else []
    return _argv((squeeze(values[0]), *map(squeeze, words[1:]))) if values else []


def _process(language: str, name: str, values: list[Value], named: dict[str, Value]) -> list[Action]:
    """A call that runs a command: a list of words, or text for the shell."""
    if not values:
        values = [named["args"]] if "args" in named else []
    if not values:
        return []
    first = values[0]
    if isinstance(first, list):
        return _argv(tuple(squeeze(item) for item in first))
    if name == "open":
        return _perl_open([squeeze(value) for value in values])
    if len(values) > 1 and language in {"perl", "ruby", "tcl", "r", "elixir"}:
        rest = [squeeze(item) for item in (values[1] if isinstance(values[1], list) else values[1:])]
        return _argv((squeeze(first), *rest))
    return [Action("shell", first)] if known_part(first).strip() else []


def _perl_open(values: list[str]) -> list[Action]:
    """``open F, "cmd|"``, ``open(my $f, "|-", "cmd", ..)``, ``open F, ">file"``."""
    mode = values[1].strip() if len(values) > 1 else values[0].strip()
    rest = values[2:]
    if mode in {"|-", "-|"}:
        return [Action("shell", rest[0])] if len(rest) == 1 else _argv(tuple(rest))
    if mode.startswith("|") or mode.endswith("|"):
        return [Action("shell", mode.strip("| "))]
    if mode.startswith((">", "+<", "+>")):
        target = rest[0] if rest else mode.lstrip("+<>").strip()
        return _argv((">>" if mode.startswith(">>") else ">", target)) if known_part(target) else []
    return []


def _eval(literals: Literals, values: list[Value], before: int, *, fetches: bool) -> list[Action]:
    """Code that is evaluated: what was decoded is a finding and is read too; what was fetched is a finding."""
    text = squeeze(values[0]) if values else ""
    actions: list[Action] = []
    fetches = fetches or re.match(r"\s*(?:https?|ftp)://", text) is not None
    if len(literals.decoded) > before or any(label.startswith(("decoded", "encoded")) for label in labels(text)):
        actions.append(Action("argv", argv=("@run", literals.language, "decoded")))
    if fetches or any(label.startswith("net") for label in labels(text)):
        actions.append(Action("argv", argv=("@run", literals.language, "net:fetch")))
    if known_part(text).strip() and len(text) < len(literals.code):
        actions += scan(literals.language, known_part(text))
    return actions


_FOR_ACCESS = frozenset(("headers", "auth", "cookies", "cert", "verify", "proxies", "timeout"))
"""What a request carries to be let in: credentials belong there."""


def _send(name: str, values: list[Value], named: dict[str, Value]) -> list[Action]:
    """A request to another host, with what it carries."""
    method = name.rpartition(".")[2].upper()
    everything = squeeze([*values, *(value for key, value in named.items() if key not in _FOR_ACCESS)])
    actions: list[Action] = []
    if method == "DELETE" and values:
        actions.append(Action("argv", argv=("@http", "DELETE", squeeze(values[0]))))
    carried = [label for label in labels(everything) if label.partition(":")[0] in {"file", "out"}]
    if carried:
        actions.append(Action("argv", argv=("@send", name, *carried)))
    return actions


def _files(kind: str, values: list[Value], named: dict[str, Value], language: str = "") -> list[Action]:  # noqa: C901, PLR0911, PLR0912
    """A call on files, as the command that does the same."""
    texts: list[str] = []
    for value in values:
        texts += [squeeze(item) for item in value] if isinstance(value, list) else [value]
    if not texts or not known_part(texts[0]):
        return []
    target = texts[0]
    flags = {key.lower(): squeeze(value).lower() for key, value in named.items()}
    if kind == "rm":
        recursive = any(
            flags.get(key) in {"true", "t", "1"} or (key in flags and "code" in flags[key])
            for key in ("recursive", "recurse", "force")
        )
        return _argv(("rm", *(["-r"] if recursive else []), "--", target))
    if kind == "rm-list":
        return _argv(("rm", "--", *[t for t in texts if known_part(t)]))
    if kind == "rm-r":
        return _argv(("rm", "-r", "--", target))
    if kind == "rmdir":
        return _argv(("rmdir", "--", target))
    if kind == "write":
        mode = squeeze(named.get("mode", texts[1] if len(texts) > 1 else "r"))
        if mode.startswith((">", "+<", "|")):
            target, mode = (texts[2], "w") if len(texts) > 2 else (mode.lstrip(">+<| "), "w")
        elif target.startswith(">"):
            target, mode = target.lstrip("> "), "w"
        if not re.match(r"[rbt]*[wax+]", mode) or not known_part(target):
            return []
        return _argv((">>" if "a" in mode else ">", target))
    if kind == "put":
        return _argv((">", target))
    if kind in {"mv", "cp", "ln"} and len(texts) > 1:
        return _argv((kind, *(["-s"] if kind == "ln" else []), "--", target, texts[1]))
    if kind == "chmod" and len(texts) > 1:
        mode = _octal(texts[1]) if re.fullmatch(r"(?:0o)?\d+", texts[1]) else texts[1]
        return _argv(
            ("chmod", _octal(target), "--", *texts[1:]) if target.isdecimal() else ("chmod", mode, "--", target)
        )
    if kind == "kill" and len(texts) > 1:
        target, signal = (texts[1], target) if language in {"ruby", "perl"} else (target, texts[1])
        return _argv(("kill", "-" + (signal if known_part(signal) else "9"), "--", target))
    if kind == "kill":
        return _argv(("kill", "--", target))
    if kind == "empty":
        return _argv(("@empty", target))
    if kind == "chown":
        return _argv(("chown", texts[1] if len(texts) > 1 else "x", "--", target))
    return []


def _octal(text: str) -> str:
    """A mode as people write it: 0o777 and 0777 are read as 777, plain 511 is decimal."""
    mode = decimal(text) if text.isdecimal() else 0
    text = text.removeprefix("0o")
    return text if all(c in "01234567" for c in text) and len(text) in {3, 4} else format(mode, "o")


def _receiver(literals: Literals, at: int) -> str:
    """Evaluate what stands before a method call: ``Path('/srv/x')`` in ``Path('/srv/x').unlink()``."""
    window = literals.code[max(0, at - 200) : at + 200]
    match = re.search(
        r"(?:Path|PosixPath|Pathname\.new|File)\(([^()]*)\)\s*(?:/\s*(['\"][^'\"]*['\"])\s*\)?)?\.\w+[^()]*\($",
        window[: 200 + 60].split("\n")[-1][:260],
    )
    whole = re.search(
        r"(?:Path|PosixPath|Pathname\.new)\(\s*(['\"])(.*?)\1\s*\)(?:\.expanduser\(\))?\.(?:unlink|rmdir|write_text|write_bytes|delete|rmtree)\b",
        window,
    )
    if whole:
        return whole.group(2)
    return squeeze(Literals(match.group(1), literals.language).expression(0)) if match else ""


_LOOKED_UP = re.compile(r"(?:__dict__|vars\(\w+\)|globals\(\)|locals\(\))\s*\[([^\]\n]{1,80})\](?=\()")


def _dynamic(language: str, code: str, actions: list[Action]) -> None:
    """``getattr(os, 'sys' + 'tem')('..')`` and its like: the name is worked out, then the call is read."""
    if language == "python" and "getattr" in code:
        for match in list(re.finditer(r"getattr\(", code))[:20]:
            literals = Literals(code, language)
            values, _ = literals.arguments(match.end() - 1)
            if len(values) > 1 and code.startswith("(", literals.i):
                inner = code[literals.i : literals.i + 2000]
                actions += scan(language, f"os.{squeeze(values[1])}{inner}", nested=True)
    if language == "python":
        _looked_up(language, code, actions)
    if language == "php":
        for match in list(re.finditer(r"\$(\w+)\s*(?=\()", code))[:20]:
            name = squeeze(Literals(code, language).constant(match.group(1), 0) or "")
            if name.isidentifier():
                actions += scan(language, name + code[match.end() : match.end() + 2000], nested=True)
    if language == "javascript":
        for match in list(re.finditer(r"\[\s*(['\"][\w'\"+\s]+['\"])\s*\]\s*\(", code))[:20]:
            name = squeeze(Literals(match.group(1), language).expression(0))
            actions += scan(language, f"child_process.{name}({code[match.end() : match.end() + 2000]}", nested=True)


def _looked_up(language: str, code: str, actions: list[Action]) -> None:
    """``f = getattr(os, name)`` with a later ``f(..)``, ``os.__dict__[name](..)``."""
    calls: list[tuple[str, int]] = []
    for match in list(re.finditer(r"(?<![\w.])(\w+)\s*=\s*getattr\(", code))[:5]:
        values, _ = Literals(code, language).arguments(match.end() - 1)
        found = list(re.finditer(rf"(?<![\w.]){match.group(1)}(?=\()", code))[:5] if len(values) > 1 else []
        calls += [(squeeze(values[1]), call.end()) for call in found]
    for match in list(_LOOKED_UP.finditer(code))[:10]:
        calls.append((squeeze(Literals(match.group(1), language).expression(0)), match.end()))
    for name, at in calls:
        actions += scan(language, f"os.{name}{code[at : at + 2000]}", nested=True)


def _other_syntax(language: str, code: str, actions: list[Action]) -> None:
    """Calls that are not written with parentheses behind the name."""
    if language == "lisp":
        for name, path in re.findall(r'\((delete-directory|delete-file)\s+"([^"]*)"', code)[:20]:
            actions.append(Action("argv", argv=("rm", *(["-r"] if name.endswith("y") else []), "--", path)))
    if language == "tcl":
        removed = re.findall(r"\bfile\s+delete\s+([^\n;\]]+)", code)[:20]
        actions += [Action("shell", "rm -r " + words.replace("-force", "")) for words in removed]
