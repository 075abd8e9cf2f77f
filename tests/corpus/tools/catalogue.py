"""Reads the catalogue and the questions to it. Used by the tests and by benchmarks/rows_tools.py."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
_TYPES = {"#": "integer", "!": "boolean", "[]": "array", "{}": "object", "": "string"}
_PARAMETER = re.compile(r"(\w+)(\?)?(#|!|\[\]|\{\}|=\S+)?")


class Listed(NamedTuple):
    """One tool of the catalogue: its toolset, and its schema as a server would send it."""

    toolset: str
    schema: dict[str, Any]


class Question(NamedTuple):
    """A query and every tool that answers it."""

    query: str
    right: frozenset[str]


def _lines(name: str) -> Iterator[str]:
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


def _property(name: str, form: str) -> dict[str, Any]:
    if form.startswith("="):
        return {"type": "string", "enum": form[1:].split("/"), "description": name.replace("_", " ").capitalize()}
    found: dict[str, Any] = {"type": _TYPES[form], "description": name.replace("_", " ").capitalize()}
    if form == "[]":
        found["items"] = {"type": "string"}
    return found


def _parameters(text: str) -> dict[str, Any]:
    properties, required = {}, []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        match = _PARAMETER.fullmatch(part)
        assert match is not None, part
        properties[match[1]] = _property(match[1], match[3] or "")
        if not match[2]:
            required.append(match[1])
    return {"type": "object", "properties": properties, "required": required}


def catalogue() -> list[Listed]:
    """Return all tools, in the order of the file."""
    found, server = [], ""
    for line in _lines("catalogue.txt"):
        if line.startswith("["):
            server = line.strip("[]")
            continue
        name, rest = line.split(": ", 1)
        description, _, parameters = rest.rpartition(" |")
        schema = {"name": f"{server}_{name}", "description": description, "parameters": _parameters(parameters)}
        found.append(Listed(f"mcp-{server}", schema))
    return found


def questions(file: str = "queries.txt") -> list[Question]:
    """Return the questions of ``queries.txt`` or ``held_out.txt``."""
    split = (line.split(" => ") for line in _lines(file))
    return [Question(query, frozenset(right.split(", "))) for query, right in split]
