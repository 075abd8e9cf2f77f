"""Changing ``config.yaml`` without disturbing what a person wrote in it.

A new entry is put in as one line of text where it belongs, so comments, order, quotes and indentation stay
byte for byte; the outcome is parsed and compared with what was wanted before the file is replaced. Only where
that is not possible (flow style, anchors) is the document written anew by ruamel, which keeps comments and
order too.
"""

import copy
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from shellward.config.loader import parse_yaml
from shellward.core import files
from shellward.core.errors import ConfigError

_PREAMBLE: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*---[ \t]*\r?\n")


def append(path: Path, key: Sequence[str], entry: object) -> bool:
    """Add ``entry`` to the list at ``key``, unless it is in there already.

    Programs that do this at the same time wait for each other (a lock beside the file), so none is lost.

    Args:
        path: the settings file; made, with its directory, when it is missing.
        key: the parts of the dotted name (``("approval", "command_allowlist")``).
        entry: a string, or a mapping of plain values.

    Returns:
        False when the list held an equal entry.

    Raises:
        ConfigError: the file is not valid as it stands, or cannot be written; it is untouched then.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with files.locked(path.with_name(f".{path.name}.lock")):
            return _append_locked(path, key, entry)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror or error}") from error


def _append_locked(path: Path, key: Sequence[str], entry: object) -> bool:
    # Read as bytes: text mode would turn CRLF line ends into LF and so rewrite every line.
    text = path.read_bytes().decode() if path.exists() else ""
    old = _plain(parse_yaml(text, path)) or {}
    wanted = _with_entry(old, key, entry, path)
    if wanted is None:
        return False
    for attempt in (_insert_line, _rewrite):
        new = attempt(text, key, entry)
        if new is not None and _plain(parse_yaml(new, path)) == wanted and not _comments(text) - _comments(new):
            files.replace(path, new.encode())
            return True
    raise ConfigError(f"{path}: cannot add to {'.'.join(key)} without changing other lines; add it by hand: {entry}")


def _with_entry(old: Any, key: Sequence[str], entry: object, path: Path) -> Any | None:
    """Return ``old`` with the entry in place, as plain data; None when it is there already."""
    wanted = copy.deepcopy(old)
    node = wanted
    for part in key[:-1]:
        if node.get(part) is None:
            node[part] = {}
        node = node[part]
        if not isinstance(node, dict):
            raise ConfigError(f"{path}: {part}: must be a mapping")
    entries = node.setdefault(key[-1], [])
    if entries is None:
        entries = node[key[-1]] = []
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: {'.'.join(key)}: must be a list")
    if entry in entries:
        return None
    entries.append(entry)
    return wanted


def _insert_line(text: str, key: Sequence[str], entry: object) -> str | None:
    """Put the entry in as a line of its own, or return None where the text's shape does not allow it."""
    from ruamel.yaml import YAML

    node = YAML().compose(text) if text.strip() else None
    place = (len(text), 0, key) if node is None else _place(text, node, key)
    if place is None:
        return None
    index, column, missing = place
    end = "\r\n" if "\r\n" in text else "\n"
    before = text[:index]
    glue = "" if not before or before.endswith("\n") else end
    return before + glue + _nested(missing, "- " + _flow(entry), column, end) + text[index:]


def _place(text: str, node: Any, key: Sequence[str]) -> tuple[int, int, Sequence[str]] | None:
    """Find where the new line belongs: index, column, and the parts of the key still to be written."""
    from ruamel.yaml.nodes import MappingNode, SequenceNode

    for depth, part in enumerate(key):
        if not isinstance(node, MappingNode) or node.flow_style or node.anchor is not None or not node.value:
            return None
        found = next((value for name, value in node.value if name.value == part), None)
        if found is None:
            return _line_after(text, _end(node)), node.value[0][0].start_mark.column, key[depth:]
        node = found
    if not isinstance(node, SequenceNode) or node.flow_style or node.anchor is not None or not node.value:
        return None
    dash = text.rfind("-", 0, node.value[0].start_mark.index)
    return _line_after(text, _end(node)), dash - (text.rfind("\n", 0, dash) + 1), ()


def _flow(entry: object) -> str:
    """Write an entry on one line: JSON is YAML, but for characters that YAML wants escaped its own way."""
    return "".join(
        char if char.isprintable() else f"\\U{ord(char):08x}" for char in json.dumps(entry, ensure_ascii=False)
    )


def _nested(key: Sequence[str], line: str, column: int, end: str) -> str:
    rows = [" " * (column + 2 * depth) + f"{part}:{end}" for depth, part in enumerate(key)]
    return "".join(rows) + " " * (column + 2 * len(key)) + line + end


def _end(node: Any) -> int:
    """Find the index after the last character of a node; a block ends where its last child does."""
    if isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _line_after(text: str, index: int) -> int:
    """Find where the line after ``index`` begins; a block scalar already ends there."""
    if index and text[index - 1] == "\n":
        return index
    newline = text.find("\n", index)
    return len(text) if newline < 0 else newline + 1


def _rewrite(text: str, key: Sequence[str], entry: object) -> str:
    """Write the whole document anew, comments and order kept, indented as it was."""
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 2**20
    offset = re.search(r"^(\s*)[^\s#-][^\n]*:[ \t]*\n\1( *)- ", text, re.MULTILINE)
    if offset is None or offset[2]:
        yaml.indent(mapping=2, sequence=4, offset=2)
    start = _PREAMBLE.match(text)  # ruamel drops comments in front of the document's start
    preamble = start[0] if start else ""
    tree = yaml.load(text[len(preamble) :]) or CommentedMap()
    node = tree
    for part in key[:-1]:
        if node.get(part) is None:
            node[part] = CommentedMap()
        node = node[part]
    if node.get(key[-1]) is None:
        node[key[-1]] = CommentedSeq()
    node[key[-1]].append(entry)
    out = io.StringIO()
    yaml.dump(tree, out)
    return preamble + out.getvalue()


def _comments(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.splitlines() if line.lstrip().startswith("#"))


def _plain(tree: Any) -> Any:
    """Reduce ruamel's values to plain ones, so that they compare by content."""
    if isinstance(tree, dict):
        return {str(name): _plain(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_plain(value) for value in tree]
    if tree is None or isinstance(tree, bool):
        return tree
    for kind in (str, int, float):
        if isinstance(tree, kind):
            return kind(tree)
    return str(tree)
