"""The contracts of import-linter cover the rooms that are there."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def sources(contract_name: str) -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each["name"].startswith(contract_name))
    return contract["source_modules"]


@pytest.mark.parametrize("room", ["approval", "command"])
def test_deciding_never_executes_names_the_room_itself(room: str) -> None:
    """`room.**` is what is in a room, not the room's own `__init__`; import-linter wants no absent name."""
    named = sources("Deciding never executes")
    assert f"shellward.{room}.**" in named
    there = (ROOT / "shellward" / room / "__init__.py").exists()
    assert (f"shellward.{room}" in named) == there
