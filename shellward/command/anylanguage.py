"""Calls in any language, told by what they look like: a shell with ``-c``, a program with its words, a deletion.

For languages without a table of calls (calls.py) this is all that is read; lists with a shell in them are read in
every language.
"""

from __future__ import annotations

import re

from shellward.command.actions import MAX_CALLS, Action

_TEXT = r"(?<!\\)([\"'])((?:\\.|(?!{0})[^\\])*){0}"
_SHELL_LIST = re.compile(
    r"([\"'])(?:/\w+)*/?(?:ba|z|da|k|a)?sh\1[\s,:()\[\]{}\w]{0,24}?([\"'])-\w{0,4}c\2\s*,?\s*([\"'`])((?:\\.|(?!\3)[^\\])*)\3"
)
"""``"sh", ["-c", "text"]`` in whatever brackets."""
_GIVEN_TEXT = re.compile(
    r"(?i)(?:system|shell|spawn|popen|exec|cmd|command|run[-_]?(?:process|program|command)?)[\w!?]{0,12}(?:\s*[($]|\s)\s*"
    + _TEXT.format(r"\1")
)
_PROGRAM = re.compile(
    r"\"((?:/[\w.+-]+)*/?[a-z][\w.+-]*)\"\s*,?\s*(?:\(?\s*(?:list|vector|listOf|asList|Seq|args)\s*[:=(]?\s*|[\[({]\s*)*"
    r"((?:,?\s*\"(?:\\.|[^\"\\])*\"){1,16})"
)
_RUNS = re.compile(r"(?i)process|exec|spawn|command|system|run-program|shell|\bsh\b|popen")
_REMOVES = re.compile(
    r"(?i)(?<![\w:.!/-])([\w:.!/-]{0,60}?(?:remove|delete|unlink|rm_rf|rmtree|rmdir|del_dir)[\w:.!?/*-]{0,60})[\s(]+(?:[\w.:-]{1,40}[(\s:]\s*){0,3}"
    + _TEXT.format(r"\2")
)
_REMOVES_ITSELF = re.compile(r"\(\s*" + _TEXT.format(r"\1") + r"\s*\)\s*\)?\.((?:delete|remove|unlink)\w*)\(")
_WALKS = re.compile(
    r"(?i)(?:walk\w{0,40}|newDirectoryStream|listFiles|eachFile\w{0,40}|list_dir|File)\s*\([^\n]{0,60}?"
    + _TEXT.format(r"\1")
)
_DELETES_EACH = re.compile(r"(?i)\.delete\w*\(|\bdelete(?:IfExists|Recursively)?\(|removeItem")
_EVALUATES = re.compile(
    r"\b(?:evaluate|parseClass|GroovyShell|ScriptEngine|URLClassLoader|Code\.eval_string|eval-string|eval)\b"
)
_HOME = re.compile(
    r"(?<![\w.:!])[\w.:!]{0,40}(?:getenv|get_env|env::var|fetch_env!?|\bENV|\$env)\s*[(\[{]\s*[\"']?HOME[\"']?\s*[)\]}](?:\.unwrap\(\))?"
    r"|System\.getProperty\(\s*[\"']user\.home[\"']\s*\)|System\.user_home!?(?:\(\))?"
)
"""How programs ask for the home directory."""
_TREE = re.compile(r"(?i)tree|recurs|dir|folder|all|_rf|item|files")


_JOINED = re.compile(r"(?<!\\)([\"'])((?:\\.|(?!\1)[^\\])*)\1\s*(?:\+\+?|\^|&|<>|\.|\*|~)\s*\1((?:\\.|(?!\1)[^\\])*)\1")
_JOINS = re.compile(
    r"\((?:concat|concatenate\s+'string|string-append|str|strcat|string-concat|uiop:strcat)((?:\s+\"(?:\\.|[^\"\\])*\")+)\s*\)"
)


def joined_texts(code: str) -> str:
    """Put texts together that a program joins: ``"a" ++ "b"``, ``(string-append "a" "b")``."""
    for _ in range(6):
        joined = _JOINED.sub(lambda m: f"{m.group(1)}{m.group(2)}{m.group(3)}{m.group(1)}", code)
        if joined == code:
            break
        code = joined
    if "(" not in code or '" "' not in code:
        return code
    return _JOINS.sub(lambda m: '"' + "".join(re.findall(r'"((?:\\.|[^"\\])*)"', m.group(1))) + '"', code)


_EACH = re.compile(
    r"\b(?:for|foreach|each|forM_|mapM_)\b[^{}\n;\"']{0,60}?\b(\w+)\s*(?::=\s*range|in|:|<-|=)\s*[^\"'\n;]{0,40}?[\[{(]\s*((?:\"[^\"\n]*\"\s*,?\s*){1,16})[\]})]"
)


def unrolled(code: str) -> str:
    """Write a loop over known texts out: what its body does with the first, then with the next."""
    made = []
    for match in list(_EACH.finditer(code))[:5]:
        name, body = match.group(1), code[match.end() : match.end() + 1000]
        word = re.compile(rf"(?<![\w.\"]){name}(?![\w\"])")
        texts = re.findall(r"\"([^\"\n]*)\"", match.group(2))[:16]
        made += [word.sub(lambda _, given=given: f'"{given}"', body) for given in texts]  # type: ignore[misc]
    return "\n".join([code, *made])


_DEFINED = re.compile(r"\bdefine\(\s*`?(\w+)'?\s*,\s*`?([^'()`]*)'?\s*\)")


def with_macros(code: str) -> str:
    """Put the texts of macros of m4 where their names stand."""
    for name, given in _DEFINED.findall(code)[:20]:
        code = re.sub(rf"\b{name}\b[`']{{0,2}}", lambda _, given=given: given, code)  # type: ignore[misc]
    return code


def shell_lists(code: str) -> list[Action]:
    """List the texts that a program gives to a shell, as words in a list."""
    if "-" not in code or "sh" not in code:
        return []
    found = [match.group(4) for match in _SHELL_LIST.finditer(code)]
    return [Action("shell", _plain(text)) for text in found[:MAX_CALLS]]


def any_calls(code: str) -> list[Action]:
    """List what the calls of a program in some language would do, as far as their names and texts say it."""
    code = _HOME.sub('"~"', code)
    given = [match.group(2) for match in _GIVEN_TEXT.finditer(code)][:MAX_CALLS]
    actions = [Action("shell", _plain(text)) for text in given if text.strip()]
    if _RUNS.search(code):
        for match in list(_PROGRAM.finditer(code))[:MAX_CALLS]:
            words = re.findall(r"\"((?:\\.|[^\"\\])*)\"", match.group(2))
            actions.append(Action("argv", argv=(match.group(1), *map(_plain, words))))
    if _EVALUATES.search(code) and re.search(r"https?://", code):
        actions.append(Action("argv", argv=("@run", "sh", "net:fetch")))
    if _DELETES_EACH.search(code):
        for match in list(_WALKS.finditer(code))[:10]:
            actions += _removal("tree", match.group(2))
    for match in list(_REMOVES.finditer(code))[:MAX_CALLS]:
        actions += _removal(match.group(1), match.group(3))
    for match in list(_REMOVES_ITSELF.finditer(code))[:MAX_CALLS]:
        actions += _removal(match.group(3), match.group(2))
    return actions


def _removal(name: str, path: str) -> list[Action]:
    if not re.match(r"~?/|~$|\.{1,2}/", path):
        return []
    return [Action("argv", argv=("rm", *(["-r"] if _TREE.search(name) else []), "--", path))]


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), text)
