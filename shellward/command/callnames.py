"""Other names and roundabout ways of calling, undone: so that calls have the names that calls.py lists."""

from __future__ import annotations

import re

from shellward.command.decode import translate

_BY_KEY = re.compile(r"(?<=[\w)\]])\[\s*((?:[\"']\w+[\"']\s*(?:\+|\.\.)?\s*){1,8})\](?=\s*\()")
"""``os["exe".."cute"](..)``: a method by the text of its name."""
_MODULES = ("os", "shutil", "subprocess", "pathlib", "requests", "pty", "child_process", "fs")

_GIVEN_NAME = re.compile(rf"=\s*(?:(?:{'|'.join(_MODULES)})\.\w|require\()")
"""What an assignment of a module's function has in it; the expression that reads it is slow where it is not."""


def canonical_names(language: str, code: str) -> str:  # noqa: C901  # one language after the other
    """Undo other names and roundabout calls, so that calls have the names people know.

    ``import os as o``, ``from os import system as s``, ``f = os.system``, ``const {execSync: e} = require(..)``,
    ``Kernel.send(:system, ..)``, ``array_map('unlink', ..)``.
    """
    if language == "python":
        code = _python(code)
    if language == "javascript":
        for names in re.findall(r"\{([^{}]*)\}\s*=\s*(?:await\s+import|require)\(", code)[:5]:
            for name, alias in re.findall(r"(\w+)\s*:\s*(\w+)", names)[:10]:
                code = re.sub(r"(?<![\w$.])" + alias + r"(?=\s*[(`])", name, code)
        code = _environment(code)
    if language == "perl":
        code = _perl(re.sub(r"\b(?:my|our|local)\s+(?=[$@%(])", "", code))
    if language in {"javascript", "lua", "php"} and "[" in code:
        code = _BY_KEY.sub(lambda match: "." + "".join(re.findall(r"\w+", match.group(1))), code)
    if language == "ruby" and "#{" in code:  # quotes in there would end the text around it
        code = re.sub(r"#\{[^{}]*\}", lambda match: match.group().replace('"', "'"), code)
    if language == "ruby":
        code = re.sub(r"(?:\.|\b)(?:send|public_send|__send__)\s*\(?\s*:(\w+)\s*,", r".\1(", code)
        code = re.sub(r"\bmethod\(:(\w+)\)\.call\(", r"\1(", code)
    if language == "javascript" and "require(" in code:
        code = re.sub(r"require\(\s*['\"](?:node:)?(rimraf|del|fs-extra)['\"]\s*\)(?=[.(])", r"\1", code)
        joined = re.compile(r"require\(\s*((?:['\"][\w:/]*['\"]\s*\+\s*)+['\"][\w:/]*['\"])\s*\)")
        code = joined.sub(lambda m: "require('" + re.sub(r"['\"\s+]", "", m.group(1)) + "')", code)
    if language == "php":
        code = re.sub(r"\b(?:array_map|array_walk|call_user_func(?:_array)?)\(\s*['\"](\w+)['\"]\s*,", r"\1(", code)
    if language in {"python", "javascript"} and _GIVEN_NAME.search(code):
        known = "|".join(_MODULES)
        source = rf"(?:{known}|require\([^()]*\))\.(\w+)"
        pattern = rf"(?:^|[;\n{{(,]|\b(?:var|let|const)\s)\s*(\w+)\s*=\s*({source})\s*(?=[;,\n)]|\Z)"
        for alias, whole, _ in re.findall(pattern, code)[:10]:
            code = re.sub(r"(?<![\w$.])" + alias + r"(?=\s*\()", lambda _, whole=whole: whole, code)  # type: ignore[misc]
    return code


_TEXT_HELD = r"(\$\w+)\s*=\s*(['\"])((?:(?!\2)[^\\])*)\2\s*"
_TRANSLATED = re.compile(rf"(?:\(\s{{0,9}})?{_TEXT_HELD}(?:\)|;\s*\1)\s*=~\s*(?:tr|y)/([^/]*)/([^/]*)/\w*")
_TURNED = re.compile(rf"{_TEXT_HELD};\s*\1\s*=\s*(?:scalar\s+)?reverse\s*\(?\s*\1\s*\)?")


def _perl(code: str) -> str:
    """Work out a text that is changed in its place: ``($c = "..") =~ tr/a-z/n-za-m/``, ``$c = reverse $c``."""
    if "=~" in code:
        code = _TRANSLATED.sub(lambda m: f'{m.group(1)}="{translate(m.group(4), m.group(5), m.group(3))}"', code)
    return _TURNED.sub(lambda m: f'{m.group(1)}="{m.group(3)[::-1]}"', code) if "reverse" in code else code


def _environment(code: str) -> str:
    """Undo ``const {HOME: h} = process.env``."""
    for names in re.findall(r"\{([\w\s,:]*)\}\s*=\s*(?:process|Bun)\.env\b", code)[:5]:
        for name, alias in re.findall(r"(\w+)(?:\s*:\s*(\w+))?", names)[:10]:
            code = re.sub(rf"(?<![\w$.{{]){alias or name}(?=\s*[,)+}}])", f"process.env.{name}", code)
    return code


_FORMATTED = re.compile(r"\bf[\"']")
_QUOTED_KEY = re.compile(r"(\{[^{}\n\"']{1,60}\[)\"(\w+)\"(\][^{}\n\"']{0,20}\})")


def _python(code: str) -> str:
    """Undo what Python's imports and ``__import__`` rename, and quotes within the braces of a text."""
    if '["' in code and _FORMATTED.search(code):
        code = _QUOTED_KEY.sub(r"\1'\2'\3", code)
    if "__import__" in code or "import_module" in code:
        code = re.sub(r"(?:__import__|importlib\.import_module)\(\s*['\"](\w+)['\"]\s*\)", r"\1", code)
    known = "|".join(_MODULES)
    # Without \b in front: an expression that begins with letters is found many times faster.
    renamed = re.findall(rf"import\s+({known})\s+as\s+(\w+)", code)[:5] if " as" in code or "\tas" in code else []
    for module, alias in renamed:
        code = re.sub(r"\b" + alias + r"\.", module + ".", code)
    for module, names in re.findall(rf"from\s+({known})\s+import\s+\(?([\w, ]+)", code)[:5]:
        for name, alias in re.findall(r"(\w+)(?:\s+as\s+(\w+))?", names)[:20]:
            if name[:1].islower():
                code = re.sub(rf"(?<![\w.]){alias or name}\(", f"{module}.{name}(", code)
    return code
