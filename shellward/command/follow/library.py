"""What well-known functions return; nothing here has an effect."""

from __future__ import annotations

import json
import re
import shlex
from urllib.parse import unquote

from shellward.command.decode import translate
from shellward.command.follow.methods import MISSING, formatted, of_text, replaced
from shellward.command.follow.things import Pattern, Ref, elements, held, known, number, text
from shellward.command.values import LIMIT, OPEN, character, unknown


def _numbers(args: list[object]) -> list[int] | None:
    values = args[0] if args and isinstance(args[0], list) else args
    found = [number(value) for value in values]
    return [value for value in found if value is not None] if found and None not in found else None


def function(name: str, args: list[object], named: dict[str, object], language: str) -> object:  # noqa: C901, PLR0911, PLR0912, PLR0915
    """Call a function without effects by the last part of its name; MISSING when none is known."""
    first = args[0] if args else ""
    if (
        name in {"str", "String", "strval", "tostring", "as.character", "bytes", "bytearray", "repr", "uc", "lc"}
        and args
    ):
        if name in {"uc", "lc"}:
            return text(first).upper() if name == "uc" else text(first).lower()
        codes = _numbers(args) if isinstance(first, list) else None
        return "".join(map(character, codes)) if codes and name.startswith("byte") else text(first)
    if name in {"chr", "fromCharCode", "fromCodePoint", "char", "intToUtf8", "rawToChar", "chrw"}:
        flat = [leaf for arg in args for leaf in (arg if isinstance(arg, list) else [arg])]
        codes = _numbers(flat)
        return "".join(map(character, codes)) if codes else unknown("code")
    if name in {
        "list",
        "tuple",
        "set",
        "sorted",
        "iter",
        "from",
        "of",
        "Array",
        "c",
        "array",
        "array_values",
        "frozenset",
        "deque",
        "vector",
    }:
        if name in {"c", "Array", "of", "array", "vector"} and (len(args) != 1 or name in {"c", "array"}):
            return list(args)
        if name == "list" and language in {"r", "php", "perl"}:
            return list(args)
        return (
            MISSING if name == "from" and not isinstance(first, list | str) else list(elements(first)) if args else []
        )
    if name in {"dict", "OrderedDict", "Map", "hash"} and not isinstance(first, Ref):
        pairs = first if isinstance(first, list) else []
        made = {text(pair[0]): pair[1] for pair in pairs if isinstance(pair, list) and len(pair) > 1}
        return {**(first if isinstance(first, dict) else made), **named}
    if name in {"reversed", "array_reverse", "strrev", "rev", "stri_reverse"} and args:
        return first[::-1] if isinstance(first, list | str) else unknown("code")
    if name == "reverse" and args:
        if language == "perl":
            return (
                "".join(map(text, args))[::-1]
                if len(args) == 1 and not isinstance(first, list)
                else elements(first)[::-1]
                if len(args) == 1
                else args[::-1]
            )
        return first[::-1] if isinstance(first, list | str) else unknown("code")
    if name in {"implode", "concat"} or (name == "join" and language in {"perl", "php", "r", "julia"}):
        return _imploded(args, language)
    if name in {"explode", "split", "strsplit", "preg_split", "str_split"} and len(args) > 1:
        text_at = 0 if name in {"strsplit", "str_split"} else 1
        return of_text("split", text(args[text_at]), [args[1 - text_at]], language)
    if name == "str_split":
        return list(text(first))
    if name in {"paste", "paste0"}:
        between = text(named.get("sep", " ")) if name == "paste" else ""
        if "collapse" in named:
            return text(named["collapse"]).join(map(text, elements(first)))
        return between.join(text(arg) for arg in args)
    if name in {"sprintf", "format", "vsprintf", "gettextf"} and args:
        given = args[1:] if len(args) != 2 or not isinstance(args[1], list) else args[1]
        return formatted(text(first), given, named)
    if name in {"str_replace", "gsub", "sub", "preg_replace", "re.sub"} and len(args) > 2:
        old: object = args[0]
        if name in {"gsub", "sub", "preg_replace"} and language in {"php", "r", "python"}:
            bare = text(old)
            old = Pattern(bare[1:-1] if language == "php" and len(bare) > 1 and bare[0] == bare[-1] else bare)
        return replaced(text(args[2]), old, text(args[1]))
    if name == "strtr" and args:
        if len(args) > 2:
            return translate(text(args[1]), text(args[2]), text(first))
        table = args[1] if len(args) > 1 and isinstance(args[1], dict) else {}
        done = text(first)
        for key, value in list(table.items())[:50]:
            done = done.replace(text(key), text(value))
        return done
    if name in {"substr", "mb_substr", "substring"} and args:
        if language in {"r", "awk"}:
            start, end = number(args[1]) if len(args) > 1 else 1, number(args[2]) if len(args) > 2 else None
            begin = max((start or 1) - 1, 0)
            return text(first)[begin : None if end is None else end if language == "r" else begin + end]
        return of_text("substr", text(first), args[1:], language)
    if name in {"strtolower", "tolower", "mb_strtolower", "lcfirst"} and args:
        return text(first).lower()
    if name in {"strtoupper", "toupper", "mb_strtoupper", "ucfirst"} and args:
        return text(first).upper()
    if name in {"trim", "rtrim", "ltrim", "chop", "trimws"} and args:
        return text(first).strip(text(args[1]) if len(args) > 1 else None)
    if name in {"str_repeat", "strrep"} and len(args) > 1:
        return held(text(first) * min(number(args[1]) or 0, 500))
    if name in {"shlex.split", "shellwords", "shellsplit", "words"} and args:
        try:
            return list(shlex.split(text(first)))
        except ValueError:
            return list(text(first).split())
    if (
        name
        in {
            "loads",
            "load",
            "parse",
            "json_decode",
            "from_json",
            "literal_eval",
            "safe_load",
            "decode_json",
            "load_file",
        }
        and args
        and text(first)[:1] in {"{", "[", '"'}
    ):
        return _parsed(text(first))
    if name in {
        "unquote",
        "unquote_plus",
        "decodeURIComponent",
        "unescape",
        "decodeURI",
        "urldecode",
        "rawurldecode",
        "URLdecode",
    }:
        return unquote(text(first))
    if name == "maketrans" and len(args) > 1:
        return dict(zip(text(first), text(args[1]), strict=False))
    if name in {"ord", "utf8ToInt", "charCodeAt"} and args:
        return ord(text(first)[0]) if text(first) and OPEN not in text(first) else unknown("code")
    if name in {"int", "Number", "parseInt", "intval", "tonumber", "as.integer", "hexdec", "Integer"} and args:
        return _integer(text(first), 16 if name == "hexdec" else number(args[1]) if len(args) > 1 else None)
    if name in {"len", "length", "strlen", "count", "nchar", "sizeof"} and args:
        return len(first) if isinstance(first, str | list | dict) and known(first) else unknown("code")
    if name in {"SimpleNamespace", "Namespace", "stdClass", "OpenStruct", "ArrayObject", "Object"}:
        return {**(first if isinstance(first, dict) else {}), **named}
    if name in {"text", "SQL", "DDL", "raw", "literal_column"} and isinstance(first, str) and args:
        return str(first)
    if name in {"range", "seq", "xrange"} and args:
        return _range(args)
    if name == "@count" and len(args) > 1:
        start, stop, step = number(args[0]), number(args[1]), number(args[2]) if len(args) > 2 else 1
        if start is None or stop is None or not step:
            return [unknown("code")]
        return (
            list(range(start, stop + (1 if step > 0 else -1), step))[:300] if abs(stop - start) < 100_000 else [start]
        )
    if name == "zip" and args:
        return [list(pair) for pair in zip(*(elements(arg) for arg in args), strict=False)]
    if name in {"enumerate", "each_with_index", "ipairs", "pairs", "entries"} and args:
        if isinstance(first, dict):
            return [[key, value] for key, value in first.items()]
        return [[at, item] for at, item in enumerate(elements(first), 1 if language == "lua" else 0)]
    if name in {"chain", "array_merge"} and args:
        return [item for arg in args for item in elements(arg)]
    if name in {"values", "array_values"} and isinstance(first, dict):
        return list(first.values())
    if name in {"keys", "array_keys"} and isinstance(first, dict):
        return list(first)
    if name in {"next", "max", "min", "choice", "end", "reset", "current", "array_pop", "array_shift", "unlist", "identity", "deepcopy", "copy",
                "quotemeta", "escapeshellcmd", "escapeshellarg", "scalar", "as.raw", "raw"} and args:  # fmt: skip
        if isinstance(first, list) and name in {"end", "array_pop"}:
            return first[-1] if first else ""
        return (
            first[0]
            if isinstance(first, list) and name not in {"as.raw", "raw", "unlist", "deepcopy", "copy"} and first
            else first
        )
    return MISSING


def _imploded(args: list[object], language: str) -> object:
    if not args:
        return ""
    if language == "r":
        return " ".join(map(text, args))
    if len(args) == 1:
        return "".join(map(text, elements(args[0])))
    if isinstance(args[0], list):  # julia, and php's old order
        return text(args[1]).join(map(text, args[0]))
    items = [leaf for arg in args[1:] for leaf in (arg if isinstance(arg, list) else [arg])]
    return held(text(args[0]).join(map(text, items)))


def _parsed(given: str) -> object:
    """Read JSON; what is none stays unknown."""
    try:
        return _limited(json.loads(given)) if len(given) <= LIMIT else unknown("code")
    except (ValueError, RecursionError):
        return unknown("code")


def _limited(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _limited(item) for key, item in value.items()}
    return [_limited(item) for item in value] if isinstance(value, list) else value


def _integer(given: str, base: int | None) -> object:
    if base and 2 <= base <= 36 and len(given) < 20:
        try:
            return int(given, base)
        except ValueError:
            return unknown("code")
    if re.fullmatch(r"\s*0[xX][0-9a-fA-F]{1,8}\s*", given):
        return int(given, 16)
    value = number(given)
    return value if value is not None else given if "*" in given else unknown("code")


def _range(args: list[object]) -> object:
    numbers = [number(arg) for arg in args[:3]]
    if None in numbers:
        return [unknown("code")]
    start, stop, step = [0, *numbers, 1] if len(numbers) == 1 else [*numbers, 1] if len(numbers) == 2 else numbers
    return list(range(start or 0, stop or 0, step or 1))[:300] if abs((stop or 0) - (start or 0)) < 100_000 else [0]
