"""Finding a tool by what it does: BM25 over names, descriptions and parameter names, with stemming.

The index is SQLite's FTS5, in memory, which Python brings along (docs/decisions/2026-11-21-tool-search.md says what
else was measured). It knows the tools it was made of and no others.
"""

import functools
import itertools
import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shellward.core.errors import ShellwardError
from shellward.tools.tool import MCP
from shellward.tools.words import KIN, NOISE

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
"""A word, also inside snake_case and camelCase."""
_LONGEST_QUERY: Final = 400
_MOST_WORDS: Final = 40
_WEIGHTS: Final = (2.0, 1.0, 0.5)
"""Of a word in the name, in the description, and among the parameters."""
_SERVER: Final = 1.6
"""How much more a tool of a server (or toolset) counts that is named in the query."""
_KIN_WEIGHT: Final = 0.5
"""Of a word that only means the same as one that was asked for."""
_QUERY: Final = "select rowid, -bm25(tools, ?, ?, ?) from tools where tools match ?"


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that was found.

    Attributes:
        name: its name.
        description: what it does.
        score: how well it fits; comparable within one search only.
    """

    name: str
    description: str
    score: float


class Index:
    """The tools of one selection. Safe to share between threads.

    Args:
        tools: the toolset and the schema of each.

    Raises:
        ShellwardError: this Python's SQLite was built without full-text search.
    """

    def __init__(self, tools: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        self._tools = [
            (
                str(schema["name"]),
                str(schema["description"]),
                _parameters(schema),
                frozenset(_words(toolset.removeprefix(MCP)).split()),
            )
            for toolset, schema in tools
        ]
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        weakref.finalize(self, self._db.close)
        try:
            self._db.execute(
                "create virtual table tools using fts5(name, description, parameters, content='', tokenize='porter')"
            )
        except sqlite3.OperationalError as error:
            raise ShellwardError(f"tool search needs a Python whose SQLite has FTS5: {error}") from None
        rows = ((number, *map(_words, texts)) for number, (*texts, _) in enumerate(self._tools))
        self._db.execute("begin")
        self._db.executemany("insert into tools(rowid, name, description, parameters) values (?, ?, ?, ?)", rows)
        self._db.execute("commit")

    def search(self, query: str, limit: int) -> list[Hit]:
        """Find tools.

        Args:
            query: what is wanted, in words.
            limit: how many at most.

        Returns:
            The best first. When no word of the query is known, the tools that contain it literally.
        """
        query = query[:_LONGEST_QUERY]
        scores = self._scores(_asked(query))
        best = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
        hits = [Hit(*self._tools[number][:2], scores[number]) for number in best if scores[number] > 0]
        return hits or self._literal(query, limit)

    def _scores(self, asked: Mapping[str, float]) -> dict[int, float]:
        """Return the tools that have one of the words, with their scores."""
        scores: dict[int, float] = {}
        for weight in sorted(set(asked.values())):
            match = " OR ".join(f'"{word}"' for word, its in asked.items() if its == weight)
            with self._lock:
                rows = self._db.execute(_QUERY, (*_WEIGHTS, match)).fetchall()
            for number, score in rows:
                scores[number] = scores.get(number, 0.0) + weight * score
        for number in scores:
            server = self._tools[number][3]
            if server and server <= asked.keys():
                scores[number] *= _SERVER
        return scores

    def _literal(self, query: str, limit: int) -> list[Hit]:
        """Return the tools that contain the query, or else one of its words, in any of their texts."""
        whole = query.strip().lower()
        for wanted in ([whole], whole.split()):
            found = [
                Hit(name, description, 0.0)
                for name, description, parameters, _ in self._tools
                if any(part and part in f"{name} {description} {parameters}".lower() for part in wanted)
            ]
            if found:
                return found[:limit]
        return []


def _parameters(schema: Mapping[str, Any]) -> str:
    return " ".join(schema["parameters"].get("properties", {}))


@functools.lru_cache(maxsize=8192)  # the index is made anew when one tool changes, and the others' texts are the same
def _words(text: str) -> str:
    """Split a text, and the names in it, into words."""
    return " ".join(_WORD.findall(text)).lower()


def _asked(query: str) -> dict[str, float]:
    """Return the words to look for, with their weights."""
    said = _words.__wrapped__(query).split()[:_MOST_WORDS]
    telling = [word for word in said if word not in NOISE] or said
    # Two words may be one in a tool's text: "stack trace" and "stacktrace".
    joined = [first + second for first, second in itertools.pairwise(telling)]
    asked = dict.fromkeys([*telling, *joined], 1.0)
    for word in telling:
        for other in KIN.get(word, frozenset()) or KIN.get(word.removesuffix("s"), frozenset()):
            asked.setdefault(other, _KIN_WEIGHT)
    return asked
