"""What well-known functions and methods of programs return, when their arguments are known."""

from __future__ import annotations

import re
from typing import TypeAlias

from shellward.command import decode
from shellward.command.remember import remembered
from shellward.command.values import character, decimal, labels, only_markers, unknown

USER_SITE = "~/.local/lib/python3/site-packages"
"""Where Python looks for what one user installed; the version is left out."""

Value: TypeAlias = "str | list[Value]"
"""A constant: text, or a list of constants."""


_NET_CALLS = re.compile(
    r"(?:^|[.:>])(?:urlopen|urlretrieve|getstore|URI\.open|file_get_contents|Net::HTTP\.get|fetch|LWP::Simple::get|axios\.get|"
    r"requests\.(?:get|post)|httpx\.get|curl_exec|http\.get|https\.get|HTTPX?\.get|getURL|readLines|url)$|^(?:open|get)$"
)


_READS_ENVIRONMENT = re.compile(r"(?:environ|ENV|\benv)\.(?:get|fetch|dig)$")
"""``os.environ.get``, ``ENV.fetch``, ``Deno.env.get``; their like that end in ``getenv`` need no pattern."""


@remembered
def last_part(name: str) -> str:
    """Return the last part of a name such as ``os.system``."""
    return re.split(r"\.|::|->", name)[-1]


@remembered
def is_net_call(name: str) -> bool:
    """Tell whether a call fetches something."""
    return _NET_CALLS.search(name) is not None


@remembered
def _reads_environment(name: str) -> bool:
    return _READS_ENVIRONMENT.search(name) is not None


def squeeze(value: Value) -> str:
    """Make one text of a value."""
    return value if isinstance(value, str) else " ".join(squeeze(item) for item in value)


class PureCalls:
    """Evaluates calls; what would be fetched, read or random is a marker."""

    language: str
    decoded: list[str]
    """What was decoded: running it is a finding."""

    def call(self, name: str, values: list[Value]) -> Value:  # noqa: C901, PLR0911, PLR0912
        """Evaluate a call of a well-known pure function; fetching functions give a marker."""
        first = values[0] if values else ""
        text = squeeze(first)
        last = last_part(name)
        if last in {
            "b64decode",
            "atob",
            "decode_base64",
            "decode64",
            "urlsafe_b64decode",
            "base64_decode",
            "standard_b64decode",
        }:
            return self.decode(decode.from_base64(text))
        if last == "b85decode":
            return self.decode(decode.from_base85(text))
        if last in {"b32decode", "base32decode"}:
            return self.decode(decode.from_base32(text))
        if last in {"fromhex", "unhexlify", "hex2bin"}:
            return self.decode(decode.from_hex(text))
        if last == "pack":
            template = re.match(r"([Hm])", text)
            raw = squeeze(values[1]) if len(values) > 1 else ""
            if template:
                return self.decode(decode.from_hex(raw) if template.group(1) == "H" else decode.from_base64(raw))
            return "".join(character(int(v)) for v in map(squeeze, values[1:]) if re.fullmatch(r"\d{1,9}", v))
        if last in {"decompress", "gunzipSync", "gzinflate", "inflateSync", "gzuncompress"}:
            return self.decode(decode.inflate(text))
        if last in {"chr", "fromCharCode", "intToUtf8", "char", "bytes", "bytearray"}:
            numbers = [squeeze(v) for v in (first if isinstance(first, list) else values)]
            if numbers and all(n.isdecimal() and decimal(n) < 0x110000 for n in numbers):
                return "".join(character(int(n)) for n in numbers)
            return text
        if last == "from" and name.startswith("Buffer") and len(values) > 1:
            kind = squeeze(values[1])
            return (
                self.decode(decode.from_hex(text) if kind == "hex" else decode.from_base64(text))
                if kind in {"hex", "base64"}
                else text
            )
        if last in {"strrev", "reversed"}:
            return text[::-1]
        if last == "decode" and len(values) > 1:
            codec = squeeze(values[1]).replace("_", "").replace("-", "").lower()
            if codec in {"rot13", "hex", "base64"}:
                return self.decode(
                    {"rot13": decode.rot13, "hex": decode.from_hex, "base64": decode.from_base64}[codec](text)
                )
        if last in {"rot13", "str_rot13"}:
            return decode.rot13(text)
        if last in {
            "Path",
            "PosixPath",
            "expanduser",
            "expandvars",
            "str",
            "String",
            "abspath",
            "realpath",
            "glob",
            "iglob",
            "Pathname",
            "expand_path",
            "normalizePath",
            "path",
            "quote",
            "strip",
            "split",
            "encode",
            "decode",
            "unquote",
        }:
            return first.replace("$HOME", "~") if isinstance(first, str) else first
        if last in {"homedir", "home"}:
            return "~"
        if last in {"getusersitepackages", "getuserbase"}:
            return USER_SITE
        if last == "implode" and len(values) > 1 and isinstance(values[1], list):
            return text.join(map(squeeze, values[1]))
        if last == "join" and self.language == "perl":
            return text.join(map(squeeze, values[1:]))
        if last == "loads" and name.startswith("marshal"):
            return unknown("decoded")
        if name in {"list.files", "os.listdir"} or last in {"readdirSync", "listdir"}:
            return f"{text.rstrip('/')}/*" if text else "*"
        if last == "join" or name == "os.path.join":
            return (
                "/".join(squeeze(v).rstrip("/") or "/" for v in values).replace("//", "/") if len(values) > 1 else text
            )
        if last == "getenv" or _reads_environment(name):
            return "~" if text == "HOME" else unknown("var", text)
        if last in {"gettempdir", "tmpdir"}:
            return "/tmp"
        if last in {
            "mkdtemp",
            "mkstemp",
            "mktmpdir",
            "mktemp",
            "NamedTemporaryFile",
            "TemporaryDirectory",
            "tempfile",
        }:
            return "/tmp/" + unknown("mktemp")
        if is_net_call(name) and (
            name not in {"open", "get", "readLines", "file_get_contents"} or "://" in text or labels(text)
        ):
            return unknown("net", last)
        if last in {"open", "file_get_contents", "readFileSync", "read", "readFile", "slurp", "read_text"}:
            return unknown("file", text) if text and not labels(text) else unknown("code")
        return only_markers(squeeze(values)) or unknown("code")

    def decode(self, text: str | None) -> str:
        """Remember what was decoded: running it is a finding."""
        if text is None:
            return unknown("decoded")
        self.decoded.append(text)
        return text

    def method(self, name: str, value: Value, values: list[Value]) -> Value:  # noqa: C901, PLR0911, PLR0912
        """Apply a method of strings and lists."""
        text = squeeze(value)
        given = [squeeze(v) for v in values]
        if name == "join":
            if isinstance(value, list):
                return (given[0] if given else "").join(map(squeeze, value))
            items = values[0] if values and isinstance(values[0], list) else []
            return text.join(map(squeeze, items)) if items else (given[0] if given else "")
        if name == "split" and not labels(text):
            return list(text.split(given[0]) if given and given[0] else list(text) if given else text.split())
        if name in {"reverse", "reversed"}:
            return value[::-1]
        if name in {"readFileSync", "readFile"} and given:
            return unknown("file", given[0])
        if name in {"tr", "tr_s"} and len(given) > 1:
            return decode.translate(given[0], given[1], text)
        if name in {"replace", "gsub", "sub"} and len(given) > 1:
            return text.replace(given[0], given[1])
        if name == "format":
            return re.sub(r"\{[^{}]*\}", lambda _: given.pop(0) if given else unknown("code"), text)
        if name in {"lower", "toLowerCase", "downcase"}:
            return text.lower()
        if name in {"unpack1", "unpack"}:
            return self.decode(decode.from_base64(text)) if given and given[0][:1] == "m" else unknown("code")
        if name == "pack":
            packed = [squeeze(v) for v in value] if isinstance(value, list) else [text]
            return self.call("pack", [given[0] if given else "", *packed])
        if name in {"b64decode", "decode64", "atob", "fromhex"}:
            return self.decode(
                decode.from_hex(given[0] if given else text)
                if name == "fromhex"
                else decode.from_base64(given[0] if given else text)
            )
        if name == "fromCharCode":
            return self.call(name, values)
        return value
