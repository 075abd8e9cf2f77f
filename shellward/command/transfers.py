"""Programs that fetch, copy, pack or talk to the network: what their files hold, and the commands in their options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.loading import seek
from shellward.command.operands import has, operands, short_values, unquoted, value_of
from shellward.command.trees import unpacked
from shellward.command.unwrap import ssh_options
from shellward.command.values import unknown
from shellward.command.wordreader import STDIN_PATHS

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


def options_with_commands(pattern: str) -> Handler:
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
            t.run_text(unquoted(value.removeprefix("exec=")).lstrip("! "), inv.span, via=(*inv.via, inv.name))
        return None

    return handler


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
            code = inv.argv[at + 1]
            t.run_code("lua", code, inv, [])
            for called in re.findall(r"redis\.p?call\(\s*['\"](\w+)['\"]", code)[:20]:
                t.child(inv, ["redis-cli", called, "x"], 0)
    return None


def _nmap(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``nmap --script file``: a program in Lua, when this line wrote it."""
    for at, word in enumerate(inv.argv[1:], 1):
        name, equals, value = word.partition("=")
        path = value if equals else "".join(inv.argv[at + 1 : at + 2])
        content = seek(t.state, path) if name == "--script" else None
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
        elif inv.name == "rsync" and target and ":" not in target:
            _copy_one(t, inv, t.state.path(source), target, folder=rest[-1].endswith("/"))
    return None


_SECURE_OPTIONS = options_with_commands(r"-S\Z|--rsh(?:=|\Z)|--rsync-path(?:=|\Z)|-[a-zA-Z]*e\Z")


def _curl_settings(t: Tracer, inv: Invocation) -> None:
    """``curl -K file``: the options that stand there, when they are known."""
    for at, word in enumerate(inv.argv[1:], 1):
        if not re.fullmatch(r"-[a-zA-Z]*K|--config", word):
            continue
        path = "".join(inv.argv[at + 1 : at + 2])
        text = inv.stdin if path in STDIN_PATHS else seek(t.state, path)
        words: list[str] = []
        for key, value in re.findall(r"(?m)^\s*-{0,2}([\w-]+)\s*[=: ]\s*\"?([^\"\n]*)\"?", text or "")[:50]:
            words += [f"--{key}", value.strip()]
        if words:
            t.child(inv, ["curl", *words], 0)


def _start_here(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``tee``, ``curl -o`` and their like: note the content of the files they write."""
    argv, state = inv.argv, t.state
    if inv.name == "tee":
        appends = has(argv, "a", "append")
        for path in operands(argv):
            full = state.opened(path)
            if appends and inv.stdin:
                t.refill(full)
            t.write(full, (state.files.get(full, "") if appends else "") + (inv.stdin or ""))
        return None
    if inv.name == "curl":
        _curl_settings(t, inv)
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
    argv = inv.argv
    plain = len(argv) == 3 and argv[1][:1] != "-" != argv[2][:1]
    sources, target, folder = (argv[1:2], argv[2], argv[2].endswith("/")) if plain else _copied(inv)
    symbolic = not plain and has(argv, "s", "symbolic")
    if inv.name in _LINKERS or (inv.name in {"cp", "gcp"} and not plain and (symbolic or has(argv, "l", "link"))):
        beside = symbolic and not has(argv, "r", "relative")
        for source in sources:
            _link(t, source, target, folder=folder, beside=beside)
    for source in sources:
        _copy_one(t, inv, t.state.path(source), t.state.path(target), folder=folder)
    return None


_CLUSTER_WITH_T = re.compile(r"-[a-zA-Z]+t")
_LINKERS = frozenset(("ln", "gln"))
_MOST_COPIED = 16


def _copied(inv: Invocation) -> tuple[list[str], str, bool]:
    """Tell what ``cp`` and its like copy, to which place, and whether that is surely a directory."""
    argv: list[str] = []
    for word in inv.argv:
        argv += [word[:-1], "-t"] if _CLUSTER_WITH_T.fullmatch(word) else [word]
    rest = operands(argv, "tSmog")
    given = [value for _, value in short_values(argv, "t")]
    given += [word.partition("=")[2] for word in argv if word.startswith("--target-directory=")]
    if given:
        return rest[:_MOST_COPIED], given[0], True
    if len(rest) == 1 and inv.name in _LINKERS:
        return rest, ".", True
    return rest[:-1][:_MOST_COPIED], rest[-1] if rest else "", len(rest) > 2 or (bool(rest) and rest[-1].endswith("/"))


def _link(t: Tracer, source: str, target: str, *, folder: bool, beside: bool) -> None:
    """Note a link; what a symbolic one says holds from where it stands (``beside``)."""
    base = source.rstrip("/").rpartition("/")[2]
    named = t.state.path(target)
    inside = t.state.path(f"{target}/{base}")
    for link in (inside,) if folder else (named, inside):  # the second where it is a directory already
        here = not beside or source.startswith(("/", "~"))
        place = t.state.path(source if here else f"{link.rpartition('/')[0] or '.'}/{source}")
        if link != place and not place.startswith(f"{link}/"):
            t.state.link(link, place)


def _copy_one(t: Tracer, inv: Invocation, source: str, target: str, *, folder: bool) -> None:
    """Note what one file's copy holds, in a directory or under a new name."""
    if folder:
        target = f"{target.rstrip('/')}/{source.rpartition('/')[2]}"
    if inv.name not in _LINKERS:
        t.state.make(target, t.state.made.get(source, (source,)))
    known = t.state.files.get(source)
    if known is None and source in STDIN_PATHS:
        known = inv.stdin
    if known is None and source.startswith(_PROGRAM_PLACES):
        known = unknown("exe", source)
    if known is not None:
        t.write(target, known)


_PROGRAM_PLACES = ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/")


def _dd(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``dd if=a of=b``: a copy."""
    given = dict(word.partition("=")[::2] for word in inv.argv[1:])
    if "of" in given:
        _copy_one(t, inv, t.state.path(given.get("if", "/dev/stdin")), t.state.opened(given["of"]), folder=False)
    return None


def _archives(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``tar czf a.tgz files``, ``zip a.zip files``: what the archive is made of; commands among the options."""
    (_TAR_OPTIONS if inv.name != "zip" else _ZIP_OPTIONS)(t, inv, False)
    unpacked(t, inv)
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
        t.state.make(t.state.path(archive), tuple(t.state.path(word) for word in rest[:20]))
    return None


def _unpacks(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    unpacked(t, inv)
    return None


_TAR_OPTIONS = options_with_commands(
    r"--to-command(?:=|\Z)|--checkpoint-action(?:=|\Z)|--use-compress-program(?:=|\Z)|-I\Z|--rsh-command(?:=|\Z)|--info-script(?:=|\Z)|-F\Z|--new-volume-script(?:=|\Z)"
)
_ZIP_OPTIONS = options_with_commands(r"-TT\Z|--unzip-command(?:=|\Z)")


_DUMPED_BY = {
    **dict.fromkeys(("pg_dump", "pg_dumpall"), ("-f", "--file")),
    **dict.fromkeys(("mysqldump", "mariadb-dump"), ("-r", "--result-file")),
    "mongodump": ("--archive",), "mongoexport": ("-o", "--out"), "slapcat": ("-l",), "bcp": ("out", "queryout"),
}  # fmt: skip
"""Options (of bcp, words) that name the file which a database is written to."""


def _dump(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    path = value_of(inv.argv, *_DUMPED_BY[inv.name])
    if path:
        t.state.put(t.state.files, t.state.opened(path), unknown("out", inv.name))
    return None


TRANSFERS: dict[str, Handler] = {
    **dict.fromkeys(["tar", "gtar", "bsdtar", "zip"], _archives),
    **dict.fromkeys(["unzip", "7z", "7za", "7zz", "unar", "cpio", "unrar"], _unpacks),
    **dict.fromkeys(["rsync", "scp", "sftp"], _secure_copy),
    **dict.fromkeys(["nc", "ncat", "netcat", "nc.traditional", "nc.openbsd"], _netcat),
    **dict.fromkeys(["redis-cli", "valkey-cli", "keydb-cli"], _redis), "nmap": _nmap,
    **dict.fromkeys(["apt", "apt-get", "aptitude"], _apt),
    **dict.fromkeys(["tee", "curl", "wget", "wget2", "fetch", "aria2c"], _start_here),
    **dict.fromkeys(["cp", "gcp", "mv", "gmv", "ln", "gln", "install", "ginstall"], _copy), "dd": _dd, "gdd": _dd,
    **dict.fromkeys(_DUMPED_BY, _dump),
}  # fmt: skip
"""Handlers by program."""
