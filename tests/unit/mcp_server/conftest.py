"""A task of its own for each test, on this machine, where ``touch`` counts as dangerous."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcphost import PACK, SETTINGS

from shellward.terminal_tool import close_tasks, register_task_environment


@pytest.fixture(autouse=True)
def settings(own_home: Path) -> Path:
    own_home.mkdir()
    file = own_home / "config.yaml"
    file.write_text(SETTINGS.format(timeout=60))
    (own_home / "touch.yaml").write_text(PACK)
    return file


@pytest.fixture(autouse=True)
def no_tasks_left(settings: Path) -> Iterator[None]:
    del settings
    yield
    close_tasks()


@pytest.fixture(autouse=True)
def place(nothing_leaks: None, settings: Path, tmp_path: Path) -> Path:
    """The directory that commands begin in."""
    del nothing_leaks, settings
    there = tmp_path / "work"
    there.mkdir()
    register_task_environment("mcp", "local", cwd=str(there))
    return there
