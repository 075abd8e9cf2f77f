"""docs/configuration.md says what the schema says."""

from pathlib import Path

import pytest

from shellward.config import schema
from shellward.config.loader import keys

TEXT = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()


@pytest.mark.parametrize("key", keys())
def test_every_setting_is_described(key: str) -> None:
    assert f"| `{key}` |" in TEXT


@pytest.mark.parametrize("struct", [schema.RuleSpec, schema.AllowEntry, schema.McpServer])
def test_every_field_of_an_entry_is_described(struct: type) -> None:
    for name in struct.__struct_fields__:
        assert f"| `{name}` |" in TEXT


def test_nothing_is_described_that_is_not_there() -> None:
    described = [line.split("`")[1] for line in TEXT.splitlines() if line.startswith("| `") and line.count("|") == 4]
    assert sorted(described) == sorted(keys())
