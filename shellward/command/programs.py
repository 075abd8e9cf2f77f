"""Programs with a way to run commands that needs more than a table: containers, clusters, editors, databases, git."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.builders import BUILDERS
from shellward.command.containers import CONTAINERS
from shellward.command.editors import EDITORS
from shellward.command.launchers import LAUNCHERS
from shellward.command.operands import has, operands, short_values
from shellward.command.scripts import project
from shellward.command.unwrap import ssh_options, wrapped
from shellward.command.values import unknown
from shellward.command.wordreader import STDIN_PATHS
from shellward.command.wrappers import Wrap, find_inner

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


_MOST_LINKS = 32
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


def _options_with_commands(pattern: str) -> Handler:
    """Make a handler for programs with options whose value is a shell command."""
    compiled = re.compile(pattern)

    def handler(t: Tracer, inv: Invocation, _want: bool) -> str | None:
        argv = inv.argv
        for at, word in enumerate(argv[1:], 1):
            match = compiled.match(word)
            if not match:
                continue
            value = word[match.end() :]
            if not value:
                value = argv[at + 1] if at + 1 < len(argv) else ""
            t.run_text(value.removeprefix("exec=").strip("\"'").lstrip("! "), inv.span, via=(*inv.via, inv.name))
        return None

    return handler


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
    text = inv.stdin if not rest or rest[0] in STDIN_PATHS else t.state.files.get(t.state.path(rest[0]))
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
            text = match.group(1).partition(",")[0].strip("\"'")
            t.run_text(text, inv.span, via=(*inv.via, "socat"))
    return None


def _netcat(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``nc -l -c cmd``: what is at the other end of the connection. Without ``-c`` text, the letter is about line ends."""
    argv = inv.argv
    for at, word in enumerate(argv[1:-1], 1):
        if word in {"--sh-exec", "--exec"} or re.fullmatch(r"-[a-zA-Z]*[ce]", word):
            t.run_text(argv[at + 1], inv.span, via=(*inv.via, inv.name))
    return None


def _redis(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``redis-cli eval code 0``: the server runs Lua."""
    for at, word in enumerate(inv.argv[:-1]):
        if word.lower() in {"eval", "eval_ro"}:
            t.run_code("lua", inv.argv[at + 1], inv, [])
    return None


def _nmap(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``nmap --script file``: a program in Lua, when this line wrote it."""
    for at, word in enumerate(inv.argv[1:], 1):
        name, equals, value = word.partition("=")
        path = value if equals else "".join(inv.argv[at + 1 : at + 2])
        content = t.state.files.get(t.state.path(path)) if name == "--script" else None
        if content:
            t.run_code("lua", content, inv, [])
    return None


def _apt(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``apt -o DPkg::Pre-Invoke::=cmd``: settings that are run before and after."""
    argv = inv.argv
    for at, word in enumerate(argv[1:], 1):
        given = word[2:] if word.startswith("-o") else word.partition("=")[2] if word.startswith("--option=") else ""
        if word in {"-o", "--option"}:
            given = "".join(argv[at + 1 : at + 2])
        name, _, value = given.partition("=")
        if re.search(r"(?i)-invoke(?:-success)?(?:::\w*)*$|^DPkg::Pre-Install-Pkgs|^Dir::Bin::", name):
            t.run_text(value, inv.span, via=(*inv.via, inv.name))
    return None


def _secure_copy(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``scp h:x.sh .``: what came from elsewhere; ``-S`` and ``-o ProxyCommand=`` name programs."""
    ssh_options(t, inv)
    _SECURE_OPTIONS(t, inv, False)
    rest = operands(inv.argv, "cDFiJloPSXRBe")
    target = t.state.path(rest[-1]) if len(rest) > 1 else ""
    for source in rest[:-1]:
        if re.match(r"[\w.@-]+:|(?:rsync|scp|sftp)://", source) and ":" not in target:
            base = source.rstrip("/").rpartition("/")[2].rpartition(":")[2]
            t.write(target, unknown("net", inv.name))
            t.write(f"{target.rstrip('/')}/{base}" if target != "." else base, unknown("net", inv.name))
    return None


_SECURE_OPTIONS = _options_with_commands(r"-S\Z|--rsh(?:=|\Z)|--rsync-path(?:=|\Z)|-[a-zA-Z]*e\Z")


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


def _start_here(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``tee``, ``curl -o`` and their like: note the content of the files they write."""
    argv, state = inv.argv, t.state
    if inv.name == "tee":
        appends = has(argv, "a", "append")
        for path in operands(argv):
            full = state.path(path)
            t.write(full, (state.files.get(full, "") if appends else "") + (inv.stdin or ""))
        return None
    rest = operands(argv, "oPtTaeUdHXFubAcmCxYyEKrwz" + ("" if inv.name == "curl" else "O"))
    urls = [word for word in rest if "://" in word or "." in word]
    named = [
        argv[i + 1]
        for i, w in enumerate(argv[:-1])
        if re.fullmatch(r"-[a-zA-Z]*[oO]|--output|--output-document", w)
        and not (inv.name == "curl" and w.endswith("O"))
    ]
    folder = dict(short_values(argv, "P")).get("P", "") if inv.name != "curl" else ""
    named += [w.partition("=")[2] for w in argv if w.startswith(("--output=", "--output-document="))]
    if inv.name == "curl":
        named += [w[2:] for w in argv if re.match(r"-o[^-]", w)]
        if has(argv, "O", "remote-name"):
            named += [url.rstrip("/").rpartition("/")[2] for url in urls]
    elif inv.name != "fetch" and not named:
        named = [url.rstrip("/").rpartition("/")[2] for url in urls]
    for name in (f"{folder.rstrip('/')}/{name}" if folder else name for name in named):
        if name not in {"-", "/dev/null", "/dev/stdout"}:
            t.write(state.path(name), unknown("net", inv.name))
    return None


def _copy(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``cp``, ``mv``, ``ln``, ``install``: the new name has the old one's content; a program's copy is the program."""
    rest = operands(inv.argv, "tSmogb")
    if inv.name in {"ln", "gln"} and len(rest) == 2 and has(inv.argv, "s", "symbolic"):
        link = t.state.path(rest[1])
        source = rest[0] if rest[0].startswith(("/", "~")) else f"{link.rpartition('/')[0] or '.'}/{rest[0]}"
        place = t.state.path(source)
        for name in (link, f"{link}/{place.rpartition('/')[2]}"):  # the second where the link is a directory already
            if len(t.state.links) < _MOST_LINKS and name != place and not place.startswith(f"{name}/"):
                t.state.links[name] = place
    if len(rest) == 2:
        source, target = t.state.path(rest[0]), t.state.path(rest[1])
        known = t.state.files.get(source)
        base = source.rpartition("/")[2]
        if inv.name in {"cp", "mv", "install"}:
            t.state.made[target] = t.state.made.get(source, (source,))
        if known is None and source in STDIN_PATHS:
            known = inv.stdin
        if known is not None:
            t.write(target, known)
        elif source.startswith(("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/")):
            t.write(target, unknown("exe", source))
            if rest[1].endswith("/"):
                t.write(f"{target}/{base}", unknown("exe", source))
    return None


def _archives(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``tar czf a.tgz files``, ``zip a.zip files``: what the archive is made of; commands among the options."""
    (_TAR_OPTIONS if inv.name != "zip" else _ZIP_OPTIONS)(t, inv, False)
    argv = inv.argv
    first = argv[1] if len(argv) > 1 else ""
    rest = operands(argv, "fCXTHgbIF")
    if inv.name == "zip":
        archive, rest = (rest[0], rest[1:]) if rest else ("", [])
    elif re.fullmatch(r"-?[a-zA-Z]*c[a-zA-Z]*|--create", first):
        archive = next((argv[at + 1] for at, w in enumerate(argv[:-1]) if re.fullmatch(r"-?[a-zA-Z]*f", w)), "")
        rest = [word for word in rest if word not in {archive, first}]
    else:
        return None
    if archive not in {"", "-"}:
        t.state.made[t.state.path(archive)] = tuple(t.state.path(word) for word in rest[:20])
    return None


_TAR_OPTIONS = _options_with_commands(
    r"--to-command(?:=|\Z)|--checkpoint-action(?:=|\Z)|--use-compress-program(?:=|\Z)|-I\Z|--rsh-command(?:=|\Z)|--info-script(?:=|\Z)|-F\Z|--new-volume-script(?:=|\Z)"
)
_ZIP_OPTIONS = _options_with_commands(r"-TT\Z|--unzip-command(?:=|\Z)")


def _go(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``go run file``: a program that this line wrote."""
    if inv.argv[1:2] == ["run"]:
        for word in inv.argv[2:6]:
            content = t.state.files.get(t.state.path(word)) if word.endswith(".go") else None
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
 "shellward": _own,
    **dict.fromkeys(["tar", "gtar", "bsdtar", "zip"], _archives), "go": _go,
    **dict.fromkeys(["rsync", "scp", "sftp"], _secure_copy),
    **dict.fromkeys(["nc", "ncat", "netcat", "nc.traditional", "nc.openbsd"], _netcat),
    **dict.fromkeys(["redis-cli", "valkey-cli", "keydb-cli"], _redis), "nmap": _nmap, "dotenv": _dotenv,
    **dict.fromkeys(["apt", "apt-get", "aptitude"], _apt),
    "sort": _options_with_commands(r"--compress-program(?:=|\Z)"),
    "split": _options_with_commands(r"--filter(?:=|\Z)"),
    "man": _options_with_commands(r"-P\Z|--pager(?:=|\Z)|-H\Z|--html(?:=|\Z)"),
    "dpkg": _options_with_commands(r"--pre-invoke(?:=|\Z)|--post-invoke(?:=|\Z)"),
    "tcpdump": _options_with_commands(r"-z\Z"),
    "mutt": _options_with_commands(r"-e\Z"),
    "wget2": _start_here,
 "crontab": _crontab, "at": _at, "batch": _at, "socat": _socat, "ansible": _ansible,
    "salt": _salt, "salt-call": _salt, "salt-ssh": _salt,
    "rg": _preprocessor,
    **dict.fromkeys(["gcloud", "fly", "flyctl", "render", "koyeb", "ecs", "copilot", "vagrant"], _REMOTE),
    **dict.fromkeys(["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "bundle", "pixi", "devbox", "rbenv", "pyenv", "nodenv", "tox", "nox", "volta", "fnm", "devenv"], _PACKAGED),
    **dict.fromkeys(["npm", "pnpm", "yarn", "composer"], project(_PACKAGED)),
    "tee": _start_here, "curl": _start_here, "wget": _start_here, "fetch": _start_here, "aria2c": _start_here,
    "cp": _copy, "mv": _copy, "ln": _copy, "install": _copy,
}  # fmt: skip
"""Handlers by program."""
