"""Following commands that run another command: sudo, env, xargs, find -exec, ssh and their like."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from shellward.command.escapes import unescape_ansi
from shellward.command.interpreters import SHELLS
from shellward.command.operands import operands, value_of
from shellward.command.values import OPEN, unknown
from shellward.command.wrappers import WRAPPERS, Wrap, find_inner

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


_SLOT = re.compile(r"\{[./%#]*\d*\}")
_REMOTE_SHELLS = frozenset(["ssh", "slogin", "rsh", "tsh", "mosh", "autossh"])
"""Wrappers whose inner command runs elsewhere: its output comes from the network."""


def wrapper(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """Any command of the wrappers table."""
    wrap = WRAPPERS[inv.name]
    names = _FOLDERS.get(inv.name)
    folder = value_of(inv.argv[: find_inner(inv.argv, wrap).start], *names) if names else ""
    if not folder:
        return wrapped(t, inv, inv.argv, wrap, want=want)
    with t.within(folder):
        return wrapped(t, inv, inv.argv, wrap, want=want)


_FOLDERS = {
    "sudo": ("-D", "--chdir"), "run0": ("-D", "--chdir"), "systemd-run": ("--working-directory",), "unshare": ("--wd",),
    "nsenter": ("--wd",), "please": ("-d", "--dir"), "proot": ("-w", "--cwd", "--pwd"),
}  # fmt: skip
"""Options that name the directory to run in."""


def wrapped(t: Tracer, inv: Invocation, argv: list[str], wrap: Wrap, *, want: bool) -> str | None:  # noqa: C901, PLR0911, PLR0912
    """Follow the command inside a wrapper's words."""
    inner = find_inner(argv, wrap)
    offset = len(inv.argv) - len(argv)
    for index, skip in inner.code:
        if index < len(argv):
            span = inv.spans[index + offset] if inv.spans and index + offset < len(inv.spans) else inv.span
            t.run_text(argv[index][skip:], span, stdin=inv.stdin, via=(*inv.via, inv.name))
    if wrap.env:
        _assigned(t, inv, argv[1 : inner.start])
    rest = argv[inner.start :]
    if inv.name == "command" and any(o in {"-v", "-V", "-pv", "-pV"} for o in inner.options):
        return "/usr/bin/" + rest[0] + "\n" if rest else ""
    if (
        inv.name
        in {
            "sudo",
            "doas",
            "su",
            "sg",
            "run0",
            "runuser",
            "pkexec",
            "machinectl",
            "chroot",
            "nsenter",
            "unshare",
        }
        and not rest
        and not inner.code
    ):
        if inv.stdin and any(
            o.startswith(("-i", "-s", "--login", "--shell"))
            for o in (*inner.options, "-s")
            if inv.name != "sudo" or o in inner.options
        ):
            return t.run_code("sh", inv.stdin, inv, [], want=want)
        return None
    if inv.name in {"ssh", "slogin", "autossh"}:
        ssh_options(t, inv)
    if not rest:
        if inv.name in {"ssh", "slogin", "rsh"} and inv.stdin:
            return t.run_text(inv.stdin, inv.span, via=(*inv.via, inv.name), want=want)
        return None
    if inv.name == "exec" and not inv.stdin and rest[0] in {"-", "--"}:
        return None
    if wrap.join:
        at = inner.start + offset
        span = (inv.spans[at][0], inv.spans[-1][1]) if inv.spans and at < len(inv.spans) else inv.span
        if inv.name in {"ssh", "slogin", "rsh", "tsh", "mosh"} and inv.stdin and rest[0].rpartition("/")[2] in SHELLS:
            return t.child(inv, rest, at, stdin=inv.stdin, want=want)
        printed = t.run_text(" ".join(rest), span, stdin=inv.stdin, want=want, via=(*inv.via, inv.name))
        return unknown("net", inv.name) + printed if want and inv.name in _REMOTE_SHELLS else printed
    if wrap.words and len(rest) == 1 and " " in rest[0]:  # a terminal gives a single text to a shell
        return t.run_text(rest[0], inv.span, stdin=inv.stdin, want=want, via=(*inv.via, inv.name))
    return t.child(inv, rest, inner.start + offset, stdin=inv.stdin, want=want)


def _assigned(t: Tracer, inv: Invocation, words: list[str]) -> None:
    """Assignments before the inner command: ``sudo LD_PRELOAD=x cmd``."""
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            t.command_variable(name, value, inv.span)
            t.effect(["env", word], inv.span)


def ssh_options(t: Tracer, inv: Invocation) -> None:
    """Follow the programs that options of ssh name."""
    for word in inv.argv[1:]:
        match = re.match(
            r"(?:-o)?(?:ProxyCommand|LocalCommand|KnownHostsCommand)[= ](.+)", word, re.IGNORECASE | re.DOTALL
        )
        if match and match.group(1) != "none":
            t.run_text(match.group(1), inv.span, via=(*inv.via, inv.name))


def _env(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``env NAME=value cmd``, ``env -S 'cmd args'``."""
    argv = inv.argv
    i, folder = 1, ""
    while i < len(argv):
        word = argv[i]
        name, equals, value = word.partition("=")
        if word == "--":
            i += 1
            break
        if (
            word in {"-S", "--split-string"}
            or word.startswith("-S")
            or name == "--split-string"
            or re.fullmatch(r"-[iv0]+S", word)
        ):
            text = (
                value
                if equals and name == "--split-string"
                else word[2:]
                if word.startswith("-S") and len(word) > 2
                else argv[i + 1]
                if i + 1 < len(argv)
                else ""
            )
            rest = (
                argv[i + 1 :]
                if (equals and name == "--split-string") or (word.startswith("-S") and len(word) > 2)
                else argv[i + 2 :]
            )
            return t.run_text(" ".join([text, *rest]), inv.span, stdin=inv.stdin, want=want, via=(*inv.via, "env"))
        if word.startswith("-"):
            folder = value_of(argv[i : i + 2], "-C", "--chdir") or folder
            i += 1 + (word in {"-u", "-C", "-a", "--unset", "--chdir", "--argv0"})
            continue
        if equals and re.fullmatch(r"[A-Za-z_]\w*", name):
            t.state.assign(name, value)
            t.command_variable(name, value, inv.span)
            i += 1
            continue
        if equals and name.startswith("BASH_FUNC_"):
            t.command_variable(name, value, inv.span)
            i += 1
            continue
        break
    if i >= len(argv):
        return unknown("out", "env")
    if not folder:
        return t.child(inv, argv[i:], i, stdin=inv.stdin, want=want)
    with t.within(folder):
        return t.child(inv, argv[i:], i, stdin=inv.stdin, want=want)


def multicall(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``busybox rm ..``: the first operand is the program."""
    rest = inv.argv[1:]
    if not rest or rest[0].startswith("-"):
        return None
    return t.child(inv, rest, 1, stdin=inv.stdin, want=want)


def _xargs(t: Tracer, inv: Invocation, want: bool) -> str | None:  # noqa: C901
    argv = inv.argv
    wrap = Wrap(
        "aEILnPsdRSJ",
        frozenset(
            (
                "arg-file",
                "delimiter",
                "max-args",
                "max-procs",
                "max-lines",
                "max-chars",
                "process-slot-var",
                "eof",
            )
        ),
    )
    inner = find_inner(argv, wrap)
    rest = argv[inner.start :] or ["echo"]
    text = inv.stdin
    for at, word in enumerate(argv[: inner.start]):
        if word in {"-a", "--arg-file"} and at + 1 < len(argv):
            text = _listed(t, argv[at + 1])
        elif word.startswith("--arg-file="):
            text = _listed(t, word[11:])
    token = ""
    for at, word in enumerate(argv[: inner.start]):
        if (cluster := _REPLACED.fullmatch(word)) and (cluster[1] or at + 1 < len(argv)):
            token = cluster[1] or argv[at + 1]
        elif word.startswith("--replace=") or (word.startswith("-i") and len(word) > 2):
            token = word.partition("=")[2] if word.startswith("--") else word[2:]
        elif word in {"-i", "--replace"}:
            token = "{}"  # noqa: S105
    if text is None:
        text = unknown("in", "stdin")
    items = [item for item in _items(argv[: inner.start], text, lines=bool(token)) if item][:64]
    if not items:
        items = [] if not token else [""]
    if not token:
        stdin = None
        return t.child(
            inv,
            [*rest, *items],
            inner.start,
            stdin=stdin,
            via="xargs",
            want=want,
        )
    out = [
        t.child(inv, [word.replace(token, item.strip()) for word in rest], inner.start, via="xargs", want=want)
        for item in items[:12]
    ]
    return "".join(out)


def _listed(t: Tracer, path: str) -> str:
    text = t.state.files.get(t.state.opened(path))
    return unknown("file", t.state.path(path)) if text is None else text


_REPLACED = re.compile(r"-[rtpxo0]*[IJ](.*)", re.DOTALL)


def _items(options: list[str], text: str, *, lines: bool) -> list[str]:
    """Split what xargs reads: by NUL, by a given character, by line, or by blanks."""
    if "\0" in text:
        return text.split("\0")
    if any(re.fullmatch(r"-[rtpxo]*0.*|--null", word) for word in options):
        return [text]
    for at, word in enumerate(options):
        name, equals, value = word.partition("=")
        given = value if equals and name == "--delimiter" else word[2:] if word.startswith("-d") else ""
        if word in {"-d", "--delimiter"} and at + 1 < len(options):
            given = options[at + 1]
        if given:
            return text.removesuffix("\n").split({"\\n": "\n", "\\t": "\t", "\\0": "\0"}.get(given, given[:1]))
    if _QUOTED.isdisjoint(text):
        return text.splitlines() if lines else text.split()
    return [_unquoted(item) for item in (text.splitlines() if lines else _WORD.findall(text))]


_QUOTED = frozenset("'\"\\")
_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^'\n]*'|"[^"\n]*"|['"\\])+""", re.DOTALL)
_QUOTE = re.compile(r"""'([^'\n]*)'|"([^"\n]*)"|\\(.)""", re.DOTALL)


def _unquoted(item: str) -> str:
    """Take quotes and backslashes away as xargs does: within quotes nothing else has a meaning."""
    return _QUOTE.sub(lambda found: found[1] or found[2] or found[3] or "", item)


_NO_RUN = frozenset(("--dry-run", "--dryrun"))


def _parallel(t: Tracer, inv: Invocation, want: bool) -> str | None:
    argv = inv.argv
    inner = find_inner(
        argv,
        Wrap(
            "jPSaNnLdIEC",
            frozenset(
                (
                    "jobs",
                    "sshlogin",
                    "arg-file",
                    "colsep",
                    "delay",
                    "timeout",
                    "joblog",
                    "results",
                    "retries",
                    "workdir",
                    "tmpdir",
                    "halt",
                    "load",
                )
            ),
        ),
    )
    rest = argv[inner.start :]
    items: list[str] = []
    for mark in (":::", ":::+", "::::"):
        if mark in rest:
            at = rest.index(mark)
            items = (
                [w for w in rest[at + 1 :] if not w.startswith(":::")]
                if mark != "::::"
                else [line for w in rest[at + 1 :] for line in _listed(t, w).splitlines()]
            )
            rest = rest[:at]
            break
    else:
        items = (inv.stdin or "").splitlines() or [unknown("in", "stdin")]
    command = " ".join(rest)
    if not command:
        return t.run_text("\n".join(items), inv.span, want=want, via=(*inv.via, "parallel"))
    lines = [
        _SLOT.sub(lambda _: item, command) if _SLOT.search(command) else f"{command} {item}"  # noqa: B023  # used at once
        for item in map(_as_one_word, items[:12])
    ]
    if _only_shows(argv[1 : inner.start]):
        return "\n".join([*lines, ""])
    for text in lines:
        t.run_text(text, inv.span, via=(*inv.via, "parallel"))
    return None


def _as_one_word(item: str) -> str:
    """Quote an argument as parallel does before it puts it into a line."""
    return item if OPEN in item else shlex.quote(item)


def _only_shows(options: list[str]) -> bool:
    """Tell whether parallel is to print what it would run; as the value of another option the word means nothing."""
    return any(
        word in _NO_RUN and (at == 0 or not options[at - 1].startswith("-") or "=" in options[at - 1])
        for at, word in enumerate(options)
    )


def _find(t: Tracer, inv: Invocation, want: bool) -> str | None:
    argv = inv.argv
    i = 1
    while i < len(argv) and (
        argv[i] in {"-H", "-L", "-P", "-E", "-x", "-X", "-d", "-s"} or re.match(r"-O\d|-D", argv[i])
    ):
        i += 1 + (argv[i] == "-D")
    starts: list[str] = []
    while i < len(argv) and not (argv[i].startswith("-") and len(argv[i]) > 1) and argv[i] not in {"(", "!", ","}:
        starts.append(argv[i])
        i += 1
    starts = starts or ["."]
    pattern = next(
        (
            argv[at + 1]
            for at, w in enumerate(argv[:-1])
            if w in {"-name", "-iname", "-path", "-wholename", "-ipath"} and argv[at - 1] not in {"!", "-not"}
        ),
        "",
    )
    found = [f"{start.rstrip('/')}/{unknown('find', pattern)}" for start in starts[:8]]
    while i < len(argv):
        word = argv[i]
        i += 1
        if word in {"-exec", "-execdir", "-ok", "-okdir"}:
            begin = i
            while i < len(argv) and argv[i] != ";" and not (argv[i] == "+" and argv[i - 1] == "{}"):
                i += 1
            words: list[str] = []
            for piece in argv[begin:i]:
                if piece == "{}":
                    words += found
                else:
                    words.append(piece.replace("{}", found[0]) if "{}" in piece else piece)
            t.child(inv, words, begin)
        elif word in {"-fprint", "-fprintf", "-fls", "-fprint0"} and i < len(argv):
            t.effect([">", t.state.path(argv[i])], inv.span)
    if want and "-printf" in argv[:-1]:
        form = unescape_ansi(argv[argv.index("-printf") + 1])
        return "".join(re.sub(r"%[pPf]", lambda _, path=path: path, form) for path in found)  # type: ignore[misc]
    return "\n".join(found) + "\n" if want else None


def _fd(t: Tracer, inv: Invocation, want: bool) -> str | None:
    argv = inv.argv
    for at, word in enumerate(argv[1:], 1):
        if word not in {"--exec", "--exec-batch"} and not re.fullmatch(r"-[a-zA-Z]*[xX]", word):
            continue
        where = operands(argv[:at], "tedEScjo")
        target = f"{where[1] if len(where) > 1 else '.'}/{unknown('find', where[0] if where else '')}"
        words = [re.sub(r"\{[/.]*\}", lambda _, target=target: target, w) for w in argv[at + 1 :] if w != ";"]  # type: ignore[misc]
        if not any("{" in w for w in argv[at + 1 :]):
            words.append(target)
        t.child(inv, words, at + 1)
        return None
    return "./" + unknown("find", "") + "\n" if want else None


UNWRAP: dict[str, Handler] = {
    "env": _env, "genv": _env, "busybox": multicall, "toybox": multicall, "xargs": _xargs, "gxargs": _xargs,
    "parallel": _parallel, "find": _find, "gfind": _find, "fd": _fd, "fdfind": _fd,
}  # fmt: skip
"""Handlers by wrapper, where the table of wrappers.py is not enough."""
