"""docs/from-hermes.md names the variables that are read, and imports that work."""

import importlib
import re
from pathlib import Path

from shellward.config.loader import ALIASES, UNUSED, keys

PAGE = (Path(__file__).parents[3] / "docs" / "from-hermes.md").read_text()


def test_the_variables_are_those_that_are_read() -> None:
    rows = dict(re.findall(r"^\| `(TERMINAL_\w+)` \| `([\w.]+)`", PAGE, re.MULTILINE))
    assert rows == dict(ALIASES)


def test_the_variables_that_are_not_used_are_named() -> None:
    assert set(re.findall(r"TERMINAL_[A-Z]\w+", PAGE)) == ALIASES.keys() | UNUSED.keys()


def test_the_imports_work() -> None:
    found = re.findall(r"\| `from (shellward[\w.]*) import ([\w, ]+)`", PAGE)
    assert len(found) >= 4
    for module, names in found:
        for name in names.split(", "):
            assert hasattr(importlib.import_module(module), name), f"{module}.{name}"


def test_the_settings_exist() -> None:
    named = set(re.findall(r"`((?:terminal|approval|tools)\.[a-z_.]+)(?::[^`]*)?`", PAGE))
    theirs = {"terminal.backend", "tools.include", "tools.exclude"}
    assert named - theirs <= set(keys()), named - set(keys())
