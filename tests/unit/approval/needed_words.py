"""Work out the words that the rules' expressions cannot match without, and write them down for the engine.

Run after changing a rule's expression: python tests/unit/approval/needed_words.py
"""

import re
from collections.abc import Iterable, Sequence
from os.path import commonprefix
from pathlib import Path
from re import _constants as ops  # type: ignore[attr-defined]  # the parser of re is public in name only
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

TABLE = Path(__file__).parents[3] / "shellward" / "approval" / "patterns" / "words.py"
HEAD = '''"""Words that the rules' expressions cannot match without, so that most of them are never compiled.

By the sign of an expression (expressions.py): "i" when letters count as small ones, then each way to match on a line
of its own. Of each column of such a line one word stands in the text. Written by tests/unit/approval/needed_words.py;
an expression that is not in here, as it has changed since, is compiled at its first use.

A long expression is compiled in parts, of which only those are needed whose words are there: PARTS says from where to
where the pieces of each part stand in it.
"""

WORDS: dict[str, str] = {
'''
MOST = 400
"""Texts of a part of an expression that are listed one by one."""
ENOUGH = 4
"""Characters that make a word rare; longer ones are not much better."""
BEGINNING = 6
"""Characters of a beginning that is as rare as a word."""
MOST_WAYS = 96
MOST_SETS = 3
SHORT = 12
"""Characters that an alternative matches at most, when it is no more than a word."""
Words = frozenset[str]
Item = tuple[Any, Any]
PART = 150
"""Characters of an expression from which on it is compiled in parts, which are about as long."""
EMPTY: Words = frozenset([""])
Pieces = tuple[tuple[int, int], ...]
"""From where to where the pieces of a part stand in an expression."""


class Needed(NamedTuple):
    """Of what a text needs something, so that an expression can match it.

    Attributes:
        ways: by how it may match; for each way sets of words, and one word of each set stands in the text.
        folded: the words are in small letters, as the expression takes those for the same.
    """

    ways: tuple[tuple[Words, ...], ...]
    folded: bool = False


def needed(expression: str, commands: Iterable[str] = ()) -> Needed | None:
    """Return what a text needs; None when that is not known.

    Args:
        expression: the regular expression.
        commands: names with which the texts begin anyway, so that they say nothing.
    """
    tree = parser.parse(expression)
    reader = Reader(commands, folded=bool(tree.state.flags & re.IGNORECASE) or "(?i:" in expression)
    ways = [reader.conditions(way) for way in _ways(list(tree))]
    if not all(ways):
        return None
    single = reader.beginnings(frozenset[str]().union(*(way[0] for way in ways if len(way) == 1)))
    several = dict.fromkeys(way for way in ways if len(way) > 1)
    return Needed((*([(shortest(single),)] if single else []), *several), reader.folded)


def _ways(items: list[Item]) -> list[list[Item]]:
    """Write the alternatives of an expression out, the outermost ones first."""
    ways, waiting = [], [items]
    while waiting:
        way = waiting.pop(0)
        split = _split(way)
        if split and len(ways) + len(waiting) + len(split) <= MOST_WAYS:
            waiting += split
        else:
            ways.append(way)
    return ways


def _split(items: list[Item]) -> list[list[Item]]:
    """Write the alternatives of one part out, the first that has long ones; nothing when none has."""
    for at, (op, value) in enumerate(items):
        if op is ops.SUBPATTERN and not value[1] and len(value[3]) == 1 and value[3][0][0] is ops.BRANCH:
            branches = value[3][0][1][1]
        elif op is ops.BRANCH:
            branches = value[1]
        else:
            continue
        if any(branch.getwidth()[1] > SHORT for branch in branches):
            return [[*items[:at], *branch, *items[at + 1 :]] for branch in branches]
    return []


class Reader:
    """Reads the tree of an expression.

    Args:
        commands: names with which the texts begin anyway.
        folded: write words in small letters.
    """

    def __init__(self, commands: Iterable[str], *, folded: bool) -> None:
        self.folded = folded
        self._commands = tuple(sorted(commands, key=len, reverse=True))

    def conditions(self, items: Iterable[Item]) -> tuple[Words, ...]:
        """List the sets of words of which a text needs one each, the rarest first."""
        sets = [shortest(words) for words in self._sets(items)[1] if words is not None and "" not in words]
        rare = sorted(set(sets), key=self._rarity, reverse=True)
        found = [words for words in rare if self._rarity(words)[0] > 1][:MOST_SETS]
        names = [words for words in rare if words not in found and min(map(len, words)) > 1]
        if found and len(self._commands) < 2:  # the only name says nothing more
            return tuple(found)
        return (*names[:1], *found)

    def sequence(self, items: Iterable[Item]) -> tuple[Words | None, Words | None]:
        """Return all that a sequence may match, if those are few texts, and the words of which it needs one."""
        exact, found = self._sets(items)
        sets = [shortest(words) for words in found if words is not None and "" not in words]
        return exact, max(sets, key=self._rarity, default=None)

    def _sets(self, items: Iterable[Item]) -> tuple[Words | None, list[Words | None]]:
        run, found, whole = EMPTY, [], True
        for op, value in items:
            exact, needs = self._part(op, value)
            if exact is not None and len(exact) * len(run) <= MOST:
                run = frozenset(before + after for before in run for after in exact)
                continue
            whole = False
            found += [run, needs]
            run = exact if exact is not None else EMPTY
        found.append(run)
        return run if whole else None, found

    def _part(self, op: object, value: Any) -> tuple[Words | None, Words | None]:  # noqa: PLR0911
        """Return the same of one part; nothing is said of a part that is not known, which is always true."""
        if op is ops.LITERAL:
            one = frozenset([self._letter(value)])
            return one, one
        if op in {ops.AT, ops.ASSERT, ops.ASSERT_NOT}:  # says more about the text, but takes none of it
            return EMPTY, None
        if op is ops.IN and len(value) <= 4 and all(kind is ops.LITERAL for kind, _ in value):
            some = frozenset(self._letter(char) for _, char in value)
            return some, some
        if op is ops.SUBPATTERN:
            _, added, _, inner = value
            return (None, None) if added & re.IGNORECASE and not self.folded else self.sequence(inner)
        if op is ops.ATOMIC_GROUP:
            return self.sequence(value)
        if op is ops.BRANCH:
            return _either([self.sequence(one) for one in value[1]])
        if op in {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}:
            least, most, inner = value
            exact, needs = self.sequence(inner)
            if least == 0:
                return (exact | EMPTY if exact is not None and most == 1 else None), None
            return (exact, needs) if most == 1 else (None, needs)
        return None, None

    def beginnings(self, words: Words) -> Words:
        """Take the common beginning of words that begin alike, behind a name: one is found faster than many."""
        found: dict[str, str] = {}
        for word in sorted(words):
            name = next((name for name in self._commands if word.startswith(name)), "")
            begin = word[: len(name) + BEGINNING]
            found[begin] = commonprefix([found.get(begin, word), word])  # noqa: RUF071  # of characters, not of paths
        return frozenset(found.values())

    def _letter(self, code: int) -> str:
        return chr(code).lower() if self.folded else chr(code)

    def _rarity(self, words: Words) -> tuple[int, int, list[str]]:
        """Say how rare words are: the longer besides the command's name, and the fewer, the rarer."""
        return min(ENOUGH, *map(self._weight, words)), -len(words), sorted(words)

    def _weight(self, word: str) -> int:
        return len(next((word[len(name) :] for name in self._commands if word.startswith(name)), word).strip(" -"))


def _either(parts: Sequence[tuple[Words | None, Words | None]]) -> tuple[Words | None, Words | None]:
    exact: Words | None = frozenset[str]().union(*(one or () for one, _ in parts))
    if len(exact or ()) > MOST or any(one is None for one, _ in parts):
        exact = None
    if any(words is None for _, words in parts):
        return exact, None
    return exact, frozenset[str]().union(*(words or () for _, words in parts))


def shortest(words: Words) -> Words:
    """Leave out what contains another word."""
    return frozenset(word for word in words if not any(other != word and other in word for other in words))


_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(\((?:\?:)?)|(\))|(\|)|.", re.DOTALL)
_REFERS = re.compile(r"\\[1-9]|\(\?[P(]")
"""What refers to a group by its number, which is another one in a part."""


def parts(expression: str) -> list[Pieces]:
    """Say of which parts an expression consists: it matches where one of them does. A short one is its only part."""
    flags = 4 if expression.startswith("(?i)") else 0
    whole = ((0, len(expression)),)
    if len(expression) <= PART or _REFERS.search(expression):
        return [whole]
    found: list[Pieces] = []
    for start, end in _chunks(_alternatives(expression, flags, len(expression))):
        found += _parted(expression, ((0, flags), (start, end)) if flags else ((start, end),))
    return found if len(found) <= MOST_WAYS else [whole]


def _parted(expression: str, part: Pieces) -> list[Pieces]:
    """Write the alternatives of a group out, if a part is long and has such a group."""
    if sum(end - start for start, end in part) <= PART:
        return [part]
    start, end = part[-1]
    if len(_alternatives(expression, start, end)) > 1:
        return [part]
    for opened, closed in _groups(expression, start, end):
        chunks = _chunks(_alternatives(expression, opened + 3, closed))
        if len(chunks) > 1:
            before = (*part[:-1], (start, opened + 3))
            return [(*before, chunk, (closed, end)) for chunk in chunks]
    return [part]


def _alternatives(expression: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split at the bars that stand in no group."""
    found, depth = [], 0
    for token in _TOKEN.finditer(expression, start, end):
        opens, closes, bar = token.groups()
        depth += bool(opens) - bool(closes)
        if bar and not depth:
            found.append((start, token.start()))
            start = token.end()
    return [*found, (start, end)]


def _chunks(alternatives: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join neighbours that are short."""
    found = alternatives[:1]
    for start, end in alternatives[1:]:
        if end - found[-1][0] <= PART:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _groups(expression: str, start: int, end: int) -> list[tuple[int, int]]:
    """List the outermost groups that stand there once, by where their brackets are."""
    found, opened = [], []
    for token in _TOKEN.finditer(expression, start, end):
        opens, closes, _ = token.groups()
        if opens:
            opened.append((token.start(), opens == "(?:"))
        elif closes:
            at, plain = opened.pop()
            if plain and not opened and expression[token.end() : token.end() + 1] not in {"*", "+", "?", "{"}:
                found.append((at, token.start()))
    return found


def tables() -> tuple[dict[str, str], dict[str, str]]:
    """Work out both tables: the words, and the parts."""
    from shellward.approval.expressions import sign
    from shellward.approval.patterns import RULES

    commands: dict[str, set[str]] = {}
    for rule in RULES:
        for text in filter(None, (rule.regex, rule.unless)):
            commands.setdefault(text, set()).update(rule.commands.split())
    places = {}
    for text, names in list(commands.items()):
        found = parts(text) if needed(text, names) else []
        if len(found) > 1:
            places[sign(text)] = "\n".join(" ".join(f"{start} {end}" for start, end in part) for part in found)
            for part in found:
                commands.setdefault("".join(text[start:end] for start, end in part), set()).update(names)
    needs = {text: needed(text, names) for text, names in commands.items()}
    words = sorted((sign(text), _line(one)) for text, one in needs.items() if one)
    return dict(words), dict(sorted(places.items()))


def _line(one: Needed) -> str:
    ways = "\n".join("\t".join("\r".join(sorted(words)) for words in way) for way in one.ways)
    return f"i{ways}" if one.folded else f" {ways}"


def main() -> None:
    """Write the tables."""
    words, places = (
        "\n".join(f"    {_quoted(key)}: {_quoted(value)}," for key, value in one.items()) for one in tables()
    )
    TABLE.write_text(f"{HEAD}{words}\n}}\n\nPARTS: dict[str, str] = {{\n{places}\n}}\n", encoding="utf-8")


def _quoted(text: str) -> str:
    """Write a text as the formatter would."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return f"'{escaped}'" if '"' in text and "'" not in text else '"' + escaped.replace('"', '\\"') + '"'


if __name__ == "__main__":
    main()
