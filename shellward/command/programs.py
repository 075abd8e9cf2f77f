"""Programs with a way to run commands that needs more than a table: containers, clusters, editors, databases, git."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.builders import BUILDERS
from shellward.command.containers import CONTAINERS
from shellward.command.editors import EDITORS
from shellward.command.launchers import LAUNCHERS
from shellward.command.loading import seek, texts
from shellward.command.operands import has, operands, unquoted
from shellward.command.scripts import project
from shellward.command.testrunners import PYTHON, RUNNERS, also, go_files
from shellward.command.transfers import TRANSFERS, options_with_commands
from shellward.command.unwrap import wrapped
from shellward.command.values import unknown
from shellward.command.wordreader import STDIN_PATHS
from shellward.command.wrappers import Wrap, find_inner

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


_OWN_VALUES = Wrap(
    long=frozenset(
        [
            "env",
            "attach",
            "session",
            "cwd",
            "timeout",
            "env-var",
            "user",
            "shell",
            "image",
            "mount",
            "network",
            "memory",
            "cpus",
            "set",
            "max-output",
            "full-output",
        ]
    )
)


def _own(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``shellward run [options] [--] CMD``: one word is a line for the shell, several are a program and its words."""
    argv = inv.argv
    at = next((at for at, word in enumerate(argv) if at and not word.startswith("-")), 0)
    if argv[at] != "run":
        return None
    start = at + find_inner(argv[at:], _OWN_VALUES).start
    options = argv[at:start]
    mark = t.state.mark()
    for index, word in enumerate(options):
        if word == "--cwd" or word.startswith("--cwd="):
            t.state.chdir(word.partition("=")[2] or "".join(options[index + 1 : index + 2]))
    if len(argv) - start == 1:
        span = inv.spans[start] if inv.spans and start < len(inv.spans) else inv.span
        printed = t.run_text(argv[start], span, stdin=inv.stdin, want=want, via=(*inv.via, inv.name))
    else:
        printed = t.child(inv, argv[start:], start, stdin=inv.stdin, want=want)
    t.state.undo(mark)
    return printed


def _preprocessor(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``rg --pre rm x dir`` runs ``rm`` on each file."""
    argv = inv.argv
    for at, word in enumerate(argv[1:], 1):
        if word == "--pre" or word.startswith("--pre="):
            program = word[6:] if word.startswith("--pre=") else argv[at + 1] if at + 1 < len(argv) else ""
            rest = operands(argv[at + 1 :] if word == "--pre" else argv[at:])
            where = rest[1] if len(rest) > 1 else "."
            t.child(inv, [*program.split(), f"{where}/{unknown('find')}"], 0)
    return None


def _crontab(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    rest = operands(inv.argv, "u")
    text = inv.stdin if not rest or rest[0] in STDIN_PATHS else seek(t.state, rest[0])
    for line in (text or "").splitlines()[:100]:
        match = re.match(r"\s*(?:@\w+|(?:\S+\s+){5})(.+)", line)
        if match and not line.lstrip().startswith("#"):
            t.run_text(match.group(1), inv.span, via=(*inv.via, "crontab"), quiet=True)
    return None


def _at(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    if inv.stdin:
        t.run_text(inv.stdin, inv.span, via=(*inv.via, inv.name))
    return None


def _socat(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    for word in inv.argv[1:]:
        match = re.match(r"(?:EXEC|SYSTEM|SHELL):(.+)", word, re.IGNORECASE)
        if match:
            text = unquoted(match.group(1).partition(",")[0])
            t.run_text(text, inv.span, via=(*inv.via, "socat"))
    return None


def _dotenv(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``dotenv run -- cmd`` of Python, ``dotenv -- cmd`` of Node, Ruby and Go."""
    argv = inv.argv
    if "run" in argv[1:6]:
        return _PACKAGED(t, inv, want)
    return wrapped(t, inv, argv, Wrap("fecv"), want=want)


def _ansible(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    argv = inv.argv
    if has(argv, "C", "check") or "--check" in argv:
        return None
    module = next((argv[i + 1] for i, w in enumerate(argv[:-1]) if w in {"-m", "--module-name"}), "command")
    args = next((argv[i + 1] for i, w in enumerate(argv[:-1]) if w in {"-a", "--args"}), "")
    if module.rpartition(".")[2] in {"command", "shell", "raw", "script"} and args:
        t.run_text(args.removeprefix("cmd="), inv.span, via=(*inv.via, "ansible"))
    return None


def _ansible_console(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``ansible-console`` reads a module and its arguments from each line; a line of another kind is a command."""
    for line in (inv.stdin or "").splitlines()[:50]:
        module, _, rest = line.strip().partition(" ")
        known = module.rpartition(".")[2] in {"command", "shell", "raw", "script"}
        t.run_text(rest if known else line, inv.span, via=(*inv.via, inv.name), quiet=True)
    return None


def _remote_command(pattern: str) -> Handler:
    """Make a handler for tools whose words hold a remote command after a fixed part."""
    compiled = re.compile(pattern)

    def handler(t: Tracer, inv: Invocation, _want: bool) -> str | None:
        argv = inv.argv
        if not compiled.search(" ".join(argv[1:])):
            return None
        for at, word in enumerate(argv[1:], 1):
            match = re.match(r"(?:-C|--command|--commands|--execute-command|-c)(?:=(.*))?\Z", word, re.DOTALL)
            if match:
                value = match.group(1) if match.group(1) is not None else argv[at + 1] if at + 1 < len(argv) else ""
                t.run_text(value, inv.span, via=(*inv.via, inv.name))
        if "--" in argv:
            at = argv.index("--") + 1
            while at < len(argv) and argv[at].startswith("-"):
                at += 1  # options of ssh
            if len(argv) - at == 1:
                t.run_text(argv[at], inv.span, via=(*inv.via, inv.name))
            else:
                t.child(inv, argv[at:], at)
        return None

    return handler


def _salt(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    for at, word in enumerate(inv.argv[:-1]):
        if word in {"cmd.run", "cmd.shell", "cmd.run_all", "cmd.script"}:
            t.run_text(inv.argv[at + 1], inv.span, via=(*inv.via, inv.name))
    return None


def _after(words: str) -> Handler:
    """Make a handler for tools with ``run``-like subcommands: ``poetry run cmd``."""
    subs = frozenset(words.split())

    def handler(t: Tracer, inv: Invocation, want: bool) -> str | None:
        for at, word in enumerate(inv.argv[1:6], 1):
            if word in subs:
                wrap = Wrap(
                    "np" if word == "exec" else "npC",
                    code=frozenset(("-c", "--call") if word in {"exec", "x"} else ()),
                    long=frozenset(
                        (
                            "python",
                            "node",
                            "npm",
                            "using",
                            "with",
                            "name",
                            "prefix",
                            "extra",
                            "group",
                            "directory",
                            "project",
                            "env-file",
                            "package",
                            "dir",
                            "filter",
                        )
                    ),
                )
                return wrapped(t, inv, inv.argv[at:], wrap, want=want)
        return None

    return handler


_ENTRY = re.compile(r"^[ \t-]*entry:[ \t]*(.+)$", re.MULTILINE)


def _pre_commit(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``pre-commit run``: the hooks of settings that this line wrote."""
    if "run" in inv.argv[1:3] or "try-repo" in inv.argv[1:3]:
        for entry in _ENTRY.findall(seek(t.state, ".pre-commit-config.yaml") or "")[:20]:
            t.run_text(unquoted(entry), inv.span, via=(*inv.via, inv.name))
    return None


def _fifo(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``mkfifo path``: what is read there, others write."""
    words = operands(inv.argv, "m")
    for path in words[:8] if inv.name == "mkfifo" else words[:1] if "p" in words[1:2] else []:
        t.state.put(t.state.files, t.state.opened(path), unknown("in", "fifo"))
    return None


def _run_parts(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``run-parts folder``: every program in there."""
    for folder in operands(inv.argv)[:1]:
        for _, text in texts(t.state, f"{folder.rstrip('/')}/*"):
            t.script(inv, text, want=want)
    return None


def _direnv(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``direnv allow`` makes each later prompt run ``.envrc``; ``direnv exec dir cmd`` runs both."""
    content = seek(t.state, ".envrc")
    if content and inv.argv[1:2] in (["allow"], ["exec"], ["permit"], ["grant"], ["reload"]):
        t.run_text(content, inv.span, via=(*inv.via, inv.name))
    if inv.argv[1:2] == ["exec"] and len(inv.argv) > 3:
        return t.child(inv, inv.argv[3:], 3, stdin=inv.stdin, want=want)
    return None


def _go(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``go run file``: a program that this line wrote."""
    if inv.argv[1:2] == ["run"] or inv.argv[1:2] == ["test"]:
        go_files(t, inv)
        for word in inv.argv[2:6]:
            content = seek(t.state, word) if word.endswith(".go") or word.startswith("/dev/fd/") else None
            content = inv.stdin if word in STDIN_PATHS else content
            if content:
                t.run_code("go", content, inv, [])
    return None


_REMOTE = _remote_command(r"\bssh\b|\bexec\b|\brun\b|console|run-command|execute-command|send-command")
_PACKAGED = _after("run exec run-script dlx x shell tool")

PROGRAMS: dict[str, Handler] = {
    **BUILDERS,
    **EDITORS,
    **CONTAINERS,
    **LAUNCHERS,
    **TRANSFERS,
    **RUNNERS,
    **PYTHON,
    **{name: also(RUNNERS[name], LAUNCHERS[name]) for name in ("fab", "cmake")},
    "go": _go,
    "dotenv": _dotenv,
 "shellward": _own, "pre-commit": _pre_commit, "direnv": _direnv, "run-parts": _run_parts, "mkfifo": _fifo, "mknod": _fifo,
    "sort": options_with_commands(r"--compress-program(?:=|\Z)"),
    "split": options_with_commands(r"--filter(?:=|\Z)"),
    "man": options_with_commands(r"-P\Z|--pager(?:=|\Z)|-H\Z|--html(?:=|\Z)"),
    "dpkg": options_with_commands(r"--pre-invoke(?:=|\Z)|--post-invoke(?:=|\Z)"),
    "tcpdump": options_with_commands(r"-z\Z"),
    "mutt": options_with_commands(r"-e\Z"),
 "crontab": _crontab, "at": _at, "batch": _at, "socat": _socat, "ansible": _ansible, "ansible-console": _ansible_console,
    "salt": _salt, "salt-call": _salt, "salt-ssh": _salt,
    "rg": _preprocessor,
    **dict.fromkeys(["gcloud", "fly", "flyctl", "render", "koyeb", "ecs", "copilot", "vagrant", "coder", "devpod", "daytona", "gitpod", "doctl"], _REMOTE),
    **dict.fromkeys(["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "bundle", "pixi", "devbox", "rbenv", "pyenv", "nodenv", "tox", "nox", "volta", "fnm", "devenv"], _PACKAGED),
    **dict.fromkeys(["npm", "pnpm", "yarn", "composer"], project(_PACKAGED)),
}  # fmt: skip
"""Handlers by program."""
