"""What well-known filters would print, when that follows from the command line alone; else markers.

Pure functions by command name. Nothing is executed, read or fetched: what cannot be worked out is a marker that
says where it would come from.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable  # noqa: TC003
from typing import TYPE_CHECKING

from shellward.command import decode
from shellward.command.arithmetic import integer
from shellward.command.operands import cut, files_or_stdin, has, operands, short_values
from shellward.command.textfilters import TEXT_FILTERS, Filter, cat, unescape_echo
from shellward.command.values import decimal, labels, only_markers, unknown

if TYPE_CHECKING:
    from shellward.command.state import State

READERS = frozenset(
    [
        "cat",
        "tac",
        "head",
        "tail",
        "less",
        "more",
        "grep",
        "egrep",
        "fgrep",
        "zgrep",
        "rg",
        "ag",
        "awk",
        "gawk",
        "mawk",
        "sed",
        "sort",
        "uniq",
        "cut",
        "tr",
        "base64",
        "base32",
        "xxd",
        "od",
        "hexdump",
        "strings",
        "tar",
        "zip",
        "gzip",
        "bzip2",
        "xz",
        "zstd",
        "gpg",
        "age",
        "openssl",
        "dd",
        "jq",
        "yq",
        "rev",
        "nl",
        "paste",
        "fold",
        "wc",
        "zcat",
        "bzcat",
        "xzcat",
        "tee",
        "bat",
        "basenc",
        "uuencode",
        "cpio",
        "pv",
        "col",
        "column",
        "comm",
        "diff",
        "split",
        "iconv",
        "ccrypt",
        "7z",
        "7za",
        "rar",
        "mcrypt",
        "qrencode",
    ]
)  # the contents of their operands flow to their output


def _echo(argv: list[str], _stdin: str | None, _state: State) -> str:
    words = argv[1:]
    escapes, newline = False, True
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escapes = "e" in words[0] or escapes
        newline = "n" not in words[0] and newline
        words = words[1:]
    text = " ".join(words)
    return cut((unescape_echo(text) if escapes else text) + ("\n" if newline else ""))


def _printf(argv: list[str], _stdin: str | None, _state: State) -> str:  # noqa: C901
    words = argv[1:]
    if words[:1] == ["-v"]:
        words = words[2:]
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        return ""
    template, args = words[0], words[1:]
    if labels(template):
        return only_markers(" ".join(words))
    pieces = re.split(r"(%%|%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[a-zA-Z]|%\([^)]*\)T)", template)
    out: list[str] = []
    for _ in range(64):
        used = False
        for at, piece in enumerate(pieces):
            if not at % 2:
                out.append(unescape_echo(piece))
            elif piece == "%%":
                out.append("%")
            else:
                used = True
                while "*" in piece:  # a width or a precision that is given
                    given = args.pop(0) if args else ""
                    piece = piece.replace("*", given if given.isdecimal() else "0", 1)  # noqa: PLW2901
                out.append(_format(piece, args.pop(0) if args else ""))
        if not args or not used:
            break
    return cut("".join(out))


def _format(spec: str, value: str) -> str:
    kind = spec[-1]
    if kind == "b":
        return unescape_echo(value)
    if kind in "sq" or labels(value):
        precision = re.search(r"\.(\d+)", spec)
        return value[: decimal(precision.group(1))] if precision else value
    if kind == "c":
        return value[:1]
    number = integer(value) if value[:1] not in "'\"" else ord(value[1:2] or "\0")
    number = number or 0
    width = re.search(r"(0?)(\d+)", spec)
    text = {"o": format(number, "o"), "x": format(number, "x"), "X": format(number, "X")}.get(kind, str(number))
    if width and len(width.group(2)) < 3:
        text = text.rjust(int(width.group(2)), "0" if width.group(1) else " ")
    return text


def _decoder(function: Callable[[str], str | None], letters: str, long: str) -> Filter:
    def run(argv: list[str], stdin: str | None, state: State) -> str:
        text = cat([argv[0], *operands(argv, "w")], stdin, state)
        if not any(has(argv, letter, long) for letter in letters):
            return only_markers(text) or unknown("encoded", argv[0])
        return _decoded(function(text) if not labels(text) else None, text)

    return run


def _decoded(result: str | None, text: str) -> str:
    return result if result is not None else only_markers(text) + unknown("decoded")


def _xxd(argv: list[str], stdin: str | None, state: State) -> str:
    text = cat([argv[0], *operands(argv, "cglos")[:1]], stdin, state)
    if not any(re.fullmatch(r"-[pbei]*r[pbeis]*|-revert", word) for word in argv[1:]):
        return only_markers(text) or unknown("encoded", "xxd")
    return _decoded(decode.from_hex(text), text)


def _openssl(argv: list[str], stdin: str | None, state: State) -> str:
    text = stdin or ""
    if "-in" in argv[:-1]:
        text = files_or_stdin([argv[argv.index("-in") + 1]], stdin, state)
    if "-d" not in argv:
        return only_markers(text) or unknown("out", "openssl")
    simple = argv[1:2] == ["base64"] or "-base64" in argv or ("-a" in argv and not any("aes" in a for a in argv))
    return _decoded(decode.from_base64(text) if simple else None, text)


def _inflate(argv: list[str], stdin: str | None, state: State) -> str:
    text = cat([argv[0], *operands(argv)], stdin, state)
    packing = argv[0].rpartition("/")[2] in {"gzip", "bzip2", "xz"} and not has(argv, "d", "decompress")
    return (
        only_markers(text) or unknown("out", argv[0])
        if packing
        else _decoded(decode.inflate(text) if not labels(text) else None, text)
    )


def _seq(argv: list[str], _stdin: str | None, _state: State) -> str:
    numbers = [integer(word) for word in argv[1:]]
    if not numbers or None in numbers:
        return unknown("out", "seq")
    first, last = (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[-1])
    assert first is not None  # noqa: S101  # for the type checker; None was excluded above
    assert last is not None  # noqa: S101
    return "\n".join(map(str, range(first, min(last, first + 63) + 1))) + "\n"


def _yes(argv: list[str], _stdin: str | None, _state: State) -> str:
    return (" ".join(argv[1:]) or "y") + "\n"


def _mktemp(argv: list[str], _stdin: str | None, state: State) -> str:
    if has(argv, "u", "dry-run") and len(argv) == 2:
        return "/tmp/" + unknown("mktemp")
    template = operands(argv, "p")
    where = dict(short_values(argv, "p")).get("p")
    if template and "/" in template[-1] and not has(argv, "t"):
        return state.path(template[-1])
    if template and not where and not has(argv, "t", "tmpdir"):
        return template[-1]
    return f"{where or '/tmp'}/{unknown('mktemp')}"


def _which(argv: list[str], _stdin: str | None, _state: State) -> str:
    if argv[0] == "type" and not has(argv, "P") and not has(argv, "p"):
        return unknown("out", "type")
    found = [word for word in operands(argv) if word]
    return "\n".join(f"/usr/bin/{word}" if "/" not in word else word for word in found)


def _whereis(argv: list[str], _stdin: str | None, _state: State) -> str:
    return "".join(f"{word}: /usr/bin/{word}\n" for word in operands(argv) if word)


def _basename(argv: list[str], _stdin: str | None, _state: State) -> str:
    rest = operands(argv, "s")
    name = posixpath.basename(rest[0].rstrip("/")) if rest else ""
    return name.removesuffix(rest[1]) if len(rest) > 1 else name


def _dirname(argv: list[str], _stdin: str | None, _state: State) -> str:
    rest = operands(argv)
    return (posixpath.dirname(rest[0].rstrip("/")) or ".") if rest else "."


def _realpath(argv: list[str], _stdin: str | None, state: State) -> str:
    rest = operands(argv)
    return state.path(rest[-1]) if rest else "."


def _pwd(_argv: list[str], _stdin: str | None, state: State) -> str:
    return state.cwd


def _expr(argv: list[str], _stdin: str | None, _state: State) -> str:
    if argv[1:2] == ["substr"] and len(argv) == 5:
        start, size = integer(argv[3]) or 1, integer(argv[4]) or 0
        return argv[2][start - 1 : start - 1 + size]
    number = integer(" ".join(argv[1:]))
    return str(number) if number is not None else unknown("out", "expr")


def _client(argv: list[str], stdin: str | None, state: State) -> str:
    """A database client that makes statements: the texts in its query are printed."""
    query = next((word for word in reversed(argv[1:]) if "select" in word.lower()), stdin or "")
    made = (
        " ".join(re.findall(r"'([^']*)'", query))
        if re.search(r"(?i)'\s*(?:drop|truncate|delete|alter)\b", query)
        else ""
    )
    read = "".join(unknown("read", state.path(word)) for word in argv[1:9] if word[:1] in {"/", "~"})
    return made + read + unknown("out", argv[0].rpartition("/")[2])


def _ls(argv: list[str], stdin: str | None, state: State) -> str:
    """``ls -d PATTERN`` prints the names that the pattern means."""
    named = operands(argv, "ITw")
    if not named or not has(argv, "d", "directory") or any(has(argv, letter) for letter in "lsiF"):
        return _unread(argv[0].rpartition("/")[2], argv, stdin, state)
    return "".join(f"{_matched(word)}\n" for word in named[:16])


def _matched(word: str) -> str:
    """Name what a pattern means: where it begins is known, how many there are is not."""
    pattern = _PATTERN.search(word)
    if not pattern:
        return word
    at = word.rfind("/", 0, pattern.start()) + 1
    return (word[:at] or "./") + unknown("find", word[at:])


_PATTERN = re.compile(r"[*?\[]")

FILTERS: dict[str, Filter] = {
    **TEXT_FILTERS, "echo": _echo, "printf": _printf,
    "base64": _decoder(decode.from_base64, "dD", "decode"), "gbase64": _decoder(decode.from_base64, "dD", "decode"),
    "base32": _decoder(decode.from_base32, "d", "decode"), "basenc": _decoder(decode.from_base64, "d", "decode"),
    "xxd": _xxd, "openssl": _openssl, "gunzip": _inflate, "zcat": _inflate, "gzip": _inflate, "bunzip2": _inflate,
    "bzcat": _inflate, "bzip2": _inflate, "xz": _inflate, "unxz": _inflate, "xzcat": _inflate, "zlib-flate": _inflate,
    "psql": _client, "mysql": _client, "mariadb": _client, "sqlite3": _client, "seq": _seq, "yes": _yes, "mktemp": _mktemp, "which": _which, "type": _which, "whereis": _whereis, "basename": _basename, "dirname": _dirname,
    **dict.fromkeys(["ls", "dir", "gls", "exa", "eza", "lsd"], _ls), "realpath": _realpath, "readlink": _realpath, "pwd": _pwd, "expr": _expr,
}  # fmt: skip
"""What a command prints, by name."""

DECODERS = frozenset(
    [
        "base64",
        "gbase64",
        "base32",
        "basenc",
        "xxd",
        "openssl",
        "gunzip",
        "zcat",
        "gzip",
        "bunzip2",
        "bzcat",
        "bzip2",
        "xz",
        "unxz",
        "xzcat",
        "uudecode",
        "rot13",
    ]
)
"""Commands whose output counts as decoded: running it is a finding whatever it says."""

NETWORK = frozenset(
    [
        "curl",
        "wget",
        "fetch",
        "aria2c",
        "http",
        "https",
        "httpie",
        "xh",
        "xhs",
        "curlie",
        "lynx",
        "w3m",
        "links",
        "elinks",
        "nc",
        "ncat",
        "netcat",
        "socat",
        "telnet",
        "ftp",
        "lftp",
        "sftp",
        "tftp",
        "scp",
        "ssh",
        "rsync",
        "gh",
        "hub",
        "glab",
        "svn",
        "GET",
        "lwp-request",
        "axel",
        "wget2",
        "hurl",
        "grpcurl",
        "websocat",
        "dig",
        "host",
        "nslookup",
    ]
)
"""Commands whose output comes from the network."""


def _lists_untracked(argv: list[str]) -> bool:
    """Tell whether git lists what it does not track: ``ls-files -o``, ``clean -n``."""
    if "ls-files" in argv[1:8]:
        return any(re.fullmatch(r"-[a-z]*o[a-z]*|--oth(?:e(?:rs?)?)?", word) for word in argv[1:])
    return "clean" in argv[1:8]


def output(name: str, argv: list[str], stdin: str | None, state: State) -> str:
    """Say what a command would print, as far as its words and standard input tell."""
    function = FILTERS.get(name)
    if function is not None:
        return function(argv, stdin, state)
    if "sqlflush" in argv[1:4] and any(word.endswith(("manage.py", "django-admin")) for word in argv[:3]):
        return f"TRUNCATE tables{unknown('out', name)};\n"  # of Django: what ``flush`` would run
    return _unread(name, argv, stdin, state)


def archived(argv: list[str]) -> list[str]:
    """List the paths that tar is given, those behind ``-C folder`` from there."""
    folder = ""
    found: list[str] = []
    words = iter(argv[1:])
    for word in words:
        if word in {"-C", "--directory"}:
            folder = next(words, "")
        elif word.startswith("--directory="):
            folder = word.partition("=")[2]
        elif word[:1] != "-":
            apart = not folder or word[:1] in {"/", "~"}
            found.append(word if apart else posixpath.normpath(f"{folder.rstrip('/')}/{word}"))
    return found


def _unread(name: str, argv: list[str], stdin: str | None, state: State) -> str:
    """Stand for what a program prints: it says which, and whose contents may be in it."""
    flows = only_markers(stdin or "")
    if name in NETWORK or any("://" in word[:10] for word in argv[1:12]):
        return unknown("net", name)
    if name in {"tar", "gtar", "bsdtar"}:
        flows += "".join(unknown("file", state.path(word)) for word in archived(argv)[:8])
    elif name in READERS:
        flows += "".join(unknown("file", state.path(word)) for word in operands(argv)[:8])
    else:
        flows += "".join(unknown("read", state.path(word)) for word in argv[1:9] if word[:1] in {"/", "~"})
    if name == "git" and _lists_untracked(argv):
        return flows + unknown("out", "git-untracked")
    words = "-".join([name, *[w for w in argv[1:8] if not w.startswith("-")][:4]])
    return flows + unknown("out", words)
