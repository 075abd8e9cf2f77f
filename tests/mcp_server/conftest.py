"""What the tests of the MCP server as a process share; helpers are in mcpserver.py."""

from pathlib import Path

import pytest
from mcpserver import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
