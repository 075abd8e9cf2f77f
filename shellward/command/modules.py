"""Modules that a program loads: the files that would be looked for, as ``import``, ``require`` and the like name them.

Names are read from the text, not from a tree: what is looked for once too often does no harm, and a text that no
parser takes may still be run by another version of its language.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple

from shellward.command.loading import load, seek, texts
from shellward.command.values import OPEN, known_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shellward.command.invocation import Invocation
    from shellward.command.running import Runner

_MOST_NAMES = 200
_MOST_FOLDERS = 6
_CONSTANT = re.compile(r"""["']([^"'\n]{1,300})["']""")


class Folders(NamedTuple):
    """Where a program looks for what it loads.

    Attributes:
        own: the directory of the file that loads.
        search: those that are searched, the first one first.
    """

    own: str
    search: tuple[str, ...]


def follow_modules(t: Runner, language: str, code: str, inv: Invocation) -> None:
    """Follow the modules that a program loads, as far as the line wrote them; note which were looked for."""
    kind = _KINDS.get(language)
    if kind is None or not kind.loads.search(code):
        return
    code = known_part(code) if OPEN in code else code
    state = t.state
    own = posixpath.dirname(state.module) if state.module else "."
    root = posixpath.dirname(state.program) if state.program else "."
    search = [root, own, *_variable(t, inv, kind.variable), *_options(inv, kind)]
    for line in kind.adds.findall(code)[:8]:
        for constant in _CONSTANT.findall(line):
            search += [constant, posixpath.join(root, constant.lstrip("/"))]
    folders = Folders(own, tuple(dict.fromkeys(search))[:_MOST_FOLDERS])
    _load(t, language, kind.candidates(code, folders), inv)


def preload(t: Runner, language: str, inv: Invocation) -> None:
    """Follow what an interpreter's options and variables have it load before its program."""
    kind = _KINDS.get(language)
    if language == "python" and (folders := _variable(t, inv, "PYTHONPATH")):
        _load(t, language, [f"{folder}/{name}customize.py" for folder in folders for name in ("site", "user")], inv)
    if kind is None or not (kind.options or kind.orders):
        return
    words = inv.argv[1:40]
    if kind.orders and (given := _value(t, inv, kind.orders)):
        words = [*given.split()[:40], *words]
    names = [name for name in _given(words, kind.options) if OPEN not in name] if kind.options else []
    if names:
        own = "."
        search = (".", *_variable(t, inv, kind.variable), *_options(inv, kind))
        _load(t, language, kind.named(names, Folders(own, search[:_MOST_FOLDERS])), inv)


def startup(t: Runner, inv: Invocation) -> None:
    """Follow the file that an interactive Python reads first."""
    path = _value(t, inv, "PYTHONSTARTUP")
    if path and (text := seek(t.state, path)) is not None:
        load(t, "python", path, text, inv)


def main_module(t: Runner, inv: Invocation, module: str) -> None:
    """Follow ``python -m module``: its packages, and what of it is the program."""
    search = [".", *_variable(t, inv, "PYTHONPATH")]
    path = module.replace(".", "/")
    places = [posixpath.join(folder, path) for folder in search[:_MOST_FOLDERS]]
    found = [candidate for one in places for candidate in (f"{one}.py", f"{one}/__main__.py")]
    _load(t, "python", [*_packages(module, Folders(".", tuple(search))), *found], inv)


def main_of_folder(t: Runner, inv: Invocation, folder: str) -> None:
    """Follow ``python folder`` and ``python archive.zip``."""
    path = posixpath.join(folder, "__main__.py")
    text = seek(t.state, path)
    if text is not None:
        before, t.state.program = t.state.program, t.state.path(path)
        load(t, "python", t.state.path(path), text, inv)
        t.state.program = before


def _load(t: Runner, language: str, candidates: Iterable[str], inv: Invocation) -> None:
    for path in dict.fromkeys(candidates):
        t.work.spend(1)
        for full, text in texts(t.state, path):
            load(t, language, full, text, inv)


def _value(t: Runner, inv: Invocation, name: str) -> str:
    value = inv.env.get(name) or dict.get(t.state.vars, name)
    return value if isinstance(value, str) else ""


def _variable(t: Runner, inv: Invocation, name: str) -> list[str]:
    """List the directories of a variable such as PYTHONPATH."""
    value = _value(t, inv, name) if name else ""
    return [folder or "." for folder in value.split(":")[:_MOST_FOLDERS]] if value else []


def _options(inv: Invocation, kind: _Kind) -> list[str]:
    """List the directories that ``-I`` adds to the search."""
    return _given(inv.argv[1:40], ("-I", "--include")) if kind.include else []


def _given(words: list[str], options: tuple[str, ...]) -> list[str]:
    """List the values of options, in the same word or in the next one."""
    found = []
    for at, word in enumerate(words):
        for option in options:
            if word == option:
                found += words[at + 1 : at + 2]
            elif word.startswith(f"{option}="):
                found.append(word[len(option) + 1 :])
            elif option[:2] != "--" and word.startswith(option):
                found.append(word[len(option) :])
    return found


# -- Python ---------------------------------------------------------------------------------------------

_BEFORE = frozenset(
    ("sys", "builtins", "os", "io", "abc", "site", "codecs", "encodings", "stat", "time", "marshal", "posix",
     "posixpath", "genericpath", "errno", "signal", "zipimport", "__future__", "typing_extensions")
)  # fmt: skip
"""What is loaded before a program's directory is searched, so that no file there takes its place."""
_IMPORT = re.compile(r"(?:^|[;:])[ \t]*import[ \t]+([^\n;#]{1,400})", re.MULTILINE)
_FROM = re.compile(
    r"(?:^|[;:])[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]{0,2000}|[^\n;#]{1,400})", re.MULTILINE
)
_CALLED = re.compile(r"(?:import_module|__import__|run_module)\s{0,4}\(\s{0,4}[\"']([\w.]{1,200})[\"']")
_OPENED = re.compile(
    r"(?:run_path|execfile|load_source|spec_from_file_location|SourceFileLoader|exec\(\s{0,4}(?:compile\(\s{0,4})?"
    r"(?:open|(?:pathlib\.)?Path))\s{0,4}\(([^)\n]{1,300})"
)


def _python(code: str, folders: Folders) -> Iterator[str]:
    code = code.replace("\\\n", " ") if "\\\n" in code else code
    names: dict[str, None] = {}
    for given in _IMPORT.findall(code)[:_MOST_NAMES]:
        names.update(dict.fromkeys(part.split()[0] for part in given.split(",") if part.split()))
    for package, given in _FROM.findall(code)[:_MOST_NAMES]:
        listed = (part.split()[0] for part in given.strip("( ").split(",") if part.split())
        joint = "" if not package or package[-1] == "." else "."
        names.update(dict.fromkeys([package, *(f"{package}{joint}{name}" for name in listed)]))
    names.update(dict.fromkeys(_CALLED.findall(code)[:_MOST_NAMES]))
    for name in list(names)[:_MOST_NAMES]:
        yield from _packages(name, folders)
    for words in _OPENED.findall(code)[:20]:
        for constant in _CONSTANT.findall(words):
            yield from (constant, posixpath.join(folders.own, constant))


def _packages(name: str, folders: Folders) -> Iterator[str]:
    """List the files that importing a module by its full name looks for."""
    plain = name.lstrip(".")
    up = len(name) - len(plain)
    parts = [part for part in plain.split(".") if part.isidentifier()]
    if not up and (not parts or parts[0] in _BEFORE):
        return
    search = (posixpath.join(folders.own, *[".."] * (up - 1)),) if up else folders.search
    for folder in search:
        if up:
            yield posixpath.join(folder, "__init__.py")
        for count in range(1, len(parts) + 1):
            path = posixpath.join(folder, *parts[:count])
            yield from (f"{path}.py", f"{path}/__init__.py")


def _python_named(names: list[str], folders: Folders) -> Iterator[str]:
    for name in names:
        yield from _packages(name, folders)


# -- JavaScript -----------------------------------------------------------------------------------------

_REQUIRED = re.compile(
    r"(?:(?:require(?:\.resolve)?|import|fork|Worker|importScripts)\s{0,4}\(|(?:from|import))\s{0,9}[\"'`]([^\"'`\n]{1,300})[\"'`]"
)


def _javascript(code: str, folders: Folders) -> Iterator[str]:
    return _javascript_named(_REQUIRED.findall(code)[:_MOST_NAMES], folders)


def _javascript_named(names: Iterable[str], folders: Folders) -> Iterator[str]:
    for name in names:
        plain = name.removeprefix("file://").partition("?")[0]
        if plain.startswith((".", "/")):
            yield from scripts_of(posixpath.join(folders.own, plain))


def scripts_of(path: str) -> Iterator[str]:
    """List the files that node takes for a path."""
    yield path
    if not path.endswith((".js", ".mjs", ".cjs", ".ts")):
        yield from (f"{path}{end}" for end in (".js", ".mjs", ".cjs", ".ts", "/index.js"))


# -- Perl, Ruby, PHP, Lua and others --------------------------------------------------------------------

_USED = re.compile(r"(?:^|[;{}])[ \t]*(?:use|no|require)[ \t]+([A-Za-z_][\w:]{0,200})", re.MULTILINE)
_DONE = re.compile(r"\b(?:require|do)[ \t]{0,9}\(?[ \t]{0,9}[\"']([^\"'\n]{1,300})[\"']")


def _perl(code: str, folders: Folders) -> Iterator[str]:
    yield from _perl_named(_USED.findall(code)[:_MOST_NAMES], folders)
    for path in _DONE.findall(code)[:50]:
        yield from _in(folders, path)


def _perl_named(names: Iterable[str], folders: Folders) -> Iterator[str]:
    for name in names:
        plain = name.lstrip("- ").partition("=")[0].split(" ")[0].replace("::", "/")
        if plain and plain not in {"strict", "warnings", "utf8", "lib", "vars", "feature", "constant"}:
            yield from _in(folders, f"{plain}.pm")


def _in(folders: Folders, path: str) -> Iterator[str]:
    """List a path below each directory that is searched, or where it says itself."""
    if path.startswith(("/", "./", "../", "~")):
        yield path
    else:
        yield from (posixpath.join(folder, path) for folder in folders.search)


_RUBY = re.compile(
    r"\b(require_relative|require|load|autoload)[ \t]{0,9}\(?[ \t]{0,9}(?::\w{1,80}[ \t]{0,9},[ \t]{0,9})?"
    r"[\"']([^\"'\n]{1,300})[\"']"
)


def _ruby(code: str, folders: Folders) -> Iterator[str]:
    for how, name in _RUBY.findall(code)[:_MOST_NAMES]:
        if how == "require_relative":
            yield from _with_end(posixpath.join(folders.own, name), ".rb")
        else:
            yield from _ruby_named([name], folders)


def _ruby_named(names: Iterable[str], folders: Folders) -> Iterator[str]:
    for name in names:
        for path in _in(folders, name):
            yield from _with_end(path, ".rb")


def _with_end(path: str, end: str) -> Iterator[str]:
    yield path
    if not path.endswith(end):
        yield path + end


_PHP = re.compile(
    r"\b(?:include|require)(?:_once)?[ \t]{0,9}\(?[ \t]{0,9}(?:(?:__DIR__|dirname\(__FILE__\))[ \t]{0,9}\.[ \t]{0,9})?"
    r"[\"']([^\"'\n]{1,300})[\"']"
)


def _php(code: str, folders: Folders) -> Iterator[str]:
    for path in _PHP.findall(code)[:_MOST_NAMES]:
        yield from (path, posixpath.join(folders.own, path.lstrip("/")))


_LUA = re.compile(r"\b(?:require|dofile|loadfile)[ \t]{0,9}\(?[ \t]{0,9}[\"']([^\"'\n]{1,300})[\"']")


def _lua(code: str, folders: Folders) -> Iterator[str]:
    return _lua_named(_LUA.findall(code)[:_MOST_NAMES], folders)


def _lua_named(names: Iterable[str], folders: Folders) -> Iterator[str]:
    del folders  # Lua searches the working directory
    for name in names:
        plain = name.rpartition("=")[2]
        yield plain
        yield from (f"{plain.replace('.', '/')}.lua", f"{plain.replace('.', '/')}/init.lua")


_SOURCED = re.compile(r"(?:\b(?:sys\.)?source[ \t]{0,9}\(?|@include)[ \t]{0,9}[\"']?([^\"'\s();]{1,300})")


def _sourced(code: str, folders: Folders) -> Iterator[str]:
    for path in _SOURCED.findall(code)[:_MOST_NAMES]:
        yield from (path, posixpath.join(folders.own, path))


def _none(names: Iterable[str], folders: Folders) -> Iterator[str]:
    del names, folders
    yield from ()


class _Kind(NamedTuple):
    """How a language loads.

    Attributes:
        loads: matches where a program may load something; to be quick with those that do not.
        candidates: lists the files that a program's text names.
        named: lists the files for names given by options.
        adds: matches lines that add a directory to the search.
        variable: of the environment, whose directories are searched.
        options: whose values are loaded first.
        orders: variable of the environment that holds more options.
        include: whether ``-I`` adds directories.
    """

    loads: re.Pattern[str]
    candidates: Callable[[str, Folders], Iterator[str]]
    named: Callable[[list[str], Folders], Iterator[str]]
    adds: re.Pattern[str]
    variable: str = ""
    options: tuple[str, ...] = ()
    orders: str = ""
    include: bool = False


_NEVER = re.compile(r"(?!)")
_PRELOADS = ("-r", "--require", "--import", "--loader", "--experimental-loader")
_PYTHON_LOADS = re.compile("import|run_path|execfile|load_source|Loader|open|Path|spec_from|run_module")
_PYTHON_ADDS = re.compile(r"sys\.path\b([^\n]{1,300})")
_NODE_LOADS = re.compile("require|import|from|fork|Worker")
_PERL_LOADS = re.compile(r"\b(?:use|require|do|no)\b")
_PERL_ADDS = re.compile(r"\b(?:use[ \t]+lib|@INC)\b([^\n]{1,300})")
_RUBY_LOADS = re.compile("require|load")
_RUBY_ADDS = re.compile(r"(?:\$:|\$LOAD_PATH)([^\n]{1,300})")
_RUBY_PRELOADS = ("-r", "--require")
_KINDS: dict[str, _Kind] = {
    "python": _Kind(_PYTHON_LOADS, _python, _python_named, _PYTHON_ADDS, "PYTHONPATH"),
    "javascript": _Kind(_NODE_LOADS, _javascript, _javascript_named, _NEVER, "", _PRELOADS, "NODE_OPTIONS"),
    "perl": _Kind(_PERL_LOADS, _perl, _perl_named, _PERL_ADDS, "PERL5LIB", ("-M", "-m"), "PERL5OPT", include=True),
    "ruby": _Kind(_RUBY_LOADS, _ruby, _ruby_named, _RUBY_ADDS, "RUBYLIB", _RUBY_PRELOADS, "RUBYOPT", include=True),
    "php": _Kind(re.compile("include|require"), _php, _none, _NEVER),
    "lua": _Kind(re.compile("require|dofile|loadfile"), _lua, _lua_named, _NEVER, "", ("-l",)),
    "r": _Kind(re.compile("source"), _sourced, _none, _NEVER),
    "tcl": _Kind(re.compile("source"), _sourced, _none, _NEVER),
    "awk": _Kind(re.compile("@include"), _sourced, _none, _NEVER),
}
"""How languages load, by language."""
