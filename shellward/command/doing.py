"""From a call, with what it is given, to the command that does the same."""

from __future__ import annotations

import re
from functools import lru_cache

from shellward.command.actions import Action
from shellward.command.calls import CALLS
from shellward.command.purecalls import Value, squeeze
from shellward.command.remember import remembered_of_two
from shellward.command.values import decimal, known_part, labels

OTHER_DATABASE = re.compile(
    r"psycopg|mysql|pymssql|pyodbc|cx_Oracle|oracledb|asyncpg|duckdb|snowflake|clickhouse|connect\(\s*(?![\"']:memory:|\))|postgres|DATABASE_URL|environ"
)
"""Signs that a program reaches a database that is not in memory."""


@lru_cache(maxsize=32)
def call_names(language: str) -> tuple[dict[str, str], dict[str, str]]:
    """Split the call names of a language into those of any receiver and those that stand as written."""
    anywhere: dict[str, str] = {}
    exact: dict[str, str] = {}
    for kind, text in CALLS.get(language, {}).items():
        for name in text.split():
            (anywhere if name.startswith(".") else exact)[name.lstrip(".")] = kind
    return anywhere, exact


def kind_of(receiver: str, name: str, anywhere: dict[str, str], exact: dict[str, str]) -> str | None:
    """Say what kind of call a name is, None when it does not matter."""
    if not receiver:
        return exact.get(name) or anywhere.get(name)
    last = re.split(r"\.|::|->|\\\\", receiver.rstrip(".:->\\"))[-1]
    for joint in (".", "::"):
        found = exact.get(f"{last}{joint}{name}")
        if found:
            return found
    return exact.get(receiver + name) or anywhere.get(name)


@remembered_of_two
def call_kind(language: str, path: str) -> str | None:
    """Say what kind of call a name such as ``os.system`` is, None when it does not matter."""
    anywhere, exact = call_names(language)
    parts = re.split(r"(\.|::|->|\\)", path)
    return kind_of("".join(parts[:-1]), parts[-1], anywhere, exact)


def command(argv: tuple[str, ...]) -> list[Action]:
    """A program and its words; nothing when the program is not known."""
    return [Action("argv", argv=argv)] if argv and known_part(argv[0]) else []


def argv_of(values: list[Value]) -> list[Action]:
    """``spawnv(mode, file, words)``: the words begin with the program's name."""
    words = values[1] if len(values) > 1 and isinstance(values[1], list) else []
    return command((squeeze(values[0]), *map(squeeze, words[1:]))) if values else []


def words_of(kind: str, values: list[Value]) -> list[Action]:
    """``execv(file, words)``, ``spawnl(mode, file, name, word, ..)``."""
    if kind == "exec-mode":  # the first one says whether to wait
        return command(tuple(map(squeeze, [values[1], *values[3:]]))) if len(values) > 3 else argv_of(values[1:])
    listed = values[1] if len(values) > 1 and isinstance(values[1], list) else values[1:]
    return command((squeeze(values[0]), *[squeeze(item) for item in listed[1:]])) if values else []


def process(language: str, name: str, values: list[Value], named: dict[str, Value]) -> list[Action]:
    """A call that runs a command: a list of words, or text for the shell."""
    if not values:
        values = [named["args"]] if "args" in named else []
    if not values:
        return []
    first = values[0]
    if isinstance(first, list):
        return command(tuple(squeeze(item) for item in first))
    if name == "open":
        return _perl_open([squeeze(value) for value in values])
    if len(values) > 1 and language in {"perl", "ruby", "tcl", "r", "elixir"}:
        rest = [squeeze(item) for item in (values[1] if isinstance(values[1], list) else values[1:])]
        return command((squeeze(first), *rest))
    return [Action("shell", first)] if known_part(first).strip() else []


def _perl_open(values: list[str]) -> list[Action]:
    """``open F, "cmd|"``, ``open(my $f, "|-", "cmd", ..)``, ``open F, ">file"``."""
    mode = values[1].strip() if len(values) > 1 else values[0].strip()
    rest = values[2:]
    if mode in {"|-", "-|"}:
        return [Action("shell", rest[0])] if len(rest) == 1 else command(tuple(rest))
    if mode.startswith("|") or mode.endswith("|"):
        return [Action("shell", mode.strip("| "))]
    if mode.startswith((">", "+<", "+>")):
        target = rest[0] if rest else mode.lstrip("+<>").strip()
        return command((">>" if mode.startswith(">>") else ">", target)) if known_part(target) else []
    return []


_FOR_ACCESS = frozenset(("headers", "auth", "cookies", "cert", "verify", "proxies", "timeout"))
"""What a request carries to be let in: credentials belong there."""


def send(name: str, values: list[Value], named: dict[str, Value]) -> list[Action]:
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


def files(kind: str, values: list[Value], named: dict[str, Value], language: str = "") -> list[Action]:  # noqa: C901, PLR0911, PLR0912
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
        return command(("rm", *(["-r"] if recursive else []), "--", target))
    if kind == "rm-list":
        return command(("rm", "--", *[t for t in texts if known_part(t)]))
    if kind == "rm-r":
        return command(("rm", "-r", "--", target))
    if kind == "rmdir":
        return command(("rmdir", "--", target))
    if kind == "write":
        mode = squeeze(named.get("mode", texts[1] if len(texts) > 1 else "r"))
        if mode.startswith((">", "+<", "|")):
            target, mode = (texts[2], "w") if len(texts) > 2 else (mode.lstrip(">+<| "), "w")
        elif target.startswith(">"):
            target, mode = target.lstrip("> "), "w"
        if not re.match(r"[rbt]*[wax+]", mode) or not known_part(target):
            return []
        return command((">>" if "a" in mode else ">", target))
    if kind == "put":
        return command((">", target))
    if kind in {"mv", "cp", "ln"} and len(texts) > 1:
        return command((kind, *(["-s"] if kind == "ln" else []), "--", target, texts[1]))
    if kind == "chmod" and len(texts) > 1:
        mode = _octal(texts[1]) if re.fullmatch(r"(?:0o)?\d+", texts[1]) else texts[1]
        return command(
            ("chmod", _octal(target), "--", *texts[1:]) if target.isdecimal() else ("chmod", mode, "--", target)
        )
    if kind == "kill" and len(texts) > 1:
        target, signal = (texts[1], target) if language in {"ruby", "perl"} else (target, texts[1])
        return command(("kill", "-" + (signal if known_part(signal) else "9"), "--", target))
    if kind == "kill":
        return command(("kill", "--", target))
    if kind == "empty":
        return command(("@empty", target))
    if kind == "chown":
        return command(("chown", texts[1] if len(texts) > 1 else "x", "--", target))
    return []


def _octal(text: str) -> str:
    """A mode as people write it: 0o777 and 0777 are read as 777, plain 511 is decimal."""
    mode = decimal(text) if text.isdecimal() else 0
    text = text.removeprefix("0o")
    return text if all(c in "01234567" for c in text) and len(text) in {3, 4} else format(mode, "o")
