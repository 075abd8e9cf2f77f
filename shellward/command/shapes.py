"""What shows in a program as a whole, not in one call: reverse shells, fork bombs, loops that remove files, awk programs."""

from __future__ import annotations

import re

from shellward.command.actions import MAX_CALLS, Action
from shellward.command.calls import CLIENT_WORDS, CLIENTS
from shellward.command.decode import translate
from shellward.command.literals import Literals
from shellward.command.purecalls import squeeze
from shellward.command.values import character, decimal, known_part, unknown

_WALKERS = re.compile(r"(?:\.(?:rglob|iterdir|glob|walk)|os\.(?:walk|scandir|listdir)|\bi?glob)\(")
_CHANGES_EACH = re.compile(r"\bos\.l?(chmod|chown)\([^\n]{0,200}?(?:,\s*0?o?([0-7]{3,4})\s*\)|\))")
_REMOVES_EACH = re.compile(r"(?:\.(?:unlink|rmdir)|os\.(?:remove|unlink|rmdir)|shutil\.rmtree)\(")


def in_loops(language: str, code: str, actions: list[Action]) -> None:
    """Files that a loop over a directory removes: the directory is what is known of them."""
    if language in {"ruby", "perl", "php"}:
        _finds_and_removes(language, code, actions)
    if language != "python":
        return
    changed = _CHANGES_EACH.search(code)
    if not changed and not _REMOVES_EACH.search(code):
        return
    if not changed and any(action.argv[:1] == ("rm",) and known_part(action.argv[-1]).strip("/") for action in actions):
        return
    for walker in list(_WALKERS.finditer(code))[:10]:
        literals = Literals(code, language)
        values, _ = literals.arguments(walker.end() - 1)
        given = squeeze(values[0]) if values else ""
        base, pattern = given, ""
        if walker.group().startswith((".rglob", ".glob", ".iterdir")):
            owner = re.search(r"(?:Path\(([^()]*)\)|\b(\w+))\Z", code[max(0, walker.start() - 200) : walker.start()])
            if owner and owner.group(2) not in {"glob", "os"}:
                known = Literals(code, language)
                text = owner.group(1) if owner.group(1) is not None else None
                held = known.constant(owner.group(2), 0) if text is None else Literals(text, language).expression(0)
                base, pattern = squeeze(held or "") or ".", given
            else:
                base, pattern = given.rpartition("/")[0] or ".", given.rpartition("/")[2]
        if known_part(base) and changed:
            words = ("chmod", "-R", changed.group(2) or "777") if changed.group(1) == "chmod" else ("chown", "-R", "x")
            actions.append(Action("argv", argv=(*words, "--", base)))
        elif known_part(base):
            actions.append(Action("argv", argv=("rm", "-r", "--", f"{base.rstrip('/')}/{unknown('find', pattern)}")))


_FINDERS = {
    "ruby": (re.compile(r"\bDir(?:\.(?:glob|each_child|children|entries|foreach)\(|\[)\s*(['\"])(.*?)\1|Find\.find\(\s*(['\"])(.*?)\3"), re.compile(r"(?:File\.(?:delete|unlink)|FileUtils\.rm\w*|\.unlink|\.delete|\.rmtree)\b")),
    "perl": (re.compile(r"\bfind(?:depth)?\s*\(.{0,400}?,\s*(['\"])([^'\"]*)\1|\b(?:glob|opendir)\s*\(?[^'\"]{0,20}(['\"])([^'\"]*)\3", re.DOTALL), re.compile(r"\b(?:unlink|rmdir|rmtree|remove_tree)\b")),
    "php": (re.compile(r"(?:RecursiveDirectoryIterator|DirectoryIterator|glob|scandir|opendir)\s*\(\s*(['\"])(.*?)\1()()"), re.compile(r"\b(?:unlink|rmdir)\b")),
}  # fmt: skip
"""By language: what lists files, with the directory, and what removes them."""


def _finds_and_removes(language: str, code: str, actions: list[Action]) -> None:
    """A program that lists a directory and removes what it finds there."""
    lists, removes = _FINDERS[language]
    if not removes.search(code):
        return
    for match in list(lists.finditer(code))[:10]:
        base = re.split(r"[*?\[]", match.group(2) or match.group(4) or "")[0].rstrip("/")
        if base:
            actions.append(Action("argv", argv=("rm", "-r", "--", f"{base}/{unknown('find')}")))


_CONNECTS = re.compile(
    r"socket|Socket|net\.connect|net[\"']\)\s*\.(?:connect|Socket|createConnection)|fsockopen|createConnection|/inet/tcp|Deno\.connect|net\.Dial|gen_tcp"
)
_SHELL_AT_SOCKET = re.compile(
    r"dup2|pty\.spawn|/bin/(?:ba|z|da|k)?sh|\bcmd\.exe|powershell|STDIN,\s*[\"']?>&|\bsh\s+-i|to_?sh|"
    r"(?:spawn|exec\w{0,12}|popen|system|Command)\s*\(\s*[\"'](?:ba|z|da|k)?sh\b|fdopen\s*\(\s*\$\w+\s*,\s*[rw]\b"
)
_NETWORK = ("ocket", "onnect", "fsockopen", "/inet/tcp", "net.Dial", "gen_tcp")
"""One of these is in every program that _CONNECTS matches."""
_RUNS_WHAT_COMES = {
    "perl": re.compile(r"\b(?:system|exec)\b|`\s*\$|qx"),
    "ruby": re.compile(r"popen|\bexec\b|\bsystem\b|spawn|`#\{"),
    "php": re.compile(r"\b(?:shell_exec|exec|system|passthru|popen|proc_open|pcntl_exec)\s*\(|`\s*\$"),
    "lua": re.compile(r"io\.popen|os\.execute"),
    "python": re.compile(r"\b(?:system|popen|getoutput|check_output|Popen|run|exec|eval)\([^\n]{0,80}?\brecv\b"),
    "javascript": re.compile(r"\.pipe\(\s*\w+\.stdin|\.on\([\"']data[\"'][^\n]{0,120}exec"),
    "tcl": re.compile(r"\bexec\b"),
    "r": re.compile(r"\bsystem2?\("),
    "java": re.compile(r"ProcessBuilder|\.exec\("),
    "go": re.compile(r"exec\.Command"),
    "elixir": re.compile(r"System\.(?:cmd|shell)|os:cmd|open_port|Port\.open"),
}
"""What runs the lines that come over a connection, by language."""


_JOINED = re.compile(r"([\"'])\s*\+\s*\1")
_SIGNS = (*CLIENT_WORDS, *_NETWORK, "docker.sock", "fork", "chmod", "chown", "unlink", "rmdir", "remove", "rmtree")
"""One of these is in every program of Python of which whole() or in_loops() say something."""


def may_show(code: str) -> bool:
    """Tell whether whole() or in_loops() may find something in a program of Python: they take long to find nothing."""
    return any(word in code for word in _SIGNS) or ("+" in code and _JOINED.search(code) is not None)


def whole(language: str, code: str, actions: list[Action]) -> None:  # noqa: C901, PLR0912
    """What shows only in the program as a whole: reverse shells, fork bombs."""
    if language == "perl" and re.search(
        r"open\b[^;]{0,80}[\"']\s*\|-?\s*(?:[\"'],\s*[\"'])?(?:/bin/)?(?:ba|da|z)?sh\b", code
    ):
        printed = re.findall(r"\bprint\s+\{?\$?\w+\}?\s+\"((?:[^\"\\]|\\.)*)\"", code)[:20]
        actions += [Action("shell", unquote(text)) for text in printed]
    if language == "perl" and "$_" in code and re.search(r"\b(?:system|exec)\s*(?:\$_\s*)?(?:;|\Z|\})", code):
        said = re.search(r"\$_\s*=\s*(['\"])(.*?)\1", code)
        turned = re.search(r"(?:^|[;\s])(?:y|tr)/([^/]*)/([^/]*)/", code)
        text = said.group(2) if said else ""
        if turned:
            text = translate(turned.group(1), turned.group(2), text)
        actions += [Action("shell", text)] if text else []
    if language in {"python", "javascript", "ruby", "php"} and any(word in code for word in CLIENT_WORDS):
        for imported, deletes in CLIENTS:
            match = deletes.search(code) if imported.search(code) else None
            if match:
                actions.append(Action("argv", argv=("@store", language, match.group().strip(".( "))))
    if language == "javascript" and "eval" in code and re.search(r"\.then\(\s*(?:eval|Function)\b", code):
        actions.append(Action("argv", argv=("@run", language, "net:fetch")))
    if language == "php" and re.search(r"\b(?:include|require)(?:_once)?\b\s*\(?\s*[\"'](?:https?|ftp|data):", code):
        actions.append(Action("argv", argv=("@run", language, "net:include")))
    if language == "osascript":
        _applescript(code, actions)
    plain = _JOINED.sub("", code) if "+" in code else code
    if "docker.sock" in plain and re.search(r"(?:DELETE|POST|PUT) /", plain):
        actions.append(Action("argv", argv=("@store", language, "docker.sock")))
    runs = _RUNS_WHAT_COMES.get(language)
    connects = any(word in code for word in _NETWORK) and _CONNECTS.search(code)
    if connects and (_SHELL_AT_SOCKET.search(code) or (runs and runs.search(code)) or _answers(language, code)):
        actions.append(Action("argv", argv=("@reverse-shell", language)))
    if "fork" not in code:
        return
    if re.search(
        r"(?:while|loop|until|for)\b[^\n]{0,40}?\b(?:os\.)?fork\b|\bos\.fork\(\)[^\n\])}]{0,40}?\bfor\b|\bfork\s+(?:while|until)\s+(?:fork|1|true)|loop\s*\{\s*fork",
        code,
    ) or re.search(r"while\s*\(?(?:True|1|true)\)?\s*[:{]?\s*(?:os\.)?fork", code):
        actions.append(Action("argv", argv=("@fork-bomb", language)))


_RECEIVES = re.compile(r"recv\b")
_RUNS = re.compile(r"\b(?:system|popen|getoutput|check_output|Popen|run|exec|eval)\b")
_THROUGH_SHELL = re.compile(r"shell\s{0,9}=\s{0,9}(?:True|1)")


def _answers(language: str, code: str) -> bool:
    """Tell whether a program of Python that reads from a connection runs something in the same line, or with a shell."""
    if language != "python" or "recv" not in code:
        return False
    for line in code.splitlines():
        receives = _RECEIVES.search(line)
        if receives and _RUNS.search(line, receives.end()):
            return True
    return ".recv(" in code and ".connect(" in code and _THROUGH_SHELL.search(code) is not None


_APPLESCRIPT = re.compile(
    r"(?i)tell\s+app(?:lication)?\s+\"[^\"]*\"\s+to\s+((?:shut\s*down|restart|log\s*out|sleep)|(?:delete|empty|erase)\b[^\n]{0,60}|quit)"
)


def _applescript(code: str, actions: list[Action]) -> None:
    """What a script of macOS tells an application to do: shut down, delete, empty the trash."""
    for told in _APPLESCRIPT.findall(code)[:10]:
        word = told.split()[0].lower()
        if word in {"shut", "shutdown", "restart", "log", "logout", "sleep"}:
            actions.append(Action("argv", argv=("shutdown", told)))
        elif word != "quit":
            actions.append(Action("argv", argv=("rm", "-r", "--", "~/" + unknown("find"))))


_SPRINTF = re.compile(r'\bsprintf\(\s*"((?:[^"\\]|\\.)*)"((?:\s*,\s*(?:"(?:[^"\\]|\\.)*"|\d+))*)\s*\)')


def _formatted(match: re.Match[str]) -> str:
    """What ``sprintf`` makes of constant texts."""
    given = re.findall(r'"((?:[^"\\]|\\.)*)"|(\d+)', match.group(2))
    values = [text if not number else character(decimal(number)) for text, number in given]
    return '"' + re.sub(r"%[-\d.]*[sdc]", lambda _: values.pop(0) if values else "", match.group(1)) + '"'


_AWK_ASSIGNED = re.compile(
    r'\b([A-Za-z_]\w*+)[ \t]*=[ \t]*((?:(?:"(?:[^"\\]|\\.)*+"|[A-Za-z_]\w*+)[ \t]*+){1,12}+)(?=[;}\n]|\Z)'
)


def _awk_joined(code: str) -> str:
    """Work out assignments of texts one after the other, so that ``c = c "sh"`` is a text of its own."""
    held: dict[str, str] = {}
    for match in list(_AWK_ASSIGNED.finditer(code))[:20]:
        pieces = re.findall(r'"((?:[^"\\]|\\.)*)"|([A-Za-z_]\w*)', match.group(2))
        if len(pieces) > 1 or match.group(1) in held or pieces[0][0]:
            held[match.group(1)] = "".join(held.get(name, "") if name else value for value, name in pieces)[:2000]
        last = match
    if not held or not any(name == match.group(1) for name in held):
        return code
    rebuilt = [f'{name} = "{value}"' for name, value in held.items()]
    return _AWK_ASSIGNED.sub("", code[: last.end()]) + ";".join(rebuilt) + code[last.end() :]


_AWK_PIECE = r'(?:(?<!\\)"(?:[^"\\]|\\.)*+"|\$\w++|\$\([^()\n]*\)|\b(?!print|getline|if\b|while\b)[A-Za-z_]\w*\b(?:\[[^\[\]\n]*\])?)'
_AWK_RUN = re.compile(rf"\bsystem\s*\(\s*((?:{_AWK_PIECE}[ \t]*){{2,12}})")
_AWK_READ = re.compile(rf"((?:{_AWK_PIECE}[ \t]*){{2,12}})\|&?\s*getline")


_AWK_CALL = re.compile(
    r'\b(substr|tolower|toupper)\(\s*"((?:[^"\\]|\\.)*)"(?:\s*,\s*(\d{1,4}))?(?:\s*,\s*(\d{1,4}))?\s*\)'
)


def _awk_called(match: re.Match[str]) -> str:
    """What ``substr``, ``tolower`` and ``toupper`` make of a constant text."""
    name, text, start, length = match.groups()
    if name != "substr":
        return f'"{text.lower() if name == "tolower" else text.upper()}"'
    first = max(int(start or 1), 1) - 1
    return f'"{text[first : first + int(length)] if length else text[first:]}"'


def _awk_unknown(match: re.Match[str]) -> str:
    """Make one text of pieces that are joined: what is no text becomes a marker."""
    pieces = re.findall(r'"((?:[^"\\]|\\.)*)"|([^\s"][^\s"]*)', match.group(1))
    text = "".join(unknown("in", "awk") if name else value for value, name in pieces)
    return match.group().replace(match.group(1), f'"{text}" ', 1)


def awk(code: str) -> list[Action]:
    """What an awk program runs and writes."""
    actions: list[Action] = []
    text = r'(?<!\\)"((?:[^"\\]|\\.)*+)"'
    joined = re.sub(r'"[ \t]+"', "", re.sub(r'\bENVIRON\[\s*"HOME"\s*\]', ' "~" ', code))
    joined = _SPRINTF.sub(_formatted, joined)
    joined = _awk_joined(joined)
    for name, value, _ in re.findall(r"\b([A-Za-z_]\w*)[ \t]*=[ \t]*(" + text + r")", joined)[:20]:
        put = rf"\b{name}\b(?=[ \t]*[|)\"]|[ \t]+[\w\"])(?![ \t]*=)"
        joined = re.sub(put, lambda _, value=value: value, joined)  # type: ignore[misc]
        called = rf"\b(substr|tolower|toupper)\(\s*{name}\b"
        joined = re.sub(called, lambda match, value=value: f"{match.group(1)}({value}", joined)  # type: ignore[misc]
    joined = re.sub(r'"[ \t]*"', "", _AWK_CALL.sub(_awk_called, joined))
    joined = re.sub(
        r'\bsprintf\(\s*"((?:[^"\\]|\\.)*)"((?:\s*,\s*(?:"(?:[^"\\]|\\.)*"|\d+))*)\s*\)', _formatted, joined
    )
    for printed, name in re.findall(r'(?<!\\)"(?:echo|printf)\s+((?:[^"\\]|\\.)*)"\s*\|\s*getline\s+(\w+)', joined)[:5]:
        joined = re.sub(rf"\bsystem\s*\(\s*{name}\s*\)", lambda _, printed=printed: f'system("{printed}")', joined)  # type: ignore[misc]
    if "system" in joined:
        joined = _AWK_RUN.sub(_awk_unknown, joined)
    if "getline" in joined:
        joined = _AWK_READ.sub(_awk_unknown, joined)
    found: list[re.Match[str]] = []
    found += re.finditer(r"\bsystem\s*\(\s*" + text, joined)
    found += re.finditer(r"(?<!\|)\|&?\s*" + text, joined)
    found += re.finditer(text + r"\s*\|&?\s*\"(?:\S*/)?(?:ba|z|da|k)?sh\b", joined)
    found += re.finditer(text + r"\s*\|&?\s*getline", joined)
    actions += [Action("shell", unquote(match.group(1))) for match in found[:MAX_CALLS]]
    written = list(re.finditer(r"\bprint(?:(?!print)[^;{}\n])*?(>>?)\s*" + text, joined))[:MAX_CALLS]
    actions += [Action("argv", argv=(match.group(1), unquote(match.group(2)))) for match in written]
    if "/inet/tcp" in code:
        actions.append(Action("argv", argv=("@reverse-shell", "awk")))
    return actions


def unquote(text: str) -> str:
    """Undo the escapes of a quoted text."""
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), text)
