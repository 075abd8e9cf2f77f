"""Undoing encodings, bounded, so that what a decoded payload says can be judged. Never raises on bad input."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import lzma
import re
import zlib

from shellward.command.values import CUT, LIMIT, labels

_HEX = re.compile(r"[^0-9a-fA-F]")


def _text(data: bytes) -> str:
    """Bytes as text, one character per byte, so that a further decoder gets the bytes back.

    A marker says when there is more.
    """
    return data[:LIMIT].decode("latin-1") + (CUT if len(data) > LIMIT else "")


def _bytes(text: str) -> bytes:
    return text.encode("latin-1", "replace")


def from_base64(text: str) -> str | None:
    """Decode base64 as ``base64 -d`` does (blanks ignored, padding optional)."""
    if labels(text):
        return None
    compact = re.sub(r"[^A-Za-z0-9+/_-]", "", text).replace("-", "+").replace("_", "/")
    try:
        return _text(base64.b64decode(compact + "=" * (-len(compact) % 4)))
    except (binascii.Error, ValueError):
        return None


def from_base32(text: str) -> str | None:
    """Decode base32."""
    compact = re.sub(r"[^A-Z2-7]", "", text.upper())
    try:
        return _text(base64.b32decode(compact + "=" * (-len(compact) % 8)))
    except (binascii.Error, ValueError):
        return None


def from_base85(text: str) -> str | None:
    """Decode base85, as Python and git write it."""
    try:
        return _text(base64.b85decode(text.strip()))
    except ValueError:
        return None


def from_hex(text: str) -> str | None:
    """Decode hexadecimal digits, with or without blanks, and lines as ``xxd`` prints them."""
    if labels(text):
        return None
    lines = [re.sub(r"^[0-9a-fA-F]+:", "", line).partition("  ")[0] for line in text.splitlines()]
    digits = _HEX.sub("", "".join(lines))
    try:
        return _text(bytes.fromhex(digits[: len(digits) // 2 * 2]))
    except ValueError:
        return None


def inflate(text: str) -> str | None:
    """Decompress gzip, zlib, bzip2 or xz data; at most LIMIT bytes come out, and a marker when there are more."""
    if labels(text):
        return None
    data = _bytes(text)
    for make in (lambda: zlib.decompressobj(47), bz2.BZ2Decompressor, lzma.LZMADecompressor):
        try:
            found = make().decompress(data, LIMIT + 1)
        except (zlib.error, OSError, EOFError, ValueError, lzma.LZMAError):
            continue
        return _text(found) if found else None  # of data that ends too early nothing comes out
    return None


def rot13(text: str) -> str:
    """Turn letters by thirteen places."""
    return codecs.encode(text, "rot13")


def translate(first: str, second: str, text: str) -> str:
    """Apply ``tr``: each character of the first set becomes the one at its place in the second."""

    def letters(spec: str) -> str:
        return re.sub(
            r"(.)-(.)",
            lambda match: "".join(
                map(chr, range(ord(match.group(1)), min(ord(match.group(2)), ord(match.group(1)) + 255) + 1))
            ),
            spec,
        )

    source, target = letters(first), letters(second)
    table = {ord(a): b for a, b in zip(source, target, strict=False)}
    return text.translate(table)
