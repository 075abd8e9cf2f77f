"""Commands that run another command: how to find it in their words. Data and one small option reader.

Each entry says which options take a value, how many operands come before the inner command, and whether what is left
is words or text for a shell. What needs more than that is in handlers.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from shellward.command.wrapperspecs import SPECS


@dataclass(frozen=True, slots=True)
class Wrap:
    """How one wrapper is written.

    Attributes:
        short: letters that take a value.
        long: long options that take a value in the next word.
        skip: operands before the inner command.
        env: assignments may stand before the inner command.
        join: the rest is joined and given to a shell.
        code: options whose value is shell text.
        dash: the inner command comes after ``--`` only.
        words: options after which everything is the inner command.
    """

    short: str = ""
    long: frozenset[str] = frozenset()
    skip: int = 0
    env: bool = False
    join: bool = False
    code: frozenset[str] = frozenset()
    dash: bool = False
    words: frozenset[str] = frozenset()


def _wrap(text: str) -> Wrap:
    fields: dict[str, str] = dict(item.partition("=")[::2] for item in text.split())

    def names(key: str) -> frozenset[str]:
        return frozenset(filter(None, fields.get(key, "").split(",")))

    return Wrap(
        fields.get("short", ""), names("long"), int(fields.get("skip", "0")), "env" in fields, "join" in fields,
        names("code"), "dash" in fields, names("words"),
    )  # fmt: skip


WRAPPERS: dict[str, Wrap] = {
    name: _wrap(spec) for name, _, spec in (line.partition(":") for line in SPECS.strip().splitlines())
}
"""Wrappers by command name."""


@dataclass(frozen=True, slots=True)
class Inner:
    """Where the inner command is: from which word, and which option values are shell text (word, offset)."""

    start: int
    code: tuple[tuple[int, int], ...]
    options: tuple[str, ...]


def find_inner(argv: list[str], wrap: Wrap) -> Inner:
    """Find the inner command among a wrapper's words.

    Args:
        argv: the wrapper and its words.
        wrap: how it is written.

    Returns:
        The index of the first inner word (``len(argv)`` when there is none) and the shell texts.
    """
    code: list[tuple[int, int]] = []
    options: list[str] = []
    skip = wrap.skip
    i = 1
    size = len(argv)
    while i < size:
        word = argv[i]
        if word == "--" or word in wrap.words:
            i += 1
            if skip <= 1 or wrap.dash:
                i += skip if not wrap.dash else 0
            return Inner(min(i, size), tuple(code), tuple(options))
        if word.startswith("-") and len(word) > 1:
            options.append(word)
            i = _option(argv, i, wrap, code)
            continue
        if word.startswith("+") and i == 1:
            i += 1
            continue
        if wrap.env and "=" in word and word.partition("=")[0].isidentifier():
            i += 1
            continue
        if wrap.dash:
            i += 1
            continue
        if skip:
            skip -= 1
            i += 1
            continue
        return Inner(i, tuple(code), tuple(options))
    return Inner(size, tuple(code), tuple(options))


def _option(argv: list[str], i: int, wrap: Wrap, code: list[tuple[int, int]]) -> int:
    """Step over one option; note its value when that is shell text."""
    word = argv[i]
    name, equals, _ = word.partition("=")
    if word.startswith("--"):
        if name in wrap.code:
            code.append((i, len(name) + 1) if equals else (i + 1, 0))
            return i + (1 if equals else 2)
        return i + (2 if not equals and name[2:] in wrap.long else 1)
    if len(word) > 2 and word[1:] in wrap.long:  # -np 4
        return i + 2
    for at, letter in enumerate(word[1:], 1):
        if f"-{letter}" in wrap.code:
            code.append((i, at + 1) if at + 1 < len(word) else (i + 1, 0))
            return i + (1 if at + 1 < len(word) else 2)
        if letter in wrap.short:
            return i + (2 if at + 1 == len(word) else 1)
    return i + 1
