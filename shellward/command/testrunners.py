"""Programs that load files of a project by their names: test runners, task runners, installers of packages.

What they load is looked for as what an interpreter loads is. A project has many such files, so beyond what is read
nobody is asked (``State.lenient``).
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from shellward.command.loading import DEEP, is_pattern, load, seek, texts
from shellward.command.operands import operands, unquoted
from shellward.command.values import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer

_MOST_OPERANDS = 16
_PYTEST = ("test_*.py", "*_test.py", "conftest.py")
_UNITTEST = ("test*.py",)
_JAVASCRIPT = ("*.test.[jmct]*", "*.spec.[jmct]*")
_CONFIGURED = ("jest", "vitest", "mocha", "ava", "playwright", "cypress", "karma", "tap", "jasmine")
_INERT = frozenset(("-h", "--help", "--version", "-V", "--fixtures", "--markers", "--list", "-l", "--dry-run"))


def lenient(t: Tracer, inv: Invocation, language: str, paths: Iterable[str]) -> None:
    """Follow files that a program loads, as far as they are new and there are few enough of them."""
    before, t.state.lenient = t.state.lenient, True
    try:
        for path in paths:
            if OPEN in path:
                continue
            for full, text in texts(t.state, path):
                load(t, language, full, text, inv)
    finally:
        t.state.lenient = before


def _below(folders: Iterable[str], names: Iterable[str]) -> list[str]:
    names = tuple(names)
    return [f"{folder.rstrip('/') or '.'}{DEEP}{name}" for folder in folders for name in names]


def _pytest(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``pytest``: the files it is given or finds, their conftest.py, and plug-ins that are named."""
    if not _INERT.isdisjoint(inv.argv):
        return None
    given = [word.partition("::")[0] for word in operands(inv.argv, "kmpcnorW")][:_MOST_OPERANDS]
    files = [word for word in given if word.endswith(".py")]
    folders = [word for word in given if not word.endswith(".py") and not is_pattern(word)]
    around = [posixpath.join(posixpath.dirname(word), "conftest.py") for word in [*files, "."]]
    plugs = [f"{name.replace('.', '/')}.py" for at, name in enumerate(inv.argv[2:], 1) if inv.argv[at] == "-p"]
    found = _below(folders if given else ["."], _PYTEST)
    lenient(t, inv, "python", [*files, *dict.fromkeys(around), *plugs, *found])
    return None


def _unittest(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``python -m unittest``: modules and files that are named, or what is found."""
    words = operands(inv.argv, "kp")
    if not words or words[0] == "discover":
        at = next((at for at, word in enumerate(inv.argv) if word in {"-s", "--start-directory"}), 0)
        start = inv.argv[at + 1] if at and at + 1 < len(inv.argv) else words[1] if len(words) > 1 else "."
        lenient(t, inv, "python", _below([start], _UNITTEST))
        return None
    named: list[str] = []
    for word in words[:_MOST_OPERANDS]:
        parts = [word] if word.endswith(".py") else word.split(".")
        named += [word] if word.endswith(".py") else [f"{'/'.join(parts[:end])}.py" for end in range(1, len(parts) + 1)]
    lenient(t, inv, "python", named)
    return None


def javascript_tests(t: Tracer, inv: Invocation, _want: bool = False) -> str | None:
    """``jest``, ``mocha``, ``node --test``: the settings, and the files that are given or found."""
    given = [word for word in operands(inv.argv) if word not in {"run", "test", "watch"}][:_MOST_OPERANDS]
    files = [word for word in given if re.search(r"\.[cm]?[jt]sx?\Z", word)]
    folders = [word for word in given if word not in files]
    found = _below([*folders, "."] if not files else [], _JAVASCRIPT)
    settings = [f"{inv.name}.config.[jmct]*", f".{inv.name}rc.[cj]*"] if inv.name in _CONFIGURED else []
    lenient(t, inv, "javascript", [*files, *settings, *found, *(["test/*.[jmc]*"] if not files else [])])
    return None


def go_files(t: Tracer, inv: Invocation) -> None:
    """``go test ./..`` and ``go run ./cmd``: the files in those directories."""
    end = "*_test.go" if inv.argv[1] == "test" else "*.go"
    for word in [word for word in inv.argv[2:] if not word.startswith("-")][:_MOST_OPERANDS] or ["."]:
        if word.endswith("/..."):
            lenient(t, inv, "go", _below([word[:-4]], [end]))
        elif not word.endswith(".go") and word[:1] in {".", "/"}:
            lenient(t, inv, "go", [posixpath.join(word, end)])


def _install(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``pip install .``, ``python -m build``: the setup.py of each directory."""
    words = operands(inv.argv, "rcbtife" if inv.name != "build" else "oC")
    if inv.name == "uv" and words[:1] == ["pip"]:
        words = words[1:]
    if inv.name != "build" and not (words and words[0] in {"install", "wheel", "download"}):
        return None
    editable = [inv.argv[at + 1] for at, word in enumerate(inv.argv[:-1]) if word in {"-e", "--editable"}]
    folders = [*words[1:], *editable] if inv.name != "build" else words or ["."]
    local = [
        word.partition("[")[0] for word in folders if "://" not in word and (word[:1] in {".", "~"} or "/" in word)
    ]
    lenient(t, inv, "python", [posixpath.join(word, "setup.py") for word in local[:_MOST_OPERANDS]])
    return None


def python_by_name(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``uv run x.py``: a program that is called by the name of its file."""
    return t.child(inv, ["python3", *inv.argv], 0, stdin=inv.stdin, want=want) if "/" not in inv.argv[0] else None


def _python_under(sub: str = "", valued: str = "") -> Handler:
    """Make a handler of what runs a Python file, or a module with ``-m``, after a subcommand."""

    def handler(t: Tracer, inv: Invocation, want: bool) -> str | None:
        argv = inv.argv
        if sub and sub not in argv[1:]:
            return None
        at = argv.index(sub, 1) + 1 if sub else 1
        while at < len(argv) and argv[at][:1] == "-" and argv[at] != "-m":
            at += 2 if len(argv[at]) == 2 and argv[at][1] in valued else 1  # a letter
        return t.child(inv, ["python3", *argv[at:]], at, stdin=inv.stdin, want=want) if at < len(argv) else None

    return handler


_SERVED = re.compile(r"[A-Za-z_][\w.]*(?::\w+)?")


def _served(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``uvicorn module:name``: modules of the working directory."""
    named = [word.partition(":")[0].replace(".", "/") for word in inv.argv[1:] if _SERVED.fullmatch(word)]
    lenient(t, inv, "python", [f"{name}{end}" for name in named[:_MOST_OPERANDS] for end in (".py", "/__init__.py")])
    return None


def _tasks(language: str, *names: str) -> Handler:
    """Make a handler of a program that runs tasks which are written in a language."""

    def handler(t: Tracer, inv: Invocation, _want: bool) -> str | None:
        if _INERT.isdisjoint(inv.argv):
            lenient(t, inv, language, names)
        return None

    return handler


def _lines(pattern: str, *names: str) -> Handler:
    """Make a handler of a program whose file holds shell lines, at certain places."""
    places = re.compile(pattern, re.MULTILINE)

    def handler(t: Tracer, inv: Invocation, _want: bool) -> str | None:
        if not _INERT.isdisjoint(inv.argv):
            return None
        text = next((found for name in names if (found := seek(t.state, name))), "")
        for line in places.findall(text)[:200]:
            t.run_text(unquoted(line), inv.span, via=(*inv.via, inv.name), quiet=True)
        return None

    return handler


def also(first: Handler, then: Handler) -> Handler:
    """Make a handler of two, of which the second one says what is printed."""

    def handler(t: Tracer, inv: Invocation, want: bool) -> str | None:
        first(t, inv, want)
        return then(t, inv, want)

    return handler


_PIPS = ("pip", "pip3")
PYTHON: dict[str, Handler] = {
    **dict.fromkeys(("coverage", "streamlit"), _python_under("run")),
    **dict.fromkeys(("pdb", "ipdb"), _python_under("", "c")),
    **dict.fromkeys(("cProfile", "profile"), _python_under("", "os")),
    **dict.fromkeys(("trace", "doctest", "runpy", "viztracer"), _python_under("", "fCo")),
    **dict.fromkeys(("uvicorn", "gunicorn", "hypercorn", "celery"), _served),
}
"""Handlers of programs that run a Python program, by name."""
RUNNERS: dict[str, Handler] = {
    **dict.fromkeys(("pytest", "py.test"), _pytest),
    "unittest": _unittest,
    **dict.fromkeys(_CONFIGURED, javascript_tests),
    **dict.fromkeys((*_PIPS, "build"), _install),
    **dict.fromkeys(("inv", "invoke"), _tasks("python", "tasks.py", "tasks/__init__.py")),
    "fab": _tasks("python", "fabfile.py"),
    "scons": _tasks("python", "SConstruct", "SConscript"),
    "locust": _tasks("python", "locustfile.py"),
    "rake": _tasks("ruby", "Rakefile", "rakefile", "Rakefile.rb"),
    "task": _lines(r"^[ \t]*-[ \t]+(?:cmd:[ \t]*)?(.+)$", "Taskfile.yml", "Taskfile.yaml", "taskfile.yml"),
    "cmake": _lines(r"execute_process\s*\(\s*COMMAND\s+([^)]*)", "CMakeLists.txt"),
    "ninja": _lines(r"^[ \t]*command[ \t]*=[ \t]*(.+)$", "build.ninja"),
}  # fmt: skip
"""Handlers of these programs, by name."""
