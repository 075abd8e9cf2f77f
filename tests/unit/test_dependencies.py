"""docs/dependencies.md and pyproject.toml name the same packages."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_dependency_says_why_it_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        *project["dependencies"],
        *(line for lines in project["optional-dependencies"].values() for line in lines),
    ]
    declared = {re.split(r"[^\w.-]", line)[0] for line in lines} - {project["name"]}
    explained = set(re.findall(r"^\| ([\w.-]+) \|", (ROOT / "docs" / "dependencies.md").read_text(), re.MULTILINE))
    assert explained - {"package"} == declared
