"""Which environment of its kind one is: approvals for one are none for another."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from shellward.terminal_tool.surroundings import target_of


@pytest.mark.parametrize(
    ("config", "target"),
    [
        ({}, ""),
        ({"image": "debian"}, "debian"),
        ({"image": "debian", "name": "mine"}, "debian name=mine"),
        ({"image": "debian", "context": "far"}, "debian context=far"),
        ({"host": "a"}, "a"),
        ({"host": "a", "user": "me", "port": 2222}, "me@a:2222"),
        ({"host": None, "image": None}, ""),
    ],
)
def test_what_tells_environments_apart(config: dict[str, object], target: str) -> None:
    assert target_of(cast("Any", SimpleNamespace(config=SimpleNamespace(**config)))) == target
