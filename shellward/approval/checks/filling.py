"""Checks of what fills a disk: a source without an end, and sizes that no ordinary file has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.approval.paths import Kind, classify
from shellward.command.operands import short_values
from shellward.command.values import known_part, labels

if TYPE_CHECKING:
    from shellward.approval.rule import Call

HUGE = 50 * 10**9
"""Bytes that a person is asked about: more than images of machines and swap files take, less than a disk has."""
HUGE_SPARSE = 10**12
"""The same for a file with holes, which takes no room until it is written."""

_ENDLESS = frozenset(("/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"))
_SIZE = re.compile(r"(\d{1,18})(?:\.\d+)?([kKmMgGtTpPeEzZyY])?(i?[bB])?\Z")
_FACTORS = {"c": 1, "w": 2, "b": 512}
_PASS_ON = frozenset(
    ("cat", "pv", "tr", "base64", "base32", "xxd", "od", "hexdump", "gzip", "pigz", "xz", "zstd", "bzip2", "lz4", "tee")
)
"""Programs that write for as long as they can read."""
_STOPS = {
    "od": re.compile(r"-\w*N|--read-bytes"),
    "xxd": re.compile(r"-l"),
    "hexdump": re.compile(r"-\w*n|--length"),
    "pv": re.compile(r"-\w*S|--stop-at-size"),
}
"""Options that say how much is read."""
_MAKES_HOLES = ("--punch-hole", "--collapse-range", "--dig-holes", "--insert-range")


def size(text: str) -> int | None:
    """Read a size with its suffix, in bytes, as coreutils and util-linux do; None when it is none."""
    match = _SIZE.match(text)
    if match is None:
        return None
    digits, letter, unit = match.groups()
    if letter is None:
        return int(digits) * (512 if unit == "b" else 1)
    base = 1000 if unit in {"B", "b"} else 1024
    return int(digits) * int(base ** ("kmgtpezy".index(letter.lower()) + 1))


def _product(text: str) -> int | None:
    """Read a number of dd, such as ``64k`` or ``2x512``."""
    whole = 1
    for piece in text.split("x")[:4]:
        factor = _FACTORS.get(piece[-1:])
        one = int(piece[:-1]) * factor if factor and piece[:-1].isdecimal() and len(piece) < 18 else size(piece)
        if one is None:
            return None
        whole *= one
    return whole


def _holds(path: str) -> bool:
    """Tell whether what is written there takes room on a file system."""
    return bool(known_part(path)) and classify(path) not in {Kind.SINK, Kind.DEVICE}


def fills(call: Call) -> tuple[str, ...]:
    """Files that something writes to without an end, or far too much."""
    if "timeout" in call.inv.via:
        return ()
    name, argv = call.name, call.argv
    if name in {"dd", "gdd"}:
        return _copies(call)
    if name == "head":
        counts = [value for _, value in short_values(argv, "c")]
        counts += [word.partition("=")[2] for word in argv[1:] if word.startswith("--bytes=")]
        if not any((size(count) or 0) >= HUGE for count in counts):
            return ()
    elif name != "yes" and not _reads_endless(call):
        return ()
    if name in {"cp", "tee"}:
        return tuple(filter(_holds, call.args.operands[1:] if name == "cp" else call.args.operands))
    return tuple(filter(_holds, call.inv.into))


def _reads_endless(call: Call) -> bool:
    stops = _STOPS.get(call.name)
    if stops is not None and any(map(stops.match, call.argv[1:])):
        return False
    if any(word in _ENDLESS for word in call.argv[1:]):
        return True
    stdin = call.inv.stdin or ""
    if call.name == "tee" and stdin == "y\n":
        return True  # of yes
    found = labels(stdin)
    return call.name in _PASS_ON and not known_part(stdin) and len(found) == 1 and found[0][5:] in _ENDLESS


def _copies(call: Call) -> tuple[str, ...]:
    """``dd`` from a source without an end, with no count or a huge one."""
    words = dict(word.partition("=")[::2] for word in call.argv[1:])
    if words.get("if") not in _ENDLESS:
        return ()
    if "count" in words:
        block = _product(words.get("ibs", words.get("bs", "512")))
        count = _product(words["count"])
        in_bytes = "count_bytes" in words.get("iflag", "") or words["count"].endswith("B")
        if count is None or block is None or count * (1 if in_bytes else block) < HUGE:
            return ()
    return tuple(filter(_holds, [words["of"]] if "of" in words else call.inv.into))


def allocates(call: Call) -> tuple[str, ...]:
    """Files that are made huge at once."""
    args = call.args
    if call.name == "fallocate":
        given = "" if args.has(*_MAKES_HOLES) else args.value("--length") or ""
        least = HUGE
    else:
        given, least = (args.value("--size") or "").lstrip("+>%/ "), HUGE_SPARSE
    return tuple(filter(_holds, args.operands)) if (size(given) or 0) >= least else ()
