"""Reading programs given to interpreters: which calls run commands, delete, overwrite, fetch or send.

A call becomes the shell command that does the same (``shutil.rmtree('/srv')`` becomes ``rm -r -- /srv``), so that one
set of rules judges both. Which call is what is data (calls.py); what its arguments are is worked out in literals.py.
"""

from __future__ import annotations

import re

from shellward.command.actions import MAX_CALLS, Action
from shellward.command.anylanguage import any_calls, joined_texts, shell_lists, unrolled, with_macros
from shellward.command.callnames import canonical_names
from shellward.command.calls import CALLS, FETCHES, SHELL_QUOTES
from shellward.command.doing import OTHER_DATABASE, call_names, command, files, kind_of, process, send, words_of
from shellward.command.literals import Literals
from shellward.command.purecalls import Value, squeeze
from shellward.command.shapes import awk, in_loops, may_show, unquote, whole
from shellward.command.values import known_part, labels

# The first look-ahead says nothing new: it is the quickest way to pass over all that begins no name.
_NAMED = r"(?=[\w$])(?<![\w$.:])(?<!->)(?<![\w$]\\)((?:[\w$]++(?:\.|::|->|\\))*+)([\w$]++!?+)"
_CALL = re.compile(_NAMED + r"(?=\s*+\()")
_BARE_CALL = re.compile(_NAMED + r"(?=\s*\(|\s+[\w\"'$%\[:@<-]|\s*[\"'\[])")
_METHOD = re.compile(r"(?<=[)\]])((?:\.|->)(?:[\w$]+(?:\.|->)){0,3})([\w$]+!?)(?=\s*\()")
_WITH_PARENTHESES = frozenset(("python", "javascript", "php", "lua", "r", "java"))


_PRINTED = re.compile(
    r"(?=[pcSm])(?<![\w.$])(print|console\.(?:log|info|warn|error|debug)|System\.out\.println|cat|message)\(\s*"
    r"(?:\"(?:[^\"\\{$#]|\\.)*\"|'(?:[^'\\{$#]|\\.)*'|\"(?:[^\"\\`]|\\.)*\"(?!\s*[+.%,f])|'(?:[^'\\`]|\\.)*'(?!\s*[+.%,]))\s*\)"
)
"""A constant text that is only printed; nothing that stands in it is called."""
_UNSCRAMBLES = re.compile(r"fromhex|b(?:16|32|64|85)decode|unhexlify|decompress|\bord\(|\bchr\(|\^\s*\d|\bbytes\(")
"""Signs that an argument is worked out so that nobody can read it."""
_WITHOUT_TABLE = frozenset(
    (
        "c",
        "r",
        "tcl",
        "java",
        "julia",
        "elixir",
        "lisp",
        "prolog",
        "haskell",
        "ocaml",
        "m4",
        "gnuplot",
        "go",
        "osascript",
    )
)
"""Languages whose calls are read by what they look like, besides the few that calls.py lists."""


def scan(language: str, code: str, *, nested: bool = False, followed: bool = False) -> list[Action]:
    """List what a program would do to the world.

    Args:
        language: ``python``, ``javascript``, ``ruby``, ``perl``, ``php``, ``lua``, ``r``, ``awk``, ``tcl``, ...
        code: the program.
        nested: a piece of a program whose names were worked out already.
        followed: the machine in follow/ has followed the program's calls to the end; only what shows in the program
            as a whole is looked for.

    Returns:
        The actions in order of the text.
    """
    actions: list[Action] = []
    if language == "awk":
        return awk(code)
    shows = language != "python" or may_show(code)
    if followed and not shows:
        return actions
    if language in _WITHOUT_TABLE:
        code = unrolled(joined_texts(with_macros(code) if language == "m4" else code))
    code = canonical_names(language, _PRINTED.sub(r"\1('')", code) if language in _WITH_PARENTHESES else code)
    if language not in CALLS:
        return actions
    if not followed:
        _each_call(language, code, actions, nested=nested)
        actions += shell_lists(code)
    if shows:
        whole(language, code, actions)
        in_loops(language, code, actions)
    return actions


def _each_call(language: str, code: str, actions: list[Action], *, nested: bool) -> None:
    """Find the calls by what they look like."""
    anywhere, exact = call_names(language)
    literals: Literals | None = None
    count = 0
    matches = list((_CALL if language in _WITH_PARENTHESES else _BARE_CALL).finditer(code))
    matches += _METHOD.finditer(code)
    for match in matches:
        kind = kind_of(match.group(1), match.group(2), anywhere, exact)
        if kind is None:
            continue
        count += 1
        if count > MAX_CALLS:
            actions.append(Action("argv", argv=("@run", language, "too-much")))
            break
        if literals is None:
            literals = Literals(code, language)
        actions += _whole_call(literals, match, kind)
    if not nested:
        _dynamic(language, code, actions)
    _other_syntax(language, code, actions)
    for quote in SHELL_QUOTES.get(language, ()):
        found = [m for m in re.finditer(quote, code, re.MULTILINE) if m.lastindex][:MAX_CALLS]
        actions += [Action("shell", unquote(m.group(m.lastindex or 0))) for m in found]
    if language in _WITHOUT_TABLE:
        actions += any_calls(code)


_RUNS = frozenset({"eval", "process", "exec-list", "exec-mode", "spawn", "sql"})
"""Kinds of calls that run what they are given."""


def _whole_call(literals: Literals, match: re.Match[str], kind: str) -> list[Action]:
    """Turn one call into actions; one of them says when what it would run was not read to its end."""
    literals.cut = False
    actions = _call(literals, match, kind)
    if literals.cut and kind in _RUNS:
        actions.append(Action("argv", argv=("@run", literals.language, "too-much")))
    return actions


def _call(literals: Literals, match: re.Match[str], kind: str) -> list[Action]:  # noqa: C901, PLR0911
    """Turn one call into actions."""
    before = len(literals.decoded)
    values, named = literals.arguments(match.end())
    receiver, name = match.group(1), match.group(2)
    if name == "exec" and literals.language == "javascript" and "child_process" not in literals.code:
        return []  # a regular expression's method
    if kind in {"method-rm", "method-write"}:
        target = _receiver(literals, match.start())
        return files("rm" if kind == "method-rm" else "put", [target], named) if target else []
    if kind == "eval":
        unread = bool(values) and not known_part(squeeze(values)).strip()
        return _eval(literals, values, before, fetches=unread and FETCHES.search(literals.code) is not None)
    if kind == "run-net":
        return [Action("argv", argv=("@run", literals.language, "net:package"))]
    if kind == "process":
        given = literals.code[match.end() : min(literals.i, match.end() + 400)]
        if values and not known_part(squeeze(values)).strip() and _UNSCRAMBLES.search(given):
            return [Action("argv", argv=("@run", literals.language, "decoded"))]
        return process(literals.language, name, values, named)
    if kind in {"exec-list", "exec-mode"}:
        return words_of(kind, values)
    if kind == "spawn":
        listed = values[1] if len(values) > 1 and isinstance(values[1], list) else values[1:]
        rest = (
            [squeeze(v) for v in listed]
            if isinstance(values[1:2] and values[1], list) or literals.language == "go"
            else []
        )
        return command((squeeze(values[0]), *rest)) if values else []
    if kind == "sql" and ":memory:" in literals.code and not OTHER_DATABASE.search(literals.code):
        return []
    if kind == "sql":
        return [Action("argv", argv=("@sql", literals.language, squeeze(values[0])))] if values else []
    if kind == "send":
        return send(receiver + name, values, named)
    return files(kind, values, named, literals.language)


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


_HELD = re.compile(r"(?<![\w.])(\w+)\s*=\s*getattr\(")
_HOLDERS = ("__dict__", "vars(", "globals()", "locals()")
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
    for match in list(_HELD.finditer(code))[:5] if "getattr" in code else ():
        values, _ = Literals(code, language).arguments(match.end() - 1)
        found = list(re.finditer(rf"(?<![\w.]){match.group(1)}(?=\()", code))[:5] if len(values) > 1 else []
        calls += [(squeeze(values[1]), call.end()) for call in found]
    for match in list(_LOOKED_UP.finditer(code))[:10] if any(word in code for word in _HOLDERS) else ():
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
        braced = [words for words in _TCL_BRACED.findall(code)[:20] if "{" in words]
        actions += [Action("shell", _BRACED.sub(_as_word, words)) for words in braced]
        actions += [Action("shell", "".join(found)) for found in _TCL_OPENS.findall(code)[:20]]


_TCL_BRACED = re.compile(r"\b(?:spawn|exec|system)\s++((?:[^\n;{}\]]|\{[^{}]*+\})++)")
_TCL_OPENS = re.compile(r"\bopen\s++(?:\"\|([^\"]*+)\"|\{\|([^{}]*+)\}|\|(\S++))")
_BRACED = re.compile(r"\{([^{}]*)\}")


def _as_word(braced: re.Match[str]) -> str:
    return "'" + braced[1].replace("'", "'\\''") + "'"
