"""docs/mcp-client.md: its settings are read, its example runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

from shellward.config import load
from shellward.config.loader import parse_yaml

PAGE = Path(__file__).parents[3] / "docs" / "mcp-client.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_settings_are_settings(tmp_path: Path) -> None:
    texts = blocks("yaml")
    assert len(texts) == 2
    for number, text in enumerate(texts):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text)
        assert parse_yaml(text, file)
        load(file=file, environ={})


def test_the_example_runs() -> None:
    program = "\n".join(blocks("python"))
    words = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env={**os.environ})
    assert done.returncode == 0, done.stderr
