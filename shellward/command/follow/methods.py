"""What methods of texts, lists and dictionaries return; nothing here has an effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from shellward.command.decode import rot13, translate
from shellward.command.escapes import unescape_ansi
from shellward.command.follow.things import MOST, Everywhere, Pattern, elements, held, known, number, text
from shellward.command.values import OPEN, character, only_markers, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    Method: TypeAlias = Callable[["Text"], object]

MISSING = object()
"""No such function is known."""

_ATOM = r"\\[\w.*+?^$|/()\[\]{}-]|\[(?:\\.|[^\\\]])+\]|[^\\()*+?{}|^$\[\]]"
_SIMPLE = re.compile(rf"\^?(?:{_ATOM}|\((?:\?:)?(?:{_ATOM})*\))*[+*]?\$?\Z")
"""Expressions that need no way back: at most one repetition, at the end."""


class Text:
    """A text with the arguments of the method that is called on it.

    Args:
        value: the text.
        args: the arguments.
        language: the program's language; some count from one.
    """

    def __init__(self, value: str, args: list[object], language: str) -> None:
        self.value = value
        self.args = args
        self.language = language

    def arg(self, at: int, default: str = "") -> str:
        """Return an argument as text."""
        return text(self.args[at]) if at < len(self.args) else default

    def number(self, at: int, default: int | None = None) -> int | None:
        """Return an argument as a number; None when it is none."""
        return number(self.args[at]) if at < len(self.args) else default


def replaced(value: str, old: object, new: str, count: int = 0) -> str:
    """Replace text or what an expression matches; expressions that may be slow are not tried."""
    if not isinstance(old, Pattern):
        return held(value.replace(text(old), new, count or -1)) if text(old) or len(value) < 2000 else value
    if not old or not _SIMPLE.match(old) or len(value) > 4000:
        return only_markers(value) or unknown("code")
    try:
        return held(
            re.sub(str(old), lambda match: _REFERENCE.sub(lambda to: _group(match, to), new), value, count=count)
        )
    except re.error:
        return unknown("code")


_REFERENCE = re.compile(r"\\g<(\d)>|\$\{(\d)\}|[\\$%](\d)|\$&|\\&")
"""What stands for a group in a replacement: ``\\1``, ``$1``, ``${1}``, ``\\g<1>``, ``%1`` (Lua), ``$&``."""


def _group(match: re.Match[str], to: re.Match[str]) -> str:
    number = int(to[1] or to[2] or to[3] or 0)
    return (match[number] or "") if number <= match.re.groups else to[0]


def formatted(template: str, values: list[object], named: dict[str, object] | None = None) -> str:
    """Apply ``%s``, ``%c``, ``%(name)s`` and their like."""
    left, given = list(values), named or {}

    def one(match: re.Match[str]) -> str:
        if match.group() == "%%":
            return "%"
        name, width, kind = match.groups()
        place = re.match(r"(\d+)\$", width or "")
        if place:
            at = int(place.group(1)) - 1
            value = values[at] if 0 <= at < len(values) else unknown("code")
        elif name is not None:
            value = given.get(name, unknown("code"))
        elif "*" in width and left:
            count = number(left.pop(0))
            value = text(left.pop(0))[: count if "." in width else None] if left else unknown("code")
        else:
            value = left.pop(0) if left else unknown("code")
        if kind == "c" and number(value) is not None:
            return character(number(value) or 0)
        cut = re.search(r"\.(\d{1,4})", width or "")
        if kind is not None and kind in "xX" and number(value) is not None:
            return format(number(value) or 0, kind)
        return text(value)[: int(cut.group(1))] if cut and kind == "s" else text(value)

    return held(re.sub(r"%(?:[(<{](\w+)[)>}])?([-+ 0#\d.*$]*)([a-zA-Z%])?|%%", one, template))


def braced(template: str, values: list[object], named: dict[str, object]) -> str:
    """Apply ``{}``, ``{0}``, ``{name}``."""
    left = list(values)

    def one(match: re.Match[str]) -> str:
        name = re.split(r"[.:!\[]", match.group(1))[0]
        if name.isdecimal():
            return text(values[int(name)]) if len(name) < 4 and int(name) < len(values) else unknown("code")
        if name:
            return text(named.get(name, unknown("code")))
        return text(left.pop(0)) if left else unknown("code")

    return held(re.sub(r"\{([^{}]*)\}", one, template))


def _split(t: Text) -> object:
    if OPEN in t.value and not t.value.replace(OPEN, "").strip():
        return [t.value]
    given = t.args[0] if t.args else None
    if isinstance(given, Pattern):
        found = re.split(str(given), t.value) if given and _SIMPLE.match(given) else [t.value]
        return [piece for piece in found if piece] if not str(given) else list(found)
    if given is None or (text(given) == " " and t.language in {"ruby", "perl"}):
        return list(t.value.split())
    return list(t.value.split(text(given))) if text(given) else list(t.value)


def _slice(t: Text) -> object:
    """``slice``, ``substring`` and their like, from zero, the second number an end or a length."""
    start, end = t.number(0, 0), t.number(1)
    if start is None:
        return unknown("code")
    return t.value[start:end] if len(t.args) > 1 else t.value[start:]


def _substr(t: Text) -> object:
    start, length = t.number(0, 0), t.number(1)
    if start is None:
        return unknown("code")
    start = start if start >= 0 else max(len(t.value) + start, 0)
    if length is None:
        return t.value[start:]
    return t.value[start : start + length] if length >= 0 else t.value[start:length]


def _lua_sub(t: Text) -> object:
    start, end = t.number(0, 1) or 1, t.number(1, -1)
    start = start - 1 if start > 0 else max(len(t.value) + start, 0)
    return t.value[start : end if end is None or end >= 0 else len(t.value) + end + 1]


def _replace(t: Text, *, once: bool) -> object:
    if len(t.args) < 2:
        return t.value
    old = t.args[0]
    once = once and not isinstance(old, Everywhere)
    if t.language == "lua" and isinstance(old, str):
        old = Pattern(old.replace("%", "\\"))
    return replaced(t.value, old, t.arg(1), 1 if once else 0)


def _translated(t: Text) -> object:
    table = t.args[0] if t.args else None
    if isinstance(table, dict):
        return "".join(text(table.get(c, table.get(ord(c), c))) for c in t.value)
    return translate(t.arg(0), t.arg(1), t.value) if len(t.args) > 1 else unknown("code")


def _removed(t: Text) -> object:
    return "".join(c for c in t.value if c not in t.arg(0)) if t.args else t.value


def _code_at(t: Text) -> object:
    at = t.number(0, 0) or 0
    return ord(t.value[at]) if 0 <= at < len(t.value) else unknown("code")


def _char_at(t: Text) -> object:
    at = t.number(0, 0) or 0
    return t.value[at] if -len(t.value) <= at < len(t.value) else ""


def _padded(t: Text, *, left: bool) -> object:
    count, fill = t.number(0, 0) or 0, t.arg(1, " ") or " "
    pad = (fill * min(count, 500))[: max(min(count, 500) - len(t.value), 0)]
    return pad + t.value if left else t.value + pad


def _decoded_text(t: Text) -> object:
    codec = t.arg(0).replace("_", "").replace("-", "").lower()
    if codec == "rot13":
        return rot13(t.value)
    if codec in {"hex", "base64"}:
        return MISSING  # purecalls.py notes that it was decoded
    return unescape_ansi(t.value) if codec == "unicodeescape" else t.value


def _partition(t: Text) -> object:
    return list(t.value.partition(t.arg(0))) if t.arg(0) else [t.value, "", ""]


def _contains(t: Text) -> object:
    return t.arg(0) in t.value if known(t.value) and known(t.args) else unknown("code")


_TEXT: dict[str, Method] = {
    **dict.fromkeys(["upper", "toUpperCase", "upcase", "toLocaleUpperCase"], lambda t: t.value.upper()),
    **dict.fromkeys(["lower", "toLowerCase", "downcase", "casefold", "toLocaleLowerCase"], lambda t: t.value.lower()),
    **dict.fromkeys(["swapcase"], lambda t: t.value.swapcase()),
    **dict.fromkeys(["capitalize", "title"], lambda t: t.value.capitalize()),
    **dict.fromkeys(["strip", "trim", "chomp", "rstrip", "lstrip", "trimEnd", "trimStart", "squeeze"],
                    lambda t: t.value.strip(t.arg(0) or None)),
    **dict.fromkeys(["split", "rsplit", "explode"], _split),
    **dict.fromkeys(["splitlines", "lines", "each_line"], lambda t: list(t.value.splitlines())),
    **dict.fromkeys(["reverse", "reversed"], lambda t: t.value[::-1]),
    **dict.fromkeys(["slice", "substring"], _slice),
    "substr": _substr,
    **dict.fromkeys(["replaceAll", "gsub", "replace_all"], lambda t: _replace(t, once=False)),
    "replace": lambda t: _replace(t, once=t.language == "javascript"),
    "translate": _translated,
    **dict.fromkeys(["tr", "tr_s"], _translated),
    **dict.fromkeys(["charCodeAt", "codePointAt"], _code_at),
    **dict.fromkeys(["charAt", "at"], _char_at),
    **dict.fromkeys(["concat", "append"], lambda t: t.value + "".join(map(text, t.args))),
    **dict.fromkeys(["repeat", "rep"], lambda t: held(t.value * min(t.number(0, 1) or 0, 500))),
    **dict.fromkeys(["padStart", "rjust"], lambda t: _padded(t, left=True)),
    **dict.fromkeys(["padEnd", "ljust"], lambda t: _padded(t, left=False)),
    **dict.fromkeys(["chars", "each_char", "toCharArray"], lambda t: list(t.value)),
    **dict.fromkeys(["bytes", "each_byte", "codepoints"], lambda t: list(map(ord, t.value))),
    **dict.fromkeys(["ord"], lambda t: ord(t.value[0]) if t.value else unknown("code")),
    **dict.fromkeys(["to_s", "to_str", "toString", "decode", "encode", "valueOf", "freeze", "dup", "to_sym", "itself",
                     "force_encoding", "read_text", "expanduser", "expand_path", "resolve", "absolute", "shellescape",
                     "unicode_normalize", "normalize", "clone", "flat", "values", "to_a", "await", "strip_heredoc"],
                    lambda t: t.value),
    **dict.fromkeys(["to_i", "toInt"], lambda t: number(t.value) if number(t.value) is not None else unknown("code")),
    **dict.fromkeys(["join"], lambda t: held(t.value.join(map(text, elements(t.args[0])))) if t.args else t.value),
    "format": lambda t: formatted(t.value, t.args),
    "delete": _removed,
    "removeprefix": lambda t: t.value.removeprefix(t.arg(0)),
    "removesuffix": lambda t: t.value.removesuffix(t.arg(0)),
    **dict.fromkeys(["delete_prefix"], lambda t: t.value.removeprefix(t.arg(0))),
    **dict.fromkeys(["delete_suffix", "chomp_suffix"], lambda t: t.value.removesuffix(t.arg(0))),
    "chop": lambda t: t.value[:-1],
    "hex": lambda t: int(t.value, 16) if re.fullmatch(r"[0-9a-fA-F]{1,8}", t.value) else unknown("code"),
    **dict.fromkeys(["partition", "rpartition"], _partition),
    **dict.fromkeys(["startswith", "startsWith", "start_with?"],
                    lambda t: t.value.startswith(t.arg(0)) if known(t.value) and known(t.args) else unknown("code")),
    **dict.fromkeys(["endswith", "endsWith", "end_with?"],
                    lambda t: t.value.endswith(t.arg(0)) if known(t.value) and known(t.args) else unknown("code")),
    **dict.fromkeys(["includes", "include?", "__contains__", "contains"], _contains),
    **dict.fromkeys(["isdigit", "isdecimal", "isalpha", "isspace", "isalnum"], lambda _: unknown("code")),
    **dict.fromkeys(["find", "index", "indexOf"],
                    lambda t: t.value.find(t.arg(0)) if known(t.value) else unknown("code")),
    **dict.fromkeys(["length", "size", "len"], lambda t: len(t.value) if OPEN not in t.value else unknown("code")),
    **dict.fromkeys(["unescape", "decodeURIComponent"], lambda t: unquote(t.value)),
}  # fmt: skip


def of_text(name: str, value: str, args: list[object], language: str) -> object:
    """Call a method of a text; MISSING when none of that name is known."""
    t = Text(value, args, language)
    if name == "sub" or (name == "sub!" and language == "ruby"):
        return _lua_sub(t) if language == "lua" else _replace(t, once=True)
    if name == "decode" and args:
        return _decoded_text(t)
    if name == "prepend":
        return "".join(map(text, args)) + value
    if name == "slice" and language == "ruby":
        return _substr(t)
    method = _TEXT.get(name.rstrip("!"))
    return method(t) if method is not None else MISSING


def of_list(name: str, value: list[object], args: list[object], language: str) -> object:  # noqa: C901, PLR0911, PLR0912
    """Call a method of a list; MISSING when none of that name is known."""
    if len(value) > MOST:
        return value
    if name in {"append", "push", "add", "<<", "appendChild"}:
        value.extend(args)
        return value
    if name in {"extend", "concat", "addAll", "update"}:
        more = [item for arg in args for item in (arg if isinstance(arg, list) else [arg])][:MOST]
        if name == "concat" and language == "javascript":
            return [*value, *more]
        value.extend(more)
        return value
    if name in {"unshift", "prepend"}:
        value[:0] = args
        return value
    if name == "insert" and len(args) > 1:
        value.insert(number(args[0]) or 0, args[1])
        return value
    if name in {"pop", "shift"}:
        at = number(args[0]) if args and name == "pop" else None
        at = at if at is not None else -1 if name == "pop" else 0
        return value.pop(at) if -len(value) <= at < len(value) else unknown("code")
    if name in {"join", "pack_words"}:
        default = "," if language == "javascript" else ""
        return held((text(args[0]) if args else default).join(map(text, value)))
    if name in {"reverse", "reversed", "reverse!", "toReversed"}:
        if name != "reverse" or language in {"ruby", "perl"}:
            return value[::-1]
        value.reverse()
        return value
    if name in {"slice", "drop", "subList"}:
        start, end = number(args[0]) if args else 0, number(args[1]) if len(args) > 1 else None
        return value[start or 0 : end] if language != "ruby" or end is None else value[start or 0 : (start or 0) + end]
    if name in {"first", "last", "at", "get", "dig", "fetch", "item", "__getitem__", "sample", "next"}:
        at = -1 if name == "last" else number(args[0]) if args and args[0] is not None else 0
        return value[at] if at is not None and -len(value) <= at < len(value) else unknown("code")
    if name in {"flat", "flatten", "toList", "to_a", "toArray", "values", "slice!", "dup", "copy", "compact", "uniq", "freeze",
                "split", "splitlines", "each_slice", "read", "readlines", "each", "items", "entries"}:  # fmt: skip
        return [
            leaf for item in value for leaf in (item if isinstance(item, list) and name.startswith("flat") else [item])
        ]
    if name in {"sort", "sorted", "sort!"}:
        return sorted(value, key=text)
    if name in {"toString", "to_s", "decode", "strip", "chomp"}:
        return text(value)
    if name in {"length", "size", "count", "len"}:
        return len(value)
    if name in {"includes", "include?", "contains", "index", "indexOf", "remove", "clear", "delete", "empty?"}:
        return unknown("code")
    if name == "keys":
        return list(range(len(value)))
    return MISSING


def of_pairs(name: str, value: dict[object, object], args: list[object]) -> object:  # noqa: PLR0911
    """Call a method of a dictionary; MISSING when none of that name is known."""
    if name in {"values", "fetch_values"}:
        return list(value.values())
    if name in {"keys", "entries_keys"}:
        return list(value)
    if name in {"items", "entries", "to_a", "each_pair"}:
        return [[key, held_value] for key, held_value in value.items()]
    if name in {"get", "fetch", "dig", "pop", "setdefault", "delete", "__getitem__"} and args:
        return value.get(text(args[0]), args[1] if len(args) > 1 else unknown("code"))
    if name in {"set", "store", "put", "__setitem__"} and len(args) > 1:
        value[text(args[0])] = args[1]
        return value
    if name in {"update", "merge", "merge!"} and args and isinstance(args[0], dict):
        value.update(args[0])
        return value
    return MISSING
