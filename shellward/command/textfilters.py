"""What programs that pass text on would print: cat, tr, cut, head, sed, awk, grep, jq and their like."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence  # noqa: TC003
from getopt import GetoptError, gnu_getopt
from itertools import cycle, zip_longest
from typing import TYPE_CHECKING, TypeAlias

from shellward.command import decode
from shellward.command.arithmetic import integer
from shellward.command.escapes import unescape_ansi
from shellward.command.operands import cut, files_or_stdin, has, operands, short_values
from shellward.command.values import LIMIT, clean, decimal, labels, only_markers, unknown

if TYPE_CHECKING:
    from shellward.command.state import State


def unescape_echo(text: str) -> str:
    r"""Undo the escapes of ``echo -e`` and ``printf``: octal may be written ``\0nnn``."""
    return unescape_ansi(re.sub(r"\\0([0-7]{1,3})", r"\\\1", text), nul="\0") if "\\" in text else text


def cat(argv: list[str], stdin: str | None, state: State) -> str:
    """Print files or standard input."""
    return files_or_stdin(operands(argv), stdin, state)


def _tac(argv: list[str], stdin: str | None, state: State) -> str:
    return "".join(reversed(cat(argv, stdin, state).splitlines(keepends=True)))


def _rev(argv: list[str], stdin: str | None, state: State) -> str:
    text = cat(argv, stdin, state)
    return text if labels(text) else "\n".join(line[::-1] for line in text.split("\n"))


def _tr(argv: list[str], stdin: str | None, _state: State) -> str:
    text = stdin or ""
    sets = operands(argv)
    if labels(text) or not sets:
        return only_markers(text)
    complement = has(argv, "c", "complement") or has(argv, "C")
    first = _tr_set(sets[0])
    if has(argv, "d", "delete"):
        return "".join(c for c in text if (c in first) == complement)
    if len(sets) < 2:
        return re.sub("([" + re.escape(first) + r"])\1+", r"\1", text) if first else text
    second = _tr_set(sets[1]) or "\0"
    second += second[-1] * (len(first) - len(second))
    if complement:
        return "".join(c if c in first else second[-1] for c in text)
    return text.translate({ord(a): b for a, b in reversed(list(zip(first, second, strict=False)))})


def _tr_set(spec: str) -> str:
    spec = unescape_echo(spec)
    for name, value in (
        ("[:lower:]", "abcdefghijklmnopqrstuvwxyz"), ("[:upper:]", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        ("[:digit:]", "0123456789"), ("[:space:]", " \t\n\r\v\f"), ("[:blank:]", " \t"), ("[:punct:]", "!-/:-@[-`{-~"),
        ("[:alpha:]", "A-Za-z"), ("[:alnum:]", "A-Za-z0-9"),
    ):  # fmt: skip
        spec = spec.replace(name, value)

    def span(match: re.Match[str]) -> str:
        low, high = ord(match.group(1)), ord(match.group(2))
        return "".join(map(chr, range(low, min(high, low + 255) + 1)))

    return clean(re.sub(r"(.)-(.)", span, spec, flags=re.DOTALL)[:512])


def _cut(argv: list[str], stdin: str | None, state: State) -> str:
    text = cat([argv[0], *operands(argv, "dfcb")], stdin, state)
    options = dict(short_values(argv, "dfcb"))
    spec = options.get("f") or options.get("c") or options.get("b")
    if labels(text) or not spec:
        return only_markers(text)
    wanted = _ranges(spec)
    lines = []
    for line in text.splitlines():
        if "f" in options:
            delimiter = options.get("d", "\t") or "\t"
            pieces = line.split(delimiter)
            lines.append(delimiter.join(p for n, p in enumerate(pieces, 1) if wanted(n)) if len(pieces) > 1 else line)
        else:
            lines.append("".join(c for n, c in enumerate(line, 1) if wanted(n)))
    return "\n".join(lines) + "\n"


def _ranges(spec: str) -> Callable[[int], bool]:
    pairs = []
    for piece in spec.split(",")[:20]:
        low, dash, high = piece.partition("-")
        start = decimal(low) if low.isdecimal() else 1
        pairs.append((start, decimal(high) if high.isdecimal() else (10**9 if dash else start)))
    return lambda n: any(a <= n <= b for a, b in pairs)


def _head(argv: list[str], stdin: str | None, state: State) -> str:
    text = cat([argv[0], *operands(argv, "nc")], stdin, state)
    options = dict(short_values(argv, "nc"))
    short = next((w[1:] for w in argv[1:] if re.fullmatch(r"-\d+", w)), None)
    count = integer(options.get("n") or options.get("c") or short or "10") or 10
    if labels(text) or count < 0:
        # Of what has no end, a part has one.
        return text if argv[0].endswith("tail") else text + unknown("some", "head")
    if "c" in options:
        return text[:count] if not argv[0].endswith("tail") else text[-count:]
    lines = text.splitlines(keepends=True)
    if argv[0].endswith("tail"):
        if (options.get("n") or "").startswith("+"):
            return "".join(lines[count - 1 :])
        return "".join(lines[-count:])
    return "".join(lines[:count])


def _sed(argv: list[str], stdin: str | None, state: State) -> str:
    scripts = [value for _, value in short_values(argv, "e")]
    rest = operands(argv, "ef")
    if not scripts and rest:
        scripts, rest = rest[:1], rest[1:]
    text = files_or_stdin(rest, stdin, state)
    around = (
        re.fullmatch(r"s(.)(?:\^|\.\*|\$|\^\.\*\$)\1((?:(?!\1)[^\\])*)\1g?", scripts[0].strip())
        if len(scripts) == 1
        else None
    )
    if around and _names(text):
        return _around(scripts[0][2], around.group(2), only_markers(text))
    if labels(text) or has(argv, "i", "in-place") or has(argv, "n", "quiet"):
        return only_markers(text) or text
    for script in scripts:
        for command in script.split(";"):
            changed = _substitute(command.strip(), text)
            if changed is None:
                return unknown("out", "sed")
            text = changed
    return cut(text)


def _names(text: str) -> bool:
    """Tell whether what is not known of a text is names of files, as find and ls list them."""
    found = labels(text)
    return bool(found) and all(label.startswith("find") or label == "out:ls" for label in found)


def _around(pattern: str, new: str, name: str) -> str:
    """Put a text before, after or around each name of a list."""
    if pattern == "^":
        return f"{new}{name}\n"
    return f"{name}{new}\n" if pattern == "$" else new.replace("&", name) + "\n"


def _substitute(command: str, text: str) -> str | None:
    """Apply ``s/a/b/g`` or ``y/a/b/`` of sed."""
    if not command:
        return text
    if len(command) < 4 or command[0] not in "sy":
        return None
    pieces = re.split(r"(?<!\\)" + re.escape(command[1]), command[2:])
    if len(pieces) < 3 or len(text) > 4000:
        return None
    pattern, replacement, flags = pieces[:3]
    if command[0] == "y":
        return text.translate({ord(a): b for a, b in zip(pattern, replacement, strict=False)})
    return _sub_lines(pattern, replacement, flags, text)


def _sub_lines(pattern: str, replacement: str, flags: str, text: str) -> str | None:
    """Run a substitution line by line, when the pattern is simple enough to be safe and exact."""
    if len(pattern) > 40 or re.search(r"\[[^\]]*(?:\[|--|&&|~~|\|\|)", pattern):  # Python warns of those
        return None
    if re.search(r"[*+{}|]|(?<!\\)(?:\\\\)*\\[^.\\/$^\[\]()]", pattern):
        return None
    python = re.sub(r"\\([()])", r"\1", re.sub(r"(?<!\\)([()+?{}|])", r"\\\1", pattern))
    new = re.sub(r"(?<!\\)&", r"\\g<0>", replacement)
    try:
        compiled = re.compile(python, re.IGNORECASE if "I" in flags else 0)
        count = 0 if "g" in flags else 1
        return "\n".join(compiled.sub(new, line, count=count) for line in text.split("\n"))
    except (re.error, IndexError):
        return None


def _awk(argv: list[str], stdin: str | None, state: State) -> str:
    rest = operands(argv, "Fvf")
    if not rest:
        return only_markers(stdin or "")
    text = files_or_stdin(rest[1:], stdin, state)
    program = rest[0].strip()
    constant = re.fullmatch(r'BEGIN\s*\{\s*printf?\s*\(?((?:\s*"(?:[^"\\]|\\.)*")+)\s*\)?;?\s*\}', program)
    if constant:
        return unescape_echo("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', constant.group(1)))) + "\n"
    columns = re.fullmatch(r"\{\s*print\s+((?:\$\w+[\s,]*)+)\}", program)
    literals = only_markers(text)
    made = re.fullmatch(r'\{\s*print\s+((?:(?:"(?:[^"\\]|\\.)*"|\$\w+)[\s,]*)+);?\s*\}', program)
    if made and not literals and text:
        return _assembled(made.group(1), text, dict(short_values(argv, "F")).get("F"))
    if _names(text) and (line := _line_for_each_name(program, made.group(1) if made else "", literals)):
        return line
    if literals or not columns:
        found = " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', program))
        return literals or (unknown("out", "awk") + found[:200] if text else unknown("out", "awk"))
    separator = dict(short_values(argv, "F")).get("F")
    lines = []
    joined = " " if "," in columns.group(1) else ""
    for line in text.splitlines():
        pieces = line.split(separator)
        picked = [_column(name, line, pieces) for name in re.findall(r"\$(\w+)", columns.group(1))]
        lines.append(joined.join(picked))
    return "\n".join(lines) + "\n"


def _line_for_each_name(program: str, printed: str, name: str) -> str:
    """Work out what ``print "rm " $0`` and ``printf "rm %s"`` make of a name; empty when it is something else."""
    if printed:
        pieces = re.findall(r'"((?:[^"\\]|\\.)*)"|\$(\w+)|(,)', printed)
        return "".join(" " if comma else name if column else unescape_echo(quoted) for quoted, column, comma in pieces)
    form = re.fullmatch(r'\{\s*printf\s*\(?\s*"((?:[^"\\]|\\.)*)"\s*(?:,\s*\$\w+\s*)*\)?;?\s*\}', program)
    return unescape_echo(form.group(1).replace("%s", name)) if form else ""


def _assembled(expression: str, text: str, separator: str | None) -> str:
    """Print texts and columns one after the other, as ``print "rm " $1`` does."""
    lines = []
    for line in text.splitlines()[:64]:
        pieces = line.split(separator)
        out = ""
        for quoted, column, comma in re.findall(r'"((?:[^"\\]|\\.)*)"|\$(\w+)|(,)', expression):
            out += " " if comma else _column(column, line, pieces) if column else unescape_echo(quoted)
        lines.append(out)
    return "\n".join(lines) + "\n"


def _column(name: str, line: str, pieces: list[str]) -> str:
    if name == "0":
        return line
    index = len(pieces) if name == "NF" else decimal(name) if name.isdecimal() else 0
    return pieces[index - 1] if 0 < index <= len(pieces) else ""


def _matches(pattern: str, text: str, *, extended: bool) -> str | None:
    """Print what ``grep -o`` prints, when the pattern is short and reads the same for Python; None when not."""
    if len(pattern) > 40 or len(text) > 4000 or re.search(r"\\[^.dws]|\[\[|\)[*+{]", pattern):
        return None
    if not extended and re.search(r"[+?|(){}]", pattern):
        return None
    try:
        compiled = re.compile(pattern)
    except re.error:
        return None
    return "".join(
        match.group() + "\n" for line in text.splitlines() for match in compiled.finditer(line) if match.group()
    )


def _grep(argv: list[str], stdin: str | None, state: State) -> str:
    rest = operands(argv, "efmABC")
    if has(argv, "l", "files-with-matches") and (len(rest) > 1 or has(argv, "r", "recursive") or has(argv, "R")):
        return _found_in(rest[0 if short_values(argv, "e") else 1 :] or ["."])
    text = files_or_stdin(rest[1:] if not short_values(argv, "e") else rest, stdin, state)
    if labels(text) or not rest:
        return text
    wanted = rest[0]
    if has(argv, "o", "only-matching"):
        parts = _matches(wanted, text, extended=has(argv, "E") or has(argv, "P") or argv[0].endswith("egrep"))
        return text if parts is None else parts
    if re.search(r"[\\\[\]*+?.^$|(){}]", wanted):
        return text
    return "".join(
        line for line in text.splitlines(keepends=True) if (wanted in line) != has(argv, "v", "invert-match")
    )


def _found_in(places: list[str]) -> str:
    """Name the files that are found in places: each in its place, more is not known."""
    return "".join(f"{place.rstrip('/')}/{unknown('find')}\n" for place in places[:8])


_MOST_COLUMNS = 50
_DELIMITER = re.compile(r"\\?.", re.DOTALL)
_DELIMITERS = {"\\n": "\n", "\\t": "\t", "\\0": "", "\\b": "\b", "\\f": "\f", "\\r": "\r", "\\v": "\v"}


def _paste(argv: list[str], stdin: str | None, state: State) -> str:
    try:
        given, paths = gnu_getopt(argv[1:], "d:sz", ["delimiters=", "serial", "zero-terminated"])
    except GetoptError:
        return ""  # it complains, and prints nothing
    marks = next((value for name, value in reversed(given) if name in {"-d", "--delimiters"}), "\t")
    if labels(marks) or {name for name, _ in given} & {"-z", "--zero-terminated"}:
        return unknown("out", "paste")
    between = [_DELIMITERS.get(one, one[-1]) for one in _DELIMITER.findall(marks)] or [""]
    if any(name in {"-s", "--serial"} for name, _ in given):
        texts = [files_or_stdin([path], stdin, state) for path in paths[:_MOST_COLUMNS] or ["-"]]
        return cut("".join(f"{_joined(text.splitlines(), between)}\n" for text in texts))
    if len(paths) < 2:  # with one there is nothing beside it
        return files_or_stdin(paths, stdin, state)
    columns = [files_or_stdin([path], stdin, state) for path in paths[:_MOST_COLUMNS]]
    if any(map(labels, columns)) or len(paths) > _MOST_COLUMNS:
        return unknown("out", "paste")
    rows = zip_longest(*map(str.splitlines, columns), fillvalue="")
    return cut("".join(f"{_joined(row, between)}\n" for row in rows))


def _joined(row: Sequence[str], between: list[str]) -> str:
    """Put the delimiters between the pieces, in turn."""
    return "".join((*row[:1], *(mark + piece for mark, piece in zip(cycle(between), row[1:], strict=False))))


def _same(argv: list[str], stdin: str | None, state: State) -> str:
    return files_or_stdin(operands(argv), stdin, state)


def _stdin(_argv: list[str], stdin: str | None, _state: State) -> str:
    return stdin or ""


def _dd(argv: list[str], stdin: str | None, state: State) -> str:
    paths = [word[3:] for word in argv[1:] if word.startswith("if=")]
    if any(word.startswith("of=") and word not in {"of=/dev/stdout", "of=/dev/fd/1"} for word in argv):
        return ""
    text = files_or_stdin(paths[-1:], stdin, state)
    given = dict(word.partition("=")[::2] for word in argv[1:])
    if {"skip", "count"}.isdisjoint(given) or labels(text) or not text.isascii():
        return text
    block, skip, count = (given.get(name, "") for name in ("bs" if "bs" in given else "ibs", "skip", "count"))
    size = decimal(block) if block.isdecimal() else 512
    start = size * decimal(skip) if skip.isdecimal() else 0
    return text[start : start + size * decimal(count)] if count.isdecimal() else text[start:]


def _json_path(text: str, path: str) -> str | None:
    """Follow ``.a.b[0]`` into JSON text, as ``jq -r`` prints it; None when that is not what the path is."""
    if not re.fullmatch(r"(?:\.\w*|\[\d{1,4}\]|\[\"[^\"]*\"\])+", path) or len(text) > LIMIT:
        return None
    try:
        value = json.loads(text)
        for name, index, key in re.findall(r"\.(\w+)|\[(\d+)\]|\[\"([^\"]*)\"\]", path):
            value = value[int(index)] if index else value[name or key]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    return clean(value if isinstance(value, str) else json.dumps(value)) + "\n"


def _jq(argv: list[str], stdin: str | None, state: State) -> str:
    rest = operands(argv)
    if rest and not has(argv, "n", "null-input"):
        found = _json_path(files_or_stdin(rest[1:2], stdin, state), rest[0])
        if found is not None:
            return found
    constant = re.fullmatch(r'\s*"((?:[^"\\]|\\.)*)"\s*(\|\s*@base64d\s*)?', rest[0]) if rest else None
    if constant and has(argv, "n", "null-input"):
        text = unescape_echo(constant.group(1))
        return (decode.from_base64(text) or "") if constant.group(2) else text
    if rest and re.search(r"(?<![\w.])env\b|\$ENV\b", rest[0]):
        return unknown("out", "env")
    return only_markers(stdin or "") or unknown("out", "jq")


def _rot(_argv: list[str], stdin: str | None, _state: State) -> str:
    return decode.rot13(stdin or "") if not labels(stdin or "") else only_markers(stdin or "")


def _fold(argv: list[str], stdin: str | None, state: State) -> str:
    text = files_or_stdin(operands(argv, "w"), stdin, state)
    given = dict(short_values(argv, "w")).get("w", "")
    width = decimal(given) if argv[0] == "fold" and given.isdecimal() else 0
    if not width or width > 100 or labels(text) or len(text) > 10_000:
        return text
    pieces = [line[at : at + width] for line in text.splitlines() for at in range(0, len(line), width)]
    return "\n".join(pieces) + "\n"


Filter: TypeAlias = "Callable[[list[str], str | None, State], str]"

TEXT_FILTERS: dict[str, Filter] = {
    "cat": cat, "tac": _tac, "rev": _rev, "tr": _tr, "head": _head, "tail": _head, "cut": _cut, "sed": _sed, "gsed": _sed,
    "awk": _awk, "gawk": _awk, "mawk": _awk, "grep": _grep, "egrep": _grep, "fgrep": _grep, "paste": _paste, "sort": _same,
    "uniq": _same, "nl": _same, "tee": _stdin, "dd": _dd, "gdd": _dd, "pv": _stdin, "jq": _jq, "rot13": _rot, "caesar": _rot,
    "fold": _fold, "fmt": _fold, "sponge": _stdin, "col": _stdin, "stdbuf": _stdin, "unbuffer": _stdin, "xargs": _stdin,
    "iconv": _same, "dos2unix": _stdin, "envsubst": _stdin, "strings": _same, "expand": _same, "unexpand": _same, "shuf": _same,
}  # fmt: skip
"""What a command prints, by name."""
